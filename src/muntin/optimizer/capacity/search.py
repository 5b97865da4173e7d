"""Which left-deep plan to run, drop boxes included (Ayad & Naughton 2004, 5).

Cartesian products are in the space: under overload they are often what to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from muntin.optimizer.capacity.boxes import Boxes, best_boxes
from muntin.optimizer.capacity.model import Join, JoinCost, Leaf, Plan, Select, Source, flow
from muntin.optimizer.multiway.graph import Predicates
from muntin.optimizer.multiway.streams import Order


@dataclass(frozen=True)
class JoinQuery:
    """Streams, selectivities of the predicates between pairs of them, what a join costs, and by stream the selections
    on it ((share, seconds a tuple), in the order that they are done)."""

    sources: tuple[Source, ...]
    predicates: Predicates
    cost: JoinCost
    selections: tuple[tuple[tuple[float, float], ...], ...] = ()

    def selectivity(self, there: Sequence[int], new: int) -> float:
        """Of joining ``new`` with all that is there; 1 for a Cartesian product."""
        pairs = ((min(i, new), max(i, new)) for i in there)
        return math.prod(self.predicates.get(pair, 1.0) for pair in pairs)

    def input(self, source: int) -> Plan:
        """A source under its selections."""
        plan: Plan = Leaf(source)
        for share, cost in self.selections[source] if self.selections else ():
            plan = Select(plan, share, cost)
        return plan


@dataclass(frozen=True)
class Chosen:
    """A plan by its order of sources, and its drop boxes."""

    order: Order
    boxes: Boxes


def left_deep(query: JoinQuery, order: Sequence[int]) -> Plan:
    """((first join second) join third) ...; ``order`` may leave sources out."""
    plan = query.input(order[0])
    for depth, k in enumerate(order[1:], 1):
        plan = Join(plan, query.input(k), query.selectivity(order[:depth], k), query.cost)
    return plan


def orders(n: int) -> Iterator[Order]:
    """All left-deep plans but those that differ in which of the first two is left: n! / 2 (one for a single source)."""
    return (order for order in permutations(range(n)) if n < 2 or order[0] < order[1])


def best_plan(query: JoinQuery, capacity: float = 1.0) -> Chosen:
    """The plan with the greatest lambda / C of all left-deep ones: the cheapest feasible one, else the one that gives
    the most with its boxes. Cost: O(n!) plans."""
    return max(
        (Chosen(o, best_boxes(left_deep(query, o), query.sources, capacity)) for o in orders(len(query.sources))),
        key=lambda c: c.boxes.worth,
    )


def cheapest_plan(query: JoinQuery) -> Chosen:
    """The plan with the lowest utilisation, without boxes."""

    def unboxed(order: Order) -> Chosen:
        f = flow(left_deep(query, order), query.sources)
        return Chosen(order, Boxes((1.0,) * len(query.sources), f.rate, f.work))

    return min(map(unboxed, orders(len(query.sources))), key=lambda c: c.boxes.work)


def heuristic_plan(query: JoinQuery, capacity: float = 1.0, watch: Callable[[Chosen], None] = lambda c: None) -> Chosen:
    """System R's search, bottom up: the best plan of each set of sources extends those of one source less, their boxes
    with them; boxes that come later on the same source multiply (5.2). O(n 2^n) plans.

    Finds the best left-deep plan where one is feasible; else a good one. ``watch`` sees what is kept of each set.
    """
    n = len(query.sources)
    best: dict[frozenset[int], Chosen] = {
        frozenset((i,)): Chosen((i,), best_boxes(query.input(i), query.sources, capacity)) for i in range(n)
    }
    for size in range(2, n + 1):
        for chosen in combinations(range(n), size):
            grown = (_extended(query, best[frozenset(chosen) - {k}], k, capacity) for k in chosen)
            best[frozenset(chosen)] = kept = max(grown, key=lambda c: c.boxes.worth)
            watch(kept)
    return best[frozenset(range(n))]


def _extended(query: JoinQuery, base: Chosen, new: int, capacity: float) -> Chosen:
    """``base`` joined with a source more, and boxes on top of its own if that is too much."""
    before = base.boxes.shares
    thinned = [replace(s, rate=x * s.rate) for s, x in zip(query.sources, before, strict=True)]
    order = (*base.order, new) if len(base.order) > 1 else (min(*base.order, new), max(*base.order, new))
    more = best_boxes(left_deep(query, order), thinned, capacity)
    shares = tuple(x * y for x, y in zip(before, more.shares, strict=True))
    return Chosen(order, Boxes(shares, more.output, more.work))
