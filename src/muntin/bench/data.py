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

MIX, MIX_STREAM, PRIME = 2_654_435_761, 97_003, 4_294_967_291
"""The formula that makes keys and values look random: row number times MIX, plus MIX_STREAM a stream, modulo PRIME."""

EPOCH_US = 1_700_000_000_000_000
SCHEMA_DDL = "ts TIMESTAMP, k BIGINT, v BIGINT"


def rows(first: int, count: int, stream: int, rate: int = RATE, keys: int = KEYS) -> pa.Table:
    """Rows ``first .. first + count`` of a stream: the row number decides time, key and value, so any prefix can be
    made again with other cuts."""
    n = np.arange(first, first + count, dtype=np.int64)
    mixed = (n * MIX + stream * MIX_STREAM) % PRIME
    ts = EPOCH_US + n * (1_000_000 // rate)
    return pa.table({"ts": pa.array(ts).cast(pa.timestamp("us", "UTC")), "k": mixed % keys, "v": (mixed >> 7) % 100})


def joined(first: int, count: int, span_us: int, keys: int = KEYS) -> int:
    """How many pairs of rows ``first .. first + count`` of streams 0 and 1 have one key and lie less than ``span_us``
    apart. One sort of each stream, then two binary searches a row."""
    a, b = (_by_key(first, count, stream, keys) for stream in (0, 1))
    far = np.searchsorted(b, a - span_us, side="right")
    return int((np.searchsorted(b, a + span_us, side="left") - far).sum())


def _by_key(first: int, count: int, stream: int, keys: int) -> np.ndarray:
    """Key and time of each row as one number, sorted; keys lie further apart than any times do."""
    table = rows(first, count, stream, keys=keys)
    since = table["ts"].cast(pa.int64()).to_numpy() - EPOCH_US
    return np.sort(table["k"].to_numpy() * np.int64(1 << 44) + since)


@dataclass
class Feed:
    """A folder that a streaming query reads, one file a batch; ``more`` adds the next ``files`` of ``size`` rows."""

    folder: Path
    size: int
    stream: int = 0
    rate: int = RATE
    written: int = 0
    keys: int = KEYS

    def more(self, files: int) -> int:
        """Write the next files; returns how many rows they hold."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for _ in range(files):
            number = self.written // self.size
            path = self.folder / f"part-{number:06d}.parquet"
            hidden = path.with_name("." + path.name)
            part = max(1, self.size // 16)  # row groups, so that a file can be read by several tasks
            data = rows(self.written, self.size, self.stream, self.rate, self.keys)
            # instants repeat nowhere: a dictionary of them would be as long as the column
            pq.write_table(data, hidden, compression="none", row_group_size=part, use_dictionary=["k", "v"])
            os.utime(hidden, (1_000_000_000 + number, 1_000_000_000 + number))  # sources read in order of time
            hidden.rename(path)
            self.written += self.size
        return files * self.size
