"""From a proposed order to one that no single move makes cheaper. Not in the documents.

Their heuristic looks at pairs, and with many different numbers of values it can miss the best order by a factor. Moving
one stream at a time to wherever it saves most finds the optimum of nearly all random instances of up to six streams
(``tests/optimizer/test_multiway_orders.py``), at n (n - 1) orders a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from muntin.optimizer.multiway.cost import eager
from muntin.optimizer.multiway.heuristics import Proposal, cheapest_of, eager_order
from muntin.optimizer.multiway.streams import JoinStream, Order


def climbed(start: Proposal, cost: Callable[[Order], float]) -> Proposal:
    """The cheapest neighbour of the order again and again, until none is cheaper; what ``start`` tried is kept."""
    found = start
    while True:
        near = cheapest_of(_neighbours(found.order), cost)
        tried = tuple(dict.fromkeys([*found.tried, *near.tried]))
        if near.cost >= found.cost * (1 - 1e-12):
            return Proposal(found.order, found.cost, tried)
        found = Proposal(near.order, near.cost, tried)


def eager_climbed(streams: Sequence[JoinStream]) -> Proposal:
    """The global order for EAGER MULTI-WAY that the heuristic and the climb from it find."""
    return climbed(eager_order(streams), lambda order: eager(streams, order))


def _neighbours(order: Order) -> Iterator[Order]:
    for i, stream in enumerate(order):
        rest = (*order[:i], *order[i + 1 :])
        for j in range(len(order)):
            if j != i:
                yield (*rest[:j], stream, *rest[j:])
