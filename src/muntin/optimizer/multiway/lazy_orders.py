"""Orders for lazy re-evaluation (Golab & Ozsu 2003, 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muntin.optimizer.multiway.cost import lazy, lazy_term, origin_on_top
from muntin.optimizer.multiway.heuristics import Places, Proposal, candidates, cheapest_of
from muntin.optimizer.multiway.streams import JoinStream, Order


@dataclass(frozen=True)
class LazyProposal:
    """An order for the new tuples of each stream, the cost of all (comparisons per unit time), how many orders were
    costed, and whether new tuples are on top everywhere, so that LAZY MULTI-WAY does as well."""

    orders: tuple[Order, ...]
    cost: float
    tried: int
    on_top: bool


def lazy_order(streams: Sequence[JoinStream], tau: float, places: Places = "below_top") -> Proposal:
    """The global order for LAZY MULTI-WAY: the heuristics for eager evaluation on windows of T + tau."""
    longer = [replace(s, span=s.span + tau) for s in streams]
    return cheapest_of(candidates(longer, places), lambda order: lazy(streams, order, tau))


def general_orders(streams: Sequence[JoinStream], tau: float, places: Places = "below_top") -> LazyProposal:
    """An order by origin for GENERAL LAZY MULTI-WAY.

    For each origin the same heuristics, with tau in place of T for the window of the new tuples; beside them the order
    of ``lazy_order`` with new tuples on top, which is as good while tau is small.
    """
    shared = lazy_order(streams, tau, places)
    found = [_for_origin(streams, i, tau, shared.order, places) for i in range(len(streams))]
    return LazyProposal(
        tuple(p.order for p in found),
        sum(p.cost for p in found),
        len(shared.tried) + sum(len(p.tried) for p in found),
        all(_is_on_top(p.order, i) for i, p in enumerate(found)),
    )


def _for_origin(streams: Sequence[JoinStream], i: int, tau: float, shared: Order, places: Places) -> Proposal:
    seen = [replace(s, span=tau if k == i else s.span + tau) for k, s in enumerate(streams)]
    tried = [origin_on_top(shared, i), *candidates(seen, places)]
    return cheapest_of(tried, lambda order: lazy_term(streams, order, i, tau))


def _is_on_top(order: Order, origin: int) -> bool:
    """First or second: the two outermost loops may change places without a change of cost."""
    return origin in order[:2]
