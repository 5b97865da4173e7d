"""Rewriting plans from the leaves up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from muntin.plan.nodes import (
    Apply,
    Join,
    Node,
    OuterJoin,
    Output,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
)


def rebuild(node: Node, f: Callable[[Node], Node]) -> Node:
    """``f`` of the node over its rebuilt inputs."""
    match node:
        case Scan() | TableScan():
            return f(node)
        case Join(parts):
            return f(replace(node, parts=tuple(rebuild(p, f) for p in parts)))
        case SemiJoin() | OuterJoin() | SetOp() | Apply():
            return f(replace(node, left=rebuild(node.left, f), right=rebuild(node.right, f)))
        case Rewindow(output):
            inner = rebuild(output, f)
            assert isinstance(inner, Output)
            return f(replace(node, input=inner))
        case _:
            return f(replace(node, input=rebuild(node.input, f)))
