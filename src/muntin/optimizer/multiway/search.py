"""The cheapest order by trying all: n! orders, or n n! for orders by origin. For comparison with the heuristics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from muntin.optimizer.multiway.cost import lazy_term
from muntin.optimizer.multiway.streams import JoinStream, Order

Cost = Callable[[Order], float]


def ranking(n: int, cost: Cost) -> list[tuple[float, Order]]:
    """All orders of n streams with their costs, cheapest first, equal costs by order."""
    return sorted((cost(order), order) for order in permutations(range(n)))


def cheapest(n: int, cost: Cost) -> tuple[float, Order]:
    """The cheapest of all orders of n streams, the first in number order among equals."""
    return min((cost(order), order) for order in permutations(range(n)))


def cheapest_general(streams: Sequence[JoinStream], tau: float) -> tuple[float, tuple[Order, ...]]:
    """The cheapest order for each origin of GENERAL LAZY MULTI-WAY: origins do not depend on each other."""
    n = len(streams)
    best = [cheapest(n, lambda o, i=i: lazy_term(streams, o, i, tau)) for i in range(n)]  # type: ignore[misc]
    return sum(cost for cost, _ in best), tuple(order for _, order in best)
