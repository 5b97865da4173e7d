"""A batch of changes: Arrow columns with validity intervals or signs beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.time import FOREVER, Instants


@dataclass(frozen=True)
class Batch:
    """Rows as Arrow columns plus their time.

    Two readings, told apart by ``sign``:

    * interval rows (``sign`` is None): a row is valid on ``[ts, exp)``;
    * changes (``sign`` is +1 or -1): the row enters or leaves the answer at ``ts``; ``exp`` is then not used.

    ``columns`` has one equally long column per field of the operator's schema and no time columns of ours. ``last``: no
    row has a later ``ts`` (None: not known).
    """

    columns: pa.RecordBatch
    ts: Instants
    exp: Instants
    sign: NDArray[np.int8] | None = None
    last: int | None = None

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, index: NDArray[np.int64]) -> Batch:
        """The rows at ``index``, in that order."""
        return Batch(
            self.columns.take(pa.array(index)),
            self.ts[index],
            self.exp[index],
            None if self.sign is None else self.sign[index],
        )

    def where(self, mask: NDArray[np.bool_]) -> Batch:
        """The rows where ``mask`` is true; the batch itself when all are."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def in_time(self) -> Batch:
        """The rows in order of ``ts``, those of one instant as they stand; the batch itself where they are in order."""
        if (self.ts[1:] >= self.ts[:-1]).all():
            return self
        return self.take(np.argsort(self.ts, kind="stable"))

    def with_columns(self, columns: pa.RecordBatch) -> Batch:
        """Other columns (as many rows) under the same times and signs."""
        return Batch(columns, self.ts, self.exp, self.sign, self.last)

    @staticmethod
    def empty(schema: pa.Schema, signed: bool = False) -> Batch:
        """No rows."""
        none = np.empty(0, np.int64)
        return Batch(_empty(schema), none, none, np.empty(0, np.int8) if signed else None)

    @staticmethod
    def concat(batches: list[Batch]) -> Batch:
        """All rows, in the order given. Every batch must have the same schema and reading."""
        if len(batches) == 1:
            return batches[0]
        table = pa.Table.from_batches([b.columns for b in batches]).combine_chunks()
        schema = batches[0].columns.schema
        columns = table.to_batches()[0] if len(table) else _empty(schema)
        if len(schema) == 0:
            columns = no_columns(sum(len(b) for b in batches))
        signs = [b.sign for b in batches if b.sign is not None]
        return Batch(
            columns,
            np.concatenate([b.ts for b in batches]),
            np.concatenate([b.exp for b in batches]),
            np.concatenate(signs) if signs else None,
        )


def no_columns(rows: int) -> pa.RecordBatch:
    """A record batch without columns that still counts ``rows`` rows."""
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_arrays([], [], mask=pa.repeat(False, rows)))


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)


def forever(n: int) -> Instants:
    """``n`` expiries that never come."""
    return np.full(n, FOREVER, np.int64)


class _Same:
    """Read-only arrays of one value: parts of one that is made once, and anew where a longer one is asked for."""

    def __init__(self, value: int, kind: type[np.generic]) -> None:
        self._made, self._value = np.empty(0, kind), value

    def __call__(self, n: int) -> NDArray[Any]:
        made = self._made
        if len(made) < n:
            made = np.full(max(n, 2 * len(made)), self._value, made.dtype)
            made.flags.writeable = False
            self._made = made
        return made[:n]


_pluses, _ends = _Same(1, np.int8), _Same(FOREVER, np.int64)


def all_plus(n: int) -> NDArray[np.int8]:
    """``n`` signs of +1, read-only; no cost."""
    return _pluses(n)


def unending(n: int) -> Instants:
    """As ``forever``, read-only; no cost."""
    return _ends(n)


def concat_rows(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Record batches of one schema (with at least one column) as one, in order."""
    if len(parts) == 1:
        return parts[0]
    table = pa.Table.from_batches(parts).combine_chunks()
    return table.to_batches()[0] if len(table) else parts[0].slice(0, 0)
