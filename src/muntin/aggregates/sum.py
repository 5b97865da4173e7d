"""SUM and AVG: exact inside, whatever the size and the order of the values; TRY_SUM and TRY_AVG, NULL of overflow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Accumulator, Replay, decimals, int128_words, weights_of
from muntin.aggregates.description import NUMBERS, Aggregate, Functions, Keeps, partial_name
from muntin.core.errors import DataError
from muntin.kernels import sums
from muntin.kernels.decimals import average, fits_decimal
from muntin.kernels.hashing import as_float64, validity_of
from muntin.kernels.moments import Total
from muntin.plan.exprs import Agg
from muntin.state.keyed_table import KeyedTable

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SumExact:
    """SUM and AVG of integers and decimals, exact inside whatever their size; a result outside its type is an error, or
    NULL if it ``tries``.

    AVG of decimals is a decimal, rounded half up; AVG of integers a double. ``weights``: over pane partials, the column
    with how many values each stands for.
    """

    name: str
    arg: str
    fn: str
    type: pa.DataType
    weights: str = ""
    tries: bool = False

    def values(self, replay: Replay) -> pa.Array:
        ev, plan, table = replay.events, replay.schedule, replay.groups
        column = ev.rows.column(self.arg)
        low, high = int128_words(column)
        change = sums.changes(ev.sign, validity_of(column), weights_of(ev.rows, self.weights))
        out_low, out_high, out_over, count = (np.empty(len(plan.group), np.int64) for _ in range(4))
        s_low, s_high, s_over, s_count = (table.counter(f"{self.name}.{part}") for part in ("low", "high", "over", "n"))
        sums.sum_int128(
            ev.group, change, low, high, plan.ev_end, plan.em_end, s_low, s_high, s_over, s_count, plan.group,
            out_low, out_high, out_over, count,
        )  # fmt: skip
        if self.fn == "avg":
            return self.average(out_low, out_high, out_over, count, column.type)
        return self.sum(out_low, out_high, out_over, count == 0)

    def average(self, low: Ints, high: Ints, over: Ints, count: Ints, held: pa.DataType) -> pa.Array:
        """AVG out of the words of sums of ``held`` values."""
        none = count == 0
        if not pa.types.is_decimal(self.type):
            total = sums.int128_to_double(low, high)
            with np.errstate(invalid="ignore", divide="ignore"):
                return pa.array(total / count, mask=none)
        out_low, out_high, out_over = (np.empty(len(low), np.int64) for _ in range(3))
        average(low, high, over, count, 10 ** (self.type.scale - held.scale), out_low, out_high, out_over)
        return self._decimals(out_low, out_high, out_over, none)

    def sum(self, low: Ints, high: Ints, over: Ints, none: NDArray[np.bool_]) -> pa.Array:
        """SUM out of the words of sums. Raises DataError where one leaves its type, unless it tries."""
        if pa.types.is_decimal(self.type):
            return self._decimals(low, high, over, none)
        outside = ~(sums.fits_int64(low, high) | none)
        if outside.any() and not self.tries:
            raise DataError(
                "a SUM of integers is outside 64 bits: sum a DECIMAL or DOUBLE instead (CAST the argument)"
            )
        return pa.array(low, mask=none | outside)

    def _decimals(self, low: Ints, high: Ints, over: Ints, none: NDArray[np.bool_]) -> pa.Array:
        outside = ~(fits_decimal(low, high, over, self.type.precision) | none)
        if outside.any() and not self.tries:
            raise DataError(
                f"{self.fn.upper()} of a DECIMAL is outside DECIMAL({self.type.precision}, {self.type.scale}); "
                "aggregate a DOUBLE or a DECIMAL of fewer digits instead (CAST the argument)"
            )
        return decimals(low, high, none | outside, self.type)


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


def doubles(column: pa.Array) -> pa.Array:
    """Numbers as the nearest doubles."""
    return column.cast(pa.float64(), safe=False)


def summed(name: str, replay: Replay, values: pa.Array) -> tuple[Total, Ints]:
    """By emission the sum of doubles (one an event), and how many there are; kept under ``name``."""
    near, rest, n = SumFloat(name, "", "sum").sums_of(replay, values)
    return Total(near, rest), n


def _floats(agg: Agg) -> bool:
    return agg.arg is not None and bool(pa.types.is_floating(agg.arg.type))


def _whole(agg: Agg) -> bool:
    """Whether sums of panes stand for their rows: those of doubles are exact only as limbs, and one value of a 64-bit
    unsigned integer may be more than a sum holds."""
    return not _floats(agg) and (agg.arg is None or agg.arg.type != pa.uint64())


def _plain(agg: Agg) -> str:
    return agg.fn.removeprefix("try_")


def _exact(name: str, arg: str, agg: Agg, weights: str = "") -> SumExact:
    return SumExact(name, arg, _plain(agg), agg.type, weights, tries=agg.fn != _plain(agg))


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return SumFloat(name, arg, _plain(agg)) if _floats(agg) else _exact(name, arg, agg)


def _sum_over_panes(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return _exact(name, partial_name(arg, "sum"), agg)


def _average_over_panes(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return _exact(name, partial_name(arg, "sum"), agg, partial_name(arg, "count"))


def _sum_type(t: pa.DataType) -> pa.DataType:
    if pa.types.is_decimal(t):
        return pa.decimal128(min(38, t.precision + 10), t.scale)
    return pa.int64() if pa.types.is_integer(t) else pa.float64()


def _average_type(t: pa.DataType) -> pa.DataType:
    return pa.decimal128(min(38, t.precision + 4), min(38, t.scale + 4)) if pa.types.is_decimal(t) else pa.float64()


SUM = Aggregate(
    "sum",
    ("sum",),
    takes=NUMBERS,
    type=_sum_type,
    build=_build,
    keeps=Keeps.COUNTERS,
    distinct="yes",
    parts=lambda agg: ("sum",) if _whole(agg) else (),
    merged=_sum_over_panes,
)
AVG = replace(
    SUM,
    fn="avg",
    names=("avg", "mean"),
    type=_average_type,
    parts=lambda agg: ("sum", "count") if _whole(agg) else (),
    merged=_average_over_panes,
)
TRY_SUM = replace(SUM, fn="try_sum", names=("try_sum",))
TRY_AVG = replace(AVG, fn="try_avg", names=("try_avg",))
