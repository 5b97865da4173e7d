"""Data files of the pane store: the chunks that one task wrote in one version, as Arrow record batch messages.

Layout, little-endian (format version 1)::

    0       magic "MUNTINC1", format version (uint32), zeros up to byte 64
    64      chunk 0: an encapsulated Arrow IPC RecordBatch message, then zeros up to a multiple of 64
    ...     chunk 1, ...
            footer: zlib-compressed JSON (below)
    -20     footer's compressed length (uint64), its CRC-32 (uint32), magic "MUNTINC1"

Footer: ``about`` (query, level, version, task), ``schemas`` (base64 of Arrow IPC Schema messages), and ``chunks``, one
list each of ``cell``, ``structure``, ``offset``, ``length``, ``crc`` (CRC-32 of message and padding), ``schema``
(position among ``schemas``) and ``rows``. A chunk is read without a copy by
``pa.ipc.read_record_batch(message, schema)``. Every byte of the file is under a checksum or compared with a constant.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from muntin.core.errors import InternalError, StoreError

MAGIC = b"MUNTINC1"
FORMAT = 1
ALIGN = 64
HEADER = (MAGIC + struct.pack("<I", FORMAT)).ljust(ALIGN, b"\0")
_TRAILER = struct.Struct("<QI8s")


@dataclass(frozen=True)
class NewChunk:
    """Rows to be written, and whose they are."""

    cell: str
    structure: str
    rows: pa.RecordBatch


def encode(chunks: Sequence[NewChunk], about: dict[str, Any]) -> list[Any]:
    """The file as a list of buffers; chunk i of ``chunks`` is at position i of the file."""
    parts: list[Any] = [HEADER]
    schemas: dict[bytes, int] = {}
    table: dict[str, list[Any]] = {k: [] for k in ("cell", "structure", "offset", "length", "crc", "schema", "rows")}
    at = ALIGN
    for chunk in chunks:
        _refuse_dictionaries(chunk)
        message = chunk.rows.serialize()
        padding = bytes(-message.size % ALIGN)
        schema = schemas.setdefault(chunk.rows.schema.serialize().to_pybytes(), len(schemas))
        crc = zlib.crc32(padding, zlib.crc32(message))
        row = (chunk.cell, chunk.structure, at, message.size, crc, schema, chunk.rows.num_rows)
        for column, value in zip(table.values(), row, strict=True):
            column.append(value)
        parts += [message, padding]
        at += message.size + len(padding)
    footer = {"about": about, "schemas": [base64.b64encode(s).decode() for s in schemas], "chunks": table}
    packed = zlib.compress(json.dumps(footer, separators=(",", ":")).encode())
    return [*parts, packed, _TRAILER.pack(len(packed), zlib.crc32(packed), MAGIC)]


def _refuse_dictionaries(chunk: NewChunk) -> None:
    for f in chunk.rows.schema:
        if pa.types.is_dictionary(f.type):
            raise InternalError(
                f"{chunk.cell}, {chunk.structure}: column {f.name!r} is dictionary-encoded; decode it first"
            )


@dataclass(frozen=True, eq=False)
class ChunkFile:
    """An open (mapped) data file."""

    path: str
    data: pa.Buffer
    about: dict[str, Any]
    schemas: list[pa.Schema]
    chunks: dict[str, list[Any]]
    verified: set[int] = field(default_factory=set)
    """Positions whose checksum was compared since the file was opened: once is enough, files never change."""

    def read(self, position: int) -> pa.RecordBatch:
        """The chunk at ``position``, without a copy; its checksum is compared at the first read in this process."""
        if not 0 <= position < len(self.chunks["offset"]):
            raise StoreError(
                f"{self.path} holds {len(self.chunks['offset'])} chunks, but its manifest names chunk {position}: "
                f"the file is of another store. {ADVICE}"
            )
        offset, length = self.chunks["offset"][position], self.chunks["length"][position]
        if position not in self.verified:
            self._verify(position, offset, length)
        schema = self.schemas[self.chunks["schema"][position]]
        return pa.ipc.read_record_batch(self.data.slice(offset, length), schema)

    def _verify(self, position: int, offset: int, length: int) -> None:
        padded = length + -length % ALIGN
        found, want = zlib.crc32(self.data.slice(offset, padded)), self.chunks["crc"][position]
        cell, structure = self.chunks["cell"][position], self.chunks["structure"][position]
        if found != want:
            raise StoreError(
                f"{self.path} is corrupt: the chunk at offset {offset} ({length} bytes, {cell}, {structure}) "
                f"has checksum {found:08x}, not {want:08x}. {ADVICE}"
            )
        self.verified.add(position)


ADVICE = (
    "Check the disk; restore the file (or the whole store together with its checkpoint) from a backup, "
    "or start the query with a new checkpoint and replay its sources"
)


def map_chunk_file(path: str) -> ChunkFile:
    """Map the file at a local ``path`` and read its footer. A file that is deleted stays readable.

    Raises StoreError (missing, cut short, corrupt, another format). Cost: one map and a footer of a few bytes a chunk.
    """
    try:
        with pa.memory_map(path, "r") as source:
            data = source.read_buffer(source.size())
    except FileNotFoundError as e:
        raise StoreError(f"{path} is missing, although a manifest names it. {ADVICE}") from e
    except (OSError, pa.ArrowInvalid) as e:
        raise StoreError(f"cannot map {path}: {e}. {ADVICE}") from e
    footer = _footer(path, data)
    schemas = [pa.ipc.read_schema(pa.py_buffer(base64.b64decode(s))) for s in footer["schemas"]]
    return ChunkFile(path, data, footer["about"], schemas, footer["chunks"])


def _footer(path: str, data: pa.Buffer) -> dict[str, Any]:
    if data.size < ALIGN + _TRAILER.size:
        raise StoreError(f"{path} is cut short: {data.size} bytes are less than a header and a trailer. {ADVICE}")
    check_head(path, data.slice(0, ALIGN).to_pybytes(), MAGIC, FORMAT)
    if data.slice(0, ALIGN).to_pybytes() != HEADER:
        raise StoreError(f"{path} is corrupt: the header (offset 0) holds more than magic and version. {ADVICE}")
    end = data.size - _TRAILER.size
    length, crc, magic = _TRAILER.unpack(data.slice(end).to_pybytes())
    if magic != MAGIC or length > end - ALIGN:
        raise StoreError(f"{path} is cut short or corrupt: no trailer at offset {end}. {ADVICE}")
    packed = data.slice(end - length, length)
    if zlib.crc32(packed) != crc:
        raise StoreError(f"{path} is corrupt: the footer at offset {end - length} fails its checksum. {ADVICE}")
    footer: dict[str, Any] = json.loads(zlib.decompress(packed))
    return footer


def check_head(path: str, head: bytes, magic: bytes, version: int) -> None:
    """Raise StoreError unless the file begins with ``magic`` and the format ``version`` that this release reads."""
    if head[: len(magic)] != magic:
        raise StoreError(
            f"{path} is no file of the pane store, or is corrupt: it begins with {head[: len(magic)]!r} at offset 0, "
            f"not with {magic!r}. {ADVICE}"
        )
    (found,) = struct.unpack_from("<I", head, len(magic))
    if found != version:
        raise StoreError(
            f"{path} has format version {found} (offset {len(magic)}), this release reads version {version}: "
            "run the release that wrote it, or start the query with a new checkpoint"
        )
