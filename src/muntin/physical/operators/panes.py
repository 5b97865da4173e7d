"""Pane partials: rows of one group that enter and leave together become one row before they are stored.

With SLIDE every row's validity is moved to evaluation instants, so all rows of a pane (what lies between two instants)
share theirs. Counts, exact sums, MIN and MAX of a pane's rows stand for the rows themselves: state and later work are
then proportional to groups and panes, not to rows. Doubles are not summed here: their sums are exact only as limbs.
Cost: one hash access a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.kernels import panes, sums
from muntin.kernels.hashing import validity_of
from muntin.kernels.keys import key_ids
from muntin.physical.operators.accumulators import decimals, int128_words
from muntin.physical.operators.extremes import order_keys
from muntin.plan.exprs import Agg
from muntin.state.window_rows import EXP, START, int64s, timed

ROWS = "__n"
"""How many rows a partial stands for."""

Ints = NDArray[np.int64]
Wanted = Mapping[str, frozenset[str]]
"""By argument column ("" for COUNT(*)): the partials wanted of it, among count, sum, min and max."""


def wanted_of(aggs: Iterable[tuple[Agg, str]]) -> Wanted:
    """The partials that aggregates need, each given with its argument's column."""
    found: dict[str, frozenset[str]] = {}
    for agg, column in aggs:
        parts = {"sum", "count"} if agg.fn == "avg" else {agg.fn}
        found[column] = found.get(column, frozenset()) | parts
    return found


def partial_name(column: str, part: str) -> str:
    """The column that holds a partial of an argument."""
    return f"{column}.{part}" if column else ROWS


def fold_panes(rows: pa.RecordBatch, groups: tuple[str, ...], wanted: Wanted) -> pa.RecordBatch:
    """Interval rows (groups, arguments, start, exp) as partials, in order of first appearance."""
    key_columns = [rows.column(n) for n in groups]
    times = [pa.array(int64s(rows, n)) for n in (START, EXP)]
    ids, count, first = key_ids([*times, *key_columns], rows.num_rows)
    split = _outgrown(rows, ids, count, wanted)
    if split.any():
        ids, count = panes.apart(ids, count, split)
        first = np.empty(count, np.int64)
        first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    index = pa.array(first)
    columns = {n: rows.column(n).take(index) for n in groups}
    for column, parts in sorted(wanted.items()):
        for part in sorted(parts):
            columns[partial_name(column, part)] = _partial(rows, column, part, ids, count)
    plain = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    folded = timed(plain, *(int64s(rows, n)[first] for n in (START, EXP)))
    start = int64s(folded, START)
    if (start[1:] >= start[:-1]).all():
        return folded
    return folded.take(pa.array(np.argsort(start, kind="stable")))


def _outgrown(rows: pa.RecordBatch, ids: Ints, count: int, wanted: Wanted) -> NDArray[np.bool_]:
    """Which partials have a sum that 64 bits do not hold: their rows are kept as they are."""
    split = np.zeros(count, np.bool_)
    for name in (n for n, parts in wanted.items() if "sum" in parts):
        column = rows.column(name)
        if not pa.types.is_decimal(column.type):
            low, high = panes.fold_int128(ids, count, validity_of(column), *int128_words(column))
            split |= ~sums.fits_int64(low, high)
    return split


def _partial(rows: pa.RecordBatch, name: str, part: str, ids: Ints, count: int) -> pa.Array:
    if not name:
        return pa.array(panes.fold_count(ids, count, np.empty(0, np.bool_)))
    column = rows.column(name)
    valid = validity_of(column)
    match part:
        case "count":
            return pa.array(panes.fold_count(ids, count, valid))
        case "sum":
            return _sums(column, valid, ids, count)
        case _:
            best = panes.fold_greatest(ids, count, valid, order_keys(column, part))
            return column.take(pa.array(best, mask=best < 0))


def _sums(column: pa.Array, valid: NDArray[np.bool_], ids: Ints, count: int) -> pa.Array:
    low, high = panes.fold_int128(ids, count, valid, *int128_words(column))
    none = panes.fold_count(ids, count, valid) == 0 if len(valid) else np.zeros(count, np.bool_)
    if not pa.types.is_decimal(column.type):
        return pa.array(low, mask=none) if none.any() else pa.array(low)
    return decimals(low, high, none, pa.decimal128(38, column.type.scale))
