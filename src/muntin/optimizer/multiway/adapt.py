"""Orders while rates change (Golab & Ozsu 2003, 5.4). The thesis (5.3) leaves the trigger open; here it is a ratio."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin.optimizer.multiway.heuristics import Proposal, eager_order
from muntin.optimizer.multiway.streams import JoinStream, Order


def drifted(then: Sequence[JoinStream], now: Sequence[JoinStream], threshold: float) -> bool:
    """Whether some rate has grown or shrunk by more than ``threshold`` (0.5: by half, or to below 1 / 1.5).

    Raises:
        ValueError: not the same number of streams, or a threshold that is not positive.
    """
    if len(then) != len(now) or not threshold > 0:
        raise ValueError(f"as many streams as before ({len(then)}, {len(now)}), and a positive threshold: {threshold}")
    return any(max(a.rate / b.rate, b.rate / a.rate) > 1 + threshold for a, b in zip(then, now, strict=True))


def revised(
    order: Order, then: Sequence[JoinStream], now: Sequence[JoinStream], threshold: float
) -> tuple[Order, Proposal | None]:
    """The order to use now: as it is until a rate has drifted past ``threshold`` since ``then``, when the heuristic is
    run again (its proposal comes along)."""
    if not drifted(then, now, threshold):
        return order, None
    proposal = eager_order(now)
    return proposal.order, proposal


def fluctuating_on_top(order: Order, fluctuating: Iterable[int]) -> Order:
    """Where the heuristic cannot be run again: streams that are expected to fluctuate first, else as it was."""
    wild = set(fluctuating)
    return tuple(sorted(order, key=lambda k: k not in wild))
