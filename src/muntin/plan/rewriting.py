"""Plans with their leaves replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from muntin.plan.nodes import Node, Output, Scan


def map_scans(root: Output, f: Callable[[Scan], Scan]) -> Output:
    """The plan with every window on a stream replaced by ``f`` of it."""
    found: Output = _mapped(root, f)
    return found


def _mapped(node: Any, f: Callable[[Scan], Scan]) -> Any:
    if isinstance(node, Scan):
        return f(node)
    changed: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            changed[field.name] = _mapped(value, f)
        elif field.name == "parts":
            changed[field.name] = tuple(_mapped(p, f) for p in value)
    return replace(node, **changed)
