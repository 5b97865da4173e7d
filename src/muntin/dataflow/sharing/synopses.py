"""Sliding aggregates over one stream that group alike read one synopsis (Golab 2006, sections 8.3.1 and 8.3.3).

A group of queries over different windows, slides and predicates becomes one vertex that keeps panes by group and
signature, and a reader a query: rule SS1 over windows, SS4 over predicates, and CS2 with CS6 for running all of them
from one pass over the panes. Aggregates of several functions read the same panes (CS3).
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import TypeVar

import pyarrow as pa

from muntin.aggregates.approximate import sketch_of
from muntin.aggregates.registry import described
from muntin.core.shown import counted
from muntin.core.spans import span_text, span_words
from muntin.core.time import DAY
from muntin.core.zones import grid_of, zone
from muntin.dataflow.graph import Early, Edge, Graph, Shared, Vertex, column_name, read_by, vertex_id
from muntin.dataflow.routes import Keyed, Route, Single
from muntin.dataflow.sharing.rule import Rule
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.reader import Reader
from muntin.operators.source import Source
from muntin.operators.synopsis import Synopsis, Window
from muntin.operators.synopsis_fold import Argument
from muntin.operators.synopsis_held import SUMS, parts_of, value_part
from muntin.operators.time_window import TimeWindow
from muntin.optimizer.plan_text import agg_text, spark_text
from muntin.plan.catalog import Stream
from muntin.plan.exprs import TRUE, Agg, Column, Expr, columns_of, conjunction, conjuncts, map_columns
from muntin.plan.failing import any_may_fail
from muntin.plan.stable_text import stable_text
from muntin.plan.windows import Range, Ticks

T = TypeVar("T")

FUNCTIONS = frozenset(["count", "regr_count", "min", "max"]) | SUMS
"""Aggregates that partials of panes give exactly, with those that are answered from sums of doubles
(``aggregates.moments``). (COUNT_IF and BOOL_AND are of them by another name.) Those over values are read from counts of
these, and APPROX_* from sketches."""

FINEST = 3_600
"""Panes that a window is cut into at most: windows whose common pane would be finer than that stay apart."""

DIGITS = 18
"""Of decimals whose sums are kept."""


@dataclass(frozen=True)
class Candidate:
    """A sliding aggregate that could read a synopsis: vertex ``number``, all of it over the stream's own columns."""

    number: int
    id: str
    stream: Stream
    groups: tuple[Expr, ...]
    aggs: tuple[Agg, ...]
    keep: Expr
    length: int
    slide: int
    origin: int
    shift: int
    granule: int
    zone: str | None
    streams: tuple[str, ...]
    early: Early | None = None

    @property
    def of_hours(self) -> bool:
        """Whether it is of real time while its instants are of a clock that is changed."""
        return self.zone is not None and len(zone(self.zone).starts) > 1 and self.length % DAY != 0

    @property
    def key(self) -> Hashable:
        """Equal for those that can read one synopsis, as far as their panes fit: their windows are of one kind of
        bounds, on the clock of one zone."""
        return self.stream.name, self.groups, self.shift, self.granule, self.zone, self.of_hours, self.streams

    @property
    def sketched(self) -> bool:
        """Whether an answer may be near."""
        return any(map(sketch_of, self.aggs))


def candidates(graph: Graph) -> list[Candidate]:
    """The sliding aggregates of a graph that a synopsis of panes could answer."""
    found = (_candidate(graph, number) for number in range(len(graph.vertices)))
    return [c for c in found if c is not None]


def _candidate(graph: Graph, number: int) -> Candidate | None:
    v = graph.vertices[number]
    if not isinstance(v.op, GroupAggregate) or len(v.inputs) != 1:
        return None
    below = graph.vertices[v.inputs[0].vertex]
    if not isinstance(below.op, TimeWindow) or below.op.weighed or not _plain(v.op, below.op) or _hinted(graph, number):
        return None
    (edge,) = below.inputs
    source = graph.vertices[edge.vertex].op
    if not isinstance(source, Source) or not _shareable(source.stream):
        return None
    window, ticks = below.op.window, v.op.ticks
    assert isinstance(window, Range) and isinstance(window.length, int) and ticks is not None
    columns = dict(source.columns)
    groups = tuple(_over_stream(e, columns) for _, e in v.op.groups)
    aggs = tuple(replace(a, arg=None if a.arg is None else _over_stream(a.arg, columns)) for _, a in v.op.aggs)
    if _route(len(groups)) != edge.route or not all(map(_given, aggs)):
        return None
    computed = [*groups, *(a.arg for a in aggs if a.arg is not None), source.keep]
    if any(map(any_may_fail, computed)):  # for rows that the query leaves out it must not fail
        return None
    slide = ticks.slides[0]
    assert isinstance(slide, int)
    options = below.op.options
    shift, granule = int(options.bounds == "start"), options.granule if options.bounds == "closed" else 0
    found = Candidate(
        number, v.id, source.stream, groups, aggs, source.keep, window.length, slide, ticks.origins[0] % slide, shift,
        granule, options.zone, v.streams, _early(graph, number),
    )  # fmt: skip
    return found if _cut_by_panes(found) else None


def _early(graph: Graph, number: int) -> Early | None:
    """How often all queries that show a vertex let it run (``dataflow.sharing.periods``)."""
    found = {graph.plans[u].early for u in graph.used_by[number]}
    return found.pop() if len(found) == 1 else None


def _cut_by_panes(c: Candidate) -> bool:
    """Whether the ends of a window are ends of panes: of a closed one, of panes whose last granule is apart; of days in
    a zone that changes its clock, of panes on this clock; of hours there, of panes of real time."""
    if c.granule and (c.granule > min(c.length, c.slide) or any(x % 2 for x in (c.length, c.slide, c.origin))):
        return False
    if c.of_hours:
        return not c.granule
    if c.zone is not None and len(zone(c.zone).starts) > 1:
        whole = c.length % DAY == 0 and not c.shift
        if not whole or (c.granule and c.length == c.slide):
            return False
    return True


def _plain(op: GroupAggregate, window: TimeWindow) -> bool:
    """Whether an aggregate shows whole answers at the multiples of one slide of a plain window of time."""
    if op.emit != "snapshots" or op.from_input or not op.aggs or op.ticks is None:
        return False
    reach, options = window.window, window.options
    plain = isinstance(reach, Range) and isinstance(reach.length, int) and reach.rows is None and not reach.internal
    plain = plain and not (reach.delay or reach.cumulative)  # type: ignore[union-attr]
    return plain and options.zone == op.ticks.zone and _one_slide(op.ticks, window.ticks)


def _one_slide(ticks: Ticks, of_window: Ticks | None) -> bool:
    return len(ticks.slides) == 1 and isinstance(ticks.slides[0], int) and of_window == ticks


def _shareable(stream: Stream) -> bool:
    """Whether a stream's rows mean the same whoever reads them along."""
    return not (stream.static or stream.silent) and stream.sample in (None, 1)


def _hinted(graph: Graph, number: int) -> bool:
    """Whether a query asked for something that sharing would change: a bound on its own state, another strategy."""
    options = [graph.plans[u].options for u in graph.used_by[number]]
    return any(o.memory is not None or o.strategy in ("nt", "direct") for o in options)


def _given(agg: Agg) -> bool:
    """Whether partials, or values by pane, give the aggregate as it should be."""
    moments = bool(described(agg).terms) and not agg.distinct
    if described(agg).fn != agg.base or not (agg.fn in FUNCTIONS or moments or value_part(agg)):
        return False
    t = pa.null() if agg.arg is None else agg.arg.type
    match agg.fn:
        case _ if moments or agg.fn in ("count", "regr_count"):
            return True
        case _ if value_part(agg):
            return not pa.types.is_nested(t)
        case "min" | "max":
            temporal = pa.types.is_temporal(t) and not pa.types.is_interval(t) and not pa.types.is_time(t)
            integer = pa.types.is_integer(t) and t != pa.uint64()
            return bool(integer or pa.types.is_boolean(t) or pa.types.is_floating(t) or temporal)
        case _:
            decimal = pa.types.is_decimal(t) and t.precision <= DIGITS
            return bool((pa.types.is_integer(t) and t != pa.uint64()) or decimal or pa.types.is_float64(t))


def _over_stream(e: Expr, columns: Mapping[str, Expr]) -> Expr:
    return map_columns(e, lambda c: columns[c.name])


def _route(groups: int) -> Route:
    return Keyed(tuple(map(column_name, range(groups)))) if groups else Single()


def sharing_groups(graph: Graph) -> list[list[Candidate]]:
    """The candidates that read one synopsis together: at least two, those that did before, or one that asks for a
    sketch."""
    stays = {id: inside for plan in graph.plans for id, inside in plan.sharing}
    by_key: dict[object, list[Candidate]] = {}
    for c in candidates(graph):
        if stays.get(c.id) is not False:
            by_key.setdefault(c.key, []).append(c)
    found = [_fitting(own, stays) for own in by_key.values()]
    return [own for own in found if len(own) > 1 or any(stays.get(c.id) or c.sketched for c in own)]


def _fitting(own: Sequence[Candidate], stays: Mapping[str, bool]) -> list[Candidate]:
    """Those whose panes fit together, so that their common ones are few enough: first who shares already, then the
    others as they come."""
    kept: list[Candidate] = []
    grid = longest = 0
    for c in sorted(own, key=lambda c: not stays.get(c.id, False)):
        finer = _told_by(c, gcd(grid, c.length, c.slide, c.origin - (kept[0] if kept else c).origin))
        if stays.get(c.id) or (max(longest, c.length) <= FINEST * finer and c.granule <= finer):
            kept.append(c)
            grid, longest = finer, max(longest, c.length)
    return sorted(kept, key=lambda c: c.number)


def panes(own: Sequence[Candidate]) -> tuple[int, int]:
    """(length of the longest panes of which every window and slide is made, where they are counted from)."""
    origin = own[0].origin
    grid = _told_by(own[0], gcd(*(x for c in own for x in (c.length, c.slide, c.origin - origin))))
    return grid, origin % grid


def _told_by(c: Candidate, grid: int) -> int:
    """Of panes that windows are made of the part by which a clock that was changed still goes by them."""
    return grid_of(grid, c.origin, c.zone).step if c.of_hours and c.zone is not None else grid


def synopsis_id(own: Sequence[Candidate]) -> str:
    """The id of the synopsis that some candidates read together."""
    return vertex_id(_synopsis(own, _shipped(own)), own[0].streams)


def share_synopses(graph: Graph) -> Graph:
    """The graph with one synopsis for each of ``sharing_groups``."""
    groups = sharing_groups(graph)
    return _rebuilt(graph, [_Made(graph, own) for own in groups]) if groups else graph


class _Made:
    """The source and the synopsis of a group, and a reader for each of its vertices."""

    def __init__(self, graph: Graph, own: list[Candidate]) -> None:
        one, columns = own[0], _shipped(own)
        self.own, self.op = own, _synopsis(own, columns)
        self.grid, self.route = self.op.grid, _route(len(one.groups))
        types, names = tuple(e.type for e in columns), tuple(spark_text(e) for e in columns)
        named = tuple((column_name(i), e) for i, e in enumerate(columns))
        source = Source(one.stream, _common(own), named)
        self.source = Vertex(vertex_id(source, ()), source, (), types, False, one.streams, names=names)
        aggs = _aggregates(own)
        out = (*types[: len(one.groups)], *(a.type for a in aggs), pa.int32())
        titles = (*names[: len(one.groups)], *(agg_text(a, spark_text) for a in aggs), "window")
        self.synopsis = Vertex(vertex_id(self.op, one.streams), self.op, (), out, False, one.streams, names=titles)
        self.readers = {c.number: self._reader(k, graph.vertices[c.number]) for k, c in enumerate(own)}

    def _reader(self, window: int, v: Vertex) -> Vertex:
        c, groups = self.own[window], len(self.op.groups)
        columns = (*range(groups), *(groups + a for a in self.op.windows[window].aggs))
        where = "" if c.keep == TRUE else f" where {spark_text(c.keep)}"
        what = f"RANGE {span_text(c.length)} SLIDE {span_text(c.slide)}{where}"
        run = self.op.windows[window].early
        what += "" if run is None else f", run each {span_text(run[0])}"
        op = Reader(window, tuple(map(column_name, columns)), what)
        return replace(v, id=vertex_id(op, [self.synopsis.id]), op=op)

    def words(self, graph: Graph) -> str:
        """What is spared."""
        count, rows = len(self.own), span_words(max(c.length for c in self.own))
        if count == 1:
            return f"sketches of panes of {span_words(self.grid)} instead of the values in its window ({rows})"
        return (
            f"one synopsis of panes of {span_words(self.grid)} for {count} sliding aggregates with "
            f"{counted(len({(c.length, c.slide) for c in self.own}), 'window')} and "
            f"{counted(len(self.op.predicates), 'predicate')}: "
            f"1 pass over the stream instead of {count}, state of the longest window ({rows}) alone"
        )


def _aggregates(own: Sequence[Candidate]) -> dict[Agg, int]:
    """The distinct aggregates with their places."""
    return _numbered(a for c in own for a in c.aggs)


def _shipped(own: Sequence[Candidate]) -> list[Expr]:
    """What the source ships: the groups first, then arguments and the columns that predicates read."""
    arguments = (a.arg for c in own for a in c.aggs if a.arg is not None)
    others = [*arguments, *(e for c in own for e in columns_of(c.keep))]
    groups = own[0].groups
    return [*groups, *(e for e in dict.fromkeys(others) if e not in groups)]


def _synopsis(own: Sequence[Candidate], columns: Sequence[Expr]) -> Synopsis:
    """The operator over a source that ships ``columns``."""
    one, aggs, predicates = own[0], _aggregates(own), _numbered(c.keep for c in own)
    place = {e: Column(column_name(i), e.type) for i, e in reversed(list(enumerate(columns)))}
    parts: dict[Expr, dict[str, None]] = {}
    for a in aggs:
        if a.arg is not None:
            parts.setdefault(a.arg, {}).update(dict.fromkeys(parts_of(a)))
    at, (grid, base) = _numbered(parts), panes(own)
    return Synopsis(
        stream=one.stream.name,
        groups=one.groups,
        shift=one.shift,
        predicates=tuple(map_columns(p, lambda c: place[c]) for p in predicates),
        names=tuple(map(_name, predicates)),
        arguments=tuple(Argument(_name(e), place[e].name, e.type, tuple(sorted(p))) for e, p in parts.items()),
        aggs=tuple(replace(a, arg=None if a.arg is None else place[a.arg]) for a in aggs),
        of=tuple(-1 if a.arg is None else at[a.arg] for a in aggs),
        windows=tuple(
            Window(
                c.id, predicates[c.keep], c.length, c.slide, c.origin, tuple(aggs[a] for a in c.aggs),
                _run_early(c, grid, base),
            )
            for c in own
        ),
        grid=grid,
        base=base,
        begins=((one.stream.name, one.shift),),
        granule=one.granule,
        zone=one.zone,
        of_hours=one.of_hours,
    )


def _run_early(c: Candidate, grid: int, base: int) -> tuple[int, int] | None:
    """The period with which a window runs, if that is shorter than its SLIDE and made of whole panes."""
    if c.early is None or c.early.slide >= c.slide or c.early.slide % grid or (c.early.origin - base) % grid:
        return None
    return c.early.slide, c.early.origin


def _numbered(values: Iterable[T]) -> dict[T, int]:
    """The distinct values with their places, in order of appearance."""
    return {v: i for i, v in enumerate(dict.fromkeys(values))}


def _common(own: Sequence[Candidate]) -> Expr:
    """What all predicates have in common: rows that fail it need not be sent."""
    shared = set.intersection(*(set(conjuncts(c.keep)) for c in own))
    return conjunction([e for e in conjuncts(own[0].keep) if e in shared])


def _name(e: Expr) -> str:
    """An expression by its content, in 12 hex digits."""
    return hashlib.sha256(stable_text(e).encode()).hexdigest()[:12]


def _rebuilt(graph: Graph, made: list[_Made]) -> Graph:
    """The graph with readers in place of what they answer, and without what nobody reads any more."""
    first = {m.own[0].number: m for m in made}
    of = {c.number: m for m in made for c in m.own}
    vertices: list[Vertex] = []
    place: list[int] = []
    at: dict[int, int] = {}
    for number, v in enumerate(graph.vertices):
        if number in first:
            m = first[number]
            vertices.append(m.source)
            vertices.append(replace(m.synopsis, inputs=(Edge(len(vertices) - 1, m.route),)))
            at[id(m)] = len(vertices) - 1
        if number in of:
            reader = of[number].readers[number]
            vertices.append(replace(reader, inputs=(Edge(at[id(of[number])]),)))
        else:
            vertices.append(v.renumbered(place))
        place.append(len(vertices) - 1)
    roots = [place[r] for r in graph.roots]
    kept, new = read_by(vertices, roots)
    notes = [n for m in made for n in (_note(graph, m), *_early_notes(graph, m))]
    return Graph(kept, tuple(new[r] for r in roots), graph.plans, (*graph.shared, *notes))


def _note(graph: Graph, m: _Made) -> Shared:
    users = sorted({q for c in m.own for q in graph.used_by[c.number]})
    return Shared(SYNOPSES.name, m.synopsis.id, tuple(users), tuple(c.id for c in m.own), m.words(graph))


def _early_notes(graph: Graph, m: _Made) -> Iterator[Shared]:
    """How often flexible queries run, by who chose it."""
    for why in dict.fromkeys(c.early.why for c in m.own if c.early is not None):
        mine = [(c, w) for c, w in zip(m.own, m.op.windows, strict=True) if c.early is not None and c.early.why == why]
        users = sorted({q for c, _ in mine for q in graph.used_by[c.number]})
        moved = [(w.slide, w.early[0]) for _, w in mine if w.early is not None]
        often = ", ".join(
            f"{moved.count(pair)} of SLIDE {span_text(pair[0])} each {span_text(pair[1])}"
            for pair in sorted(set(moved))
        )  # fmt: skip
        name, _, cost = why.partition(": ")
        words = f"run early with others: {often or 'none'}; {len(mine) - len(moved)} at their own SLIDE ({cost})"
        yield Shared(f"{name} scheduling", m.synopsis.id, tuple(users), (), words)


SYNOPSES = Rule(
    "synopses",
    "sliding aggregates over one stream that group alike read one synopsis of panes, whatever their windows, slides "
    "and predicates",
    "Golab 2006, 8.3: SS1, SS4, CS2, CS3, CS6",
    share_synopses,
)
