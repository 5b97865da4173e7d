"""Joins of two windows of rows as several queries may share them: what each input reads, keeps and shows.

Such a join can be shared where each input is a window of the latest rows straight on a stream. Where it is numbered
where it is joined (on one shard, or where its partitions are spread by columns that are joined), it stays there. Where
the join spreads rows otherwise than they are numbered (by columns that are not the partition's, or over all shards
since nothing must be equal), every shard of the shared join numbers all rows and joins those that the join alone would
get there. Selections between windows and join are kept apart from what is numbered. Windows of which nothing is read
but the partition stay alone: a row that goes there equals the one that comes, and such pairs cancel before they are
joined. Two joins have one *signature* where they number the same streams alike and join them on the same columns and
conditions; the sizes of windows, selections and columns may differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from muntin.dataflow.graph import Edge, QueryPlan, Vertex, column_name
from muntin.dataflow.routes import HERE, Everywhere, Keyed, Route, Single
from muntin.dataflow.sharing.joined_windows import domain_of, kept_where_they_are
from muntin.operators.compute import Compute
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.rows_window import RowsWindow
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.plan.exprs import TRUE, Column, Expr, calls_user_code, conjuncts, map_columns
from muntin.plan.stable_text import stable_text


@dataclass(frozen=True)
class RowsInput:
    """A window of rows that a join reads. ``op``: it; ``window``, ``source``: the vertices below; ``keep``: conditions
    that its rows pass on their way to the join; ``columns``: what the join gets; ``keys``: what is joined; ``by``,
    ``order``: as ``op`` has them. All columns are the stream's own, and so are those in conditions.

    ``route``: how rows reach a shared join, by columns of the stream (none: one shard; None: every shard gets them all
    to number them); ``spread``: then by which columns they are spread to be joined (None: they are joined everywhere).
    """

    op: RowsWindow
    window: Vertex
    source: Vertex
    route: tuple[Column, ...] | None
    spread: tuple[Column, ...] | None
    keep: tuple[Expr, ...]
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    keys: tuple[Column, ...]
    by: tuple[Column, ...]
    order: tuple[Column, ...]

    @property
    def numbered(self) -> Hashable:
        """Equal for windows that number rows alike, and where they do."""
        source = self.source.op
        assert isinstance(source, Source)
        of = source.stream.name, source.keep, self.window.op, self.window.streams
        return of, self.by, self.order, self.op.slide or 1, self.route

    @property
    def joined(self) -> Hashable:
        """Equal for those that are numbered alike and joined on the same columns, however they are spread for that."""
        return self.numbered, self.keys


@dataclass(frozen=True)
class JoinedRows:
    """A join of two windows of rows in a plan: vertex number ``vertex`` of plan number ``plan``, under the name ``id``.

    ``conditions``: what pairs fulfil beside equal keys, over columns named by input and stream column. ``settled``:
    operators above rely on how its results are spread over shards, so it can be one with joins only that agree (where
    rows are not spread by what is joined)."""

    plan: int
    vertex: int
    id: str
    inputs: tuple[RowsInput, RowsInput]
    conditions: tuple[Expr, ...]
    settled: bool
    domain: tuple[str, ...]
    streams: tuple[str, ...]

    @property
    def counts(self) -> tuple[int, int]:
        """The sizes of its windows."""
        return self.inputs[0].op.count, self.inputs[1].op.count

    @property
    def signature(self) -> Hashable:
        """Equal for joins that can be one, if they agree about how results are spread."""
        return tuple(i.joined for i in self.inputs), self.conditions, self.domain, self.streams


def joined_rows(plan: QueryPlan, number: int, of: int = 0) -> JoinedRows | None:
    """The vertex as a join of windows of rows that could be shared; None where it is none."""
    v = plan.vertices[number]
    own = keys_of(v.op)
    if own is None or len(v.inputs) != 2:
        return None
    domain, found, first = domain_of(plan.vertices, v), [], 0
    for edge, keys in zip(v.inputs, own, strict=True):
        places = [int(k[1:]) - first for k in keys]
        given = _input(plan.vertices, edge, places)
        if given is None or given.window.streams != v.streams:
            return None
        found.append(given)
        first += len(given.columns)
    types = zip(found[0].keys, found[1].keys, strict=True)
    if domain is None or any(a.type != b.type for a, b in types):
        return None
    both, settled = (found[0], found[1]), kept_where_they_are(plan, number)
    return JoinedRows(of, number, v.id, both, _conditions(v.op, both), settled, domain, v.streams)


def keys_of(op: object) -> tuple[tuple[str, ...], ...] | None:
    """By input the columns that a join makes equal (none: a nested loop); None for what is no such join of two."""
    match op:
        case WindowJoin(keys=keys, null_safe=False) if keys[0]:
            return keys
        case GraphJoin(columns=(_, _), classes=(), origins=None, passing=()):
            return (), ()
    return None


def _conditions(op: object, inputs: Sequence[RowsInput]) -> tuple[Expr, ...]:
    if not isinstance(op, GraphJoin):
        return ()
    columns = [Column(f"{i}.{c.name}", c.type) for i, given in enumerate(inputs) for c in given.columns]
    own = (map_columns(e, lambda c: columns[int(c.name[1:])]) for e in op.conditions)
    return tuple(sorted(own, key=stable_text))


def _input(vertices: Sequence[Vertex], edge: Edge, keys: Sequence[int]) -> RowsInput | None:
    """What a join reads by an edge, with the places of the columns that it joins."""
    passed: list[Compute] = []
    names, sent = vertices[edge.vertex].names, edge.route
    edge = Edge(edge.vertex)
    while edge.route == HERE and isinstance(op := vertices[edge.vertex].op, Compute):
        passed.append(op)
        (edge,) = vertices[edge.vertex].inputs
    rows = vertices[edge.vertex]
    if edge.route != HERE or not isinstance(rows.op, RowsWindow) or rows.op.by_value:
        return None
    if rows.inputs[0].route != HERE or domain_of(vertices, rows) is None:
        return None
    window = vertices[rows.inputs[0].vertex]
    if not isinstance(window.op, TimeWindow) or len(window.inputs) != 1 or domain_of(vertices, window) != ():
        return None
    source = vertices[window.inputs[0].vertex]
    own = _plain(source)
    if own is None:
        return None
    route = spread_by(window.inputs[0].route, own)
    by = tuple(own[int(c[1:])] for c in rows.op.by)
    through = _through(passed, own)
    if through is None:
        return None
    columns, keep = through
    joined, moved = tuple(columns[k] for k in keys), spread_by(sent, columns)
    if by and {*columns} <= {*by}:  # a row that is pushed out equals the one that pushes it out: nothing changes at all
        return None
    if route is None or any(map(calls_user_code, keep)):
        return None
    if sent != HERE:
        if moved == () or (moved is None and sent != Everywhere()):
            return None
        route = None
    elif not {*route, *by} <= {*joined}:
        return None
    order = (own[int(rows.op.order[1:])],) if rows.op.order else ()
    kept = tuple(c for c in dict.fromkeys(keep) if c != TRUE)
    return RowsInput(rows.op, window, source, route, moved, kept, tuple(columns), names, joined, by, order)


def _through(passed: Sequence[Compute], own: Sequence[Column]) -> tuple[list[Column], list[Expr]] | None:
    """The columns of the stream that are left, and what rows fulfil, after operators from the last to the first; None
    where one computes a column."""
    columns, keep = list(own), []
    for op in reversed(passed):
        keep += conjuncts(map_columns(op.predicate, lambda c, now=tuple(columns): now[int(c.name[1:])]))  # type: ignore[misc]
        made = [columns[int(e.name[1:])] for _, e in op.columns or () if isinstance(e, Column)]
        if len(made) < len(op.columns or ()):
            return None
        columns = columns if op.columns is None else made
    return columns, keep


def _plain(source: Vertex) -> tuple[Column, ...] | None:
    """The columns of a source of rows; None where it computes some, or is none that could be shared."""
    if not isinstance(source.op, Source) or source.op.stream.static or source.op.stream.silent:
        return None
    columns = tuple(e for _, e in source.op.columns if isinstance(e, Column))
    return columns if len(columns) == len(source.op.columns) else None


def spread_by(route: Route, columns: Sequence[Column]) -> tuple[Column, ...] | None:
    """The columns by which rows are spread (none: one shard); None for another way."""
    match route:
        case Single():
            return ()
        case Keyed(names):
            return tuple(columns[int(n[1:])] for n in names)
    return None


def spread(columns: Sequence[Column] | None, among: Sequence[Column]) -> Route:
    """The way back: a route by these columns (None: to every shard), numbered among those of a source."""
    if columns is None:
        return Everywhere()
    return Keyed(tuple(column_name(among.index(c)) for c in columns)) if columns else Single()
