"""Where a query's rows go: one micro-batch at a time, idempotently where the format allows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from muntin.core.errors import ConfigError

FILE_FORMATS = frozenset({"parquet", "json", "csv", "orc"})
"""Formats written to ``<path>/batch=<id>`` with overwrite: a batch that is run again replaces what it wrote before."""

ForeachBatch = Callable[[DataFrame, int], Any]


@dataclass(frozen=True)
class Sink:
    """Format, path, mode and options as Spark's writer takes them; or ``memory``; or a function of (df, batch id).

    Exactly once: the file formats, ``memory``, and functions or formats that honour the batch id. Others get the rows
    of an unfinished batch again when it is repeated after a failure.
    """

    format: str = "memory"
    path: str | None = None
    mode: str = "append"
    options: Mapping[str, Any] = field(default_factory=dict)
    foreach_batch: ForeachBatch | None = None
    memory: dict[int, pa.Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.foreach_batch is None and self.format in FILE_FORMATS and self.path is None:
            raise ConfigError(f"sink {self.format!r} needs a path: write({self.format!r}, path=...)")

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Write one micro-batch."""
        if self.foreach_batch is not None:
            self.foreach_batch(df, batch_id)
        elif self.format == "memory":
            self.memory[batch_id] = df.toArrow()
        else:
            self._save(df, batch_id)

    def _save(self, df: DataFrame, batch_id: int) -> None:
        writer = df.write.options(**dict(self.options))
        if self.format in FILE_FORMATS:
            assert self.path is not None
            writer.format(self.format).mode("overwrite").save(f"{self.path.rstrip('/')}/batch={batch_id}")
        elif self.format == "table":
            writer.mode(self.mode).saveAsTable(self.path or "")
        else:
            writer.format(self.format).mode(self.mode).save(self.path)

    def rows(self) -> pa.Table | None:
        """What a ``memory`` sink holds, in the order of batches; None before the first one."""
        tables = [self.memory[b] for b in sorted(self.memory)]
        return pa.concat_tables(tables) if tables else None
