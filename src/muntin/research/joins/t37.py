"""T37, thesis Figure 5.4: hash tables with 2 and 5 buckets against Delta (``periods``), in operations.

Whether eager evaluation with 5 buckets has its minimum inside depends on what a comparison of times costs: as an
operation it outweighs the visits to buckets that lazy expiry saves; in accesses (in the figures) the minimum is inside.
The text also says that lazyR with 2 buckets gets worse with Delta while Delta is small; here it does not, since a group
found by sorting costs no more than its tuples.
"""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.periods import DELTAS, Curve, Curves, costs, counted, figures, plot, told


def spread(curves: Curves, delta: int) -> float:
    """The dearest algorithm over the cheapest."""
    found = [curve[delta] for curve in curves.values()]
    return max(found) / min(found)


def minimum(curve: Curve) -> int:
    """Delta of the lowest cost."""
    return min(curve, key=curve.__getitem__)


def judge(found: dict[int, Curves], why: str = "", spread_why: str = "") -> tuple[Check, ...]:
    """``found``: by number of buckets, 1 for nested loops. ``why``, ``spread_why``: what the counters say where a claim
    does not hold."""
    ordered = all(found[5][n][d] < found[2][n][d] < c for n, curve in found[1].items() for d, c in curve.items())
    eager = found[5]["eager"]
    at = minimum(eager)
    closer = all(spread(found[5], d) < spread(found[2], d) for d in DELTAS)
    return (
        Check(
            "cost(5) < cost(2) < cost(NLJ) for each algorithm and Delta",
            "5 < 2 < NLJ" if ordered else "not in order",
            ordered,
        ),
        Check(
            "eager with 5 buckets has an interior minimum",
            f"eager-5 {eager[0]:.0f} at 0, {eager[at]:.0f} at {at}, {eager[DELTAS[-1]]:.0f} at {DELTAS[-1]}",
            0 < at < DELTAS[-1],
            why,
        ),
        Check(
            "spread among algorithms smaller with 5 than with 2 at each Delta",
            ", ".join(f"{spread(found[5], d):.2f}<{spread(found[2], d):.2f}" for d in (DELTAS[0], DELTAS[-1])),
            closer,
            spread_why,
        ),
    )


def run(setting: Setting) -> Outcome:
    """Three kinds of tables."""
    tuples = 6000 if setting.smoke else 13_000
    found = {b: costs(b, tuples) for b in (1, 2, 5)}
    notes = tuple(f"{b} buckets: {told(found[b])}" for b in (2, 5))
    merged = {f"{n} {b} buckets": curve for b in (2, 5) for n, curve in found[b].items()}
    why = counted(tuples, 5, ("eager", 0), ("eager", DELTAS[0]))
    last = DELTAS[0]
    spread_why = "; ".join(counted(tuples, b, ("lazy", last), ("lazyR", last), ("eager", last)) for b in (2, 5))
    return Outcome(judge(found, why, spread_why), notes, (plot("Figure 5.4", merged),), figures(tuples, (2, 5)))


ENTRY = Entry(
    "T37",
    "2 buckets like nested loops; 5 buckets cheaper and closer; eager with 5 improves from Delta 0 to 5, then worsens",
    "cost(5)<cost(2)<cost(NLJ); eager-5 has an interior minimum; spread among algorithms smaller with 5 than 2",
    run,
)
