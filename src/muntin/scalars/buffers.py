"""Texts and binary values as NumPy arrays of bytes or of code points, and back: what functions of characters use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.errors import DataError
from muntin.scalars.cast_rules import Value, convert

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Points = NDArray[np.uint32]
Bools = NDArray[np.bool_]

_MOST = 2**31 - 1


def columns(args: Sequence[Value]) -> list[pa.Array]:
    """All arguments as arrays of one length; NULLs of no type are kept."""
    rows = max((len(a) for a in args if isinstance(a, pa.Array)), default=1)
    return [a if isinstance(a, pa.Array) else pa.repeat(a, rows) for a in args]


def text_column(value: Value) -> pa.Array:
    """An argument as an array of texts."""
    text = convert(value, pa.string())
    return text if isinstance(text, pa.Array) else pa.repeat(text, 1)


def bytes_column(value: Value) -> pa.Array:
    """An argument, a text or a binary value, as an array of binary values: texts in UTF-8."""
    found = pc.cast(value, pa.binary())
    return found if isinstance(found, pa.Array) else pa.repeat(found, 1)


def raw(value: pa.Array) -> tuple[Bytes, Ints]:
    """Bytes of all rows one after the other, and where each row's begin (one place more than rows); NULL has none."""
    if pa.types.is_large_string(value.type) or pa.types.is_large_binary(value.type):
        value = pc.cast(value, pa.string() if pa.types.is_large_string(value.type) else pa.binary())
    if value.null_count:
        value = pc.fill_null(value, "" if pa.types.is_string(value.type) else b"")
    buffers, rows = value.buffers(), len(value)
    if not rows or buffers[2] is None:
        return np.zeros(0, np.uint8), np.zeros(rows + 1, np.int64)
    starts = np.frombuffer(buffers[1], np.int32)[value.offset : value.offset + rows + 1].astype(np.int64)
    return np.frombuffer(buffers[2], np.uint8)[starts[0] : starts[-1]], starts - starts[0]


def packed(data: Bytes, starts: Ints, kind: pa.DataType, missing: Bools | None = None) -> pa.Array:
    """Texts or binary values of such bytes; NULL in the rows that are ``missing``.

    Raises:
        DataError: they are 2 GB or more.
    """
    if starts[-1] > _MOST:
        raise DataError("the texts of one batch are 2 GB or more: read smaller batches")
    offsets = pa.py_buffer(starts.astype(np.int32))
    made = pa.Array.from_buffers(kind, len(starts) - 1, [None, offsets, pa.py_buffer(np.ascontiguousarray(data))])
    if missing is None or not missing.any():
        return made
    return pc.if_else(pa.array(missing), pa.scalar(None, kind), made)


def points(value: pa.Array) -> tuple[Points, Ints]:
    """As ``raw``, with code points for bytes."""
    data, starts = raw(value)
    found = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
    before = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])
    return found, before[starts]


def of_points(found: Points, starts: Ints, missing: Bools | None = None) -> pa.Array:
    """Texts of such code points."""
    sizes = 1 + (found >= 0x80) + (found >= 0x800) + (found >= 0x10000).astype(np.int64)
    data = np.frombuffer(found.astype("<u4").tobytes().decode("utf-32-le").encode(), np.uint8)
    return packed(data, np.concatenate([[0], np.cumsum(sizes)])[starts], pa.string(), missing)


def distinct_points(found: Points) -> tuple[Points, Ints]:
    """The characters that are there, in their order, and of each in the text its number among them."""
    there = np.zeros(int(found.max(initial=0)) + 1, np.bool_)
    there[found] = True
    return np.flatnonzero(there).astype(np.uint32), (np.cumsum(there) - 1)[found]


def spread_by_point(
    found: Points, starts: Ints, which: Bools, one: Callable[[str], str], other: Callable[[str], str]
) -> tuple[Points, Ints]:
    """``one`` of the characters of ``which``, ``other`` of the rest, in Python once for each that is there; a character
    may become several."""
    known, at = distinct_points(found)
    made = [one(chr(c)) for c in known] + [other(chr(c)) for c in known]
    sizes, letters = np.array([len(t) for t in made], np.int64), np.array([ord(c) for t in made for c in t], np.uint32)
    chosen = at + np.where(which, 0, len(known))
    many = sizes[chosen]
    ends = np.concatenate([[0], np.cumsum(many)])
    first = (np.cumsum(sizes) - sizes)[chosen]
    place = np.arange(ends[-1]) + np.repeat(first - ends[:-1], many)
    return letters[place], ends[starts]


def by_point(found: Points, f: Callable[[str], str]) -> Points:
    """``f`` of each character, in Python once for each that is there; one that becomes several stays as it is."""
    known, which = distinct_points(found)
    table = [f(chr(c)) for c in known]
    made = np.array([ord(t) if len(t) == 1 else c for c, t in zip(known, table, strict=True)], np.uint32)
    return made[which] if len(known) else found


def rows_of(starts: Ints) -> Ints:
    """Of each byte (or code point, or element) the number of its row."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def counted(marks: Bools, starts: Ints) -> Ints:
    """How many marks each row has."""
    before = np.concatenate([[0], np.cumsum(marks)])
    return before[starts[1:]] - before[starts[:-1]]


def kept(data: NDArray[np.generic], starts: Ints, keep: Bools) -> tuple[NDArray[np.generic], Ints]:
    """What is kept of each row, one after the other, and where each row's begins."""
    before = np.concatenate([[0], np.cumsum(keep)])
    return data[keep], before[starts]


def nulls(value: pa.Array) -> Bools:
    """Where the array is NULL."""
    return np.asarray(value.is_null(), np.bool_)
