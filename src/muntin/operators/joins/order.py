"""In which order a new row visits the other windows of a join, from what was measured, and when the order changes.

The cost of an order is what the thesis counts (5.3.1): rows looked at and combinations made per second, summed over
the hops of every origin. Each input has an order of its own for its new rows (Golab & Ozsu, 5.2, 5.4: the origin
outermost, then what the join graph allows). A new order is taken when it promises a gain past a threshold more than
once in a row, so that it does not swing with every batch (their 5.4 leaves the trigger open). Where orders cost about
the same, the one with fluctuating streams first is taken, which would not be revised for them. The answer never
changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from muntin.operators.joins.join_graph import GraphJoin, way_into
from muntin.operators.joins.proposals import Rank, proposed, weight_of
from muntin.optimizer.multiway.heuristics import cheapest_of, fluctuating_on_top

Order = tuple[int, ...]
"""The inputs that an origin's row visits, first to last."""

GAIN = 0.25
"""Share of the present order's cost that a new one must save."""

PATIENCE = 2
"""Steps in a row for which it must promise that."""

MOST_PARTS = 4
"""Up to so many inputs every order is costed; beyond, those that the documents' heuristics propose (``proposals``)."""

CONDITION, IN_BAND = 1 / 3, 0.1
"""Shares of candidates that pass a condition, and that lie in a band, before anything was measured."""


@dataclass(frozen=True)
class Estimates:
    """What is known of the inputs: rows held, rows per second of event time, distinct values by (class, input), and by
    kind of hop how many more (or fewer) partners were found than predicted without it.

    ``unindexed``: (input, number) of indexes that are left out for want of memory. ``fluctuating``: inputs whose rates
    swing from step to step."""

    sizes: tuple[float, ...]
    rates: tuple[float, ...]
    distinct: Mapping[tuple[int, int], float]
    factors: Mapping[str, float]
    unindexed: frozenset[tuple[int, int]] = frozenset()
    fluctuating: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Visit:
    """One hop, per combination that makes it: rows looked at, partners found; ``dear``: what conditions cost beyond
    comparisons of numbers."""

    touched: float
    found: float
    dear: float = 0.0


@dataclass(frozen=True)
class Orders:
    """By origin: the order in use, and for how many steps in a row another has promised a gain."""

    orders: tuple[Order, ...]
    waiting: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """An order that was revised: steps per second predicted for the old and the new one."""

    origin: int
    old: Order
    new: Order
    cost_old: float
    cost_new: float


def unaided(op: GraphJoin, e: Estimates, bound: frozenset[int], j: int) -> Visit:
    """A hop as the sizes and distinct values predict it: of two columns the one with fewer values has a subset of the
    other's (thesis 5.3.1)."""
    way = way_into(op, bound, j)
    size = max(e.sizes[j], 0.0)
    found = size
    for n, c in enumerate(op.classes):
        inside = [i for i, _ in c if i in bound]
        if inside and op.column(n, j) is not None:
            least = min(e.distinct.get((n, i), 1.0) for i in inside)
            found /= max(e.distinct.get((n, j), 1.0), least, 1.0)
    if way.index is not None and (j, way.index) in e.unindexed:
        touched = size
    elif way.index is not None:
        values = [max(e.distinct.get((n, j), 1.0), 1.0) for n in op.indexes[j][way.index]]
        touched = size / min(_product(values), max(size, 1.0))
    elif way.band:
        touched = size * IN_BAND
        found = touched
    else:
        touched = size
    dear = found * sum(weight_of(op.conditions[n]) for n in way.closing)
    return Visit(touched, found * CONDITION ** max(len(way.closing) - bool(way.band), 0), dear)


def visit(op: GraphJoin, e: Estimates, bound: frozenset[int], j: int) -> Visit:
    """A hop as measured so far."""
    plain = unaided(op, e, bound, j)
    found = plain.found * e.factors.get(way_into(op, bound, j).kind, 1.0)
    return Visit(max(plain.touched, found), found, plain.dear)


def cost(op: GraphJoin, e: Estimates, origin: int, order: Order, once: bool = False) -> float:
    """Steps per second of an origin's rows. ``once``: a window is probed once for an origin's row, however many
    combinations it has (a join on one key)."""
    total, rows, bound = 0.0, e.rates[origin], frozenset([origin])
    for j in order:
        hop = visit(op, e, bound, j)
        total += rows * (1.0 + hop.touched + hop.found + hop.dear)
        rows *= min(1.0, hop.found) if once else hop.found
        bound |= {j}
    return total


def best_order(op: GraphJoin, e: Estimates, origin: int, once: bool = False) -> Order:
    """The cheapest order for an origin: of all for few inputs, else of those that the heuristics propose; among those
    that save less than would revise them (``GAIN``), the one with fluctuating streams first."""
    others = [j for j in range(len(e.sizes)) if j != origin]
    tried = permutations(others) if len(e.sizes) <= MOST_PARTS else proposed(op, e, origin, _ranks(op, e))
    best = cheapest_of(tried, lambda order: cost(op, e, origin, order, once))
    steady = fluctuating_on_top(best.order, e.fluctuating)
    return steady if (1 - GAIN) * cost(op, e, origin, steady, once) <= best.cost else best.order


def _ranks(op: GraphJoin, e: Estimates) -> tuple[Rank, Rank]:
    """The hop that finds fewest partners next; and so, but one without any condition only when no other is left."""

    def fewest(there: Order, j: int) -> tuple[float, ...]:
        hop = visit(op, e, frozenset(there), j)
        return hop.found, hop.touched

    def linked(there: Order, j: int) -> tuple[float, ...]:
        way = way_into(op, frozenset(there), j)
        return not (way.equal or way.closing), *fewest(there, j)

    return linked, fewest


def total_cost(op: GraphJoin, e: Estimates) -> float:
    """Steps per second of all origins' rows, each in its best order."""
    return sum(cost(op, e, i, best_order(op, e, i)) for i in range(len(e.sizes)))


def revised(op: GraphJoin, e: Estimates, now: Orders | None, once: bool = False) -> tuple[Orders, Sequence[Change]]:
    """The orders for the next step, and those that were changed; the first time the best ones are taken at once."""
    n = len(e.sizes)
    best = [best_order(op, e, i, once) for i in range(n)]
    if now is None:
        return Orders(tuple(best), (0,) * n), ()
    changes = []
    for i, (old, new) in enumerate(zip(now.orders, best, strict=True)):
        before, after = cost(op, e, i, old, once), cost(op, e, i, new, once)
        better = after < (1 - GAIN) * before
        waited = now.waiting[i] + 1 if better else 0
        if waited >= PATIENCE:
            changes.append(Change(i, old, new, before, after))
            now = replace(now, orders=_put(now.orders, i, new))
            waited = 0
        now = replace(now, waiting=_put(now.waiting, i, waited))
    return now, changes


def _put(values: tuple, i: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:i], value, *values[i + 1 :])


def _product(values: Sequence[float]) -> float:
    found = 1.0
    for v in values:
        found = min(found * v, 1e15)
    return found
