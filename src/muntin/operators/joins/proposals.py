"""Orders that the documents' heuristics propose for a running join, from what it measured (Golab & Ozsu 2003, 5.1, 5.3,
5.4; thesis 5.3.2).

On a join graph: always the most selective hop that the graph allows, expensive conditions tried further up. On one key
also the orders by size or selectivity with fast streams and expensive predicates moved up. Who takes them costs each by
its own measure and per origin, so that no order is worse than the documents' one for all origins.

Not used of the documents: orders for lazy evaluation (5.2), since a batch's rows are combined as columns with the new
rows on top, which they find best while the interval is short beside the window; and the choice between their
algorithms (thesis 5.2.3), since only the one that restores is exact and a batch is its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from muntin.operators.joins.join_graph import GraphJoin
from muntin.optimizer.multiway.graph import greedy_order
from muntin.optimizer.multiway.heuristics import candidates, expensive, moved_up
from muntin.optimizer.multiway.streams import JoinStream, Order
from muntin.plan.exprs import Call, Expr

if TYPE_CHECKING:
    from muntin.operators.joins.order import Estimates

MOST_TRIED = 60
"""Orders of an origin that are costed: with many fast streams there are n^f."""

TEXTS = frozenset(["lower", "upper", "concat", "substring", "trim", "ltrim", "rtrim", "replace", "like"])

TEXT_WEIGHT = 10.0
"""What a function that reads or makes a text costs a row, in comparisons of numbers."""

Rank = Callable[[Order, int], tuple[float, ...]]
"""How good a hop is from the inputs that are bound: lowest first."""


def proposed(op: GraphJoin, e: Estimates, origin: int, ranks: tuple[Rank, ...]) -> list[Order]:
    """The inputs that an origin's row may visit, in different orders, without the origin."""
    found = islice(_proposed(op, join_streams(op, e), origin, ranks), MOST_TRIED)
    return list(dict.fromkeys(tuple(k for k in order if k != origin) for order in found))


def _proposed(op: GraphJoin, streams: tuple[JoinStream, ...], origin: int, ranks: tuple[Rank, ...]) -> Iterator[Order]:
    greedy = [greedy_order(len(streams), origin, rank) for rank in ranks]
    yield from greedy
    if _one_key(op):
        yield from candidates(streams)
    dear = [k for k in expensive(streams) if k != origin]
    for order in greedy:
        yield from moved_up(order, dear, range(1, len(streams)))


def join_streams(op: GraphJoin, e: Estimates) -> tuple[JoinStream, ...]:
    """The inputs as the cost model knows them: without an index they have one bucket, with it one a value."""
    return tuple(_join_stream(op, e, j) for j in range(len(e.sizes)))


def _join_stream(op: GraphJoin, e: Estimates, j: int) -> JoinStream:
    size, values = max(e.sizes[j], 1.0), 1.0
    for n in range(len(op.classes)):
        values = min(values * max(e.distinct.get((n, j), 1.0), 1.0), size)
    indexed = any(x and (j, n) not in e.unindexed for n, x in enumerate(op.indexes[j]))
    weight = 1.0 + sum(weight_of(c) for i, c in enumerate(op.conditions) if j in op.inputs_of(i))
    return JoinStream.of_rows(max(e.rates[j], 1e-9), size, values, max(int(values), 1) if indexed else 1, weight)


def weight_of(condition: Expr) -> float:
    """What a condition costs a candidate beyond comparing numbers."""
    if not isinstance(condition, Call):
        return 0.0
    return TEXT_WEIGHT * (condition.fn in TEXTS) + sum(map(weight_of, condition.args))


def _one_key(op: GraphJoin) -> bool:
    """Whether every input has every key: the documents' joins on a common attribute."""
    return bool(op.classes) and all(len(c) == len(op.columns) for c in op.classes)
