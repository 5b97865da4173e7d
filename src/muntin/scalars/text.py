"""String functions over Arrow columns, with Spark's rules (positions count characters from 1; trim takes spaces)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from muntin.scalars.cast import cast_value
from muntin.scalars.cast_rules import Value, by_value, convert
from muntin.scalars.clocks import constant


def _text(value: Value) -> Value:
    return convert(value, pa.string()) if pa.types.is_large_string(value.type) else cast_value(value, pa.string())


def _on_text(op: Callable[[Value], Value]) -> Callable[[Sequence[Value], pa.DataType], Value]:
    return lambda args, _: op(_text(args[0]))


def _cased(value: Value, ascii_only: Callable[[Value], Value], full: Callable[[str], str]) -> Value:
    """Letters beyond ASCII may become several, as ß in upper case: Arrow maps one to one."""
    plain = pc.all(pc.string_is_ascii(value)) if isinstance(value, pa.Array) else pc.string_is_ascii(value)
    return by_value(value, pa.string(), full) if plain.as_py() is False else ascii_only(value)


def _concat(args: Sequence[Value], _: pa.DataType) -> Value:
    return pc.binary_join_element_wise(*[_text(a) for a in args], "", null_handling="emit_null")


def _substring(args: Sequence[Value], kind: pa.DataType) -> Value:
    """substring(s, position[, length]): position 1 (or 0) is the first character, -1 the last."""
    value = _text(args[0])
    if isinstance(value, pa.Array) and all(isinstance(a, pa.Scalar) for a in args[1:]):
        bounds = [a.as_py() for a in args[1:]]
        if None in bounds:
            return pa.nulls(len(value), kind)
        start, stop = _slice_bounds(bounds[0], *bounds[1:])
        return pc.utf8_slice_codeunits(value, start, stop)
    rows = max(len(a) for a in args if isinstance(a, pa.Array))
    lists = [[a.as_py()] * rows if isinstance(a, pa.Scalar) else a.to_pylist() for a in (value, *args[1:])]
    return pa.array([None if None in row else _slice(*row) for row in zip(*lists, strict=True)], kind)


def _slice_bounds(position: int, length: int | None = None) -> tuple[int, int | None]:
    start = position - 1 if position > 0 else position
    if length is None:
        return start, None
    stop = start + max(length, 0)
    # counted from the end, a stop at or after the last character means "to the end"
    return start, None if position < 0 <= stop else stop


def _slice(s: str, position: int, length: int | None = None) -> str:
    start, stop = _slice_bounds(position, length)
    return s[start:stop]


def _replace(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Every occurrence of one plain text by another; an empty one has none."""
    value, old, new = _text(args[0]), *map(constant, args[1:])
    return pc.replace_substring(value, pattern=old, replacement=new) if old else value


def _like(args: Sequence[Value], _: pa.DataType) -> Value:
    """LIKE: ``%`` any run, ``_`` one character, backslash takes the next one literally."""
    value, pattern = _text(args[0]), _text(args[1])
    if isinstance(pattern, pa.Scalar):
        if not pattern.is_valid:
            return pa.nulls(len(value), pa.bool_())
        return pc.match_substring_regex(value, like_regex(pattern.as_py()))
    rows = len(pattern)
    values = [value.as_py()] * rows if isinstance(value, pa.Scalar) else value.to_pylist()
    matched = [
        None if s is None or p is None else _compiled(p).match(s) is not None
        for s, p in zip(values, pattern.to_pylist(), strict=True)
    ]
    return pa.array(matched, pa.bool_())


def like_regex(pattern: str) -> str:
    """The pattern as a regular expression (RE2 and Python alike) over the whole string."""
    parts, i = [], 0
    while i < len(pattern):
        c = pattern[i]
        if c == "\\" and i + 1 < len(pattern):
            i += 1
            parts.append(re.escape(pattern[i]))
        else:
            parts.append({"%": ".*", "_": "."}.get(c) or re.escape(c))
        i += 1
    return r"(?s)\A" + "".join(parts) + r"\z"


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(like_regex(pattern).removesuffix(r"\z") + r"\Z")


TABLE: Mapping[str, Callable[[Sequence[Value], pa.DataType], Value]] = {
    "lower": _on_text(lambda v: _cased(v, pc.ascii_lower, str.lower)),
    "upper": _on_text(lambda v: _cased(v, pc.ascii_upper, str.upper)),
    "length": _on_text(pc.utf8_length),
    "trim": _on_text(lambda v: pc.utf8_trim(v, characters=" ")),
    "ltrim": _on_text(lambda v: pc.utf8_ltrim(v, characters=" ")),
    "rtrim": _on_text(lambda v: pc.utf8_rtrim(v, characters=" ")),
    "replace": _replace,
    "concat": _concat,
    "substring": _substring,
    "like": _like,
}
