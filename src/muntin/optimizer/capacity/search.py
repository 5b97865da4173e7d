"""Which left-deep plan to run, drop boxes included (Ayad & Naughton 2004, 5).

Cartesian products are in the space: under overload they are often what to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, permutations

from muntin.optimizer.capacity.boxes import Boxes, best_boxes, linear_boxes
from muntin.optimizer.capacity.model import Join, JoinCost, Leaf, Plan, Select, Source, alone, is_linear
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

    @cached_property
    def units(self) -> dict[Order, tuple[tuple[float, float], ...]]:
        """What ``_units`` found; one for all queries that differ in rates alone (the last hundred shapes)."""
        windows = tuple((s.rows, s.span) for s in self.sources)
        shape = windows, tuple(sorted(self.predicates.items())), self.cost, self.selections
        while len(_known) > 100:
            _known.pop(next(iter(_known)))
        return _known.setdefault(shape, {})

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


def boxed(query: JoinQuery, order: Order, shares: Sequence[float], capacity: float) -> Boxes:
    """The best boxes of the left-deep plan of ``order`` over sources that have boxes of ``shares`` already."""
    rates = [x * s.rate for x, s in zip(shares, query.sources, strict=True)]
    if is_linear(query.sources):
        units = _units(query, order)
        return linear_boxes(
            [r * gain for r, (gain, _) in zip(rates, units, strict=True)],
            [r * work for r, (_, work) in zip(rates, units, strict=True)],
            capacity,
        )
    thinned = [replace(s, rate=rate) for s, rate in zip(query.sources, rates, strict=True)]
    return best_boxes(left_deep(query, order), thinned, capacity)


_known: dict[Hashable, dict[Order, tuple[tuple[float, float], ...]]] = {}
"""By shape of a query and order: (output, work) a second due to one tuple a second of each source."""


def _units(query: JoinQuery, order: Order) -> tuple[tuple[float, float], ...]:
    if order not in query.units:
        ones = [replace(s, rate=1.0) for s in query.sources]
        flows = [alone(left_deep(query, order), ones, i) for i in range(len(ones))]
        query.units[order] = tuple((f.rate, f.work) for f in flows)
    return query.units[order]


def best_plan(query: JoinQuery, capacity: float = 1.0) -> Chosen:
    """The plan with the greatest lambda / C of all left-deep ones: the cheapest feasible one, else the one that gives
    the most with its boxes. Cost: O(n!) plans."""
    return max(
        (Chosen(o, boxed(query, o, (1.0,) * len(query.sources), capacity)) for o in orders(len(query.sources))),
        key=lambda c: c.boxes.worth,
    )


def cheapest_plan(query: JoinQuery) -> Chosen:
    """The plan with the lowest utilisation, without boxes."""

    ones = (1.0,) * len(query.sources)
    every = (Chosen(o, boxed(query, o, ones, math.inf)) for o in orders(len(query.sources)))
    return min(every, key=lambda c: c.boxes.work)


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
    order = (*base.order, new) if len(base.order) > 1 else (min(*base.order, new), max(*base.order, new))
    more = boxed(query, order, base.boxes.shares, capacity)
    shares = tuple(x * y for x, y in zip(base.boxes.shares, more.shares, strict=True))
    return Chosen(order, Boxes(shares, more.output, more.work))
