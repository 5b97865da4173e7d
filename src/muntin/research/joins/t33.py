"""T33, thesis Table 5.5: the improved heuristic.

The table prints a rate of 100 for stream 1; the stated costs belong to 10. Both are evaluated.
"""

from __future__ import annotations

from muntin.optimizer.multiway.cost import eager
from muntin.optimizer.multiway.heuristics import eager_order
from muntin.optimizer.multiway.search import ranking
from muntin.optimizer.multiway.streams import Order
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.parameters import TABLE_5_5, TABLE_5_5_PRINTED, Streams

BEST, FAST_ON_TOP, BY_SELECTIVITY = (1, 0, 2, 3), (0, 1, 2, 3), (1, 2, 3, 0)
CORRECTED = (16200.0, 21000.0, 42600.0, 135150.0)
PRINTED = (160200.0, 210000.0, 420600.0, 1347900.0)
"""Best, S1 first, S2,S3,S4,S1, worst."""


def four(streams: Streams) -> tuple[float, ...]:
    """The stated costs."""
    worst = ranking(4, lambda order: eager(streams, order))[-1][0]
    return (*(eager(streams, order) for order in (BEST, FAST_ON_TOP, BY_SELECTIVITY)), worst)


def judge(
    rate_10: tuple[float, ...], rate_100: tuple[float, ...], picks: list[Order], best: list[float]
) -> tuple[Check, ...]:
    """``picks``: what the heuristic returns for both; ``best``: the optimum of both."""
    steps = [round(cost / rate_10[0], 2) for cost in rate_10[1:]]
    return (
        Check("16200, 21000, 42600, 135150 with rate 10", _told("rate 10", rate_10), rate_10 == CORRECTED),
        Check("160200, 210000, 420600, 1347900 with rate 100", _told("rate 100", rate_100), rate_100 == PRINTED),
        Check(
            "best < S1 first (1.30x) < S2,S3,S4,S1 (2.63x) < worst (8.34x)",
            "x".join(["ratios 1", *(f" < {s}" for s in steps)]) + "x",
            steps == [1.3, 2.63, 8.34] and all(sorted(c) == list(c) for c in (rate_10, rate_100)),
        ),
        Check(
            "the improved heuristic returns S2,S1,S3,S4, the optimum",
            "heuristic optimal for both",
            picks == [BEST, BEST] and best == [rate_10[0], rate_100[0]],
        ),
    )


def _told(name: str, costs: tuple[float, ...]) -> str:
    return f"{name}: {', '.join(f'{c:.0f}' for c in costs)}"


def run(setting: Setting) -> Outcome:
    """Both rates; the heuristic with the thesis' top third."""
    both = (TABLE_5_5, TABLE_5_5_PRINTED)
    picks = [eager_order(s, "top_third").order for s in both]
    ranked = [ranking(4, lambda order, s=s: eager(s, order)) for s in both]  # type: ignore[misc]
    ties = [order for cost, order in ranked[0] if cost == ranked[0][0][0]]
    note = f"{len(ties)} orders cost the same as the best: {', '.join(','.join(f'S{k + 1}' for k in o) for o in ties)}"
    return Outcome(judge(four(both[0]), four(both[1]), picks, [r[0][0] for r in ranked]), (note,))


ENTRY = Entry(
    "T33",
    "Table 5.5: 16200 best (S2,S1,S3,S4), 42600 (S2,S3,S4,S1), 21000 (S1,S2,S3,S4), >135000 worst",
    "both variants (lambda1 = 10 and 100); ordering best < S1-first (1.30x) < S2,S3,S4,S1 (2.63x) < worst (8.34x)",
    run,
)
