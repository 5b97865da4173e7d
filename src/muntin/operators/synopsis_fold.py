"""Rows of a stream folded into the partials of a synopsis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import int128_words
from muntin.aggregates.moments import series
from muntin.aggregates.order import order_keys
from muntin.core.batch import no_columns
from muntin.kernels import sums
from muntin.kernels.hashing import as_float64, validity_of
from muntin.kernels.keys import key_ids
from muntin.kernels.panes import fold_count, fold_int128
from muntin.kernels.synopses import fold_doubles, fold_key
from muntin.operators.predicate_index import combined
from muntin.operators.synopsis_held import TERMS
from muntin.state.pane_partials import Partials

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Argument:
    """What aggregates take: a column of the rows, and the parts that are kept of it, among n, sum, min, max and the
    terms of ``aggregates.moments``; ``name`` is that of its columns in the synopsis."""

    name: str
    column: str
    type: pa.DataType
    parts: tuple[str, ...]


def fold_rows(
    rows: pa.RecordBatch, pane: Ints, sig: Ints, groups: Mapping[str, str], arguments: tuple[Argument, ...], grid: int
) -> Partials:
    """The partials of rows with the ends of their panes and the numbers of their signatures; ``groups``: columns of
    the rows by their names in the synopsis. In order of panes. Cost: one table or hash access a row."""
    count = rows.num_rows
    keys = [rows.column(c) for c in groups.values()]
    group, groups_there, _ = key_ids(keys, count) if keys else (np.zeros(count, np.int64), 1, None)
    first_pane = int(pane.min()) if count else 0
    number = (pane - first_pane) // grid
    sizes = [int(number.max()) + 1 if count else 1, groups_there, int(sig.max()) + 1 if count else 1]
    ids, first = combined([number, group, sig], sizes, count)
    order = np.argsort(pane[first], kind="stable")
    place = np.empty(len(first), np.int64)
    place[order] = np.arange(len(first))
    ids, first = place[ids], first[order]
    columns: dict[str, Ints] = {}
    for a in arguments:
        columns |= _folded(rows.column(a.column), a, ids, len(first))
    at = pa.array(first)
    kept = pa.RecordBatch.from_arrays([k.take(at) for k in keys], names=list(groups)) if keys else None
    n = fold_count(ids, len(first), np.empty(0, np.bool_))
    return Partials(pane[first], sig[first], no_columns(len(first)) if kept is None else kept, n, columns)


def _folded(values: pa.Array, a: Argument, ids: Ints, count: int) -> dict[str, Ints]:
    valid = validity_of(values)
    found = {f"{a.name}.n": fold_count(ids, count, valid)}
    for part in a.parts:
        match part:
            case "sum" if pa.types.is_floating(a.type):
                found |= _limbs(as_float64(values), valid, a.name, ids, count)
            case "sum":
                low, high, _ = fold_int128(ids, count, valid, *int128_words(values))
                found |= {f"{a.name}.low": low, f"{a.name}.high": high}
            case "min" | "max":
                found[f"{a.name}.{part}"] = fold_key(ids, count, valid, order_keys(values, part))
    for term, numbers in series(values, (p for p in a.parts if p in TERMS)):
        found |= _limbs(as_float64(numbers), valid, f"{a.name}:{term}", ids, count)
    return found


def _limbs(
    values: NDArray[np.float64], valid: NDArray[np.bool_], name: str, ids: Ints, count: int
) -> dict[str, Ints]:
    """Exact sums of doubles as limbs (``kernels.sums``)."""
    low, high = sums.limb_range(values)
    first, last = (low, high + 2) if high >= low else (0, 1)
    limbs, odd = np.zeros((count, last - first + 1), np.int64), np.zeros((count, 3), np.int64)
    fold_doubles(ids, valid, values, limbs, first, odd)
    found = {f"{name}.l{first + k}": np.ascontiguousarray(limbs[:, k]) for k in range(limbs.shape[1])}
    return found | {f"{name}.odd{k}": np.ascontiguousarray(odd[:, k]) for k in range(3)}
