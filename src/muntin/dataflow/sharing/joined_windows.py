"""Joins of windows as several queries may share them: what each input reads, keeps and spreads, and what is the same.

A join can be shared where each of its inputs is a window of time straight on a stream: then its rows' event times say
which results belong to a narrower window. Two joins have one *signature* where they join the same streams on the same
conditions, in the same order and in the same time. Windows, selections and columns may differ, and so may the shards
over which a join that has no key of all inputs is spread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import pyarrow as pa

from muntin.core.calendar import nominal
from muntin.core.time import DAY
from muntin.dataflow.graph import Edge, QueryPlan, RelayedJoin, Vertex, column_name, vertex_id
from muntin.dataflow.routes import HERE, Everywhere, Keyed, Route, Single
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.plan.catalog import Stream
from muntin.plan.exprs import Call, Column, Expr, conjuncts, map_columns
from muntin.plan.windows import Now, Range, own_ticks


@dataclass(frozen=True)
class JoinInput:
    """A window of time on a stream that a join reads.

    ``keep``: conditions that its rows pass; ``columns``: what the join gets, over the stream's own columns; ``window``:
    the operator; ``route``: how rows reach it; ``names``: of the columns, for people; ``domain``, ``streams``: whose
    time the window shares (see ``Vertex``).
    """

    stream: Stream
    keep: tuple[Expr, ...]
    columns: tuple[Expr, ...]
    window: TimeWindow
    route: Route
    names: tuple[str, ...]
    domain: tuple[str, ...]
    streams: tuple[str, ...]


@dataclass(frozen=True)
class JoinedWindows:
    """A join of windows in a plan: vertex number ``vertex`` of plan number ``plan``, under the name ``id``."""

    plan: int
    vertex: int
    id: str
    op: WindowJoin | GraphJoin
    inputs: tuple[JoinInput, ...]
    domain: tuple[str, ...]
    streams: tuple[str, ...]
    relayed: RelayedJoin | None = None
    """How the plan has it, if over several levels: ``op`` and ``inputs`` are those of the join on one level."""

    def expr(self, column: str) -> tuple[int, Expr]:
        """The input that a column of the join is of, and what it holds."""
        number = int(column[1:])
        for i, given in enumerate(self.inputs):
            if number < len(given.columns):
                return i, given.columns[number]
            number -= len(given.columns)
        raise IndexError(column)

    @property
    def equalities(self) -> tuple[tuple[tuple[int, Expr], ...], ...]:
        """What the join makes equal: each (input, expression over its stream) several times."""
        if isinstance(self.op, WindowJoin):
            return tuple(tuple(map(self.expr, key)) for key in zip(*self.op.keys, strict=True))
        return tuple(tuple(self.expr(c) for _, c in k) for k in self.op.classes)

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """What else a combination satisfies, over columns named by input and stream column."""
        if isinstance(self.op, WindowJoin):
            return ()
        return tuple(map_columns(c, self._labelled) for c in self.op.conditions)

    def _labelled(self, c: Column) -> Expr:
        i, e = self.expr(c.name)
        return map_columns(e, lambda own: Column(f"{i}.{own.name}", own.type))

    @property
    def signature(self) -> Hashable:
        """Equal for joins that can be one. How a join over a graph is spread does not matter: its results can be sent
        on to where a query has them alone."""
        op, kind = self.op, "keys" if isinstance(self.op, WindowJoin) else "graph"
        form: Hashable = op.null_safe if isinstance(op, WindowJoin) else (op.indexes, len(op.bands))
        inputs = tuple((i.stream.name, i.domain, i.streams) for i in self.inputs)
        spread = self.spread if kind == "keys" else None
        return kind, form, inputs, spread, self.equalities, self.conditions, self.domain, self.streams

    @property
    def spread(self) -> tuple[Hashable, ...]:
        """By input what its rows are spread by, whatever the columns' numbers are."""
        return tuple(_route_key(i.route, i.columns) for i in self.inputs)

    @property
    def sent(self) -> Route:
        """Which shards have the results, by the join's columns."""
        if self.relayed is not None and self.relayed.sent != HERE:
            return self.relayed.sent
        first = 0
        for given in self.inputs:
            if isinstance(given.route, Keyed):
                return Keyed(tuple(column_name(first + int(n[1:])) for n in given.route.columns))
            first += len(given.columns)
        return Single()


def _route_key(route: Route, columns: Sequence[Expr]) -> Hashable:
    """A route by what rows are spread by, whatever the columns' numbers are."""
    match route:
        case Keyed(names):
            return tuple(columns[int(n[1:])] for n in names)
        case _:
            return type(route).__name__


class Shareable(Protocol):
    """A join in a plan, under the name ``id``; those of one ``signature`` can be one."""

    @property
    def id(self) -> str: ...

    @property
    def signature(self) -> Hashable: ...


Join = TypeVar("Join", bound=Shareable)


def new_joins(
    plans: Sequence[QueryPlan], settled: Collection[int], known: Callable[[QueryPlan, int, int], Join | None]
) -> dict[Hashable, list[Join]]:
    """The joins of plans that could be shared, in order, by signature, but for those of ``settled`` plans and those
    that such a plan has, too. ``known``: of a plan the vertex of a number as such a join, or None."""
    running = {v.id for n in settled for v in plans[n].vertices}
    found: dict[Hashable, list[Join]] = {}
    for number, plan in enumerate(plans):
        if number in settled or plan.options.memory is not None:  # what one query may hold would bound what others need
            continue
        for join in (known(plan, i, number) for i in range(len(plan.vertices))):
            if join is not None and join.id not in running:
                found.setdefault(join.signature, []).append(join)
    return found


def joined_windows(plan: QueryPlan, number: int, of: int = 0) -> JoinedWindows | None:
    """The vertex as a join of windows that could be shared, a relayed one as it is on one level; None where it is none.
    """
    v = plan.vertices[number]
    for relayed in plan.relayed:
        if relayed.result == v.id:
            last = len(relayed.vertices) - 1
            whole = joined_windows(replace(plan, vertices=relayed.vertices, root=last, relayed=()), last, of)
            return None if whole is None else replace(whole, vertex=number, id=v.id, relayed=relayed)
    if not isinstance(v.op, WindowJoin | GraphJoin) or v.signed:
        return None
    if isinstance(v.op, GraphJoin) and (v.op.origins is not None or v.op.passing or v.op.relayed):
        return None
    inputs = [_input(plan.vertices, plan.vertices[e.vertex]) for e in v.inputs if e.route == HERE]
    domain = domain_of(plan.vertices, v)
    found = tuple(i for i in inputs if i is not None)
    if domain is None or len(found) < len(v.inputs) or len(found) < 2:
        return None
    return JoinedWindows(of, number, v.id, v.op, found, domain, v.streams)


def _input(vertices: Sequence[Vertex], window: Vertex) -> JoinInput | None:
    if not isinstance(window.op, TimeWindow) or window.signed:
        return None
    (sent,) = window.inputs
    source, domain = vertices[sent.vertex], domain_of(vertices, window)
    if not isinstance(source.op, Source) or domain is None or not isinstance(sent.route, Keyed | Everywhere | Single):
        return None
    stream = source.op.stream
    if stream.static or stream.silent or stream.sample not in (None, 1):  # what is admitted goes by the columns read
        return None
    if not _has_event_time(stream) or reach_of(window.op) is None:
        return None
    columns = tuple(e for _, e in source.op.columns)
    keep = tuple(dict.fromkeys(conjuncts(source.op.keep)))
    return JoinInput(stream, keep, columns, window.op, sent.route, source.names, domain, window.streams)


def domain_of(vertices: Sequence[Vertex], v: Vertex) -> tuple[str, ...] | None:
    """The streams that a vertex's id says it shares its time with; None where that cannot be told from it."""
    ids = [vertices[e.vertex].id for e in v.inputs]
    return next((d for d in ((), v.streams) if vertex_id(v.op, ids, d) == v.id), None)


def kept_where_they_are(plan: QueryPlan, number: int) -> bool:
    """Whether rows of a vertex are kept, or meet others, on the shards that they are on."""
    readers = [(i, v) for i, v in enumerate(plan.vertices) if Edge(number) in v.inputs]
    return any(v.op.stateful or len(v.inputs) > 1 or kept_where_they_are(plan, i) for i, v in readers)


def _has_event_time(stream: Stream) -> bool:
    """Whether the stream's column of event time says it by itself, to the microsecond."""
    kind = event_time_column(stream).type
    return bool(pa.types.is_integer(kind) or (pa.types.is_timestamp(kind) and kind.unit == "us"))


def event_time_column(stream: Stream) -> Column:
    """The stream's column of event time."""
    return next(Column(f.name, f.type) for f in stream.schema if f.name == stream.ts)


def reach_of(window: TimeWindow) -> int | None:
    """Microseconds for which a row must be kept so that the window, as its query sees it, finds it; None where that is
    no fixed time, or where later rows decide."""
    options = window.options
    match window.window:
        case Now(delay=0):
            length: int = options.granule
        case Range(length=int(length), rows=None, delay=0, cumulative=False):
            length += options.granule if options.bounds == "closed" else 0
        case _:
            return None
    own = own_ticks(window.window, options)
    if options.zone is not None and (own is not None or window.ticks is not None or length % DAY == 0):
        return None
    steps = [nominal(max(t.slides, key=nominal)) for t in (own, window.ticks) if t is not None]
    return length + sum(steps)


def moves_alike(windows: Sequence[TimeWindow]) -> bool:
    """Whether all windows show what starts and ends at the same instants: then rows that do not meet before SLIDE moves
    them do not meet afterwards, since it keeps their order."""
    moves = {(own_ticks(w.window, w.options), w.ticks) for w in windows}
    return len(moves) == 1


def lengths_of(inputs: Sequence[JoinInput]) -> tuple[int, ...]:
    """How long a shared join must keep the rows of each input, in microseconds."""
    plain = moves_alike([i.window for i in inputs])
    return tuple(_length(i.window, plain) for i in inputs)


def _length(window: TimeWindow, plain: bool) -> int:
    bare = window
    if plain and isinstance(window.window, Range):
        bare = replace(window, window=replace(window.window, slide=None), ticks=None)
    found = reach_of(bare)
    assert found is not None
    return found


def disjuncts(e: Expr) -> list[Expr]:
    """The parts of a disjunction, flattened."""
    match e:
        case Call("or", args):
            return [d for a in args for d in disjuncts(a)]
        case _:
            return [e]


def numbered(route: Route, columns: Sequence[Expr], among: Sequence[Expr]) -> Route:
    """A route over ``columns`` as one over ``among``, which has them all."""
    match route:
        case Keyed(names):
            return Keyed(tuple(column_name(among.index(columns[int(n[1:])])) for n in names))
        case _:
            return route
