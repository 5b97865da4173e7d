"""Manifests of the pane store: what the cells of one task hold in one version. One small file per task and version.

Layout, little-endian (format version 1)::

    magic "MUNTINM1", format version (uint32), CRC-32 of all that follows (uint32),
    lengths of the two parts (2 x uint64), head part, body part      (each: zlib-compressed JSON)

Head: query, level, version, task, fingerprint, report, ``files`` (name and size of every data file that a chunk is in)
and ``cells`` (names). Body: per cell its heads and its structures with their number of chunks, and the columns of the
chunk table over all cells: ``file`` (position among the head's files), ``position`` (in that file) and one column per
key of the chunks' meta, each as differences from the chunk before (null: the chunk lacks the key). A chunk costs a few
bytes, since where it lies in its file, and its checksum, stand in that file's footer.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from muntin.core.errors import InternalError, StoreError
from muntin.state.chunk_file import ADVICE, check_head

MAGIC = b"MUNTINM1"
FORMAT = 1
_LENGTHS = struct.Struct("<QQ")
_HEAD_BYTES = len(MAGIC) + 8 + _LENGTHS.size


class Address(NamedTuple):
    """Where a chunk is: the data file's name and size in bytes, and the chunk's position in it."""

    file: str
    size: int
    position: int


class Entry(NamedTuple):
    """One chunk as a manifest lists it."""

    structure: str
    address: Address
    meta: dict[str, int]


@dataclass(frozen=True)
class Cell:
    """One cell (vertex, shard): heads, and its chunks by structure (in the order of ``structures``), oldest first."""

    heads: dict[str, Any]
    structures: list[str]
    chunks: list[Entry]


@dataclass(frozen=True)
class Head:
    """What a manifest is about. ``files``: data files that its chunks are in, with their sizes."""

    query: str
    level: int
    version: int
    task: str
    fingerprint: dict[str, Any]
    report: dict[str, Any]
    files: dict[str, int] = field(default_factory=dict)
    cells: tuple[str, ...] = ()


def encode(head: Head, cells: dict[str, Cell]) -> bytes:
    """The manifest as bytes; ``files`` and ``cells`` of the head are taken from the cells."""
    files: dict[str, int] = {}
    listed: list[Entry] = []
    rows = []
    for name, cell in cells.items():
        counts = Counter(e.structure for e in cell.chunks)
        rows.append([name, cell.heads, [[s, counts[s]] for s in cell.structures]])
        listed += cell.chunks
    for entry in listed:
        files.setdefault(entry.address.file, entry.address.size)
    top = vars(head) | {"files": list(files.items()), "cells": list(cells)}
    parts = [_pack(top, head.task), _pack({"cells": rows, "chunks": _columns(listed, list(files))}, head.task)]
    rest = _LENGTHS.pack(*map(len, parts)) + b"".join(parts)
    return MAGIC + struct.pack("<II", FORMAT, zlib.crc32(struct.pack("<I", FORMAT) + rest)) + rest


def _pack(value: Any, task: str) -> bytes:
    try:
        return zlib.compress(json.dumps(value, separators=(",", ":")).encode())
    except (TypeError, ValueError) as e:
        raise InternalError(f"task {task}: heads, fingerprint and report must be plain JSON values: {e}") from e


def _columns(entries: Sequence[Entry], files: list[str]) -> dict[str, Any]:
    at = {name: i for i, name in enumerate(files)}
    keys = sorted({k for e in entries for k in e.meta})
    return {
        "file": _differences(at[e.address.file] for e in entries),
        "position": _differences(e.address.position for e in entries),
        "meta": {k: _differences(e.meta.get(k) for e in entries) for k in keys},
    }


def _differences(values: Iterable[int | None]) -> list[int | None]:
    out: list[int | None] = []
    last = 0
    for v in values:
        out.append(None if v is None else int(v) - last)
        last = last if v is None else int(v)
    return out


def _sums(differences: Iterable[int | None]) -> list[int | None]:
    out: list[int | None] = []
    last = 0
    for d in differences:
        last += d or 0
        out.append(None if d is None else last)
    return out


@dataclass(frozen=True)
class Manifest:
    """A manifest that was read and whose checksum is right; ``cells`` decodes the body."""

    path: str
    head: Head
    body: bytes

    def cells(self, wanted: Collection[str] | None = None) -> dict[str, Cell]:
        """The cells by name (only the ``wanted`` ones, if given)."""
        body = json.loads(zlib.decompress(self.body))
        entries = _entries(body["chunks"], list(self.head.files.items()))
        found: dict[str, Cell] = {}
        at = 0
        for name, heads, counts in body["cells"]:
            cell = Cell(heads, [s for s, _ in counts], [])
            for structure, count in counts:
                if wanted is None or name in wanted:
                    cell.chunks.extend(Entry(structure, *e) for e in entries[at : at + count])
                at += count
            if wanted is None or name in wanted:
                found[name] = cell
        return found


def _entries(columns: dict[str, Any], files: list[tuple[str, int]]) -> list[tuple[Address, dict[str, int]]]:
    """The chunk table's rows: address and meta."""
    places = zip(_sums(columns["file"]), _sums(columns["position"]), strict=True)
    addresses = [Address(*files[f or 0], p or 0) for f, p in places]
    keys = list(columns["meta"])
    rows = zip(*(_sums(c) for c in columns["meta"].values()), strict=True)
    metas = [{k: v for k, v in zip(keys, row, strict=True) if v is not None} for row in rows]
    return list(zip(addresses, metas or [{} for _ in addresses], strict=True))


def decode(path: str, data: bytes) -> Manifest:
    """Check and read a manifest. Raises StoreError (cut short, corrupt, another format)."""
    if len(data) < _HEAD_BYTES:
        raise StoreError(f"{path} is cut short: a manifest has at least {_HEAD_BYTES} bytes, not {len(data)}. {ADVICE}")
    check_head(path, data, MAGIC, FORMAT)
    version, crc = struct.unpack_from("<II", data, len(MAGIC))
    rest = data[len(MAGIC) + 8 :]
    if zlib.crc32(struct.pack("<I", version) + rest) != crc:
        raise StoreError(f"{path} is corrupt: the manifest (from offset {len(MAGIC) + 8}) fails its checksum. {ADVICE}")
    first, second = _LENGTHS.unpack_from(rest)
    start = _LENGTHS.size
    top = json.loads(zlib.decompress(rest[start : start + first]))
    top["files"], top["cells"] = dict(top["files"]), tuple(top["cells"])
    return Manifest(path, Head(**top), rest[start + first : start + first + second])
