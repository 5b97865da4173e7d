"""Values at ranks out of the values of a synopsis: QUANTILE, MEDIAN and PERCENTILE_DISC exactly from counts,
APPROX_QUANTILE from sketches, with the bounds that these leave."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.approximate import BOUNDS, share_of, with_bounds
from muntin.aggregates.multisets import between
from muntin.kernels import frequencies
from muntin.operators.synopsis_sketches import ERROR
from muntin.operators.synopsis_values import Values

if TYPE_CHECKING:
    from muntin.operators.synopsis_holistic import Asked

Ints = NDArray[np.int64]

RANKED = frozenset(["median", "quantile", "percentile_disc", "approx_quantile", "approx_median"])
"""Those that this answers, without ``_bounds``."""


def at_ranks(values: Values, asked: Sequence[Asked], count: Ints) -> list[pa.Array]:
    """The answers of aggregates, all of them in one pass over the counts; ``count``: by row how many values."""
    sizes = [count[own.at] for own in asked]
    tables = [_table(own, size > 0) for own, size in zip(asked, sizes, strict=True)]
    wanted = [_ranks(values, *parts) for parts in zip(asked, tables, sizes, strict=True)]
    whole = [t for t, ranks in zip(tables, wanted, strict=True) for _ in ranks]
    codes = _ranked(values, np.concatenate(whole), np.concatenate([r for ranks in wanted for r in ranks]))
    parts = iter(np.split(codes, list(accumulate(len(t) for t in whole))[:-1]))
    out = []
    for own, size, ranks in zip(asked, sizes, wanted, strict=True):
        found = [_placed(values, next(parts), size > 0) for _ in ranks]
        out.append(_answer(own, found, size))
    return out


def _answer(own: Asked, found: list[pa.Array], size: Ints) -> pa.Array:
    agg = own.agg
    if agg.fn in ("median", "quantile"):
        q = 0.5 if agg.param is None else agg.param
        return between(found[0], found[1], np.asarray(q * (size - 1) % 1.0, np.float64))
    return with_bounds(found[0], found[1], found[2], agg.type) if agg.fn.endswith(BOUNDS) else found[0]


def _ranks(values: Values, own: Asked, table: Ints, sizes: Ints) -> list[Ints]:
    """The ranks, from 0, of which an answer is made, where there are values."""
    agg, size = own.agg, sizes[sizes > 0]
    if agg.fn in ("median", "quantile"):
        at = (0.5 if agg.param is None else agg.param) * (size - 1)
        return [np.floor(at).astype(np.int64), np.ceil(at).astype(np.int64)]
    share = share_of(agg)
    rank = np.maximum(-((-share.numerator * size) // share.denominator) - 1, 0)
    if not agg.fn.endswith(BOUNDS):
        return [rank]
    error = _errors(values, table)
    return [rank, np.maximum(rank - error, 0), np.minimum(rank + error, size - 1)]


def _errors(values: Values, table: Ints) -> Ints:
    """By answer by how many rows a rank may be wrong."""
    if len(table) == 0:
        return np.empty(0, np.int64)
    rows, starts, spans = values.spans(table)
    return np.asarray(frequencies.totals(starts, spans, values.added(ERROR)[rows]))


def _table(own: Asked, there: NDArray[np.bool_]) -> Ints:
    columns = (own.window, own.predicate, own.group, own.time, own.length)
    return np.column_stack([c[there] for c in columns])


def _ranked(values: Values, asked: Ints, ranks: Ints) -> Ints:
    """The codes of the values with some ranks."""
    if len(ranks) == 0:
        return ranks
    rows, starts, spans = values.spans(asked)
    levels, groups = max(1, int(len(values.order) - 1).bit_length()), np.arange(values.groups + 1)
    begin = np.searchsorted(values.group[rows], groups).astype(np.int64)
    order = np.argsort(asked[:, 2], kind="stable")
    asked_begin = np.searchsorted(asked[order, 2], groups).astype(np.int64)
    values.touched.append(_touched(begin, asked[:, 2], starts, spans, levels))
    codes, weights = values.codes[rows], values.count[rows]
    found = frequencies.ranked(codes, weights, levels, begin, asked_begin, order, starts, spans, ranks.copy())
    return np.asarray(found)


def _touched(begin: Ints, group: Ints, starts: Ints, spans: Ints, levels: int) -> int:
    """How many rows ``kernels.frequencies.ranked`` goes through: by group the less of its two ways."""
    groups = len(begin) - 1
    of = np.repeat(group, np.diff(starts))
    alone = 2 * np.bincount(of, spans[:, 1] - spans[:, 0], groups)
    together = levels * (np.diff(begin) + np.bincount(of, minlength=groups))
    return int(np.minimum(alone, together).sum())


def _placed(values: Values, codes: Ints, there: NDArray[np.bool_]) -> pa.Array:
    """The values with some codes, where they are there; else NULL."""
    index = np.zeros(len(there), np.int64)
    index[there] = codes
    return values.order.take(pa.array(index, mask=~there))
