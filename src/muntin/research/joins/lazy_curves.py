"""What the best orders of NAIVE, LAZY and GENERAL LAZY MULTI-WAY cost as tau grows (Golab & Ozsu 2003, Figure 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from muntin.optimizer.multiway.cost import lazy, lazy_naive
from muntin.optimizer.multiway.search import cheapest, cheapest_general
from muntin.optimizer.multiway.streams import Order
from muntin.research.harness import Series
from muntin.research.joins.parameters import Streams


@dataclass(frozen=True)
class LazyCosts:
    """Comparisons per unit time of the best order of each, and GENERAL's orders by origin."""

    naive: float
    lazy: float
    general: float
    orders: tuple[Order, ...] = ()


def analytic(streams: Streams, taus: Iterable[int]) -> dict[int, LazyCosts]:
    """By the model, all orders tried."""
    n, found = len(streams), {}
    for tau in taus:
        naive, _ = cheapest(n, lambda o, t=tau: lazy_naive(streams, o, t))  # type: ignore[misc]
        ours, _ = cheapest(n, lambda o, t=tau: lazy(streams, o, t))  # type: ignore[misc]
        found[tau] = LazyCosts(naive, ours, *cheapest_general(streams, tau))
    return found


def curves(points: dict[int, LazyCosts], suffix: str = "") -> Series:
    """Three curves over tau."""
    return {
        f"{name}{suffix}": [(float(t), getattr(p, name.lower())) for t, p in sorted(points.items())]
        for name in ("NAIVE", "LAZY", "GENERAL")
    }
