"""J16, Gedik et al. Figure 14: how often to adapt, the adaptation itself charged to the budget.

Rates 100 tuples a second for 8 s, 150 for 8 s, then 50, after windows are full at 100. A setting that is costed is
charged as ``CHARGE`` comparisons (its arithmetic, m hops of several operations each, measured in Python at several
microseconds, against a comparison of some nanoseconds).
"""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting, curves
from muntin.research.harvest.engine import Setup, run, saturation
from muntin.research.harvest.sizes import scaled
from muntin.research.harvest.streams import Workload, streams

DELTAS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
CHARGE = 500.0
WARM = 24.0


def workload(m: int, rate: float) -> Workload:
    """The rates of the figure, after a start at the first of them."""
    kappa, tau = streams(m, False)
    steps = ((WARM + 8, 1.5 * rate), (WARM + 16, 0.5 * rate))
    return Workload(rate, tuple(kappa), tuple(tau), WARM + 24, steps=steps)


def judge(found: dict[int, list[float]]) -> tuple[Check, ...]:
    """Results a second at each Delta; by m."""
    best = {m: DELTAS[v.index(max(v))] for m, v in found.items()}
    told = ", ".join(f"m={m}: {d:g} s" for m, d in best.items())
    order = [best[m] for m in sorted(best)]
    slow = {m: v[-1] / max(v) for m, v in found.items()}
    return (
        Check("the best Delta does not fall with m", told, order == sorted(order), REASON),
        Check(
            "8 s is worse than the best for all m",
            ", ".join(f"{s:.2f}" for s in slow.values()),
            all(s < 1 for s in slow.values()),
            REASON,
        ),
    )


REASON = (
    "the figure's budget and cost of an adaptation are not stated; here the join is above its capacity for 8 s alone, "
    "so that Delta decides whether that is noticed at all rather than how often it is followed"
)


def run_entry(setting: Setting) -> Outcome:
    """Every Delta for every m."""
    rate = scaled(setting)
    found = {}
    for m in (3, 4) if setting.smoke else (3, 4, 5):
        load = workload(m, rate)
        budget = saturation(load, rate)
        found[m] = [run(load, Setup(budget, every=d, charge=CHARGE), "harvest", WARM).rate for d in DELTAS]
    lines = curves(DELTAS, {f"m={m}": v for m, v in found.items()})
    return Outcome(judge(found), plots=(Plot("adaptation", "Delta", "results a second", lines),))


ENTRY = Entry(
    "J16",
    "Figure 14: best Delta 0.5 s for m=3, 1 s for m=4, 3 s for m=5; 5 s too conservative",
    "argmax Delta non-decreasing in m with the adaptation charged; output(8) < output(best) for all m",
    run_entry,
)
