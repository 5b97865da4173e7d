"""A join order, written as a tree and as loops (Golab & Ozsu 2003, Figure 1), and the orders by origin (Table 4)."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.optimizer.multiway.cost import origin_on_top
from muntin.optimizer.multiway.streams import Order


def by_origin(order: Sequence[int]) -> tuple[Order, ...]:
    """For new tuples of each stream, in stream order: its own window on top, the others as in the global order."""
    return tuple(origin_on_top(order, i) for i in range(len(order)))


def tree(order: Sequence[int]) -> str:
    """The extreme right-deep tree, streams named from S1: ``S1 x (S2 x (S3 x S4))``."""
    names = [f"S{k + 1}" for k in order]
    text = names[-1]
    for i, name in reversed(list(enumerate(names[:-1]))):
        text = f"{name} x {text}" if i == len(names) - 2 else f"{name} x ({text})"
    return text


def loops(order: Sequence[int]) -> str:
    """The nested loops, a line each: every loop but the outermost tests its tuple before it goes deeper."""
    lines = [f"for t{order[0] + 1} in S{order[0] + 1}"]
    for depth, k in enumerate(order[1:], 1):
        lines.append(f"{'  ' * depth}for t{k + 1} in S{k + 1} if t{k + 1} matches t{order[0] + 1}")
    return "\n".join([*lines, f"{'  ' * len(order)}result ({', '.join(f't{k + 1}' for k in order)})"])
