"""Aggregate functions as accumulators: each replays a schedule of events and emissions with its own kernel.

An accumulator owns named int64 counters in the table of groups (so its state is written only for groups that changed)
and turns them into one value per emission. All of them subtract exactly; MIN and MAX keep the rows that can still win.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.errors import DataError
from muntin.kernels import sums
from muntin.kernels.decimals import average, fits_decimal
from muntin.kernels.hashing import as_float64, as_int64, decimal_words, validity_of
from muntin.kernels.schedule import Schedule
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import int64s

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Events:
    """Rows entering and leaving groups, in time order; ``rows`` holds the argument columns.

    ``exp`` is the expiry of each row; ``keys`` the group columns (for what keeps its state by key); ``sign`` what the
    event does to the group's count; ``entering``: at the row's start (else at its expiry).
    """

    rows: pa.RecordBatch
    keys: pa.RecordBatch
    time: Ints
    exp: Ints
    group: Ints
    sign: NDArray[np.int8]
    entering: NDArray[np.bool_]


@dataclass(frozen=True)
class Replay:
    """Everything a kernel replays in one step. ``low`` / ``high``: the instants of the step."""

    events: Events
    schedule: Schedule
    groups: KeyedTable
    state: ShardState
    low: int
    high: int


class Accumulator(Protocol):
    """``values``: one value per emission, as an Arrow array of the aggregate's type; moves the counters on."""

    def values(self, replay: Replay) -> pa.Array: ...


@dataclass(frozen=True)
class CountRows:
    """COUNT(*): the live rows of the group."""

    def values(self, replay: Replay) -> pa.Array:
        return pa.array(replay.schedule.live)


@dataclass(frozen=True)
class CountValues:
    """COUNT(x): rows whose ``arg`` is not NULL; ``weights``: over pane partials, the column with how many each has."""

    name: str
    arg: str
    weights: str = ""

    def values(self, replay: Replay) -> pa.Array:
        ev, plan = replay.events, replay.schedule
        out = np.empty(len(plan.group), np.int64)
        valid, weight = validity_of(ev.rows.column(self.arg)), _weights(ev.rows, self.weights)
        counter = replay.groups.counter(self.name)
        sums.count_valid(ev.group, ev.sign, valid, weight, plan.ev_end, plan.em_end, counter, plan.group, out)
        return pa.array(out)


@dataclass(frozen=True)
class SumExact:
    """SUM and AVG of integers and decimals, exact inside whatever their size; a result outside its type is an error.

    AVG of decimals is a decimal, rounded half up; AVG of integers a double. ``weights``: over pane partials, the column
    with how many values each stands for.
    """

    name: str
    arg: str
    fn: str
    type: pa.DataType
    weights: str = ""

    def values(self, replay: Replay) -> pa.Array:
        ev, plan, table = replay.events, replay.schedule, replay.groups
        column = ev.rows.column(self.arg)
        low, high = int128_words(column)
        weights = _weights(ev.rows, self.weights)
        out_low, out_high, out_over, count = (np.empty(len(plan.group), np.int64) for _ in range(4))
        s_low, s_high, s_over, s_count = (table.counter(f"{self.name}.{part}") for part in ("low", "high", "over", "n"))
        sums.sum_int128(
            ev.group, ev.sign, validity_of(column), low, high, weights, plan.ev_end, plan.em_end,
            s_low, s_high, s_over, s_count, plan.group, out_low, out_high, out_over, count,
        )  # fmt: skip
        if self.fn == "avg":
            return self._average(out_low, out_high, out_over, count, column.type)
        return self._sum(out_low, out_high, out_over, count == 0)

    def _average(self, low: Ints, high: Ints, over: Ints, count: Ints, held: pa.DataType) -> pa.Array:
        none = count == 0
        if not pa.types.is_decimal(self.type):
            total = np.empty(len(low))
            sums.int128_to_double(low, high, total)
            with np.errstate(invalid="ignore", divide="ignore"):
                return pa.array(total / count, mask=none)
        out_low, out_high, out_over = (np.empty(len(low), np.int64) for _ in range(3))
        average(low, high, over, count, 10 ** (self.type.scale - held.scale), out_low, out_high, out_over)
        return self._decimals(out_low, out_high, out_over, none)

    def _sum(self, low: Ints, high: Ints, over: Ints, none: NDArray[np.bool_]) -> pa.Array:
        if pa.types.is_decimal(self.type):
            return self._decimals(low, high, over, none)
        if not (sums.fits_int64(low, high) | none).all():
            raise DataError(
                f"SUM over {self.arg} is outside 64 bits; sum a DECIMAL or DOUBLE instead (CAST the argument)"
            )
        return pa.array(low, mask=none)

    def _decimals(self, low: Ints, high: Ints, over: Ints, none: NDArray[np.bool_]) -> pa.Array:
        if not (fits_decimal(low, high, over, self.type.precision) | none).all():
            raise DataError(
                f"{self.fn.upper()} over {self.arg} is outside DECIMAL({self.type.precision}, {self.type.scale}); "
                "aggregate a DOUBLE or a DECIMAL of fewer digits instead (CAST the argument)"
            )
        return decimals(low, high, none, self.type)


@dataclass(frozen=True)
class SumFloat:
    """SUM and AVG of doubles: exact until rounded once for the answer; NaN and infinities are counted, not added."""

    name: str
    arg: str
    fn: str

    def values(self, replay: Replay) -> pa.Array:
        out, _, out_count = self.sums_of(replay, replay.events.rows.column(self.arg), rest=False)
        with np.errstate(invalid="ignore", divide="ignore"):
            return pa.array(out / out_count if self.fn == "avg" else out, mask=out_count == 0)

    def sums_of(
        self, replay: Replay, column: pa.Array, rest: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], Ints]:
        """By emission: the sum of ``column`` (one value an event), what rounding it left over, and how many values."""
        ev, plan, table = replay.events, replay.schedule, replay.groups
        values = as_float64(column)
        limbs, offset = self._limbs(table, values)
        counts = np.stack([table.counter(f"{self.name}.{p}") for p in ("n", "nan", "pinf", "ninf")], axis=1)
        n = len(plan.group)
        out, left, out_count = np.empty(n), np.empty(n if rest else 0), np.empty(n, np.int64)
        sums.sum_float(
            ev.group, ev.sign, validity_of(column), values, plan.ev_end, plan.em_end, limbs, offset, counts, plan.group,
            out, left, out_count,
        )  # fmt: skip
        for k, part in enumerate(("n", "nan", "pinf", "ninf")):
            table.counters[f"{self.name}.{part}"] = np.ascontiguousarray(counts[:, k])
        for k in range(limbs.shape[1]):
            table.counters[f"{self.name}.limb{offset + k}"] = np.ascontiguousarray(limbs[:, k])
        return out, left, out_count

    def _limbs(self, table: KeyedTable, values: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        """The groups' limbs as one matrix, wide enough for the new values and for carries."""
        mark = f"{self.name}.limb"
        have = [int(n.removeprefix(mark)) for n in table.counters if n.startswith(mark)]
        low, high = sums.limb_range(values)
        if high >= low:
            have += [low, high + 2]
        first, last = (min(have), max(have)) if have else (0, 1)
        matrix = np.zeros((len(table), last - first + 1), np.int64)
        for k in range(first, last + 1):
            if f"{mark}{k}" in table.counters:
                matrix[:, k - first] = table.counters[f"{mark}{k}"]
        top = matrix[:, -1]
        if matrix.shape[1] > 1 and (np.abs(top) > 1 << 30).any():
            matrix = np.append(matrix, np.zeros((len(table), 1), np.int64), axis=1)
        return matrix, first


@dataclass(frozen=True)
class Variance:
    """VAR and STDDEV of numbers (as doubles) from exact sums of x and of x squared, combined in twice the precision.

    ``sample``: divided by n - 1 (NULL over one value); ``root``: the standard deviation.
    """

    name: str
    arg: str
    sample: bool
    root: bool

    def values(self, replay: Replay) -> pa.Array:
        x = replay.events.rows.column(self.arg).cast(pa.float64())
        square, rest = sums.squares(as_float64(x))
        parts = []
        for part, column in (("x", x), ("xx", pa.array(square)), ("rest", pa.array(rest))):
            mask = pa.array(validity_of(x)) if x.null_count else None
            masked = column if mask is None else pc.if_else(mask, column, pa.scalar(None, pa.float64()))
            parts.append(SumFloat(f"{self.name}.{part}", self.arg, "sum").sums_of(replay, masked))
        (sx, sx_low, n), (sq, sq_low, _), (sr, _, _) = parts
        variance = sums.variance(sx, sx_low, sq, sq_low + sr, n, self.sample)
        result = np.sqrt(variance) if self.root else variance
        return pa.array(result, mask=n <= (1 if self.sample else 0))


def decimals(low: Ints, high: Ints, none: NDArray[np.bool_], type: pa.DataType) -> pa.Array:
    """Decimals out of the words of their 128-bit integers; NULL where ``none``."""
    words = np.stack([low, high], axis=1).tobytes()
    mask = pa.array(~none).buffers()[1] if none.any() else None
    return pa.Array.from_buffers(type, len(low), [mask, pa.py_buffer(words)])


def _weights(rows: pa.RecordBatch, column: str) -> Ints:
    """How many rows or values each partial stands for; empty where the rows are no partials."""
    return int64s(rows, column) if column else np.empty(0, np.int64)


def int128_words(column: pa.Array) -> tuple[Ints, Ints]:
    """Integers or decimals as the low and high words of 128-bit integers; NULLs are any number."""
    if pa.types.is_decimal(column.type):
        return decimal_words(column)
    low = as_int64(column)
    return low, low >> 63
