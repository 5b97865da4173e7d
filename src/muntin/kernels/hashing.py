"""64-bit hashes of key columns, equal on every machine and worker. NaN = NaN, -0.0 = 0.0, NULL = NULL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def hash_columns(columns: Sequence[pa.Array], rows: int) -> NDArray[np.int64]:
    """One hash per row over the columns together; ``rows`` zeros when there are no columns."""
    raise NotImplementedError


def shard_of(hashes: NDArray[np.int64], shards: int) -> NDArray[np.int32]:
    """The shard of each hash, by its upper bits (the lower ones index buckets inside a shard)."""
    raise NotImplementedError
