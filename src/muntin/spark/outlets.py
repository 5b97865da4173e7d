"""Sinks that the workers write themselves, out of the Arrow batches that they hold: no result goes through the JVM.

A batch's Parquet files are written below ``<path>/_batch=<id>``, which readers skip, under names that a repeated task
writes again; when the whole batch is done the driver renames the directory to ``batch=<id>``.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from muntin.core.errors import StoreError
from muntin.spark import files
from muntin.state.files import writing

SINK = "a sink"
"""What messages call the files of a query's answer."""

FLUSH_ROWS = 1 << 17
"""A row group has at least this many rows, but for the last."""

_PLAIN = (
    pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_string,
    pa.types.is_binary, pa.types.is_date32, pa.types.is_timestamp,
)  # fmt: skip


@dataclass(frozen=True)
class Outlet:
    """Where a query's rows go. ``format``: parquet, or blackhole (they are counted, and dropped)."""

    format: str
    path: str = ""
    compression: str = "snappy"


def same_in_parquet(schema: pa.Schema) -> bool:
    """Whether Arrow writes these columns as Spark would read them back: intervals and void columns it does not."""
    return all(_plain(f.type) for f in schema)


def _plain(type: pa.DataType) -> bool:
    if pa.types.is_list(type):
        return _plain(type.value_type)
    if pa.types.is_struct(type):
        return all(_plain(type.field(i).type) for i in range(type.num_fields))
    return any(fits(type) for fits in _PLAIN)


@dataclass
class Part:
    """One slot's rows for one outlet in one batch; ``rows`` counts them. Nothing is there before ``close``."""

    outlet: Outlet
    schema: pa.Schema
    batch: int
    name: str
    rows: int = 0
    _held: list[pa.RecordBatch] = field(default_factory=list)
    _writer: pq.ParquetWriter | None = None
    _temporary: str = ""

    def write(self, rows: pa.RecordBatch) -> None:
        """Take a shard's results."""
        self.rows += rows.num_rows
        if self.outlet.format != "blackhole" and rows.num_rows:
            self._held.append(rows)
            if sum(b.num_rows for b in self._held) >= FLUSH_ROWS:
                self._flush()

    def close(self, even_if_empty: bool) -> None:
        """Put the file in its place, if there are rows; ``even_if_empty``: also a file that only has the schema."""
        if self.outlet.format == "blackhole" or not (self.rows or even_if_empty):
            return
        self._flush()
        assert self._writer is not None
        system, inside = files.resolve(_pending(self.outlet, self.batch))
        with writing(f"{inside}/{self.name}.parquet", SINK):
            self._writer.close()
            files.put_in_place(system, self._temporary, f"{inside}/{self.name}.parquet")

    def _flush(self) -> None:
        with writing(_pending(self.outlet, self.batch), SINK):
            self._write_out()

    def _write_out(self) -> None:
        if self._writer is None:
            files.make_dirs(_pending(self.outlet, self.batch), SINK)
            system, inside = files.resolve(_pending(self.outlet, self.batch))
            self._temporary = f"{inside}/.{self.name}.{uuid.uuid4().hex}"
            self._writer = pq.ParquetWriter(
                self._temporary, self.schema, filesystem=system, compression=self.outlet.compression
            )
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held, self.schema), row_group_size=1 << 20)
            self._held = []


def discard(outlet: Outlet, batch: int) -> None:
    """Driver, before a batch runs: what an earlier attempt at it left behind."""
    if outlet.path:
        with writing(_pending(outlet, batch), SINK):
            _remove(_pending(outlet, batch))


def publish(outlet: Outlet, batch: int) -> None:
    """Driver, after a batch ran: let readers see its files, instead of those of an earlier attempt.

    Raises StoreError when they are gone: some worker writes at least an empty file in every batch.
    """
    if not outlet.path:
        return
    source, target = _pending(outlet, batch), files.join(outlet.path, f"batch={batch}")
    system, inside = files.resolve(source)
    if system.get_file_info(inside).type != fs.FileType.Directory:
        raise StoreError(
            f"{source}, which the workers wrote a moment ago, is gone: was {outlet.path} emptied while the query runs? "
            "Nothing of this batch was committed; start again, and it is repeated"
        )
    with writing(target, SINK):
        _replace(system, inside, target)
    files.write_atomically(files.join(target, "_SUCCESS"), b"", SINK)


def _replace(system: fs.FileSystem, inside: str, target: str) -> None:
    _remove(target)
    left = [f for f in system.get_file_info(fs.FileSelector(inside)) if f.base_name.startswith(".")]
    for file in left:  # of tasks that were cut off
        system.delete_file(file.path)
    _move(system, inside, files.resolve(target)[1])


def _move(system: fs.FileSystem, source: str, target: str) -> None:
    """A directory in one step where the file system has directories, else file by file."""
    if isinstance(system, fs.LocalFileSystem | fs.HadoopFileSystem):
        system.move(source, target)
        return
    system.create_dir(target)
    for file in system.get_file_info(fs.FileSelector(source)):
        system.move(file.path, f"{target}/{file.base_name}")
    system.delete_dir(source)


def _pending(outlet: Outlet, batch: int) -> str:
    return files.join(outlet.path, f"_batch={batch}")


def _remove(path: str) -> None:
    system, inside = files.resolve(path)
    if system.get_file_info(inside).type == fs.FileType.Directory:
        system.delete_dir(inside)
