"""Answers of empty windows: a query that answers at every multiple of SLIDE does so through gaps between rows, too."""

from __future__ import annotations

from collections.abc import Mapping

from muntin.core.calendar import nominal
from muntin.dataflow.graph import QueryPlan
from muntin.operators.group_aggregate import GroupAggregate
from muntin.plan.windows import Range

MANY = 100_000
"""So many empty answers are told of."""


def answers_nothing(plan: QueryPlan) -> bool:
    """Whether the query gives an answer at each evaluation instant, over empty windows too."""
    aggregates = (v.op for v in plan.vertices if isinstance(v.op, GroupAggregate))
    return plan.ticks is not None and any(op.emit == "snapshots" and not op.groups for op in aggregates)


def empty_answers(plan: QueryPlan, results: int, rows: int) -> int:
    """At least so many of a batch's results are of empty windows; ``rows``: that its streams brought.

    A row is in as many answers as its window has multiples of SLIDE, and rows of earlier batches, which are all older
    than the first answer, are in no more than those.
    """
    if results <= MANY or not answers_nothing(plan):
        return 0
    assert plan.ticks is not None
    windows = [window for _, reach in plan.horizon for window, _ in reach]
    if not all(isinstance(w, Range) for w in windows):
        return 0
    longest = max(nominal(w.length) for w in windows if isinstance(w, Range))
    each = longest // min(map(nominal, plan.ticks.slides)) + 1
    return max(0, results - (rows + 1) * each * len(windows))


def gaps(plans: Mapping[str, QueryPlan], counts: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """By query what its author should know of a batch's empty answers; ``counts``: results, and rows of its streams."""
    found = {}
    for name, (results, rows) in counts.items():
        empty = empty_answers(plans[name], results, rows) if name in plans else 0
        if empty > MANY:
            streams = ", ".join(s.name for s in plans[name].streams if not s.static)
            found[name] = (
                f"at least {empty:,} of {results:,} answers are of empty windows: there is a gap in the times of "
                f"{streams}. Is one of them wrong? Option max_jump of a stream bounds how far a batch moves its time; "
                "GROUP BY leaves empty answers out"
            )
    return found
