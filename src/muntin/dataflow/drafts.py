"""Stages while they are being planned: values, where they live, and how they are brought together.

A value is what a plan node produces. It is *loose* while it is only a window on a stream with filters and columns that
the source can compute, and *placed* once some stage holds it. ``colocate`` puts values that must meet into one stage,
cutting a new one only where their shard keys do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.dataflow.stage import DerivedInput, Input, Op, PhysicalQuery, SourceInput, Stage
from muntin.operators.compute import Compute
from muntin.operators.materialize import Materialize
from muntin.operators.reshape import Endless, Signed, Snap
from muntin.operators.table_feed import TableFeed
from muntin.plan.catalog import Table
from muntin.plan.exprs import TRUE, Column, Expr, conjunction, map_columns
from muntin.plan.nodes import Scan, TableScan
from muntin.plan.windows import QueryOptions, Rows, Ticks, Unbounded

Named = tuple[tuple[str, Expr], ...]

Keys = tuple[frozenset[str], ...] | None
"""How a value's rows are spread over shards: by these columns (each a set of columns that are equal), () for all
rows on
shard 0, None for unknown."""


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
    """The table that changes, whose feed it is: updates, which ``Drafts.cleaned`` makes rows that come and go."""
    interval: bool = False
    """Whether rows keep their expiry in their interval under strategy "nt" too."""

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in self.columns))

    @property
    def signed(self) -> bool:
        return self.updates is not None


@dataclass(frozen=True)
class Placed:
    """Value number ``index`` of stage number ``stage``."""

    stage: int
    index: int
    schema: Schema
    signed: bool
    keys: Keys


Value = Loose | Placed


def table(scan: TableScan, ticks: Ticks | None) -> Loose:
    """A table as a value with all its columns: its feed of updates, each in force until a later one."""
    named = tuple((f"{scan.alias}.{f.name}", Column(f.name, f.type)) for f in scan.table.schema)
    feed = Scan(scan.table.feed, scan.alias, Unbounded())
    return Loose(feed, ticks, named, updates=None if scan.table.kind == "static" else scan.table)


def loose(scan: Scan, ticks: Ticks | None) -> Loose:
    """A time window as a value with all its columns."""
    named = tuple((f"{scan.alias}.{f.name}", Column(f.name, f.type)) for f in scan.stream.schema)
    return Loose(scan, ticks, named)


@dataclass
class Draft:
    """A stage that still takes inputs and operators. Values: ``("in", i)`` or ``("op", k)`` until it is finished."""

    inputs: list[Input] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    args: list[tuple[int, ...]] = field(default_factory=list)
    made: list[tuple[str, int]] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)

    def add_input(self, source: Input) -> int:
        """Number of the new (or an equal) input's value."""
        if source in self.inputs:
            return self.made.index(("in", self.inputs.index(source)))
        self.inputs.append(source)
        self.made.append(("in", len(self.inputs) - 1))
        return len(self.made) - 1

    def add_op(self, op: Op, args: tuple[int, ...]) -> int:
        """Number of the operator's result."""
        self.ops.append(op)
        self.args.append(args)
        self.made.append(("op", len(self.ops) - 1))
        return len(self.made) - 1

    def port(self, value: int) -> int:
        """The port at which a value leaves."""
        if value not in self.ports:
            self.ports.append(value)
        return self.ports.index(value)

    def finish(self, schema: Schema, signed: bool) -> Stage:
        """The stage, its values numbered inputs first."""
        number = [i if kind == "in" else len(self.inputs) + i for kind, i in self.made]
        return Stage(
            tuple(self.inputs), tuple(self.ops), schema, signed,
            tuple(tuple(number[a] for a in args) for args in self.args), tuple(number[p] for p in self.ports),
        )  # fmt: skip


class Drafts:
    """The stages of one query under construction."""

    def __init__(self, options: QueryOptions) -> None:
        self.options = options
        self.stages: list[Draft] = []
        self.tables: dict[tuple[str, int, tuple[str, ...] | None], Placed] = {}
        """The rows of tables that change, by table, stage and spread (stage -1: in a stage of their own)."""

    def colocate(self, values: Sequence[Value], keys: Sequence[tuple[str, ...] | None]) -> list[Placed]:
        """The values in one stage, rows with equal ``keys`` (aligned columns) on one shard, those of a value with the
        key None on every shard."""
        found = self._fitting(values, keys)
        if found is None:
            self.stages.append(Draft())
            last = len(self.stages) - 1
            return [self._enter(v, last, k) for v, k in zip(values, keys, strict=True)]
        stage, positions = found
        return [
            v if isinstance(v, Placed) else self._enter(v, stage, None if k is None else tuple(k[p] for p in positions))
            for v, k in zip(values, keys, strict=True)
        ]

    def _fitting(
        self, values: Sequence[Value], keys: Sequence[tuple[str, ...] | None]
    ) -> tuple[int, tuple[int, ...]] | None:
        """A stage that holds all the placed values spread by the same part of the keys: (stage, positions)."""
        placed = [(v, k) for v, k in zip(values, keys, strict=True) if isinstance(v, Placed)]
        if not placed or len({v.stage for v, _ in placed}) > 1:
            return None
        positions = [None if k is None else _positions(v.keys, k) for v, k in placed]
        if None in positions or len(set(positions)) > 1:
            return None
        assert positions[0] is not None
        return placed[0][0].stage, positions[0]

    def _enter(self, value: Value, stage: int, key: tuple[str, ...] | None) -> Placed:
        draft, everywhere = self.stages[stage], key is None
        spread: Keys = None if key is None else tuple(frozenset([k]) for k in key)
        key = key or ()
        match value:
            case Loose(updates=Table()):
                return self._table(value, stage, None if everywhere else key, spread)
            case Loose(scan, ticks, columns, keep):
                source = SourceInput(
                    scan.alias, scan.stream, scan.window, conjunction(list(keep)), columns, key, ticks=ticks,
                    everywhere=everywhere,
                )  # fmt: skip
                placed = Placed(stage, draft.add_input(source), value.schema, value.signed, spread)
                return self._negated(placed) if self.negates(value) else placed
            case Placed():
                port = self.stages[value.stage].port(value.index)
                derived = DerivedInput(value.stage, value.schema, key, value.signed, port, everywhere)
                return Placed(stage, draft.add_input(derived), value.schema, value.signed, spread)

    def _table(self, value: Loose, stage: int, key: tuple[str, ...] | None, spread: Keys) -> Placed:
        """The rows of a table that changes. All updates of a row (of its key) must meet where the feed is cleaned: that
        is here if the spread that is wanted keeps them together, else a stage of its own, from which rows travel on."""
        table = value.updates
        assert table is not None
        made, together = dict(value.columns), table.key or table.schema.names
        by = None if key is None else tuple(c.name if isinstance(c := made[k], Column) else "" for k in key)
        here = by is None or set(by) <= set(together)
        place = (table.name, stage, by) if here else (table.name, -1, together)
        if place not in self.tables:
            if not here:
                self.stages.append(Draft())
            self.tables[place] = self._cleaned(table, stage if here else len(self.stages) - 1, place[2])
        rows = self.tables[place]
        rows = self.apply(Compute(conjunction(list(value.keep)), value.columns), [rows], value.schema, True, spread)
        if value.ticks is not None:
            rows = self.apply(Snap(value.ticks), [rows], rows.schema, True, rows.keys)
        return rows if here else self._enter(rows, stage, key)

    def _cleaned(self, table: Table, stage: int, by: tuple[str, ...] | None) -> Placed:
        """The feed without updates that change nothing, under the table's own names, before any filter: what is
        counted as bad does not depend on the query."""
        columns = tuple((f.name, Column(f.name, f.type)) for f in table.schema)
        shipped = (*columns, ("__add", Column("__add", pa.bool_())))
        feed = SourceInput(table.name, table.feed, Unbounded(), TRUE, shipped, by or (), everywhere=by is None)
        draft = self.stages[stage]
        signed = draft.add_op(Signed("__add"), (draft.add_input(feed),))
        op = TableFeed(table.name, table.key, table.on_bad_update, everywhere=by is None)
        return Placed(stage, draft.add_op(op, (signed,)), table.schema, True, None)

    def negates(self, value: Loose) -> bool:
        """Whether the window announces every expiry by a negative tuple (strategy "nt", thesis 2.3.3)."""
        told = value.marks or value.interval
        return self.options.strategy == "nt" and not told and not isinstance(value.scan.window, Unbounded | Rows)

    def _negated(self, rows: Placed) -> Placed:
        changes = self.apply(Materialize("changes"), [rows], rows.schema, True, rows.keys)
        return self.apply(Endless(), [changes], rows.schema, True, rows.keys)

    def place(self, value: Value) -> Placed:
        """The value in some stage; a loose one is spread by all its columns."""
        if isinstance(value, Placed):
            return value
        return self.colocate([value], [value.schema.names])[0]

    def apply(self, op: Op, args: Sequence[Placed], schema: Schema, signed: bool, keys: Keys) -> Placed:
        """The result of an operator over values of one stage."""
        stage = args[0].stage
        assert all(a.stage == stage for a in args)
        index = self.stages[stage].add_op(op, tuple(a.index for a in args))
        return Placed(stage, index, schema, signed, keys)

    def filter(self, value: Value, predicate: Expr) -> Value:
        """Rows for which the predicate is true."""
        if predicate == TRUE:
            return value
        if isinstance(value, Loose):
            return replace(value, keep=(*value.keep, substitute(predicate, value.columns)))
        return self.apply(Compute(predicate), [value], value.schema, value.signed, value.keys)

    def project(self, value: Value, exprs: Named) -> Value:
        """The named expressions."""
        if exprs == tuple((f.name, Column(f.name, f.type)) for f in value.schema):
            return value
        if isinstance(value, Loose):
            return replace(value, columns=tuple((n, substitute(e, value.columns)) for n, e in exprs))
        schema = Schema(tuple(Field(n, e.type) for n, e in exprs))
        return self.apply(Compute(TRUE, exprs), [value], schema, value.signed, _renamed(value.keys, exprs))

    def finish(self, result: Placed, ticks: Ticks | None, shows_op: bool) -> PhysicalQuery:
        """The whole query; ``result`` leaves at the first port of the last stage."""
        if self.stages[result.stage].ports:
            self.stages.append(Draft())
            result = self._enter(result, len(self.stages) - 1, result.schema.names)
        if not self.stages[result.stage].ops:
            result = self.apply(Compute(), [result], result.schema, result.signed, result.keys)
        self.stages[result.stage].port(result.index)
        stages = tuple(d.finish(result.schema, result.signed) for d in self.stages)
        return PhysicalQuery(_read(stages, result.stage), self.options, ticks, result.schema, shows_op)


def _read(stages: Sequence[Stage], last: int) -> tuple[Stage, ...]:
    """The stages that ``last`` reads, directly or through others, each after those that it reads itself."""
    order: list[int] = []

    def take(number: int) -> None:
        for before in sorted(_before(stages[number])):
            if before not in order:
                take(before)
        order.append(number)

    take(last)
    kept = sorted(order)
    if any(before > s for s in kept for before in _before(stages[s])):  # a table's own stage, made after its reader
        kept = order
    place = {old: new for new, old in enumerate(kept)}

    def moved(source: Input) -> Input:
        return replace(source, stage=place[source.stage]) if isinstance(source, DerivedInput) else source

    return tuple(replace(stages[s], inputs=tuple(map(moved, stages[s].inputs))) for s in kept)


def _before(stage: Stage) -> set[int]:
    return {i.stage for i in stage.inputs if isinstance(i, DerivedInput)}


def substitute(e: Expr, columns: Named) -> Expr:
    """The expression with each column replaced by what it stands for."""
    known = dict(columns)
    return map_columns(e, lambda c: known[c.name])


def _positions(keys: Keys, wanted: tuple[str, ...]) -> tuple[int, ...] | None:
    """Which of the wanted columns the rows are spread by; None if the spread does not keep equal ones together."""
    if keys is None:
        return None
    found = []
    for part in keys:
        fitting = [i for i, name in enumerate(wanted) if name in part]
        if not fitting:
            return None
        found.append(next((i for i in fitting if i not in found), fitting[0]))  # one column may stand in two keys
    return tuple(found)


def _renamed(keys: Keys, exprs: Named) -> Keys:
    if keys is None:
        return None
    renamed = tuple(frozenset(n for n, e in exprs if isinstance(e, Column) and e.name in part) for part in keys)
    return renamed if all(renamed) else None
