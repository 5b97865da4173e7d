"""Which multi-way join algorithm inputs allow, what laziness loses, and which is cheapest (thesis 5.2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from muntin.optimizer.multiway.cost import eager, eager_terms, lazy_terms
from muntin.optimizer.multiway.streams import JoinStream
from muntin.plan.patterns import Pattern


class Algorithm(StrEnum):
    """The thesis' join algorithms."""

    EAGER = "eager"
    """Algorithm 2: evaluation and expiration at every arrival."""
    EAGER_LAZY_EXPIRY = "eager, lazy expiration"
    """Algorithm 3: expired tuples stay for a while, timestamps are compared."""
    LAZY = "lazy"
    """Algorithm 4: batches, results that expired between evaluations are lost."""
    LAZY_RESTORE = "lazy, restore"
    """Algorithm 5: batches, no result is lost."""


@dataclass(frozen=True)
class Variant:
    """An algorithm as the inputs allow it. ``eager_deletes``: negative tuples delete as they come; ``early_removal``:
    what expires before the next evaluation is removed now; ``stamped_deletes``: a negative tuple sets the expiry of its
    regular one, which stays until the evaluation."""

    algorithm: Algorithm
    eager_deletes: bool = False
    early_removal: bool = False
    stamped_deletes: bool = False


def allowed(patterns: Sequence[Pattern]) -> tuple[Variant, ...]:
    """What can run on inputs of these update patterns.

    If one is strict (negation below, count windows), expiries are not known ahead: Algorithm 3 does not apply, 4
    deletes eagerly and cannot remove early, 5 stamps deletions.
    """
    if max(patterns) is not Pattern.STR:
        return (
            Variant(Algorithm.EAGER),
            Variant(Algorithm.EAGER_LAZY_EXPIRY),
            Variant(Algorithm.LAZY, early_removal=True),
            Variant(Algorithm.LAZY_RESTORE),
        )
    return (
        Variant(Algorithm.EAGER, eager_deletes=True),
        Variant(Algorithm.LAZY, eager_deletes=True),
        Variant(Algorithm.LAZY_RESTORE, stamped_deletes=True),
    )


def lost_share(spans: Sequence[float], delta: float) -> float:
    """Share of results that lazy evaluation without restore loses, every tuple as likely to join old ones as new.

    A result of age l = 0 when its newest tuple comes is lost if it expires before the next evaluation, which comes
    after a uniform time up to ``delta``: 1 - 1/delta times the integral of prod (1 - l/T_j) over the other windows,
    weighted by how often each stream has the newest tuple, 1/T_i (the rates cancel). For equal windows about
    (n - 1) delta / (2 T), not the thesis' delta / T.

    Raises:
        ValueError: fewer than two windows, or a number that is not positive.
    """
    if len(spans) < 2 or not min(*spans, delta) > 0:
        raise ValueError(f"at least two windows, all times positive: {spans}, {delta}")
    weights = [1 / t for t in spans]
    lost = [1 - _survival([*spans[:i], *spans[i + 1 :]], min(delta, *spans)) / delta for i in range(len(spans))]
    return sum(w * x for w, x in zip(weights, lost, strict=True)) / sum(weights)


def _survival(spans: Sequence[float], until: float) -> float:
    """Integral of prod (1 - l/T) for l from 0 to ``until``, at most the shortest span."""
    polynomial = [1.0]
    for t in spans:
        shifted = [0.0, *(-c / t for c in polynomial)]
        polynomial = [a + b for a, b in zip([*polynomial, 0.0], shifted, strict=True)]
    return sum(c * until ** (k + 1) / (k + 1) for k, c in enumerate(polynomial))


def first_order_loss(n: int, span: float, delta: float) -> float:
    """(n - 1) delta / (2 T), what ``lost_share`` is for short intervals and equal windows."""
    return (n - 1) * delta / (2 * span)


def lagged_loss(span: float, lag: float, delta: float) -> float:
    """Share lost by a join of two windows where each new tuple finds partners of age ``lag``: they live span - lag."""
    return min(1.0, max(0.0, 1 - (span - lag) / delta))


def probes_per_tuple(stream: JoinStream, delta: float) -> float:
    """Runs of the loops per new tuple when a batch of ``delta`` is grouped by value: 1 without duplicates.

    lambda delta tuples over v values fall into v (1 - (1 - 1/v)^(lambda delta)) groups on average.
    """
    batch = max(stream.rate * delta, 1.0)
    return float(stream.distinct * (1 - (1 - 1 / stream.distinct) ** batch) / batch)


def estimate(variant: Variant, streams: Sequence[JoinStream], order: Sequence[int], delta: float) -> float:
    """Comparisons and expiry accesses per unit time; ``delta``: interval of evaluation, or of expiration for 3.

    Expiry looks at the head of every bucket of every other window at each arrival (2), or of every
    window once in ``delta``. A batch runs the loops once a group. No-restore removes early, so its windows hold T;
    restore keeps T + delta. Eager deletes cost an access for each tuple instead, and under eager evaluation the
    negative tuple runs the loops again.
    """
    shares = [probes_per_tuple(s, delta) for s in streams]
    heads, rate = sum(s.buckets for s in streams), sum(s.rate for s in streams)
    at_arrivals = sum((rate - s.rate) * s.buckets for s in streams)
    match variant.algorithm:
        case Algorithm.EAGER:
            return 2 * eager(streams, order) + rate if variant.eager_deletes else eager(streams, order) + at_arrivals
        case Algorithm.EAGER_LAZY_EXPIRY:
            return eager(streams, order, delta) + heads / delta
        case Algorithm.LAZY:
            upkeep = rate if variant.eager_deletes else heads / delta
            return sum(p * c for p, c in zip(shares, eager_terms(streams, order), strict=True)) + upkeep
        case Algorithm.LAZY_RESTORE:
            return sum(p * c for p, c in zip(shares, lazy_terms(streams, order, delta), strict=True)) + heads / delta


def choose(
    patterns: Sequence[Pattern],
    streams: Sequence[JoinStream],
    order: Sequence[int],
    delta: float,
    *,
    may_wait: bool,
    tolerated: float = 0.0,
) -> Variant:
    """The cheapest variant that the inputs and the user allow.

    ``may_wait``: results may come up to ``delta`` late; if not, only eager evaluation. ``tolerated``: share of results
    that may be lost; no-restore is out if it would lose more.
    """
    lazily = (Algorithm.LAZY, Algorithm.LAZY_RESTORE)
    loses = lost_share([s.span for s in streams], delta) > tolerated
    fitting = [
        v
        for v in allowed(patterns)
        if (may_wait or v.algorithm not in lazily) and not (v.algorithm is Algorithm.LAZY and loses)
    ]
    return min(fitting, key=lambda v: estimate(v, streams, order, delta))
