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
from muntin.operators.reshape import Endless, Signed
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
    weight: str | None = None
    """The boolean column that says whether a row comes or goes (the feed of a table that changes)."""
    interval: bool = False
    """Whether rows keep their expiry in their interval under strategy "nt" too."""

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in self.columns))

    @property
    def signed(self) -> bool:
        return self.weight is not None


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
    return Loose(feed, ticks, named, weight=None if scan.table.kind == "static" else "__add")


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

    def colocate(self, values: Sequence[Value], keys: Sequence[tuple[str, ...] | None]) -> list[Placed]:
        """The values in one stage, rows with equal ``keys`` (aligned columns) on one shard, those of a value with the
        key None on every shard."""
        found = self._fitting(values, keys)
        if found is None:
            self.stages.append(Draft())
            return [self._enter(v, len(self.stages) - 1, k) for v, k in zip(values, keys, strict=True)]
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
            case Loose(scan, ticks, columns, keep, weight=weight):
                if weight is not None:
                    columns = (*columns, (weight, Column(weight, pa.bool_())))
                source = SourceInput(
                    scan.alias, scan.stream, scan.window, conjunction(list(keep)), columns, key, ticks=ticks,
                    everywhere=everywhere,
                )  # fmt: skip
                index = draft.add_input(source)
                if weight is not None:
                    index = draft.add_op(Signed(weight), (index,))
                placed = Placed(stage, index, value.schema, value.signed, spread)
                return self._negated(placed) if self.negates(value) else placed
            case Placed():
                port = self.stages[value.stage].port(value.index)
                derived = DerivedInput(value.stage, value.schema, key, value.signed, port, everywhere)
                return Placed(stage, draft.add_input(derived), value.schema, value.signed, spread)

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
        if result.stage != len(self.stages) - 1 or self.stages[-1].ports:
            self.stages.append(Draft())
            result = self._enter(result, len(self.stages) - 1, result.schema.names)
        if not self.stages[-1].ops:
            result = self.apply(Compute(), [result], result.schema, result.signed, result.keys)
        self.stages[-1].port(result.index)
        stages = tuple(d.finish(result.schema, result.signed) for d in self.stages)
        return PhysicalQuery(_read(stages), self.options, ticks, result.schema, shows_op)


def _read(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages without those that the last one does not read, directly or through others."""
    wanted = {len(stages) - 1}
    for number in reversed(range(len(stages))):
        if number in wanted:
            wanted |= {i.stage for i in stages[number].inputs if isinstance(i, DerivedInput)}
    place = {old: new for new, old in enumerate(sorted(wanted))}

    def moved(source: Input) -> Input:
        return replace(source, stage=place[source.stage]) if isinstance(source, DerivedInput) else source

    return tuple(replace(stages[s], inputs=tuple(map(moved, stages[s].inputs))) for s in sorted(wanted))


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
