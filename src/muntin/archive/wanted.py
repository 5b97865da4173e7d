"""Which rows a reader asks for: by search key, by time, and by what had not expired at an instant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.errors import ConfigError

VALUE, NAN, NULL = 0, 1, 2
"""Kinds of keys: NaN and NULL have blocks of their own, after all other keys."""

Mask = NDArray[np.bool_]


class Anything:
    """The key that is not asked for (None asks for NULL)."""

    def __repr__(self) -> str:
        return "any key"


ANY = Anything()


@dataclass(frozen=True)
class Wanted:
    """Rows with ``since <= time <= until`` that live at ``as_of``, and whose key is ``key`` (None: NULL; a NaN: NaN),
    or lies from ``low`` to ``high``, both included.

    Times are integers in the archive's unit. ``as_of``: None for the archive's own time. A range holds neither NaN nor
    NULL.
    """

    key: Any = ANY
    low: Any = None
    high: Any = None
    since: int | None = None
    until: int | None = None
    as_of: int | None = None

    def __post_init__(self) -> None:
        if self.key is not ANY and (self.low is not None or self.high is not None):
            raise ConfigError("ask for one key, or for a range of keys (low, high), not both")

    @property
    def kind(self) -> int | None:
        """The kind of key that it asks for; None for all."""
        if self.key is ANY:
            return None if self.low is None and self.high is None else VALUE
        if self.key is None:
            return NULL
        return NAN if isinstance(self.key, float) and self.key != self.key else VALUE

    def blocks(self, directory: pa.Table, as_of: int) -> NDArray[np.int64]:
        """Places in the directory of blocks that may have such rows."""
        chosen = numbers(directory, "max_exp") > as_of
        if self.since is not None:
            chosen &= numbers(directory, "max_time") >= self.since
        if self.until is not None:
            chosen &= numbers(directory, "min_time") <= self.until
        kind = self.kind
        if kind is not None:
            chosen &= numbers(directory, "kind") == kind
        if kind == VALUE:
            low, high = self.bounds(directory.column("first").type)
            if high is not None:
                chosen &= _true(pc.less_equal(_comparable(directory.column("first")), high))
            if low is not None:
                chosen &= _true(pc.greater_equal(_comparable(directory.column("last")), low))
        return np.flatnonzero(chosen)

    def rows(self, key: pa.ChunkedArray, time: NDArray[np.int64], exp: NDArray[np.int64], as_of: int) -> Mask:
        """Which rows are asked for."""
        chosen = exp > as_of
        if self.since is not None:
            chosen &= time >= self.since
        if self.until is not None:
            chosen &= time <= self.until
        kind = self.kind
        if kind is not None:
            chosen &= kinds(key) == kind
        if kind == VALUE:
            low, high = self.bounds(key.type)
            if low is not None:
                chosen &= _true(pc.greater_equal(_comparable(key), low))
            if high is not None:
                chosen &= _true(pc.less_equal(_comparable(key), high))
        return chosen

    def bounds(self, type: pa.DataType) -> tuple[pa.Scalar | None, pa.Scalar | None]:
        """The range in the type of the key. Raises ConfigError for values that are none of it."""
        ends = (self.low, self.high) if self.key is ANY else (self.key, self.key)
        low, high = (None if e is None else _as_key(e, type) for e in ends)
        return low, high


def _as_key(value: Any, type: pa.DataType) -> pa.Scalar:
    try:
        if isinstance(value, str) and not _is_text(type):
            found = pc.cast(pa.scalar(value.strip()), type)
        else:
            found = pa.scalar(value, type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as e:
        raise ConfigError(f"{value!r} is no value of the key, which is {type}: {e}") from None
    return found.cast(pa.uint8()) if pa.types.is_boolean(type) else found


def _is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column


def _true(mask: pa.ChunkedArray) -> Mask:
    found: Mask = np.asarray(pc.fill_null(mask, False).to_numpy(), dtype=bool)
    return found


def kinds(key: pa.ChunkedArray) -> NDArray[np.int8]:
    """The kind of each key."""
    found = np.zeros(len(key), np.int8)
    if pa.types.is_floating(key.type):
        found[_true(pc.is_nan(key))] = NAN
    if key.null_count:
        found[_true(pc.is_null(key))] = NULL
    return found


def numbers(table: pa.Table, name: str) -> NDArray[Any]:
    """A column of numbers without NULLs."""
    found: NDArray[Any] = table.column(name).to_numpy()
    return found


def instants(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """A column of times as integers: microseconds of timestamps."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return np.asarray(column.to_numpy(), dtype=np.int64)


def instant(value: Any, type: pa.DataType) -> int:
    """An instant that a user gives (number, datetime, ISO text) in the unit of a time column. Raises ConfigError."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if pa.types.is_timestamp(type):
        try:
            found = datetime.fromisoformat(value) if isinstance(value, str) else value
            if isinstance(found, date) and not isinstance(found, datetime):
                found = datetime(found.year, found.month, found.day)
            if isinstance(found, datetime):
                at = found if found.tzinfo else found.replace(tzinfo=UTC)
                return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        except ValueError:
            pass
    if isinstance(value, str) and value.strip().lstrip("-").isdigit():
        return int(value)
    raise ConfigError(
        f"{value!r} is no instant: give ISO text, as 2013-01-01T10:00:00, or a number in the unit of {type}"
    )
