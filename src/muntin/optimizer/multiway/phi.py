"""How many results a join of windows has (Golab & Ozsu 2003, Appendix A; thesis 5.3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin.optimizer.multiway.streams import JoinStream


def phi(streams: Sequence[JoinStream], members: Iterable[int]) -> float:
    """Expected results of the join of the windows ``members``, in any order of them.

    phi of one window is lambda T; with each further one, times lambda T / max(values so far, v). (The thesis prints
    lambda_j T_j for lambda_k T_k in phi_ijk.)
    """
    return phi_hat(streams, members, 0.0)


def phi_hat(streams: Sequence[JoinStream], members: Iterable[int], tau: float) -> float:
    """As ``phi`` under lazy re-evaluation every ``tau``, when a window holds T + tau of its stream."""
    found, values = 1.0, 0.0
    for k in members:
        s = streams[k]
        found *= s.rate * (s.span + tau) / max(values, s.distinct) if values else s.rate * (s.span + tau)
        values = min(values, s.distinct) if values else s.distinct
    return found


def distinct_of(streams: Sequence[JoinStream], members: Iterable[int]) -> float:
    """Values of the join attribute in the join of ``members``: the fewest that any of them has."""
    return min(streams[k].distinct for k in members)
