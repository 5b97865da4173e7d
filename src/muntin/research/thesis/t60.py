"""T60, thesis section 8.3.1: a basic interval synopsis beats an interval synopsis when at least b / log b queries run
together, with half the space.

Queries are windows of different lengths over one synopsis, phases drawn at random; counted are values read. A basic
interval synopsis is read once, up to the longest window (CS2); an interval synopsis once a query (CS1). The text counts
with the worst case of both; measured are the lengths that take most probes in each phase, and lengths drawn at random.
"""

from __future__ import annotations

from math import log2
from random import Random

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.synopses.data import SUM
from muntin.research.synopses.windows import BasicInterval, Interval

SIZES = (8, 16, 32, 64)


def costs(b: int, queries: int, draws: int, worst: bool) -> tuple[float, float]:
    """Mean values read by (basic interval, interval) for so many windows of different lengths: those of most probes
    (``worst``), or drawn ones."""
    rng = Random(1_000 * b + queries)
    interval, basic = Interval(SUM, b), BasicInterval(SUM, b)
    for _ in range(2 * b):
        interval.update(1)
        basic.update(1)
    interval.probes = basic.probes = 0
    for _ in range(draws):
        for _ in range(rng.randint(1, b)):
            interval.update(1)
            basic.update(1)
        lengths = rng.sample(range(1, b + 1), queries)
        if worst:
            lengths = sorted(range(1, b + 1), key=lambda n: (-len(interval.cover(n)), -n))[:queries]
        basic.answers(lengths)
        for n in lengths:
            interval.answer(n)
    return basic.probes / draws, interval.probes / draws


def break_even(b: int, draws: int, worst: bool) -> int:
    """The fewest queries for which the basic interval synopsis is read no more."""
    for queries in range(1, b + 1):
        basic, interval = costs(b, queries, draws, worst)
        if basic <= interval:
            return queries
    return b + 1


def probes_of(b: int, queries: int, draws: int) -> tuple[float, float]:
    """For so many drawn windows (values read of the basic interval synopsis, which is the longest of them, and of the
    interval synopsis for each)."""
    basic, interval = costs(b, queries, draws, worst=False)
    return basic, interval / queries


def judge(
    worst: dict[int, int],
    drawn: dict[int, int],
    space: dict[int, tuple[int, int]],
    probes: dict[int, tuple[float, float]] | None = None,
) -> tuple[Check, ...]:
    """The break-even of each size, and the space. ``probes``: of drawn windows at their break-even (``probes_of``)."""
    half = all(2 * basic - 1 == interval for basic, interval in space.values())
    shown = ", ".join(f"b={b}: {y:.1f} and {x:.1f}" for b, (x, y) in (probes or {}).items())
    reason = (
        "a window of random length is covered by fewer than log2 b intervals, while the longest of the windows takes "
        f"nearly b values of a basic interval synopsis; read at the break-even for a window and for all: {shown}"
    )
    return (
        Check("worst windows: break-even in [b / (2 log b), b / log b] +- 1", _said(worst), _inside(worst)),
        Check("drawn windows: break-even in [b / (2 log b), b / log b] +- 1", _said(drawn), _inside(drawn), reason),
        Check("half the space", ", ".join(f"{x} and {y} values" for x, y in space.values()), half),
    )


def _inside(found: dict[int, int]) -> bool:
    return all(b / (2 * log2(b)) - 1 <= n <= b / log2(b) + 1 for b, n in found.items())


def _said(found: dict[int, int]) -> str:
    return ", ".join(f"b={b}: {n} queries (b/log b = {b / log2(b):.1f})" for b, n in found.items())


def most_values(b: int) -> tuple[int, int]:
    """Values kept by (basic interval, interval)."""
    interval, basic, most = Interval(SUM, b), BasicInterval(SUM, b), 0
    for _ in range(3 * b):
        interval.update(1)
        basic.update(1)
        most = max(most, interval.size)
    return basic.size, most


def run(setting: Setting) -> Outcome:
    """Four sizes of window."""
    sizes, draws = (SIZES[:3], 40) if setting.smoke else (SIZES, 400)
    worst, drawn = ({b: break_even(b, draws, w) for b in sizes} for w in (True, False))
    curves = {f"b = {b}": [(float(q), _ratio(b, q)) for q in range(1, b // 2 + 1, 2)] for b in sizes}
    plot = Plot("T60 values read, basic interval over interval", "queries run together", "ratio", curves, log=False)
    probes = {b: probes_of(b, n, draws) for b, n in drawn.items()}
    return Outcome(judge(worst, drawn, {b: most_values(b) for b in sizes}, probes), (), (plot,))


def _ratio(b: int, queries: int) -> float:
    basic, interval = costs(b, queries, 20, worst=False)
    return basic / interval


ENTRY = Entry(
    "T60",
    "a basic interval synopsis is read less than an interval synopsis from b / log b queries on, with half the space",
    "measured break-even in [b / (2 log b), b / log b] +- 1",
    run,
)
