"""What lowering passes around: relations under construction, under the plan's own column names.

A value is *loose* while it is only a window on a stream with filters and columns that the source can compute, and
*placed* once a vertex makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.dataflow.graph import Edge, column_name
from muntin.plan.catalog import Table
from muntin.plan.exprs import Column, Expr, map_columns
from muntin.plan.nodes import Scan, TableScan
from muntin.plan.windows import Ticks, Unbounded

Named = tuple[tuple[str, Expr], ...]

Keys = tuple[frozenset[str], ...] | None
"""How a value's rows are spread over shards: by these columns (each a set of columns that are equal), () for all rows
on shard 0, None for unknown."""


@dataclass(frozen=True)
class Loose:
    """A time window that has not been placed. ``columns`` and ``keep`` are over the stream's own column names."""

    scan: Scan
    ticks: Ticks | None
    columns: Named
    keep: tuple[Expr, ...] = ()
    marks: bool = False
    """Whether only the instants at which its rows come and go are wanted."""
    updates: Table | None = None
    """The table that changes, whose feed it is: updates, which ``Builder`` makes rows that come and go."""
    interval: bool = False
    """Whether rows keep their expiry in their interval under strategy "nt" too."""
    weight: str | None = None
    """Name of a last column, which the window adds: how many rows of the stream each one stands for."""

    @property
    def schema(self) -> Schema:
        fields = tuple(Field(n, e.type) for n, e in self.columns)
        return Schema(fields if self.weight is None else (*fields, Field(self.weight, pa.float64())))

    @property
    def signed(self) -> bool:
        return self.updates is not None


@dataclass(frozen=True)
class Placed:
    """Rows of a vertex, on their way to where they are wanted. Column i of ``schema`` is the vertex's column ci.

    ``everywhere``: every shard gets every row. ``endless``: no row has an expiry (each leaves by a negative tuple, if
    ever). ``split``: columns whose rows meet except those of hot keys, which all shards have (``routes.Split``).
    """

    edge: Edge
    schema: Schema
    signed: bool
    keys: Keys
    everywhere: bool = False
    endless: bool = False
    split: tuple[str, ...] = ()

    @property
    def spread(self) -> tuple[str, ...] | None:
        """The vertex's columns that place its rows: () for one shard, None for unknown or every shard."""
        if self.keys is None:
            return None
        names = self.schema.names
        return tuple(column_name(min(names.index(n) for n in part)) for part in self.keys)


Value = Loose | Placed


class Names:
    """Plan names as an operator over these inputs knows its columns: numbered on from one input to the next."""

    def __init__(self, *values: Placed) -> None:
        names = [f.name for v in values for f in v.schema]
        self._at = {n: column_name(i) for i, n in enumerate(names)}

    def column(self, name: str) -> str:
        """The operator's name of a column."""
        return self._at[name]

    def columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The operator's names of columns."""
        return tuple(self._at[n] for n in names)

    def expr(self, e: Expr) -> Expr:
        """The expression over the operator's columns."""
        return map_columns(e, lambda c: Column(self._at[c.name], c.type))


def table(scan: TableScan, ticks: Ticks | None) -> Loose:
    """A table as a value with all its columns: its feed of updates, each in force until a later one."""
    named = tuple((f"{scan.alias}.{f.name}", Column(f.name, f.type)) for f in scan.table.schema)
    feed = Scan(scan.table.feed, scan.alias, Unbounded())
    return Loose(feed, ticks, named, updates=None if scan.table.kind == "static" else scan.table)


def loose(scan: Scan, ticks: Ticks | None) -> Loose:
    """A time window as a value with all its columns."""
    named = tuple((f"{scan.alias}.{f.name}", Column(f.name, f.type)) for f in scan.stream.schema)
    return Loose(scan, ticks, named, weight=scan.schema.names[-1] if scan.weighed else None)


def substitute(e: Expr, columns: Named) -> Expr:
    """The expression with each column replaced by what it stands for."""
    known = dict(columns)
    return map_columns(e, lambda c: known[c.name])
