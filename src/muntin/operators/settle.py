"""Signed rows that take each other away before anyone sees them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.kernels.keys import key_ids


def settled(batch: Batch) -> Batch:
    """The batch without equal rows whose weights add up to nothing at every instant. Cost: a sort.

    Outer joins and sub-queries are sums of signed rows (``dataflow.dataflow``), and some of those stand for nothing: a
    row beside the empty answer of a sub-query, taken away by the one that says that it is not empty.
    """
    if batch.sign is None or not len(batch):
        return batch
    ids, count, _ = key_ids(list(batch.columns.columns) or [pa.repeat(0, len(batch))], len(batch))
    weight = np.concatenate([batch.sign, -batch.sign]).astype(np.int64)
    time, owner = np.concatenate([batch.ts, batch.exp]), np.concatenate([ids, ids])
    order = np.lexsort((time, owner))
    time, owner, held = time[order], owner[order], np.cumsum(weight[order])
    last = np.append((time[1:] != time[:-1]) | (owner[1:] != owner[:-1]), True)
    seen = np.zeros(count, np.bool_)
    seen[owner[last & (held != 0)]] = True
    return batch.where(seen[ids])
