"""Joins on different attributes: only some pairs of streams have a predicate (Golab & Ozsu 2003, 5.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from muntin.optimizer.multiway.streams import JoinStream, Order, checked

Predicates = Mapping[tuple[int, int], float]
"""Selectivity in (0, 1] of the predicate between two streams; a pair that is not there has none."""


def graph_orders(streams: Sequence[JoinStream], predicates: Predicates) -> tuple[Order, ...]:
    """An order by origin: its window outermost, then always the most selective predicate that the graph allows.

    Most selective: it leaves the fewest composites (window size times selectivities to those there). A stream without a
    predicate to those there is a Cartesian product, taken only when no other is left, smallest window first.
    """
    known = _checked(streams, predicates)
    return tuple(_order(streams, known, i) for i in range(len(streams)))


def graph_cost(streams: Sequence[JoinStream], predicates: Predicates, orders: Sequence[Sequence[int]]) -> float:
    """Comparisons per unit time, eager, ``orders[i]`` for new tuples of i; it starts with i.

    An index helps only where a predicate leads to its window.

    Raises:
        ValueError: not an order, it does not start with its origin, or a predicate is not between two of the streams.
    """
    known, total = _checked(streams, predicates), 0.0
    for origin, given in enumerate(orders):
        order = checked(streams, given)
        if order[0] != origin:
            raise ValueError(f"the order for stream {origin} starts with it: {order}")
        found = streams[origin].rate
        for depth, k in enumerate(order[1:], 1):
            closing = _closing(known, order[:depth], k)
            total += found * streams[k].weight * (streams[k].scanned if closing else streams[k].size)
            found *= streams[k].size * math.prod(closing)
    return total


def greedy_order(n: int, origin: int, rank: Callable[[Order, int], tuple[float, ...]]) -> Order:
    """The origin's window outermost, then always the stream with the lowest ``rank`` (of those there, and itself),
    the first among equals. What runs (``operators.joins.order``) ranks by what it measured."""
    order: Order = (origin,)
    rest = [k for k in range(n) if k != origin]
    while rest:
        best = min(rest, key=lambda k: (*rank(order, k), k))
        order = (*order, best)
        rest.remove(best)
    return order


def _order(streams: Sequence[JoinStream], known: Predicates, origin: int) -> Order:
    def rank(there: Order, k: int) -> tuple[float, ...]:
        closing = _closing(known, there, k)
        return not closing, streams[k].size * math.prod(closing), streams[k].scanned

    return greedy_order(len(streams), origin, rank)


def _closing(known: Predicates, there: Sequence[int], k: int) -> list[float]:
    return [known[pair] for i in there for pair in ((min(i, k), max(i, k)),) if pair in known]


def _checked(streams: Sequence[JoinStream], predicates: Predicates) -> Predicates:
    known = {(min(pair), max(pair)): share for pair, share in predicates.items()}
    for (i, j), share in known.items():
        if not (0 <= i < j < len(streams) and 0 < share <= 1):
            raise ValueError(f"a predicate is between two of the streams, its selectivity in (0, 1]: {(i, j)}: {share}")
    return known
