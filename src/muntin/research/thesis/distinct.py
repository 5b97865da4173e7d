"""Query 2 of thesis 3.6, shared by the figures on its cost (T16, T17) and its space (T18, T19)."""

from __future__ import annotations

from functools import cache

from muntin.research.engines import naive
from muntin.research.engines.choose import distinct_question
from muntin.research.engines.compare import Point
from muntin.research.engines.engine import DIRECT, NT, UPA, distinct_of
from muntin.research.engines.study import Study
from muntin.research.engines.workload import synthetic
from muntin.research.harness import Setting

WINDOWS = (2500, 10_000, 40_000)
SMOKE = {"source": (2500, 40_000), "pair": (2500, 15_000)}


def study(column: str, setting: Setting) -> Study:
    """Distinct sources or pairs of one link."""
    return Study(
        distinct_of(column),
        naive.distinct_of(column),
        lambda units: synthetic(units, 1),
        (NT, DIRECT, UPA),
        distinct_question(column),
        SMOKE[column] if setting.smoke else WINDOWS,
        1,
    )


@cache
def points(column: str, setting: Setting) -> list[Point]:
    """The runs, made once for all figures."""
    return study(column, setting).points(setting)


def gains(point: Point) -> tuple[float, float]:
    """NT / UPA and DIRECT / UPA in work."""
    return point.work("NT") / point.work("UPA"), point.work("DIRECT") / point.work("UPA")


def savings(point: Point) -> tuple[float, float]:
    """NT / UPA and DIRECT / UPA in stored tuples."""
    m = point.measures
    return m["NT"].stored / m["UPA"].stored, m["DIRECT"].stored / m["UPA"].stored
