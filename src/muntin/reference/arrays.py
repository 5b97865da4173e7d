"""Arrays and maps, one row at a time: arrays are lists, maps lists of pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import zip_longest
from typing import Any

from muntin.reference.nested import pairs_of
from muntin.reference.spark_names import parts_of
from muntin.reference.values import Failed, canonical, compare, from_outside

_MOST = 10_000_000


def _same(a: Any, b: Any) -> bool:
    return a is b if a is None or b is None else compare(a, b) == 0


def _has(values: list[Any], v: Any) -> bool:
    return any(_same(v, w) for w in values)


def _distinct(_: Any, values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for v in values:
        if not _has(found, v):
            found.append(v)
    return found


def _overlap(_: Any, a: list[Any], b: list[Any]) -> bool | None:
    if any(v is not None and _has(b, v) for v in a):
        return True
    return None if a and b and (None in a or None in b) else False


def _extreme(sign: int) -> Callable[..., Any]:
    def run(kind: Any, values: list[Any]) -> Any:
        best = None
        for v in values:
            if v is not None and (best is None or compare(v, best) * sign > 0):
                best = v
        return from_outside(best, kind)

    return run


def _sorted(_: Any, values: list[Any], up: bool, nulls_first: bool) -> list[Any]:
    there = sorted((v for v in values if v is not None), key=cmp_to_key(compare), reverse=not up)
    gone = [None] * (len(values) - len(there))
    return gone + there if nulls_first else there + gone


def _slice(_: Any, values: list[Any], start: int, size: int) -> list[Any]:
    if start == 0 or size < 0:
        raise Failed(start)
    first = start - 1 if start > 0 else len(values) + start
    return values[first : first + size] if first >= 0 else []


def _elt(_: Any, n: int, values: list[Any]) -> Any:
    if not 1 <= n <= len(values):
        raise Failed(n)
    return values[n - 1]


def _flatten(_: Any, values: list[Any]) -> list[Any] | None:
    return None if None in values else [v for part in values for v in part]


def _sequence(_: Any, start: int, stop: int, *step: int) -> list[int]:
    by = step[0] if step else 1 if start <= stop else -1
    if start != stop and (by == 0 or (stop - start) * by < 0):
        raise Failed(by)
    if by and (stop - start) // by >= _MOST:
        raise Failed(stop)
    return list(range(start, stop + (1 if by > 0 else -1), by)) if by else [start]


def _map(_: Any, keys: list[Any], values: list[Any]) -> list[tuple[Any, Any]]:
    if len(keys) != len(values) or None in keys or len(_distinct(None, keys)) < len(keys):
        raise Failed(keys)
    return [(canonical(k), v) for k, v in zip(keys, values, strict=True)]


def _of_entries(_: Any, entries: list[Any]) -> list[tuple[Any, Any]] | None:
    if None in entries:
        return None
    keys, values = ([[*e.values()][i] for e in entries] for i in range(2))
    return _map(None, keys, values)


def _of_text(_: Any, text: str, between: str, within: str) -> list[tuple[Any, Any]]:
    halves = [parts_of(part, within, 1) for part in parts_of(text, between)]
    return _map(None, [h[0] for h in halves], [h[-1] if len(h) > 1 else None for h in halves])


def _insert(_: Any, values: list[Any], place: int, one: list[Any]) -> list[Any]:
    beyond = abs(place) - len(values) - 1
    if place == 0 or abs(place) > _MOST:
        raise Failed(place)
    if place > 0:
        return [*values, *[None] * beyond, *one] if beyond >= 0 else [*values[: place - 1], *one, *values[place - 1 :]]
    at = len(values) + 1 + place
    return [*one, *[None] * beyond, *values] if beyond >= 0 else [*values[:at], *one, *values[at:]]


def _zip(kind: Any, *arrays: list[Any]) -> list[Any]:
    names = [f.name for f in kind.value_type]
    return [dict(zip(names, row, strict=True)) for row in zip_longest(*arrays)]


ARRAYS: dict[str, Callable[..., Any]] = {
    "array_concat": lambda _, *parts: [v for part in parts for v in part],
    "array_distinct": _distinct,
    "array_except": lambda _, a, b: [v for v in _distinct(None, a) if not _has(b, v)],
    "array_intersect": lambda _, a, b: [v for v in _distinct(None, a) if _has(b, v)],
    "arrays_overlap": _overlap,
    "array_max": _extreme(1),
    "array_min": _extreme(-1),
    "sort_array": _sorted,
    "array_position": lambda _, values, v: next((i for i, w in enumerate(values, 1) if _same(v, w)), 0),
    "array_remove": lambda _, values, v: [w for w in values if not _same(v, w)],
    "array_compact": lambda _, values: [v for v in values if v is not None],
    "array_reverse": lambda _, values: values[::-1],
    "slice": _slice,
    "flatten": _flatten,
    "elt": _elt,
    "map_from_entries": _of_entries,
    "str_to_map": _of_text,
    "array_insert": _insert,
    "arrays_zip": _zip,
    "sequence": _sequence,
    "map_from_arrays": _map,
    "map_entries": lambda _, m: [{"key": k, "value": v} for k, v in pairs_of(m)],
}
"""By function: the result type and the values of its arguments, none of them NULL."""

SEE_NULL: dict[str, Callable[..., Any]] = {
    "array": lambda *values: list(values),
    "array_repeat": lambda v, n: None if n is None else [v] * max(n, 0),
}
