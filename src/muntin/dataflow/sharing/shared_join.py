"""One join of the longest windows in place of several: what it reads and keeps, and the vertices that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.core.errors import InternalError
from muntin.dataflow.builder import Spread
from muntin.dataflow.graph import Edge, Vertex, column_name, vertex_id
from muntin.dataflow.routes import Everywhere, Keyed, Route
from muntin.dataflow.sharing.joined_windows import (
    JoinedWindows,
    JoinInput,
    disjuncts,
    event_time_column,
    lengths_of,
    numbered,
)
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.narrow import Narrow, WindowedPart
from muntin.operators.joins.slices import Slices
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.optimizer.plan_text import spark_text
from muntin.plan.exprs import Call, Column, Expr, columns_of, conjunction, conjuncts, map_columns
from muntin.plan.stable_text import stable_text
from muntin.plan.windows import QueryOptions, Range


@dataclass(frozen=True)
class SharedInput:
    """An input of a shared join: ``keep``: conditions that rows pass, ``columns`` over the stream's own, in the order
    of their texts, ``length``: of its window, microseconds."""

    keep: tuple[Expr, ...]
    columns: tuple[Expr, ...]
    length: int


@dataclass(frozen=True)
class SharedJoin:
    """A join for all joins of ``pattern``'s signature whose rows, columns and windows its ``inputs`` cover."""

    pattern: JoinedWindows
    inputs: tuple[SharedInput, ...]
    slices: Slices | None = None
    """Those between the windows of its queries, where it is done slice by slice."""

    def offset(self, input: int) -> int:
        """The number of an input's first column among all."""
        return sum(len(i.columns) for i in self.inputs[:input])

    def column(self, input: int, e: Expr) -> str:
        """What holds an expression of an input in the join's rows."""
        return column_name(self.offset(input) + self.inputs[input].columns.index(e))


def merged(members: Sequence[JoinedWindows]) -> SharedJoin:
    """The join of the longest windows that serves all members (of one signature)."""
    lengths = [lengths_of(m.inputs) for m in members]
    inputs = tuple(
        _merged_input([m.inputs[i] for m in members], max(x[i] for x in lengths))
        for i in range(len(members[0].inputs))
    )
    return SharedJoin(members[0], inputs)


def _merged_input(inputs: Sequence[JoinInput], length: int) -> SharedInput:
    common = [c for c in inputs[0].keep if all(c in i.keep for i in inputs)]
    rests = [[c for c in i.keep if c not in common] for i in inputs]
    keep = ordered([*common, *either(rests)])
    asked = [Column(c.name, c.type) for rest in rests for r in rest for c in columns_of(r)]
    columns = ordered([*(e for i in inputs for e in i.columns), *asked, event_time_column(inputs[0].stream)])
    return SharedInput(keep, columns, length)


def either(rests: Sequence[list[Expr]]) -> list[Expr]:
    """That one of several lists of conditions holds; [] where one of them is empty."""
    kinds = ordered([conjunction(list(ordered(r))) for r in rests if r])
    if not all(rests):
        return []
    whole = kinds[0]
    for kind in kinds[1:]:
        whole = Call("or", (whole, kind), pa.bool_())
    return [whole]


def ordered(exprs: Sequence[Expr]) -> tuple[Expr, ...]:
    """Each once, in an order that does not depend on who asked first."""
    return tuple(sorted(dict.fromkeys(exprs), key=stable_text))


def in_slices(shared: SharedJoin, members: Sequence[JoinedWindows], schedule: str) -> SharedJoin:
    """The join done slice by slice, where some members look back further than others."""
    longest = max(i.length for i in shared.inputs)
    found = [narrow_of(shared, m).apart for m in members]
    ends = sorted({longest if a is None else a for a in found})
    return replace(shared, slices=Slices(tuple(ends), schedule)) if len(ends) > 1 else shared


def covers(shared: SharedJoin, member: JoinedWindows) -> bool:
    """Whether a shared join of the member's signature has all of its rows and columns, and keeps rows long enough."""
    for have, want, length in zip(shared.inputs, member.inputs, lengths_of(member.inputs), strict=True):
        rest = [c for c in want.keep if c not in have.keep]
        wanted = {*want.columns, *(Column(c.name, c.type) for r in rest for c in columns_of(r))}
        wanted.add(event_time_column(want.stream))
        if have.length < length or not wanted <= {*have.columns}:
            return False
        if not all(_implied(c, want.keep) for c in have.keep):
            return False
    return True


def _implied(condition: Expr, by: Sequence[Expr]) -> bool:
    return condition in by or any(set(conjuncts(d)) <= set(by) for d in disjuncts(condition))


def host_of(join: JoinedWindows) -> SharedJoin:
    """A join that runs as a shared one, whatever it was made for."""
    inputs = []
    for given in join.inputs:
        window = given.window.window
        if not isinstance(window, Range) or not isinstance(window.length, int):
            raise InternalError(f"join {join.id} is no shared one: its window is {window}")
        inputs.append(SharedInput(given.keep, given.columns, window.length))
    return SharedJoin(join, tuple(inputs), join.op.slices)


def vertices_of(shared: SharedJoin, first: int, names: Sequence[Sequence[str]]) -> list[Vertex]:
    """Sources, windows and the join, the join last; the first is to be vertex number ``first``. ``names``: of the
    inputs' columns, for people."""
    made: list[Vertex] = []
    windows: list[int] = []
    for given, own, called in zip(shared.pattern.inputs, shared.inputs, names, strict=True):
        types, called = tuple(e.type for e in own.columns), tuple(called)
        columns = tuple((column_name(i), e) for i, e in enumerate(own.columns))
        source = Source(given.stream, conjunction(list(own.keep)), columns)
        made.append(Vertex(vertex_id(source, ()), source, (), types, False, (given.stream.name,), names=called))
        window = TimeWindow(Range(own.length), None, QueryOptions())
        edge = Edge(first + len(made) - 1, numbered(given.route, given.columns, own.columns))
        id = vertex_id(window, [made[-1].id], given.domain)
        made.append(Vertex(id, window, (edge,), types, False, given.streams, True, called))
        windows.append(first + len(made) - 1)
    op = _join_op(shared)
    id = vertex_id(op, [made[w - first].id for w in windows], shared.pattern.domain)
    types = tuple(e.type for i in shared.inputs for e in i.columns)
    called = tuple(n for own in names for n in own)
    edges = tuple(Edge(w) for w in windows)
    made.append(Vertex(id, op, edges, types, False, shared.pattern.streams, names=called))
    return made


def names_of(shared: SharedJoin, members: Sequence[JoinedWindows]) -> list[list[str]]:
    """What people call the columns: as the first member does that reads them."""
    found = []
    for i, own in enumerate(shared.inputs):
        known: dict[Expr, str] = {}
        for m in members:
            for e, name in zip(m.inputs[i].columns, m.inputs[i].names, strict=True):
                known.setdefault(e, name)
        alias = next((n.partition(".")[0] for n in known.values() if "." in n), members[0].inputs[i].stream.name)
        plain = (e.name if isinstance(e, Column) else spark_text(e) for e in own.columns)
        found.append([known.get(e, f"{alias}.{text}") for e, text in zip(own.columns, plain, strict=True)])
    return found


def _join_op(shared: SharedJoin) -> WindowJoin | GraphJoin:
    """The members' operator over the shared columns."""
    pattern, op = shared.pattern, shared.pattern.op

    def moved(column: str) -> str:
        return shared.column(*pattern.expr(column))

    if isinstance(op, WindowJoin):
        keys = tuple(tuple(map(moved, k)) for k in op.keys)
        return replace(op, keys=keys, slices=shared.slices)
    return replace(
        op,
        columns=tuple(
            tuple(column_name(shared.offset(i) + k) for k in range(len(own.columns)))
            for i, own in enumerate(shared.inputs)
        ),
        classes=tuple(tuple((i, moved(c)) for i, c in k) for k in op.classes),
        conditions=tuple(map_columns(c, lambda x: Column(moved(x.name), x.type)) for c in op.conditions),
        bands=tuple(replace(b, column=moved(b.column), other=moved(b.other)) for b in op.bands),
        slices=shared.slices,
        ways={},
    )


def narrow_of(shared: SharedJoin, member: JoinedWindows) -> Narrow:
    """What makes the member's rows of the shared join's."""
    parts, kept = [], []
    for i, (have, want) in enumerate(zip(shared.inputs, member.inputs, strict=True)):
        time = shared.column(i, event_time_column(want.stream))
        parts.append(WindowedPart(time, want.window, want.stream.ts_unit))
        rest = conjunction([c for c in want.keep if c not in have.keep])
        kept += conjuncts(map_columns(rest, lambda c, i=i: Column(shared.column(i, Column(c.name, c.type)), c.type)))  # type: ignore[misc]
    columns = tuple(shared.column(i, e) for i, given in enumerate(member.inputs) for e in given.columns)
    return Narrow(tuple(parts), columns, conjunction(kept))


def spreads_of(join: Vertex, vertices: Sequence[Vertex], first: int) -> tuple[Spread, ...]:
    """How the inputs of a shared join are spread, as ``Places`` has it; ``vertices`` are numbered from ``first`` on."""
    return tuple(_spread(vertices[e.vertex - first].inputs[0].route) for e in join.inputs)


def _spread(route: Route) -> Spread:
    match route:
        case Keyed(columns):
            return columns
        case Everywhere():
            return "everywhere"
        case _:
            return ()
