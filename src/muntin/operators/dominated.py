"""Rows that no MIN or MAX needs any more are not kept (thesis 2.2.2: MAX may drop older, smaller values).

A row is dominated by one of its group that is at least as good and leaves no earlier: from when that starts, neither
the answer nor whether the group has rows depends on it. So it may leave there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.order import order_keys
from muntin.core.batch import Batch
from muntin.core.time import NEVER
from muntin.kernels.extremes import needed_until
from muntin.kernels.hashing import validity_of
from muntin.kernels.keys import key_ids
from muntin.state.window_rows import EXP, int64s

Ints = NDArray[np.int64]
Extremes = Sequence[tuple[str, str]]
"""Column and function ("min" or "max") of each aggregate."""


def shortened(rows: Batch, groups: Sequence[str], extremes: Extremes) -> Batch:
    """Interval rows that end where another row of the batch makes them needless; those never needed are left out."""
    until = _until(rows.columns, groups, extremes, rows.ts, rows.exp)
    return Batch(rows.columns, rows.ts, until).where(rows.ts < until)


def dominated(rows: pa.RecordBatch, groups: Sequence[str], extremes: Extremes) -> NDArray[np.bool_]:
    """Which kept rows (all of them valid now) are needless from now on."""
    exp = int64s(rows, EXP)
    now = np.full(len(exp), NEVER, np.int64)
    return _until(rows, groups, extremes, now, exp) < exp


def _until(rows: pa.RecordBatch, groups: Sequence[str], extremes: Extremes, ts: Ints, exp: Ints) -> Ints:
    """The latest instant at which one of the aggregates needs each row."""
    ids = key_ids([rows.column(n) for n in groups], rows.num_rows)[0]
    found = np.full(rows.num_rows, NEVER, np.int64)
    for column, fn in extremes:
        key = _ranks(rows.column(column), fn)
        order = np.lexsort([key, exp, ts, ids])
        needed = needed_until(*(a[order] for a in (ids, key, ts, exp)))
        found[order] = np.maximum(found[order], needed)
    return found


def _ranks(values: pa.Array, fn: str) -> Ints:
    """Ranks of the values, the best greatest; a NULL, which is no answer and yet a row of its group, least."""
    ranks = np.unique(order_keys(values, fn), return_inverse=True)[1].astype(np.int64) + 1
    valid = validity_of(values)
    return np.where(valid, ranks, 0) if len(valid) else ranks
