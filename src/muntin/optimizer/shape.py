"""Shapes of plans that rules and the planner ask for."""

from __future__ import annotations

from muntin.aggregates.registry import described
from muntin.plan.nodes import Aggregate, Apply, Node, Output, has_internal


def sees_order(node: Node) -> bool:
    """Whether the node's aggregates depend on the order of rows inside an instant."""
    if not isinstance(node, Aggregate | Apply):
        return False
    return any(described(a).ordered for _, a in node.aggs)


def is_rigid(output: Output) -> bool:
    """Whether it shows which operator made which row: INTERNAL windows, or -restore."""
    return output.kind.endswith("restore") or has_internal(output)
