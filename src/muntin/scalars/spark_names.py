"""Functions of Spark's over Arrow columns: regular expressions, padding, logarithms, angles, bits, days, the epoch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.plan.failing import MOST_DAYS
from muntin.scalars.cast_rules import Value, convert, micros
from muntin.scalars.clocks import constant
from muntin.scalars.nested import bounds, inside, plain_list

Function = Callable[[Sequence[Value], pa.DataType], Value]
Doubles = NDArray[np.float64]


def _texts(value: Value) -> Value:
    return convert(value, pa.string())


def _plain(value: Value) -> str:
    """A constant text; the empty one over no rows."""
    return constant(value) or ""


def _whole(value: Value) -> int:
    return constant(value) or 0


def _concat_ws(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The texts that are there, with the first argument between them."""
    between, *parts = map(_texts, args)
    rows = max((len(p) for p in parts if isinstance(p, pa.Array)), default=1)
    begun = pc.binary_join_element_wise(pa.repeat("", rows), *parts, between, null_handling="skip")
    return pc.utf8_slice_codeunits(begun, len(_plain(between)))  # Arrow leaves rows out in which nothing is there


def _rlike(args: Sequence[Value], kind: pa.DataType) -> Value:
    return pc.match_substring_regex(_texts(args[0]), pattern=_plain(args[1]))


@lru_cache(maxsize=1024)
def marked(pattern: str, group: int) -> str:
    """The pattern with its ``group`` named g (0: the whole), and no other captured: RE2 gives what has a name."""
    parts, opened = [], 0
    for found in re.finditer(r"\\.|\[(?:\\.|[^\]])*\]|\(\?:|.", pattern, re.DOTALL):
        opened += found.group() == "("
        parts.append(("(?P<g>" if opened == group else "(?:") if found.group() == "(" else found.group())
    text = "".join(parts)
    return text if group else f"(?P<g>{text})"


def _extracted(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The group of the first match; the empty text where there is none."""
    text = _texts(args[0])
    found = pc.extract_regex(text, pattern=marked(_plain(args[1]), _whole(args[2])))
    group = pc.coalesce(pc.struct_field(found, 0), pa.scalar("", pa.string()))
    return pc.if_else(pc.is_valid(text), group, pa.scalar(None, pa.string()))


def _replaced(args: Sequence[Value], kind: pa.DataType) -> Value:
    return pc.replace_substring_regex(_texts(args[0]), pattern=_plain(args[1]), replacement=_plain(args[2]))


def _padded(pad: Callable[..., Value]) -> Function:
    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        width = _whole(args[1])
        cut = pc.utf8_slice_codeunits(_texts(args[0]), 0, width)
        return pad(cut, width=width, padding=_plain(args[2]))

    return run


def _instr(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Characters before the first place of the part, and 1; 0 where it is nowhere."""
    text, part = _texts(args[0]), _plain(args[1])
    before = pc.utf8_length(pc.list_element(pc.split_pattern(text, pattern=part, max_splits=1), 0))
    there = pc.match_substring(text, pattern=part)
    return convert(pc.if_else(there, pc.add(before, pa.scalar(1, before.type)), pa.scalar(0, before.type)), kind)


def _joined(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The texts of each array with the second argument between them; the third for NULL, which is else left out."""
    given = args[0] if isinstance(args[0], pa.Array) else pa.repeat(args[0], 1)
    value = plain_list(given)
    place, row = inside(*bounds(value))
    parts = value.values.take(pa.array(place))
    if len(args) > 2:
        parts = pc.fill_null(_texts(parts), _plain(args[2]))
    there = parts.is_valid().to_numpy(zero_copy_only=False)
    sizes = np.bincount(row[there], minlength=len(value))
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, _texts(parts.filter(pa.array(there))))
    return pc.if_else(value.is_valid(), pc.binary_join(lists, _plain(args[1])), pa.scalar(None, kind))


def _of_doubles(op: Callable[..., Doubles]) -> Function:
    """A function of NumPy's; what is not there stays so."""

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        columns = [convert(a, pa.float64()) for a in args]
        rows = max((len(c) for c in columns if isinstance(c, pa.Array)), default=1)
        columns = [pa.repeat(c, rows) if isinstance(c, pa.Scalar) else c for c in columns]
        with np.errstate(all="ignore"):
            made = op(*(c.fill_null(0.0).to_numpy(zero_copy_only=False) for c in columns))
        gone = np.zeros(rows, np.bool_)
        for c in columns:
            gone |= np.asarray(c.is_null())
        found = pa.array(made, kind, mask=gone)
        return found if any(isinstance(a, pa.Array) for a in args) else found[0]

    return run


def _logarithm(op: Callable[[Doubles], Doubles], least: float = 0.0) -> Function:
    """NULL of what is not above ``least``."""
    whole = _of_doubles(op)

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        x = convert(args[0], kind)
        above = pc.or_(pc.greater(x, least), pc.is_nan(x))
        return pc.if_else(above, whole(args, kind), pa.scalar(None, kind))

    return run


def _bits(op: Callable[[Value, Value], Value]) -> Function:
    return lambda args, kind: op(*(convert(a, kind) for a in args))


def _days(value: Value) -> Value:
    return pc.cast(convert(value, pa.date32()), pa.int32())


def _add_days(args: Sequence[Value], kind: pa.DataType) -> Value:
    """NULL where so many days cannot be added."""
    more = convert(args[1], pa.int32())
    near = pc.and_(pc.less_equal(more, MOST_DAYS), pc.greater_equal(more, -MOST_DAYS))
    kept = pc.if_else(near, more, pa.scalar(None, pa.int32()))
    return pc.cast(pc.add(_days(args[0]), kept), kind)


def _date_diff(args: Sequence[Value], kind: pa.DataType) -> Value:
    return convert(pc.subtract(_days(args[0]), _days(args[1])), kind)


TABLE: Mapping[str, Function] = {
    "concat_ws": _concat_ws,
    "rlike": _rlike,
    "regexp_extract": _extracted,
    "regexp_replace": _replaced,
    "reverse": lambda args, _: pc.utf8_reverse(_texts(args[0])),
    "repeat": lambda args, _: pc.binary_repeat(_texts(args[0]), _whole(args[1])),
    "lpad": _padded(pc.utf8_lpad),
    "rpad": _padded(pc.utf8_rpad),
    "instr": _instr,
    "split": lambda args, kind: convert(pc.split_pattern_regex(_texts(args[0]), pattern=_plain(args[1])), kind),
    "array_join": _joined,
    "octet_length": lambda args, kind: convert(pc.binary_length(_texts(args[0])), kind),
    "log1p": _logarithm(np.log1p, -1.0),
    "expm1": _of_doubles(np.expm1),
    "sinh": _of_doubles(np.sinh),
    "cosh": _of_doubles(np.cosh),
    "tanh": _of_doubles(np.tanh),
    "cbrt": _of_doubles(np.cbrt),
    "rint": _of_doubles(np.rint),
    "hypot": _of_doubles(np.hypot),
    "ln": _logarithm(np.log),
    "log10": _logarithm(np.log10),
    "exp": _of_doubles(np.exp),
    "sin": _of_doubles(np.sin),
    "cos": _of_doubles(np.cos),
    "tan": _of_doubles(np.tan),
    "asin": _of_doubles(np.arcsin),
    "acos": _of_doubles(np.arccos),
    "atan": _of_doubles(np.arctan),
    "asinh": _of_doubles(np.arcsinh),
    "acosh": _of_doubles(np.arccosh),
    "atanh": _of_doubles(np.arctanh),
    "cot": _of_doubles(lambda x: 1.0 / np.tan(x)),
    "sec": _of_doubles(lambda x: 1.0 / np.cos(x)),
    "csc": _of_doubles(lambda x: 1.0 / np.sin(x)),
    "atan2": _of_doubles(lambda y, x: np.arctan2(y + 0.0, x + 0.0)),
    "bit_and": _bits(pc.bit_wise_and),
    "bit_or": _bits(pc.bit_wise_or),
    "bit_xor": _bits(pc.bit_wise_xor),
    "add_days": _add_days,
    "date_diff": _date_diff,
    "unix_micros": lambda args, kind: convert(micros(args[0]), kind),
    "timestamp_micros": lambda args, kind: pc.cast(convert(args[0], pa.int64()), kind),
}
