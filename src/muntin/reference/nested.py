"""Parts of nested values, one row at a time: structs are dicts, arrays lists, maps dicts or lists of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from muntin.reference.values import compare, from_outside


def pairs_of(value: Any) -> list[tuple[Any, Any]]:
    """Keys and values of a map."""
    return list(value.items()) if isinstance(value, dict) else [tuple(pair) for pair in value]


def _is_map(value: Any) -> bool:
    return isinstance(value, dict) or any(isinstance(v, tuple) for v in value)


def _element(kind: Any, value: Any, at: Any) -> Any:
    if not value:
        return None
    if _is_map(value):
        return next((from_outside(v, kind) for k, v in pairs_of(value) if k == at), None)
    return from_outside(value[at], kind) if 0 <= at < len(value) else None


def _array_contains(_: Any, value: Any, wanted: Any) -> bool | None:
    if any(v is not None and compare(from_outside(v, pa.null()), wanted) == 0 for v in value):
        return True
    return None if any(v is None for v in value) else False


NESTED: dict[str, Callable[..., Any]] = {
    "field": lambda kind, value, name: from_outside(value.get(name), kind),
    "element": _element,
    "size": lambda _, value: len(value),
    "array_contains": _array_contains,
    "map_keys": lambda _, value: [k for k, _ in pairs_of(value)],
    "map_values": lambda _, value: [v for _, v in pairs_of(value)],
}
"""By function: the result type and the values of its arguments, none of them NULL."""
