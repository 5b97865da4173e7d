"""Join orders without trying all n! of them (Golab & Ozsu 2003, section 5; thesis 5.3.2).

By window size where all windows have as many values; else by binary selectivity, the pair with the fewest results
first; then fast streams (and those with expensive predicates) are tried further up, and the cheapest order is kept.
Windows count as what a probe sees of them, lambda T / b.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from muntin.optimizer.multiway.cost import eager
from muntin.optimizer.multiway.streams import JoinStream, Order

Places = Literal["below_top", "top_third"]
"""Where fast streams are tried: anywhere above their place but the very top (2003), or in the top third (thesis)."""


@dataclass(frozen=True)
class Proposal:
    """The cheapest order of those ``tried``, and what the model says it costs (comparisons per unit time)."""

    order: Order
    cost: float
    tried: tuple[Order, ...]


def cheapest_of(orders: Iterable[Order], cost: Callable[[Order], float]) -> Proposal:
    """Cost each different order once; the first among equals (but for rounding) is kept."""
    tried = tuple(dict.fromkeys(orders))
    costs = [cost(order) for order in tried]
    least = min(costs) * (1 + 1e-12)
    best = next(i for i, c in enumerate(costs) if c <= least)
    return Proposal(tried[best], costs[best], tried)


def by_size(streams: Sequence[JoinStream]) -> Order:
    """Ascending lambda T / b, equal ones by number. Optimal for equal v and equal b (5.1, first heuristic)."""
    return tuple(sorted(range(len(streams)), key=lambda i: (streams[i].scanned, i)))


def by_rank(streams: Sequence[JoinStream]) -> Order:
    """Ascending (lambda T / v - 1) / (what a probe costs): optimal for equal v whatever the buckets and weights.

    Not in the documents: what a window lets through, lambda T / v, does not shrink with its buckets, so ascending
    lambda T / b may be wrong where buckets differ. Exchange of neighbours a, b: a first iff c_a + f_a c_b <= c_b +
    f_b c_a.
    """

    def rank(i: int) -> float:
        s = streams[i]
        return (s.size / s.distinct - 1) / (s.scanned * s.weight)

    return tuple(sorted(range(len(streams)), key=lambda i: (rank(i), i)))


def equal_value_orders(streams: Sequence[JoinStream]) -> tuple[Order, ...]:
    """``by_size`` and ``by_rank``, and the latter with each stream on top: what the outermost loop reads is free."""
    rank = by_rank(streams)
    return (by_size(streams), rank, *((i, *(k for k in rank if k != i)) for i in rank))


def pair_size(streams: Sequence[JoinStream], i: int, j: int) -> float:
    """phi_ij of the windows as a probe sees them."""
    return streams[i].scanned * streams[j].scanned / max(streams[i].distinct, streams[j].distinct)


def selectivity_orders(streams: Sequence[JoinStream]) -> tuple[Order, ...]:
    """By descending binary selectivity, smallest phi first (the documents' "ascending" is a slip): one or two orders.

    The pair with the smallest phi starts, on top the one of the two that has the smaller phi with a third; if that
    ties, both ways. Then always the stream with the smallest phi to one that is there, by size and number where equal.
    """
    every = range(len(streams))
    first = min(((i, j) for j in every for i in range(j)), key=lambda p: (pair_size(streams, *p), p))
    outside = [k for k in every if k not in first]
    left, right = (sorted(pair_size(streams, i, k) for k in outside) for i in first)
    starts = [p for p, wins in ((first, left <= right), (first[::-1], right <= left)) if wins]
    return tuple(_grown(streams, start) for start in starts)


def _grown(streams: Sequence[JoinStream], start: Order) -> Order:
    order, rest = list(start), [k for k in range(len(streams)) if k not in start]
    while rest:
        best = min(rest, key=lambda k: (min(pair_size(streams, i, k) for i in order), streams[k].scanned, k))
        order.append(best)
        rest.remove(best)
    return tuple(order)


def fast(streams: Sequence[JoinStream], factor: float = 1.5) -> tuple[int, ...]:
    """Streams faster than ``factor`` times the mean rate ("significantly faster" in the documents)."""
    return _outstanding([s.rate for s in streams], factor)


def expensive(streams: Sequence[JoinStream], factor: float = 1.5) -> tuple[int, ...]:
    """Streams whose predicate costs more than ``factor`` times the mean (Golab & Ozsu 5.4)."""
    return _outstanding([s.weight for s in streams], factor)


def _outstanding(values: Sequence[float], factor: float) -> tuple[int, ...]:
    limit = factor * sum(values) / len(values)
    return tuple(i for i, value in enumerate(values) if value > limit)


def moved_up(order: Order, chosen: Sequence[int], places: Sequence[int]) -> Iterator[Order]:
    """The order, and all that arise when each of ``chosen`` stays or goes up to one of ``places``: O(n^f) orders.

    Those chosen keep their order among each other, which their selectivities gave: in the example of Table 7 these are
    the documents' three orders.
    """
    kept = [k for k in order if k in chosen]
    options = [(None, *(p for p in places if p < order.index(s))) for s in chosen]
    for targets in product(*options):
        moves = sorted((p, s) for p, s in zip(targets, chosen, strict=True) if p is not None)
        moved = [k for k in order if k not in {s for _, s in moves}]
        for place, stream in moves:
            moved.insert(place, stream)
        if [k for k in moved if k in chosen] == kept:
            yield tuple(moved)


def indexed_innermost(streams: Sequence[JoinStream], order: Order) -> Order:
    """Windows without a hash index first, the others in the inner loops, which repeat the most (5.4)."""
    return tuple(sorted(order, key=lambda k: streams[k].buckets > 1))


def candidates(streams: Sequence[JoinStream], places: Places = "below_top") -> Iterator[Order]:
    """The orders that the heuristics of 5.1, 5.3 and 5.4 would cost, with repetitions."""
    n = len(streams)
    if len({s.distinct for s in streams}) == 1:
        yield from equal_value_orders(streams)
        return
    spots = range(1, n) if places == "below_top" else range(max(2, math.ceil(n / 3)))
    for base in selectivity_orders(streams):
        yield from moved_up(base, fast(streams), spots)
        yield from moved_up(base, expensive(streams), range(n))
        yield indexed_innermost(streams, base)


def eager_order(streams: Sequence[JoinStream], places: Places = "below_top") -> Proposal:
    """The global order for EAGER MULTI-WAY, nested loops, hash or hybrid; O(n^f) orders are costed, f fast streams."""
    return cheapest_of(candidates(streams, places), lambda order: eager(streams, order))


def fluctuating_on_top(order: Order, fluctuating: Iterable[int]) -> Order:
    """Where orders cannot be revised: streams whose rates are expected to fluctuate first, else as it was (5.4)."""
    wild = set(fluctuating)
    return tuple(sorted(order, key=lambda k: k not in wild))
