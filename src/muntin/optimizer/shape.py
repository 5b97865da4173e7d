"""Shapes of plans that rules and the planner ask for."""

from __future__ import annotations

from muntin.optimizer.rewrite import is_nrr
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Filter,
    Join,
    Node,
    Output,
    Project,
    Rewindow,
    Scan,
    walk,
    within,
)
from muntin.plan.windows import Range, Rows, Unbounded, moves_with_rows

_PLAIN = Scan | Filter | Join | Aggregate | Project | Output
_ORDERED = ("first", "last")


def is_canonical(root: Output) -> bool:
    """Whether the query is SELECT ... FROM time windows WHERE ... GROUP BY ... HAVING, which has plans of its own:
    Project(Filter?(Aggregate?(Filter*(Scan | Join of Scans))))."""
    if not all(isinstance(n, _PLAIN) for n in walk(root)) or root.kind.endswith("restore"):
        return False
    if any(isinstance(n, Scan) and (moves_with_rows(n.window) or is_internal(n)) for n in walk(root)):
        return False
    project = root.input
    if not isinstance(project, Project):
        return False
    below = project.input
    below = below.input if isinstance(below, Filter) else below
    below = below.input if isinstance(below, Aggregate) else below
    while isinstance(below, Filter):
        below = below.input
    return isinstance(below, Scan) or (isinstance(below, Join) and all(isinstance(p, Scan) for p in below.parts))


def is_internal(node: Scan | Rewindow) -> bool:
    """Whether results over the window stay when its rows expire."""
    return isinstance(node.window, Range | Unbounded | Rows) and node.window.internal


def sees_order(node: Node) -> bool:
    """Whether the node's aggregates depend on the order of rows inside an instant."""
    if not isinstance(node, Aggregate | Apply):
        return False
    return any(a.fn in _ORDERED or a.fn.startswith("udaf:") for _, a in node.aggs)


def is_rigid(output: Output) -> bool:
    """Whether it shows which operator made which row: INTERNAL windows, or -restore."""
    if output.kind.endswith("restore"):
        return True
    return any(is_internal(n) for n in within(output) if isinstance(n, Scan | Rewindow))


def reads_nrr(node: Node) -> bool:
    """Whether a non-retroactive relation is below the node (not inside a windowed sub-query)."""
    return any(is_nrr(n) for n in within(node))
