"""One version of an archive: what it is, how far it is, and the directory of its blocks. One Parquet file a version.

Layout of an archive: ``manifest/<version, 12 digits>.parquet`` and ``data/<name>.parquet``. A manifest is put in one
atomic step and names all that its version consists of; data files are never changed. Its rows are the directory, one a
*block* (a row group of a data file), with the search key in its own type; what is not a table stands as JSON in the
file's metadata (key ``muntin``).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from muntin.archive.layout import Layout
from muntin.core.errors import StoreError

FORMAT = 1
BUFFER = -1
"""The sub-index of rows that wait for the next update."""

FOLDER = "manifest"
DATA = "data"

Counters = Mapping[str, int]


@dataclass(frozen=True)
class Design:
    """What an archive holds, and how: fixed when it is made, but for ``layouts`` (migration adds one).

    ``key``, ``time``, ``expiry``: columns; the last two are timestamps or integers. ``every``: update interval, and
    ``span``: the longest lifetime that is expected, in microseconds (in units of the columns where they are integers).
    ``block_rows``: rows of a block; ``keep``: versions that stay readable behind the newest.
    """

    schema: pa.Schema
    key: str
    time: str
    expiry: str
    every: int
    span: int
    layouts: tuple[Layout, ...]
    block_rows: int
    keep: int

    @property
    def period(self) -> int:
        """Slots in the longest lifetime."""
        return max(-(-self.span // self.every), 1)

    @property
    def layout(self) -> Layout:
        """Where new rows go."""
        return self.layouts[-1]


@dataclass(frozen=True)
class Manifest:
    """A version: ``now`` up to which time has come (None: no row yet), ``boundary`` of the last update (a multiple of
    the interval), the last batch ``applied`` by each writer, counters, and the ``blocks``."""

    design: Design
    version: int
    now: int | None
    boundary: int | None
    applied: Mapping[str, int]
    counters: Counters
    blocks: pa.Table
    last: Mapping[str, Any] = field(default_factory=dict)
    """What the last update did: time, sub-indices touched, rows inserted and expired, bytes written."""

    @property
    def files(self) -> set[str]:
        """The data files that it names."""
        return set(self.blocks.column("file").to_pylist())


def directory_schema(key: pa.DataType) -> pa.Schema:
    """Columns of the directory. ``layout``: number of the layout that its sub-index belongs to; ``kind``: 0 for keys
    from ``first`` to ``last``, 1 for NaN, 2 for NULL; ``live``: rows that had not expired at ``boundary``; ``min_exp``:
    of those."""
    return pa.schema(
        [
            ("layout", pa.int32()), ("cell", pa.int32()), ("file", pa.string()), ("block", pa.int32()),
            ("kind", pa.int8()), ("first", key), ("last", key), ("rows", pa.int64()), ("live", pa.int64()),
            ("min_time", pa.int64()), ("max_time", pa.int64()), ("min_exp", pa.int64()), ("max_exp", pa.int64()),
            ("bytes", pa.int64()),
        ]
    )  # fmt: skip


def first_version(design: Design) -> Manifest:
    """An archive without rows."""
    none = directory_schema(design.schema.field(design.key).type).empty_table()
    return Manifest(design, 0, None, None, {}, {}, none)


def name_of(version: int) -> str:
    """A manifest's file name."""
    return f"{version:012d}.parquet"


def version_of(name: str) -> int | None:
    """The version that a file name stands for; None for a file that is something else."""
    stem, _, end = name.partition(".")
    return int(stem) if len(stem) == 12 and stem.isdigit() and end == "parquet" else None


def encode(manifest: Manifest) -> pa.Buffer:
    """The manifest as bytes."""
    d = manifest.design
    head = asdict(replace(manifest, blocks=None, design=None))  # type: ignore[arg-type]
    head["design"] = {
        **{k: getattr(d, k) for k in ("key", "time", "expiry", "every", "span", "block_rows", "keep")},
        "schema": base64.b64encode(d.schema.serialize()).decode(),
        "layouts": [asdict(x) for x in d.layouts],
    }
    del head["blocks"]
    text = json.dumps({"format": FORMAT, **head})
    sink = pa.BufferOutputStream()
    pq.write_table(manifest.blocks.replace_schema_metadata({"muntin": text}), sink, write_page_checksum=True)
    return sink.getvalue()


def decode(data: bytes, where: str) -> Manifest:
    """A manifest from its bytes. Raises StoreError for what is none, is damaged, or comes from a later release."""
    try:
        blocks = pq.read_table(pa.BufferReader(data), page_checksum_verification=True)
        head = json.loads((blocks.schema.metadata or {})[b"muntin"])
        if head["format"] > FORMAT:
            raise StoreError(
                f"{where} was written by a later release (format {head['format']}, this one reads {FORMAT}): upgrade"
            )
        design = _design(head.pop("design"))
        del head["format"]
        expected = directory_schema(design.schema.field(design.key).type)
        return Manifest(design=design, blocks=blocks.replace_schema_metadata(None).cast(expected), **head)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as e:
        raise StoreError(
            f"{where} is damaged, or no manifest of an archive ({type(e).__name__}: {e}). Restore it from a backup; "
            "deleting it goes back to the version before it"
        ) from e


def _design(found: dict[str, Any]) -> Design:
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(found.pop("schema"))))
    layouts = tuple(Layout(**x) for x in found.pop("layouts"))
    return Design(schema=schema, layouts=layouts, **found)
