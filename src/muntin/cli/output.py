"""``--output FILE``: result rows as a file, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from muntin.core.errors import ConfigError
from muntin.core.shown import plain

KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


def output_kind(path: Path) -> str:
    """The format that a file's name asks for. Raises ConfigError for another, and where its directory is not there."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise ConfigError(f"--output {path}: cannot tell the format; names end in {', '.join(KINDS)}")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"--output {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise ConfigError(f"--output {path}: this is a directory")
    return kind


def write_rows(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
    """Write tables of one schema, one after the other, and say how many rows; the file appears when it is whole.

    Raises ConfigError for columns that the format has no form for, and for a file that cannot be written.
    """
    kind = output_kind(path)
    scratch = path.with_name(f".{path.name}.part")
    rows = 0
    try:
        with _writer(kind, scratch, schema) as writer:
            for table in tables:
                writer.write_table(table)
                rows += len(table)
        scratch.replace(path)
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        raise ConfigError(f"--output {path}: {str(e).splitlines()[0]}") from e
    finally:
        scratch.unlink(missing_ok=True)
    return rows


def _writer(kind: str, path: Path, schema: pa.Schema) -> Any:
    match kind:
        case "parquet":
            return pq.ParquetWriter(path, schema)
        case "csv":
            return pc.CSVWriter(path, schema)
        case _:
            return _JsonLines(path)


class _JsonLines:
    """One JSON object a line."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def __enter__(self) -> _JsonLines:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write_table(self, table: pa.Table) -> None:
        """Append the rows."""
        for row in table.to_pylist():
            self._file.write(json.dumps(row, default=plain, ensure_ascii=False) + "\n")
