"""Pane partials: rows of one group that enter and leave together become one row before they are stored.

With SLIDE every row's validity is moved to evaluation instants, so all rows of a pane (what lies between two instants)
share theirs. Counts, exact sums, MIN and MAX of a pane's rows stand for the rows themselves: state and later work are
then proportional to groups and panes, not to rows. Doubles are not summed here: their sums are exact only as limbs.
Cost: one hash access a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import decimals, int128_words
from muntin.aggregates.description import partial_name
from muntin.aggregates.order import order_keys
from muntin.aggregates.registry import described
from muntin.aggregates.user_defined import PREFIX, name_of
from muntin.core.batch import Batch
from muntin.kernels import panes
from muntin.kernels.decimals import fits_decimal
from muntin.kernels.hashing import validity_of
from muntin.kernels.keys import first_rows, key_ids
from muntin.kernels.sums import fits_int64
from muntin.plan.aggregates import Evaluate
from muntin.plan.exprs import Agg

Ints = NDArray[np.int64]
Words = tuple[Ints, Ints, Ints]
"""Sums as words of 128-bit integers, and how many times 2**128 is to be added."""
Wanted = Mapping[str, frozenset[str]]
"""By argument column ("" for COUNT(*)): the partials wanted of it, among count, sum, min, max and the states of
user-defined aggregates (``udaf:name``)."""


def wanted_of(aggs: Iterable[tuple[Agg, str]]) -> Wanted:
    """The partials that aggregates need, each given with its argument's column."""
    found: dict[str, frozenset[str]] = {}
    for agg, column in aggs:
        found[column] = found.get(column, frozenset()) | frozenset(described(agg).parts(agg))
    return found


def fold_panes(
    batch: Batch, groups: tuple[str, ...], wanted: Wanted, functions: Mapping[str, Evaluate] | None = None
) -> Batch:
    """Interval rows (groups and arguments) as partials, in order of start."""
    rows = batch.columns
    times = [pa.array(batch.ts), pa.array(batch.exp)]
    ids, count, first = key_ids([*times, *(rows.column(n) for n in groups)], rows.num_rows)
    words = _sum_words(rows, ids, count, wanted)
    split = _outgrown(rows, words, count)
    if split.any():
        ids, count = panes.apart(ids, count, split)
        first = first_rows(ids, count)
        words = _sum_words(rows, ids, count, wanted)
    index = pa.array(first)
    columns = {n: rows.column(n).take(index) for n in groups}
    for name, parts in sorted(wanted.items()):
        for part in sorted(parts):
            match part:
                case "sum":
                    made = _sums(rows, name, ids, count, words[name])
                case _ if part.startswith(PREFIX):
                    made = _states(rows.column(name), ids, count, (functions or {})[name_of(part)])
                case _:
                    made = _picked(rows, name, part, ids, count)
            columns[partial_name(name, part)] = made
    partials = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    folded = Batch(partials, batch.ts[first], batch.exp[first])
    return folded.in_time()


def _sum_words(rows: pa.RecordBatch, ids: Ints, count: int, wanted: Wanted) -> dict[str, Words]:
    """The sums by argument."""
    columns = {n: rows.column(n) for n, parts in wanted.items() if "sum" in parts}
    return {n: panes.fold_int128(ids, count, validity_of(c), *int128_words(c)) for n, c in columns.items()}


def _outgrown(rows: pa.RecordBatch, words: Mapping[str, Words], count: int) -> NDArray[np.bool_]:
    """Which partials have a sum that 64 bits (a decimal of 38 digits) do not hold: their rows are kept as they are."""
    split = np.zeros(count, np.bool_)
    for name, (low, high, over) in words.items():
        decimal = pa.types.is_decimal(rows.column(name).type)
        split |= ~(fits_decimal(low, high, over, 38) if decimal else fits_int64(low, high))
    return split


def _sums(rows: pa.RecordBatch, name: str, ids: Ints, count: int, words: Words) -> pa.Array:
    column, (low, high, _) = rows.column(name), words
    none = np.zeros(count, np.bool_)
    if column.null_count:
        none = panes.fold_count(ids, count, validity_of(column)) == 0
    if pa.types.is_decimal(column.type):
        return decimals(low, high, none, pa.decimal128(38, column.type.scale))
    return pa.array(low, mask=none) if none.any() else pa.array(low)


def _picked(rows: pa.RecordBatch, name: str, part: str, ids: Ints, count: int) -> pa.Array:
    """Counts, or the least or greatest value of each partial."""
    valid = validity_of(rows.column(name)) if name else np.empty(0, np.bool_)
    if part == "count":
        return pa.array(panes.fold_count(ids, count, valid))
    best = panes.fold_greatest(ids, count, valid, order_keys(rows.column(name), part))
    return rows.column(name).take(pa.array(best, mask=best < 0))


def _states(values: pa.Array, ids: Ints, count: int, code: Evaluate) -> pa.Array:
    """The stored state of the values of each id; NULL for none."""
    kept = np.flatnonzero(validity_of(values)) if values.null_count else np.arange(len(values))
    order = kept[np.argsort(ids[kept], kind="stable")]
    ends = np.cumsum(np.bincount(ids[kept], minlength=count))
    sorted_values = values.take(pa.array(order))
    found = [
        code.pack(code.state_of(sorted_values.slice(a, b - a))) if b > a else None
        for a, b in pairwise([0, *ends.tolist()])
    ]
    return pa.array(found, pa.binary())
