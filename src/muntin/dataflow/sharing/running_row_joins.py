"""Shared joins of windows of rows that run: what they keep, and in which places queries find their windows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from muntin.dataflow.graph import Edge, QueryPlan, Vertex, column_name
from muntin.dataflow.row_history import NumberedInput, numbered_inputs
from muntin.dataflow.sharing.joined_rows import JoinedRows, spread_by
from muntin.dataflow.sharing.joined_windows import domain_of
from muntin.operators.joins.counted_join import NOBODY, CountedJoin
from muntin.operators.joins.counted_pairs import Counts
from muntin.operators.reader import Reader
from muntin.plan.exprs import TRUE, Column, Expr, columns_of, conjunction, conjuncts, map_columns


@dataclass(frozen=True)
class KeptColumns:
    """An input of a shared join: ``keep``: conditions that its rows pass; ``columns``: what is kept, by name;
    ``spread``: as ``RowsInput`` has it."""

    keep: tuple[Expr, ...]
    columns: tuple[Column, ...]
    spread: tuple[Column, ...] | None


@dataclass(frozen=True)
class RowJoin:
    """A join that several queries read."""

    inputs: tuple[KeptColumns, KeptColumns]

    def column(self, input: int, c: Column) -> str:
        """What holds a column of an input in the join's rows."""
        first = len(self.inputs[0].columns) if input else 0
        return column_name(first + self.inputs[input].columns.index(c))

    def rest(self, member: JoinedRows) -> Expr:
        """What a member asks of the join's rows beyond what it does."""
        rests = []
        for i, (have, want) in enumerate(zip(self.inputs, member.inputs, strict=True)):
            own = conjunction([c for c in want.keep if c not in have.keep])
            rests.append(map_columns(own, lambda c, i=i: Column(self.column(i, c), c.type)))  # type: ignore[misc]
        return conjunction([r for r in rests if r != TRUE])


@dataclass(frozen=True)
class RunningRowJoin(RowJoin):
    """A join that runs: vertex ``number`` of ``plan``, read in ``windows`` by place."""

    plan: QueryPlan
    number: int
    windows: tuple[Counts, ...]
    signature: Hashable

    @property
    def id(self) -> str:
        """The vertex that has its state."""
        return self.plan.vertices[self.number].id

    @property
    def op(self) -> CountedJoin:
        """What it does."""
        op = self.plan.vertices[self.number].op
        assert isinstance(op, CountedJoin)
        return op

    def covers(self, member: JoinedRows) -> bool:
        """Whether it has all pairs of a join, with the columns that this reads."""
        fits = []
        for have, given, own in zip(self.inputs, member.inputs, self.op.inputs, strict=True):
            asked = {*given.columns, *(c for k in given.keep for c in columns_of(k))}
            fits.append({*have.keep} <= {*given.keep} and asked <= {*have.columns} and given.op.count <= own.count)
            fits.append(not member.settled or given.spread == have.spread)
        return all(fits)

    def with_window(self, counts: Counts) -> RunningRowJoin:
        """The join with one more window, in the first place that nobody reads."""
        if counts in self.windows:
            return self
        if NOBODY not in self.windows:
            return replace(self, windows=(*self.windows, counts))
        free = self.windows.index(NOBODY)
        return replace(self, windows=(*self.windows[:free], counts, *self.windows[free + 1 :]))

    def vertices(self, first: int) -> list[Vertex]:
        """Sources, windows and the join, the join last; the first is to be vertex number ``first``."""
        made: list[Vertex] = []
        join = self.plan.vertices[self.number]
        for edge in join.inputs:
            window = self.plan.vertices[edge.vertex]
            (sent,) = window.inputs
            made.append(self.plan.vertices[sent.vertex])
            made.append(replace(window, inputs=(replace(sent, vertex=first + len(made) - 1),)))
        op = replace(self.op, windows=self.windows)
        return [*made, replace(join, op=op, inputs=(Edge(first + 1), Edge(first + 3)))]


def running_joins(plans: Sequence[QueryPlan]) -> dict[str, RunningRowJoin]:
    """The joins that plans share, by id, with the windows that somebody reads."""
    found: dict[str, RunningRowJoin] = {}
    read: dict[str, set[int]] = {}
    for plan in plans:
        for number, v in enumerate(plan.vertices):
            if isinstance(v.op, CountedJoin) and v.id not in found and (join := _running(plan, number)):
                found[v.id] = join
            if isinstance(v.op, Reader):
                read.setdefault(plan.vertices[v.inputs[0].vertex].id, set()).add(v.op.window)
    return {id: replace(j, windows=_read(j.op, read.get(id, set()))) for id, j in found.items()}


def _read(op: CountedJoin, places: set[int]) -> tuple[Counts, ...]:
    return op.read_in(places).windows[: max(places, default=-1) + 1]


def _running(plan: QueryPlan, number: int) -> RunningRowJoin | None:
    v, given = plan.vertices[number], numbered_inputs(plan, number)
    domain = domain_of(plan.vertices, v)
    if given is None or domain is None or not isinstance(v.op, CountedJoin) or v.op.slices is not None:
        return None
    columns = [tuple(c for c in g.columns if isinstance(c, Column)) for g in given]
    if any(len(own) < len(g.columns) for own, g in zip(columns, given, strict=True)):
        return None
    parts, spread = zip(*(_part(plan, v, i, g) for i, g in enumerate(given)), strict=True)
    first, second = (KeptColumns(tuple(g.keep), *own) for g, *own in zip(given, columns, spread, strict=True))
    named = [Column(f"{i}.{c.name}", c.type) for i, own in enumerate(columns) for c in own]
    conditions = tuple(map_columns(c, lambda x: named[int(x.name[1:])]) for c in conjuncts(v.op.condition))
    signature = parts, conditions, domain, v.streams
    return RunningRowJoin((first, second), plan, number, v.op.windows, signature)


def _part(
    plan: QueryPlan, v: Vertex, i: int, given: NumberedInput
) -> tuple[Hashable, tuple[Column, ...] | None]:
    """How an input is numbered and joined (as ``RowsInput.joined`` has it), and by which columns it is spread then."""
    assert isinstance(v.op, CountedJoin)
    window, side = plan.vertices[v.inputs[i].vertex], v.op.inputs[i]
    place = {n: c for n, c in zip(given.numbering.schema.names, given.columns, strict=True) if isinstance(c, Column)}
    own = spread_by(given.route, [c for c in given.columns if isinstance(c, Column)])
    of = given.source.stream.name, given.source.keep, given.window, window.streams
    numbered = of, given.by, given.order, side.slide, own
    spread = None if side.spread is None else tuple(place[c] for c in side.spread)
    return (numbered, tuple(place[k] for k in side.keys)), spread


def with_windows(plan: QueryPlan, joins: Mapping[str, RunningRowJoin]) -> QueryPlan:
    """The plan with the windows of running joins as they are now."""
    if not any(v.id in joins for v in plan.vertices):
        return plan
    return replace(plan, vertices=tuple(_with_windows(v, joins.get(v.id)) for v in plan.vertices))


def _with_windows(v: Vertex, join: RunningRowJoin | None) -> Vertex:
    if join is None or not isinstance(v.op, CountedJoin):
        return v
    return replace(v, op=replace(v.op, windows=join.windows))
