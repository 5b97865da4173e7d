"""Logical plan nodes: frozen, self-checking; schemas are derived, never stored.

A bound query is ``Output(kind, Project(Filter?(Aggregate?(Join | Scan ...))))``. Column names inside a plan are
unique: a scan exposes ``alias.column``, so nothing above it needs scopes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as OneOf

from muntin.core.schema import Field, Schema
from muntin.plan.catalog import Stream
from muntin.plan.exprs import Agg, Column, Expr, columns_of
from muntin.plan.windows import QueryOptions, Range, Ticks, Window, tick_origin


@dataclass(frozen=True)
class Scan:
    """A window on a stream under an alias. Exposes every column of the stream as ``alias.column``."""

    stream: Stream
    alias: str
    window: Window

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(f"{self.alias}.{f.name}", f.type) for f in self.stream.schema))

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
        return Schema(
            tuple(Field(n, e.type) for n, e in self.groups) + tuple(Field(n, a.type) for n, a in self.aggs)
        )

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


OutputKind = OneOf["rstream", "istream", "dstream", "changes"]


@dataclass(frozen=True)
class Output:
    """Root: how the relation becomes a stream. ``changes`` is the bare SELECT without SLIDE (+ and - rows)."""

    input: Node
    kind: OutputKind

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


Node = Scan | Filter | Join | Aggregate | Project | Output


@dataclass(frozen=True)
class BoundQuery:
    """A query ready to plan: its text, the plan's root and the options it runs under."""

    text: str
    root: Output
    options: QueryOptions = QueryOptions()

    @property
    def scans(self) -> tuple[Scan, ...]:
        """Every scan, in FROM order."""
        return tuple(n for n in walk(self.root) if isinstance(n, Scan))

    @property
    def ticks(self) -> Ticks | None:
        """The evaluation instants, or None when no window has SLIDE (the query then answers at every change)."""
        found = sorted(
            {
                (w.slide, tick_origin(w, self.options) % w.slide)
                for w in (s.window for s in self.scans)
                if isinstance(w, Range) and w.slide is not None
            }
        )
        return Ticks(tuple(s for s, _ in found), tuple(o for _, o in found)) if found else None


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
