"""G2, Golab & Ozsu Tables 2 and 3: lazy evaluation of NAIVE without comparison of times is wrong.

Re-execution every 30 s, so that the rows of (180, 210] are the new ones at 210.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.engine import Merged, merged, run
from muntin.research.joins.setting import Join, Strategy, Window, by_origin, fixed

Answer = list[tuple[int, ...]]
"""Timestamps of the rows of each result, sorted."""

RIGHT: Answer = [(100, 150, 195), (100, 180, 195)]
WRONG: Answer = [(a, b, c) for a in (90, 100) for b in (150, 180) for c in (195, 205)]
ORDER = (0, 1, 2)


def table_2() -> Merged:
    """Windows of 100 s over the rows of Table 2."""
    ts = np.array([90, 100, 150, 180, 195, 205], np.int64)
    stream = np.array([0, 0, 1, 1, 2, 2], np.int64)
    return merged(ts, stream, np.ones(6, np.int64)).with_windows((100, 100, 100))


def answers() -> dict[str, Answer]:
    """What each strategy finds."""
    given, join = table_2(), Join.on_one([Window()] * 3)
    naive = Strategy("lazy", fixed(ORDER), 30)
    every = {
        "NAIVE lazy": naive,
        "LAZY": Strategy("lazy", by_origin(ORDER), 30),
        "GENERAL": Strategy("lazy", ((0, 1, 2), (0, 1, 2), (1, 2, 0)), 30),
        "restore": Strategy("restore", by_origin(ORDER), 30),
        "EAGER": Strategy("eager", by_origin(ORDER)),
        "NAIVE eager": Strategy("eager", fixed(ORDER)),
        "careless": replace(naive, careless=True),
    }
    found = {name: run(join, given, strategy, keep=True) for name, strategy in every.items()}
    return {name: sorted(tuple(int(given.ts[i]) for i in row) for row in r.rows) for name, r in found.items()}


def judge(found: dict[str, Answer]) -> tuple[Check, ...]:
    """Against both halves of Table 3."""
    careful = [name for name in found if name != "careless"]
    wrong = [name for name in careful if found[name] != RIGHT]
    return (
        Check(
            "with comparison of times exactly (100,150,195) and (100,180,195)",
            f"2 rows from {', '.join(careful)}" if not wrong else f"wrong rows from {', '.join(wrong)}",
            not wrong,
        ),
        Check("without it the 8 rows of Table 3", f"{len(found['careless'])} rows without", found["careless"] == WRONG),
    )


def run_entry(setting: Setting) -> Outcome:
    """All strategies on Table 2."""
    return Outcome(judge(answers()))


ENTRY = Entry(
    "G2",
    "naive lazy evaluation returns 8 rows, of which (100,150,195) and (100,180,195) are right",
    "lazy operators with timestamp checks return exactly the 2 rows; a deliberately naive variant returns the 8",
    run_entry,
)
