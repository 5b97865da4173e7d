"""What is in a file of the pane store, as plain values: for people, debuggers and other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muntin.state import manifest
from muntin.state.chunk_file import map_chunk_file


def describe_file(path: str) -> dict[str, Any]:
    """List a data file (its chunks with cell, structure, offset, length, crc, rows, columns) or a manifest.

    Raises StoreError if it is neither, or corrupt.
    """
    with open(path, "rb") as f:
        magic = f.read(len(manifest.MAGIC))
    return _describe_manifest(path) if magic == manifest.MAGIC else _describe_chunks(path)


def _describe_chunks(path: str) -> dict[str, Any]:
    found = map_chunk_file(path)
    columns = [[f"{f.name}: {f.type}" for f in s] for s in found.schemas]
    table = found.chunks
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    chunks = [row | {"columns": columns[row["schema"]]} for row in rows]
    return {"kind": "chunks", **found.about, "chunks": chunks}


def _describe_manifest(path: str) -> dict[str, Any]:
    found = manifest.decode(path, Path(path).read_bytes())
    cells = {
        name: {
            "heads": cell.heads,
            "chunks": [
                {"structure": e.structure, "file": e.address.file, "position": e.address.position, "meta": e.meta}
                for e in cell.chunks
            ],
        }
        for name, cell in found.cells().items()
    }
    return {"kind": "manifest", **vars(found.head), "cells": cells}
