"""Attribute comparisons per unit time of multi-way window joins (Golab & Ozsu 2003, 4.2 and Appendix A; thesis 5.3.1).

Every formula is one sum: down an order of loops, each composite tuple found so far is compared with what the next
window shows it. Algorithms differ in what a window holds and shows, and in how new tuples stand in it:

=============  =======================  =========================  ============================
algorithm      a window holds           new tuples of the origin   runs per unit time
=============  =======================  =========================  ============================
eager          lambda T                 one, on top                lambda of the origin
eager naive    lambda T                 one, at its place          lambda of the origin
lazy           lambda (T + tau)         lambda tau, on top         1 / tau
lazy naive     lambda (T + tau)         lambda tau, at their place 1 / tau
general        lambda (T + tau)         lambda tau, by own order   1 / tau
=============  =======================  =========================  ============================

A hash index shows one bucket of b, so 1 / b of the window; what is found does not change. With b = 1 everywhere these
are the nested loops, with b > 1 on some windows the hybrid. Insertion and expiry are left out: they do not depend on
the order. ``*_terms`` give the cost by origin (C_i, thesis X_i; L_i; G_i; H_i), as many numbers as streams. Streams and
orders are numbered from 0. All raise ValueError for an order that is not one, or a tau that is not positive. A term
costs O(n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.optimizer.multiway.streams import JoinStream, Order, checked


@dataclass(frozen=True)
class Loop:
    """One window as a loop meets it: tuples that can join, comparisons that a composite pays, values."""

    holds: float
    shows: float
    distinct: float


def comparisons(loops: Sequence[Loop]) -> float:
    """Comparisons of one run of nested loops, outermost first; the outermost is only read."""
    found, values, total = loops[0].holds, loops[0].distinct, 0.0
    for loop in loops[1:]:
        total += found * loop.shows
        found *= loop.holds / max(values, loop.distinct)
        values = min(values, loop.distinct)
    return total


def origin_on_top(order: Sequence[int], origin: int) -> Order:
    """The loops for new tuples of ``origin`` under a global order: its window, then the others (Table 4)."""
    return (origin, *(k for k in order if k != origin))


def _window(s: JoinStream, late: float = 0.0, dead: float = 0.0) -> Loop:
    """``late``: time by which tuples that still join outstay T; ``dead``: by which others do, passed over."""
    held = s.rate * (s.span + late)
    return Loop(held, s.weight * (held + s.rate * dead) / s.buckets, s.distinct)


def _new(s: JoinStream, tuples: float) -> Loop:
    return Loop(tuples, s.weight * tuples / s.buckets, s.distinct)


def eager_term(streams: Sequence[JoinStream], loops: Sequence[int], origin: int, expiry: float = 0.0) -> float:
    """Comparisons per unit time for new tuples of ``origin``, each at once, down ``loops`` (all streams)."""
    run = [_new(s, 1.0) if k == origin else _window(s, dead=expiry / 2) for k in loops for s in (streams[k],)]
    return streams[origin].rate * comparisons(run)


def lazy_term(streams: Sequence[JoinStream], loops: Sequence[int], origin: int, tau: float) -> float:
    """Comparisons per unit time for new tuples of ``origin``, in batches every ``tau``, down ``loops`` (all streams).

    Every other window shows T + tau of its stream, wherever it stands.
    """
    run = [_new(s, s.rate * tau) if k == origin else _window(s, late=tau) for k in loops for s in (streams[k],)]
    return comparisons(run) / tau


def eager_terms(streams: Sequence[JoinStream], order: Sequence[int], expiry: float = 0.0) -> tuple[float, ...]:
    """C_i of EAGER MULTI-WAY (thesis X_i): the new tuple on top, the other windows in the global order.

    ``expiry``: interval of lazy expiration, 0 for eager. The documents give no formula for it; here a window shows
    lambda interval / 2 dead tuples on average, whose timestamps stop them from joining.
    """
    order = checked(streams, order)
    if expiry < 0:
        raise ValueError(f"an interval of expiration is not negative: {expiry}")
    return tuple(eager_term(streams, origin_on_top(order, i), i, expiry) for i in range(len(streams)))


def eager_naive_terms(streams: Sequence[JoinStream], order: Sequence[int]) -> tuple[float, ...]:
    """G_i of NAIVE MULTI-WAY, eager: the order is kept, the new tuple alone stands for its window."""
    order = checked(streams, order)
    return tuple(eager_term(streams, order, i) for i in range(len(streams)))


def lazy_terms(streams: Sequence[JoinStream], order: Sequence[int], tau: float) -> tuple[float, ...]:
    """L_i of LAZY MULTI-WAY: every ``tau`` the new tuples on top, the other windows in the global order."""
    order = checked(streams, order)
    return general_terms(streams, [origin_on_top(order, i) for i in range(len(streams))], tau)


def lazy_naive_terms(streams: Sequence[JoinStream], order: Sequence[int], tau: float) -> tuple[float, ...]:
    """H_i of NAIVE MULTI-WAY, lazy: the order is kept, the new tuples stand for their window."""
    return general_terms(streams, [order] * len(streams), tau)


def general_terms(streams: Sequence[JoinStream], orders: Sequence[Sequence[int]], tau: float) -> tuple[float, ...]:
    """GENERAL LAZY MULTI-WAY: ``orders[i]`` (all streams) for the new tuples of stream i, which may stand anywhere."""
    if len(orders) != len(streams):
        raise ValueError(f"one order for each of {len(streams)} origins, not {len(orders)}")
    if not tau > 0:
        raise ValueError(f"an interval of re-evaluation is positive: {tau}")
    return tuple(lazy_term(streams, checked(streams, order), i, tau) for i, order in enumerate(orders))


def eager(streams: Sequence[JoinStream], order: Sequence[int], expiry: float = 0.0) -> float:
    """Comparisons per unit time of EAGER MULTI-WAY, nested loops, hash or hybrid by the streams' buckets."""
    return sum(eager_terms(streams, order, expiry))


def eager_naive(streams: Sequence[JoinStream], order: Sequence[int]) -> float:
    """Comparisons per unit time of NAIVE MULTI-WAY with eager re-evaluation."""
    return sum(eager_naive_terms(streams, order))


def lazy(streams: Sequence[JoinStream], order: Sequence[int], tau: float) -> float:
    """Comparisons per unit time of LAZY MULTI-WAY."""
    return sum(lazy_terms(streams, order, tau))


def lazy_naive(streams: Sequence[JoinStream], order: Sequence[int], tau: float) -> float:
    """Comparisons per unit time of NAIVE MULTI-WAY with lazy re-evaluation."""
    return sum(lazy_naive_terms(streams, order, tau))


def general(streams: Sequence[JoinStream], orders: Sequence[Sequence[int]], tau: float) -> float:
    """Comparisons per unit time of GENERAL LAZY MULTI-WAY."""
    return sum(general_terms(streams, orders, tau))
