"""Names of columns where several inputs meet: c0, c1, ... consecutively over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from muntin.core.batch import Batch


def combined(inputs: Sequence[Batch]) -> list[Batch]:
    """The inputs with their columns numbered on from one to the next; other columns keep their names."""
    found: list[Batch] = []
    for batch in inputs:
        offset = sum(len(numbered(b.columns.schema)) for b in found)
        found.append(renumbered(batch, offset))
    return found


def renumbered(batch: Batch, offset: int) -> Batch:
    """The batch with its numbered columns counted from ``offset``. Cost: names alone."""
    if offset == 0:
        return batch
    names = [f"c{int(n[1:]) + offset}" if is_number(n) else n for n in batch.columns.schema.names]
    return batch.with_columns(pa.RecordBatch.from_arrays(batch.columns.columns, names=names))


def numbered(schema: pa.Schema) -> list[str]:
    """The names of the numbered columns."""
    return [n for n in schema.names if is_number(n)]


def is_number(name: str) -> bool:
    """Whether a name is one of c0, c1, ..."""
    return name[:1] == "c" and name[1:].isdigit()
