"""Logical plan nodes: frozen, self-checking; schemas are derived, never stored.

A bound query is ``Output(kind, Project(Filter?(Aggregate?(Join | Scan ...))))``. Column names inside a plan are
unique: a scan exposes ``alias.column``, so nothing above it needs scopes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal as OneOf

import pyarrow as pa

from muntin.core.calendar import nominal
from muntin.core.schema import Field, Schema
from muntin.core.time import Instants
from muntin.plan.catalog import Stream, Table
from muntin.plan.exprs import Agg, Column, Expr, columns_of
from muntin.plan.windows import ANY_INSTANT, QueryOptions, Session, Ticks, Unbounded, Window, beat


@dataclass(frozen=True)
class Scan:
    """A window on a stream under an alias. Exposes every column of the stream as ``alias.column``, and ``weighed`` how
    many rows each one stands for where not all are admitted (``alias..weight``, behind the others)."""

    stream: Stream
    alias: str
    window: Window
    weighed: bool = False

    @property
    def schema(self) -> Schema:
        fields = tuple(Field(f"{self.alias}.{f.name}", f.type) for f in self.stream.schema)
        return Schema((*fields, Field(f"{self.alias}..weight", pa.float64())) if self.weighed else fields)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True)
class Filter:
    """Rows for which ``predicate`` is true (not NULL)."""

    input: Node
    predicate: Expr

    def __post_init__(self) -> None:
        _check(self.predicate, self.input.schema, "Filter")

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Join:
    """n-way inner join: every combination of input rows valid together for which ``predicate`` is true.

    The binder leaves the whole WHERE/ON condition in ``predicate``; splitting it into equalities, one-stream
    conditions and the rest is the planner's work.
    """

    parts: tuple[Node, ...]
    predicate: Expr

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise ValueError("a join has at least two inputs")
        _check(self.predicate, self.schema, "Join")

    @property
    def schema(self) -> Schema:
        return Schema(tuple(f for p in self.parts for f in p.schema))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True)
class Aggregate:
    """GROUP BY ``groups`` with ``aggs``; ungrouped when ``groups`` is empty. Exposes the names given here."""

    input: Node
    groups: tuple[tuple[str, Expr], ...]
    aggs: tuple[tuple[str, Agg], ...]

    def __post_init__(self) -> None:
        for _, e in self.groups:
            _check(e, self.input.schema, "Aggregate")
        for _, a in self.aggs:
            if a.arg is not None:
                _check(a.arg, self.input.schema, "Aggregate")

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in self.groups) + tuple(Field(n, a.type) for n, a in self.aggs))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Project:
    """The named expressions, duplicates kept."""

    input: Node
    exprs: tuple[tuple[str, Expr], ...]

    def __post_init__(self) -> None:
        for _, e in self.exprs:
            _check(e, self.input.schema, "Project")

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in self.exprs))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True)
class TableScan:
    """A registered table under an alias: a relation that changes with time as its kind says (thesis 3.3.1).

    Exposes every column as ``alias.column``.
    """

    table: Table
    alias: str

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(f"{self.alias}.{f.name}", f.type) for f in self.table.schema))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True)
class Rewindow:
    """A window on a query's output stream: a windowed sub-query in FROM, a view that is a stream, or Wstream.

    ``input`` is an ``Output`` of kind istream, dstream or rstream; its rows have the instant at which they came out as
    event time. Columns keep the names that the input gives.
    """

    input: Output
    window: Window

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Distinct:
    """Each row once."""

    input: Node

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True)
class SemiJoin:
    """Rows of ``left`` for which some row of ``right`` makes ``predicate`` true (``anti``: for which none does).

    EXISTS, IN, LEFT SEMI; NOT EXISTS, LEFT ANTI. Duplicates of ``left`` are kept. ``null_aware`` (x, y): NOT IN; a row
    also fails when x or any y is NULL while ``right`` (its rows that satisfy ``predicate``) has rows.
    """

    left: Node
    right: Node
    predicate: Expr
    anti: bool = False
    null_aware: tuple[Expr, Expr] | None = None

    def __post_init__(self) -> None:
        _check(self.predicate, Schema(self.left.schema.fields + self.right.schema.fields), "SemiJoin")

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class OuterJoin:
    """SQL's outer join of two inputs; columns of both, NULL where there is no partner."""

    left: Node
    right: Node
    predicate: Expr
    side: OneOf["left", "right", "full"]

    def __post_init__(self) -> None:
        _check(self.predicate, self.schema, "OuterJoin")

    @property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


SetKind = OneOf["union_all", "except", "except_all", "intersect", "intersect_all"]


@dataclass(frozen=True)
class SetOp:
    """Bags of equal schemas (names of the left): UNION ALL; EXCEPT ALL keeps max(v1 - v2, 0) copies, INTERSECT ALL
    min(v1, v2); EXCEPT and INTERSECT their DISTINCT. UNION is Distinct over union_all."""

    kind: SetKind
    left: Node
    right: Node

    def __post_init__(self) -> None:
        if [f.type for f in self.left.schema] != [f.type for f in self.right.schema]:
            raise ValueError(f"{self.kind} of different schemas: {self.left.schema} and {self.right.schema}")

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Apply:
    """Each row of ``left`` with aggregates over the rows of ``right`` for which ``predicate`` (over both) is true.

    A scalar sub-query, correlated or not: over no rows a count is 0 and the others are NULL. The aggregate "single"
    (argument's type) is the one value of at most one row. Exposes left's columns and the aggregates' names.
    """

    left: Node
    right: Node
    predicate: Expr
    aggs: tuple[tuple[str, Agg], ...]

    def __post_init__(self) -> None:
        _check(self.predicate, Schema(self.left.schema.fields + self.right.schema.fields), "Apply")

    @property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + tuple(Field(n, a.type) for n, a in self.aggs))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


RankKind = OneOf["row_number", "rank", "dense_rank"]


@dataclass(frozen=True)
class TopK:
    """The first ``count`` rows in the order of ``keys`` ((expression, descending, nulls first)), behind the first
    ``offset``, of each group of equal ``by`` (none: of all rows); ties: by all columns ascending, NULLs first, so that
    the answer is determined.

    ``ties``: rows with the keys of the last one come too. ``ranks``: columns added, by name: the number of the row in
    its group, its rank (as many rows of lesser keys as there are, and 1), its dense rank (counting different keys).
    ``grouped``: the rows of an instant leave group by group, else by ``keys`` alone.
    """

    input: Node
    keys: tuple[tuple[Expr, bool, bool], ...]
    count: int
    by: tuple[Expr, ...] = ()
    offset: int = 0
    ties: bool = False
    ranks: tuple[tuple[str, RankKind], ...] = ()
    grouped: bool = False

    def __post_init__(self) -> None:
        for e in (*(e for e, _, _ in self.keys), *self.by):
            _check(e, self.input.schema, "TopK")

    @property
    def schema(self) -> Schema:
        return Schema(self.input.schema.fields + tuple(Field(n, pa.int32()) for n, _ in self.ranks))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


OutputKind = OneOf["rstream", "istream", "dstream", "changes", "istream_restore", "rstream_restore"]


@dataclass(frozen=True)
class WindowEdge:
    """A column of the result at ``position``: the instant, less ``back`` microseconds (the window's start), or the last
    multiple of ``since`` microseconds from ``origin`` before it (of a window that cumulates)."""

    position: int
    name: str
    back: int = 0
    since: int = 0
    origin: int = 0

    def of(self, instants: Instants) -> Instants:
        """Its values at instants."""
        if not self.since:
            return instants - self.back
        before = instants - 1
        found: Instants = before - (before - self.origin) % self.since
        return found


@dataclass(frozen=True)
class Output:
    """Root: how the relation becomes a stream. ``changes`` is the bare SELECT without SLIDE (+ and - rows). ``edges``:
    columns beside those of the relation, which say where the instant's window starts and ends."""

    input: Node
    kind: OutputKind
    edges: tuple[WindowEdge, ...] = ()

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


Node = (
    Scan
    | TableScan
    | Rewindow
    | Filter
    | Join
    | Aggregate
    | Project
    | Distinct
    | SemiJoin
    | OuterJoin
    | SetOp
    | Apply
    | TopK
    | Output
)


@dataclass(frozen=True)
class Note:
    """What a query's author may not have meant, in words; ``endless``: it matters where input does not end."""

    text: str
    endless: bool = False


@dataclass(frozen=True)
class BoundQuery:
    """A query ready to plan: its text, the plan's root and the options it runs under."""

    text: str
    root: Output
    options: QueryOptions = QueryOptions()
    notes: tuple[Note, ...] = field(default=(), compare=False)

    @property
    def scans(self) -> tuple[Scan, ...]:
        """Every scan, in FROM order."""
        return tuple(n for n in walk(self.root) if isinstance(n, Scan))

    @property
    def ticks(self) -> Ticks | None:
        """The evaluation instants, or None when no window has SLIDE (the query then answers at every change)."""
        return ticks_of(self.root, self.options)


def ticks_of(output: Output, options: QueryOptions) -> Ticks | None:
    """The evaluation instants of one query: of its own windows, not of those inside a windowed sub-query.

    None when none of its windows has a time SLIDE.
    """
    windows = windows_of(output)
    if any(isinstance(w, Session) for w in windows):
        return ANY_INSTANT
    beats = {b for w in windows if (b := beat(w, options)) is not None}
    found = sorted(beats, key=lambda b: (nominal(b[0]), b[1]))
    return Ticks(tuple(s for s, _ in found), tuple(o for _, o in found), options.zone) if found else None


def within(node: Node) -> Iterator[Node]:
    """As ``walk``, but not into the queries whose output streams are windowed: the nodes that share instants."""
    yield node
    for child in node.inputs:
        if not isinstance(child, Output):
            yield from within(child)


def windows_of(node: Node) -> list[Window]:
    """The windows of the node, not those inside windowed sub-queries."""
    return [n.window for n in within(node) if isinstance(n, Scan | Rewindow)]


def has_internal(node: Node) -> bool:
    """Whether a window of the node is INTERNAL: results over it stay when its rows leave it (thesis 3.3.2)."""
    return any(w.internal for w in windows_of(node))


def reaches(
    node: Node, options: QueryOptions, outer: tuple[tuple[Window, Ticks | None], ...] = (), ticks: Ticks | None = None
) -> Iterator[tuple[str, tuple[tuple[Window, Ticks | None], ...]]]:
    """(stream or table, windows from it outwards with their evaluation instants) for every leaf of the plan."""
    match node:
        case Scan(stream, _, window):
            yield stream.name, ((window, ticks), *outer)
        case TableScan(table):
            yield table.name, ((Unbounded(), ticks), *outer)
        case Rewindow(inner, window):
            yield from reaches(inner, options, ((window, ticks), *outer))
        case Output():
            yield from reaches(node.input, options, outer, ticks_of(node, options))
        case _:
            for child in node.inputs:
                yield from reaches(child, options, outer, ticks)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, parents first, inputs from left to right."""
    yield node
    for child in node.inputs:
        yield from walk(child)


def _check(e: Expr, schema: Schema, owner: str) -> None:
    for c in columns_of(e):
        field = schema.get(c.name)
        if field is None:
            raise ValueError(f"{owner} refers to {c.name!r}, which its input does not have: {schema.names}")
        if field.type != c.type:
            raise ValueError(f"{owner} takes {c.name!r} for {c.type}, but it is {field.type}")


def column(schema: Schema, name: str) -> Column:
    """A reference to a column that must exist."""
    field = schema.get(name)
    if field is None:
        raise ValueError(f"no column {name!r} in {schema.names}")
    return Column(name, field.type)
