"""Calls of users' functions over Arrow columns: rows without NULL in, and an answer that is looked at before use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.core.errors import DataError
from muntin.plan.exprs import USER, Call
from muntin.plan.user_functions import ScalarFunction
from muntin.scalars.cast_rules import Value


def call_user_code(call: Call, args: Sequence[Value], rows: int) -> pa.Array:
    """The answer for each of ``rows`` rows. Raises DataError where the code raises, or its answer does not fit."""
    function = call.code
    if function is None:
        name = call.fn.removeprefix(USER)
        raise DataError(f"the code of function {name} (version {call.version}) is not here: register it again")
    columns = [a if isinstance(a, pa.Array) else pa.repeat(a, rows) for a in args]
    if function.on_null == "call" or not any(c.null_count for c in columns):
        return _answer(function, call.type, columns)
    there = reduce(pc.and_, [c.is_valid() for c in columns]).to_numpy(zero_copy_only=False)
    chosen = np.flatnonzero(there)
    if not len(chosen):
        return pa.nulls(rows, call.type)
    part = _answer(function, call.type, [c.take(pa.array(chosen)) for c in columns])
    place = np.zeros(rows, np.int64)
    place[chosen] = np.arange(len(chosen))
    return part.take(pa.array(place, mask=~there))


def _answer(function: ScalarFunction, kind: pa.DataType, columns: list[pa.Array]) -> pa.Array:
    asked = f"asked about {len(columns[0])} rows of {', '.join(str(c.type) for c in columns)}"
    try:
        found = function.code(*columns)
    except Exception as e:
        raise DataError(f"function {function.name} failed, {asked}: {type(e).__name__}: {e}") from e
    array = _array(function, found, kind, asked)
    if len(array) != len(columns[0]):
        raise DataError(f"function {function.name} gave {len(array)} values, {asked}: it must give one for each row")
    return array


def _array(function: ScalarFunction, found: Any, kind: pa.DataType, asked: str) -> pa.Array:
    """What the code gave, as an array of the type that it is to have."""
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if not isinstance(found, pa.Array | list | tuple) and len(getattr(found, "shape", ())) != 1:
        given = f"function {function.name} gave a {type(found).__name__}"
        raise DataError(f"{given}, {asked}: it must give an array of one dimension")
    try:
        array = found if isinstance(found, pa.Array) else _made(found, kind)
        if array.type == kind:
            return array
        if _alike(array.type, kind):
            return array.cast(kind)
    except (pa.ArrowException, TypeError, ValueError) as e:
        raise DataError(f"function {function.name} gave what is no {kind}, {asked}: {e}") from e
    raise DataError(f"function {function.name} gave {array.type}, {asked}: it is registered as one that gives {kind}")


def _made(found: Any, kind: pa.DataType) -> pa.Array:
    """NumPy arrays and pandas' columns have types of their own, a list has that of the function."""
    if isinstance(found, list | tuple):
        return pa.array(found, kind)
    return pa.array(found, from_pandas=not isinstance(found, np.ndarray))


def _alike(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of one type may be taken as the other (FLOAT rounds; a value out of range is an error)."""
    t = pa.types
    whole = t.is_integer(given) and (t.is_integer(wanted) or t.is_floating(wanted) or t.is_decimal(wanted))
    near = (t.is_floating(given) and t.is_floating(wanted)) or (t.is_decimal(given) and t.is_decimal(wanted))
    texts = (t.is_string, t.is_large_string, t.is_string_view)
    times = t.is_timestamp(given) and t.is_timestamp(wanted) and (given.tz is None) == (wanted.tz is None)
    text = any(f(given) for f in texts) and t.is_string(wanted)
    return bool(t.is_null(given) or whole or near or text or times)
