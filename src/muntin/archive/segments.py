"""Data files of an archive: rows clustered by search key, in order of expiry inside a key, cut into blocks.

A block is a row group; the directory says of each which keys, times and expiries are in it. NaN and NULL keys come last
and have blocks of their own.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from numpy.typing import NDArray

from muntin.archive.manifest import DATA, Design, directory_schema
from muntin.archive.wanted import VALUE, instants, kinds
from muntin.core.errors import StoreError
from muntin.state.faults import fault
from muntin.state.files import ArrowFiles, LocalFiles, reading

Files = LocalFiles | ArrowFiles
Entry = dict[str, Any]


def write_segment(files: Files, design: Design, layout: int, cell: int, rows: pa.Table) -> list[Entry]:
    """Write rows as one file of a sub-index; its blocks, as the directory lists them. No rows: no file."""
    if not rows.num_rows:
        return []
    ordered = rows.sort_by([(design.key, "ascending"), (design.expiry, "ascending")]).combine_chunks()
    name = f"{uuid.uuid4().hex}.parquet"
    cuts = list(_cuts(kinds(ordered.column(design.key)), design.block_rows))
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, ordered.schema, compression="zstd", write_page_checksum=True) as writer:
        for start, end in cuts:
            writer.write_table(ordered.slice(start, end - start), row_group_size=max(end - start, 1))
    data = sink.getvalue()
    meta = pq.read_metadata(pa.BufferReader(data))
    sizes = [_bytes(meta.row_group(i)) for i in range(meta.num_row_groups)]
    files.put(f"{DATA}/{name}", [data])
    fault("archive:segment")
    return [
        {"layout": layout, "cell": cell, "file": name, "block": i, "bytes": sizes[i]}
        | _described(design, ordered.slice(start, end - start))
        for i, (start, end) in enumerate(cuts)
    ]


def exists(files: Files, name: str) -> bool:
    """Whether a data file is there."""
    where = files.where(f"{DATA}/{name}")
    if isinstance(files, LocalFiles):
        return os.path.exists(where)
    return bool(files.fs.get_file_info(where).type == pafs.FileType.File)


def _cuts(kind: NDArray[np.int8], size: int) -> Iterator[tuple[int, int]]:
    """Where blocks begin and end: of at most ``size`` rows, and of one kind of key."""
    edges = [0, *(np.flatnonzero(np.diff(kind)) + 1).tolist(), len(kind)]
    for start, end in pairwise(edges):
        for at in range(start, end, size):
            yield at, min(at + size, end)


def _bytes(group: Any) -> int:
    return sum(group.column(i).total_compressed_size for i in range(group.num_columns))


def _described(design: Design, block: pa.Table) -> Entry:
    key, time, exp = (
        block.column(design.key),
        instants(block.column(design.time)),
        instants(block.column(design.expiry)),
    )
    kind = int(kinds(key.slice(0, 1))[0])
    first, last = (key[0], key[-1]) if kind == VALUE else (None, None)
    return {
        "kind": kind, "first": first, "last": last, "rows": len(key), "live": len(key), "min_time": int(time.min()),
        "max_time": int(time.max()), "min_exp": int(exp.min()), "max_exp": int(exp.max()),
    }  # fmt: skip


def directory_of(entries: Sequence[Entry], key: pa.DataType) -> pa.Table:
    """Entries as rows of a directory."""
    schema = directory_schema(key)
    columns = [pa.array([e[f.name] for e in entries], f.type) for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def by_file(blocks: pa.Table) -> dict[str, list[int]]:
    """The blocks of a directory that each data file has, in their order there."""
    found: dict[str, list[int]] = {}
    for name, block in zip(blocks["file"].to_pylist(), blocks["block"].to_pylist(), strict=True):
        found.setdefault(name, []).append(block)
    return found


def read_blocks(files: Files, name: str, blocks: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
    """Blocks of a data file, checksums verified; ``columns``: None for all.

    Raises FileNotFoundError when it is gone, and StoreError when it cannot be read or is damaged.
    """
    where = files.where(f"{DATA}/{name}")
    with reading(where, files.what):
        try:
            source = where if isinstance(files, LocalFiles) else files.fs.open_input_file(where)
            with pq.ParquetFile(source, page_checksum_verification=True, memory_map=False) as file:
                return file.read_row_groups(list(blocks), columns=None if columns is None else list(columns))
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError) as e:
            if getattr(e, "errno", None) is not None:  # the system's, not that the bytes are wrong
                raise
            raise StoreError(
                f"{where}, a file of the archive, is damaged ({e}). Restore it from a backup, or delete the archive's "
                "rows and write them again"
            ) from e
