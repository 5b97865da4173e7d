"""Generated streams: 1,000 keys, 1,000 rows a second of event time, one Parquet file a micro-batch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KEYS = 1_000
RATE = 1_000
"""Rows a second of event time, per stream."""

EPOCH_US = 1_700_000_000_000_000
SCHEMA_DDL = "ts TIMESTAMP, k BIGINT, v BIGINT"


def rows(first: int, count: int, stream: int, rate: int = RATE, keys: int = KEYS) -> pa.Table:
    """Rows ``first .. first + count`` of a stream: the row number decides time, key and value, so any prefix can be
    made again with other cuts."""
    n = np.arange(first, first + count, dtype=np.int64)
    mixed = (n * 2654435761 + stream * 97_003) % 4_294_967_291
    ts = EPOCH_US + n * (1_000_000 // rate)
    return pa.table({"ts": pa.array(ts).cast(pa.timestamp("us", "UTC")), "k": mixed % keys, "v": (mixed >> 7) % 100})


@dataclass
class Feed:
    """A folder that a streaming query reads, one file a batch; ``more`` adds the next ``files`` of ``size`` rows."""

    folder: Path
    size: int
    stream: int = 0
    rate: int = RATE
    written: int = 0

    def more(self, files: int) -> int:
        """Write the next files; returns how many rows they hold."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for _ in range(files):
            number = self.written // self.size
            path = self.folder / f"part-{number:06d}.parquet"
            hidden = path.with_name("." + path.name)
            part = max(1, self.size // 16)  # row groups, so that a file can be read by several tasks
            data = rows(self.written, self.size, self.stream, self.rate)
            pq.write_table(data, hidden, compression="none", row_group_size=part)
            os.utime(hidden, (1_000_000_000 + number, 1_000_000_000 + number))  # sources read in order of time
            hidden.rename(path)
            self.written += self.size
        return files * self.size
