"""Shapes of plans that rules and the planner ask for."""

from __future__ import annotations

from muntin.aggregates.registry import described
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Node,
    Output,
    Rewindow,
    Scan,
    within,
)
from muntin.plan.windows import Range, Rows, Unbounded


def is_internal(node: Scan | Rewindow) -> bool:
    """Whether results over the window stay when its rows expire."""
    return isinstance(node.window, Range | Unbounded | Rows) and node.window.internal


def sees_order(node: Node) -> bool:
    """Whether the node's aggregates depend on the order of rows inside an instant."""
    if not isinstance(node, Aggregate | Apply):
        return False
    return any(described(a).ordered for _, a in node.aggs)


def is_rigid(output: Output) -> bool:
    """Whether it shows which operator made which row: INTERNAL windows, or -restore."""
    if output.kind.endswith("restore"):
        return True
    return any(is_internal(n) for n in within(output) if isinstance(n, Scan | Rewindow))
