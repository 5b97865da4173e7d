"""T38, thesis 5.4.4: lazy evaluation with restore is cheaper than eager, and why: duplicates in a batch.

For the second part every stream runs through its values in a fixed order, so that no batch has one twice; windows of
400 and Delta = 10, so that what Algorithm 4 saves by losing short-lived results stays small beside what batching could
save. For comparison the same with every value five times in a row. Accesses, as in T36.
"""

from __future__ import annotations

import numpy as np

from muntin.optimizer.multiway.streams import JoinStream
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.engine import merged
from muntin.research.joins.periods import DELTAS, Curves, costs
from muntin.research.joins.setting import Algorithm
from muntin.research.joins.workload import Load, strategy

SPAN, DELTA, STREAMS = 400, 10, 4
DISTINCT, REPEATED = 200, 5


def cycling(tuples: int, repeat: int = 1) -> Load:
    """Streams of one tuple a unit on average, each with its own order of the values, over and over, each value
    ``repeat`` times in a row."""
    rng = np.random.default_rng(38)
    warm = round(1.1 * SPAN * STREAMS)
    stream = rng.integers(0, STREAMS, warm + tuples)
    value = np.empty(len(stream), np.int64)
    for s in range(STREAMS):
        here = np.flatnonzero(stream == s)
        value[here] = rng.permutation(DISTINCT)[np.arange(len(here)) // repeat % DISTINCT] + 1
    given = merged(np.arange(len(stream), dtype=np.int64), stream.astype(np.int64), value)
    streams = (JoinStream(1, SPAN, DISTINCT),) * STREAMS
    return Load(streams, given.with_windows((SPAN * STREAMS,) * STREAMS), warm)


def largest_group(load: Load) -> int:
    """Most rows of a stream with the same value in a batch."""
    batch = -(-load.given.ts // load.ticks(DELTA))
    rows = np.stack([batch, load.given.stream, load.given.values[0]])
    return int(np.unique(rows, axis=1, return_counts=True)[1].max())


def gains(load: Load) -> dict[str, float]:
    """What share of the accesses of eager evaluation lazy evaluation saves."""
    order = tuple(range(STREAMS))

    def accesses(algorithm: Algorithm, interval: int) -> int:
        return load.measure(strategy(load, algorithm, order, interval)).counts.accesses

    eager = accesses("eager", 0)
    return {name: 1 - accesses(name, DELTA) / eager for name in ("no-restore", "restore")}


def judge(found: dict[int, Curves], distinct: dict[str, float], group: int) -> tuple[Check, ...]:
    """``found``: by number of buckets."""
    ratios = {b: [c["lazyR"][d] / c["eager"][d] for d in DELTAS] for b, c in found.items()}
    cheaper = all(r < 1 for row in ratios.values() for r in row)
    more = all(row[-1] < row[0] for row in ratios.values())
    told = ", ".join(f"{row[0]:.2f}..{row[-1]:.2f}" for row in ratios.values())
    return (
        Check("lazy with restore is cheaper than eager for each Delta", f"lazyR/eager {told}", cheaper),
        Check("the more so at the largest Delta", "less at the largest" if more else "not less at the largest", more),
        Check("no value twice in a batch", f"largest group {group}", group == 1),
        Check(
            "with distinct values in a batch the lazy gain is at most 5 %",
            ", ".join(f"{name} {g:.1%}" for name, g in distinct.items()),
            all(g <= 0.05 for g in distinct.values()),
        ),
    )


def run(setting: Setting) -> Outcome:
    """Figures 5.3 and 5.4 again, then batches without and with duplicates."""
    tuples = 6000 if setting.smoke else 13_000
    found = {b: costs(b, tuples) for b in (1, 2, 5)}
    load = cycling(tuples // 4)
    repeated = gains(cycling(tuples // 4, REPEATED))
    notes = (f"gain with {REPEATED} in a row: " + ", ".join(f"{name} {g:.0%}" for name, g in repeated.items()),)
    return Outcome(judge(found, gains(load), largest_group(load)), notes)


ENTRY = Entry(
    "T38",
    "lazy with restore still cheaper than eager, especially at large Delta; batching helps only with duplicate join "
    "values",
    "with all-distinct values in a batch the lazy gain vanishes (<=5%)",
    run,
)
