"""G1, Golab & Ozsu Figure 1: a join order as a tree and as loops, the predicate tested in each loop.

The counted run is on input that is as regular as the model assumes: one tuple of each stream per unit time, values in
turn, spans that hold each value equally often. There the counts must equal the model's, not just approach it.
"""

from __future__ import annotations

import numpy as np

from muntin.optimizer.multiway.cost import eager
from muntin.optimizer.multiway.orders import loops, tree
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.engine import Merged, merged, run
from muntin.research.joins.parameters import Streams, streams
from muntin.research.joins.setting import Join, Strategy, Window, by_origin

ORDER = (0, 1, 2, 3)
TREE = "S1 x (S2 x (S3 x S4))"
REGULAR = streams((1, 100, 50), (1, 100, 25), (1, 100, 10), (1, 100, 5))


def regular(inputs: Streams, ticks: int) -> Merged:
    """Each stream's tuple of each tick in turn, values 0, 1, .. v - 1, 0, ..; a span ends before the same turn."""
    n = len(inputs)
    ts = np.arange(n * ticks, dtype=np.int64)
    values = (ts // n) % np.array([int(s.distinct) for s in inputs])[ts % n]
    return merged(ts, ts % n, values).with_windows(tuple(n * int(s.span) - 1 for s in inputs))


def counted(inputs: Streams, ticks: int) -> float:
    """Comparisons per unit time over so many ticks after the windows have filled."""
    full = max(int(s.span) for s in inputs)
    n = len(inputs)
    strategy = Strategy("eager", by_origin(range(n)))
    found = run(Join.on_one([Window()] * n), regular(inputs, full + ticks), strategy, warm=n * full)
    return found.counts.comparisons / ticks


def judge(printed: str, nested: str, by_levels: list[tuple[float, float]], flat: float) -> tuple[Check, ...]:
    """``by_levels``: (counted, modelled) with 2, 3, .. windows. ``flat``: comparisons if only the innermost loop
    tested."""
    depths = [(len(line) - len(line.lstrip())) // 2 for line in nested.splitlines()]
    tests = [" if " in line for line in nested.splitlines()]
    told = ", ".join(f"{n} windows {c:g} = {m:g}" for n, (c, m) in enumerate(by_levels, 2))
    return (
        Check(f"the printer maps S1,S2,S3,S4 to {TREE}", printed, printed == TREE),
        Check(
            "as loops: S1 outermost, each inner loop tests",
            f"{len(depths) - 1} loops, {sum(tests)} tests",
            depths == [0, 1, 2, 3, 4] and tests == [False, True, True, True, False],
        ),
        Check(
            "comparisons counted equal the model's, at every level",
            f"comparisons per unit time: {told}; a Cartesian product {flat:g}",
            all(c == m for c, m in by_levels) and by_levels[-1][0] < flat,
        ),
    )


def run_entry(setting: Setting) -> Outcome:
    """Print, and count with 2, 3 and 4 of the windows."""
    ticks = 50 if setting.smoke else 1000
    levels = [(counted(REGULAR[:n], ticks), eager(REGULAR[:n], range(n))) for n in (2, 3, 4)]
    flat = 4 * (100.0 + 100**2 + 100**3)
    return Outcome(judge(tree(ORDER), loops(ORDER), levels, flat), (loops(ORDER),))


ENTRY = Entry(
    "G1",
    "join order S1 x (S2 x (S3 x S4)) as a tree and as for-loops",
    f"plan printer maps order S1,S2,S3,S4 to {TREE}; predicate tested at every level (counting comparisons equals the "
    "cost model for a Cartesian-free run)",
    run_entry,
)
