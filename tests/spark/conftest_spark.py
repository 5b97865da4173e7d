"""Streams of files, random rows and answers as bags, for the tests of the Spark runtime."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql.streaming.readwriter import DataStreamReader

SECOND = 1_000_000


class Feed:
    """A directory that a file stream reads, one file a micro-batch, in the order in which the files were put."""

    def __init__(self, spark: Any, path: Path) -> None:
        self.spark, self.path = spark, path
        path.mkdir(parents=True, exist_ok=True)

    def put(self, *tables: pa.Table) -> Feed:
        for table in tables:
            number = len(list(self.path.glob("*.parquet")))
            hidden = self.path / f".{number:04d}"
            pq.write_table(table, hidden)
            os.utime(hidden, (1_600_000_000 + number, 1_600_000_000 + number))
            hidden.rename(self.path / f"{number:04d}.parquet")
        return self

    def live(self, name: str | None = None) -> Any:
        """As a stream; ``name``: how Spark calls the source in its checkpoint."""
        reader = self.spark.readStream.schema(self.replay().schema).option("maxFilesPerTrigger", 1)
        return (reader.name(name) if name else reader).parquet(str(self.path))

    def replay(self) -> Any:
        return self.spark.read.parquet(str(self.path))

    def table(self) -> pa.Table:
        return pa.concat_tables(pq.read_table(p) for p in sorted(self.path.glob("*.parquet")))


def events(seed: int, start_s: int, seconds: int, rows: int, keys: int = 5, disorder_s: float = 0.0) -> pa.Table:
    """Random rows (ts, k, j, v, name): event times in [start, start + seconds), each up to ``disorder_s`` late."""
    rng = np.random.default_rng(seed)
    ts = np.sort(rng.integers(start_s * SECOND, (start_s + seconds) * SECOND, rows))
    ts = ts - (rng.random(rows) * disorder_s * SECOND).astype(np.int64)
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us", "UTC")),
            "k": pa.array(rng.integers(0, keys, rows)),
            "j": pa.array(rng.integers(0, 4 * keys, rows)),
            "v": pa.array(rng.integers(0, 100, rows), pa.int64(), mask=rng.random(rows) < 0.05),
            "name": pa.array([f"n{x}" for x in rng.integers(0, keys, rows)]),
        }
    )


def bag(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows in an order of their own, to compare answers as bags (floats to 9 digits)."""
    columns = [c for c in table.column_names if c != "batch"]
    rows = table.select(columns).to_pylist()
    return sorted((tuple(round(v, 9) if isinstance(v, float) else v for v in r.values()) for r in rows), key=repr)


NAMED = pytest.mark.skipif(not hasattr(DataStreamReader, "name"), reason="Spark before 4.2 tells no sources by name")


def until(table: pa.Table, ts: int) -> pa.Table:
    """The rows of an answer before the instant ``ts`` (microseconds)."""
    return table.filter(pc.less(table["ts"].cast(pa.int64()), ts))
