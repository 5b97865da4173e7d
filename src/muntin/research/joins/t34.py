"""T34, thesis 5.2.3: the share of results that evaluation without restore loses.

The thesis says Delta / T, 17 % for 10 s and windows of 60 s. A result of n windows has a lifetime of T less the largest
distance of its rows in time, and is lost if that ends before the next re-execution; for two windows and uniform
distances that is Delta / (2 T). The notes have three windows and the formula of ``multiway.choose``.
"""

from __future__ import annotations

import numpy as np

from muntin.optimizer.multiway.choose import lost_share
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.engine import merged, run
from muntin.research.joins.measured import load_of
from muntin.research.joins.parameters import streams
from muntin.research.joins.setting import Join, Strategy, Window, by_origin
from muntin.research.joins.workload import strategy

SPAN, DELTA, LAG = 60, 10, 57


def lost(n: int, units: float) -> float:
    """Uniform values: the share of what Algorithm 5 finds that Algorithm 4 does not."""
    load = load_of(streams(*[(1, SPAN, 10)] * n), units, 34)
    kept, every = (load.measure(strategy(load, a, tuple(range(n)), DELTA)) for a in ("no-restore", "restore"))
    return 1 - kept.counts.results / every.counts.results


def lost_lagging(lag: int, units: int) -> float:
    """One tuple a unit and stream; the second stream brings each value ``lag`` to ``lag`` + 2 units after the first."""
    now = np.arange(units, dtype=np.int64)
    late = now - lag - np.random.default_rng(34).integers(0, 3, units)
    values = np.stack([now, late], axis=1).reshape(-1)
    given = merged(np.repeat(now, 2), np.tile(np.array([0, 1], np.int64), units), values).with_windows((SPAN, SPAN))
    join, orders = Join.on_one([Window(buckets=10)] * 2), by_origin((0, 1))
    kept, every = (run(join, given, Strategy(a, orders, DELTA)).counts for a in ("no-restore", "restore"))
    return 1 - kept.results / every.results


def judge(uniform: float, lagging: float) -> tuple[Check, ...]:
    """Both shares."""
    return (
        Check("binary join, Delta/T = 1/6: 7-10 % lost", f"{uniform:.1%} lost", 0.07 <= uniform <= 0.10),
        Check("lag near the window: > 50 % lost", f"{lagging:.0%} lost at a lag of {LAG} of {SPAN}", lagging > 0.5),
    )


def run_entry(setting: Setting) -> Outcome:
    """Two windows, three windows, and a lag."""
    units = 3000 if setting.smoke else 20_000
    three, formula = lost(3, units / 10), [lost_share([SPAN] * n, DELTA) for n in (2, 3)]
    notes = (
        f"three windows: {three:.1%} lost; by formula {formula[0]:.1%} for two and {formula[1]:.1%} for three; the "
        f"thesis says Delta/T = {DELTA / SPAN:.1%}",
        "lost by lag: " + ", ".join(f"{lag}: {lost_lagging(lag, 3000):.0%}" for lag in (0, 30, 50, 53, 55, LAG)),
    )
    return Outcome(judge(lost(2, units), lost_lagging(LAG, units)), notes)


ENTRY = Entry(
    "T34",
    "without restore Delta/T of the results are lost (17% for 10/60), and most if one stream lags by about the window",
    "binary join, Delta/T=1/6: 7-10% lost (the right formula is Delta/(2T)); lag ~ window: > 50% lost",
    run_entry,
)
