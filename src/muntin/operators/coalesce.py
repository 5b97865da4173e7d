"""Signed rows as intervals: what comes and goes within one step needs no negative tuple.

A row that is taken away in the step in which it came gets its end as expiry. A join then meets it only where it was
there, instead of meeting every insertion and deletion of the step; that keeps the work of a step proportional to its
results, however large the step is.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.kernels.keys import key_ids
from muntin.kernels.pairing import partners


def coalesce(batch: Batch) -> Batch:
    """The same rows at every instant; pairs of a row and its negative tuple became one row with an expiry."""
    if batch.sign is None or not (batch.sign < 0).any():
        return batch
    ids, kinds, _ = key_ids([*batch.columns.columns, pa.array(batch.exp)], len(batch))
    partner = partners(ids, batch.ts, batch.sign, kinds)
    paired = partner >= 0
    exp = np.where(paired & (batch.sign > 0), batch.ts[partner], batch.exp)
    keep = np.where(batch.sign > 0, batch.ts < exp, ~paired)
    return Batch(batch.columns, batch.ts, exp, batch.sign).where(keep)
