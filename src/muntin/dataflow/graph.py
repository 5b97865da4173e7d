"""The graph: vertices named by what they do, edges that say how rows reach them, queries as roots.

A vertex's id is a hash of its operator and of its inputs' ids, so the same work has the same id whichever query asks,
whatever else runs and however rows are spread over shards. Columns are called c0, c1, ... by position
everywhere inside, which keeps aliases and output names out of ids and of what is on disk, and internal names apart from
users'.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from muntin.core.calendar import nominal
from muntin.core.errors import InternalError
from muntin.core.schema import Field, Schema
from muntin.dataflow.routes import HERE, Here, Route, Single
from muntin.operators.compute import Compute
from muntin.operators.insertions import Insertions
from muntin.operators.joins.narrow import Narrow, Narrowed
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.operator import Operator
from muntin.operators.rewind import Rewind
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.plan.aggregates import Evaluate
from muntin.plan.catalog import Stream
from muntin.plan.nodes import WindowEdge
from muntin.plan.stable_text import stable_text
from muntin.plan.windows import Now, QueryOptions, Range, Ticks, Window
from muntin.state.window_rows import PANES


def column_name(position: int) -> str:
    """What a vertex's column is called."""
    return f"c{position}"


@dataclass(frozen=True)
class Edge:
    """Rows of vertex number ``vertex``, on their way as ``route`` says."""

    vertex: int
    route: Route = HERE


@dataclass(frozen=True)
class Vertex:
    """An operator over inputs.

    ``types``: of its columns. ``signed``: rows carry weights of +1 and -1. ``streams``: whose clocks bound its time;
    rows before the least of their watermarks are complete. ``fifo``: rows expire in order of start. ``names``: what the
    first query that asked calls its columns, for people.
    """

    id: str
    op: Operator
    inputs: tuple[Edge, ...]
    types: tuple[pa.DataType, ...]
    signed: bool
    streams: tuple[str, ...]
    fifo: bool = False
    names: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of its rows, without the columns of time."""
        return pa.schema([(column_name(i), t) for i, t in enumerate(self.types)])

    def renumbered(self, place: Sequence[int] | Mapping[int, int]) -> Vertex:
        """The vertex over the same inputs where these have other numbers: ``place`` by the former ones."""
        return replace(self, inputs=tuple(replace(e, vertex=place[e.vertex]) for e in self.inputs))

    @property
    def is_source(self) -> bool:
        return isinstance(self.op, Source)


@dataclass(frozen=True)
class RelayedJoin:
    """What a relayed join in a plan is on one level: inputs spread by one key, the others' rows on every shard.

    ``result``: id of the vertex that gives the relayed join's results; ``vertices``: sources, windows and the join on
    one level, which is last and gives the same columns. ``first``, ``second``: the inputs of both keys by number,
    ``bridge`` that of the first which has the second key, too. ``sent``: how results go on from the join on one level
    to the shards that have those of the relayed one.
    """

    result: str
    vertices: tuple[Vertex, ...]
    first: tuple[int, ...]
    second: tuple[int, ...]
    bridge: int
    sent: Route = HERE


def vertex_id(op: Operator, inputs: Iterable[str], domain: Sequence[str] = ()) -> str:
    """The name of a vertex: 16 hex digits. ``domain``: streams whose time it must share with the rest of its query
    (where one of them may fall idle: ``engine.clocks``)."""
    parts = [stable_text(op.identity()), *inputs, *([f"time of {','.join(domain)}"] if domain else [])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


Reach = tuple[tuple[Window, Ticks | None], ...]
"""Windows with their evaluation instants. End of input: time runs on through all of them (for a window on an output:
from the end of that output's own time)."""


@dataclass(frozen=True)
class Early:
    """The period with which a query runs that reads a synopsis with others, where it may run before it is due: its
    instants are the multiples of ``slide`` from ``origin`` (microseconds). ``why``: who chose it and by what."""

    slide: int
    origin: int
    why: str


OrderKeys = tuple[tuple[str, bool, bool], ...]
"""Columns that results are ordered by: (name, descending, NULLs first)."""


@dataclass(frozen=True)
class QueryPlan:
    """One query as a graph of its own, in topological order; vertex ``root`` gives the answer.

    ``schema``: the answer's columns under the query's names; ``shows_op``: the result has the column ``op`` ('+' /
    '-'). ``present``: columns of the result that are never NULL (``optimizer.presence``). ``horizon``: for every window
    on a stream the stream, and the windows that its rows pass on their way out, innermost first. ``functions``: code of
    user-defined aggregates by name.
    """

    vertices: tuple[Vertex, ...]
    root: int
    options: QueryOptions
    ticks: Ticks | None
    schema: Schema
    shows_op: bool
    functions: tuple[tuple[str, Evaluate], ...] = field(default=(), repr=False, compare=False)
    present: tuple[str, ...] = field(default=(), compare=False)
    horizon: tuple[tuple[str, Reach], ...] = ()
    shown: tuple[str, ...] = ()
    """The root's columns that ``schema`` names, where it has more (none named: all of them)."""
    edges: tuple[WindowEdge, ...] = ()
    """Columns among the query's that are made of the instant."""
    order: OrderKeys = ()
    """How the results of one instant are ordered (ORDER BY ... LIMIT), over the root's columns."""
    sharing: tuple[tuple[str, bool], ...] = field(default=(), compare=False)
    """By id of a vertex with state, in which form a checkpoint keeps it: inside what several queries share (True), even
    if this one is alone now, or as a vertex of its own (False). Those that are not listed are for the rules to settle
    (``dataflow.sharing``)."""
    relayed: tuple[RelayedJoin, ...] = field(default=(), compare=False, repr=False)
    """What its relayed joins are on one level, for queries that may share one; nothing once that is settled."""
    early: Early | None = field(default=None, compare=False)
    """How often it runs in this run, where that is not for its own SLIDE to say (``dataflow.sharing.periods``)."""

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The streams it reads, each once, in registration order."""
        found = {v.op.stream.name: v.op.stream for v in self.vertices if isinstance(v.op, Source)}
        return tuple(sorted(found.values(), key=lambda s: s.order))

    @property
    def id(self) -> str:
        """The id of the vertex that gives the answer."""
        return self.vertices[self.root].id

    @property
    def signature(self) -> str:
        """Names the result stream: equal for queries that show the same rows under the same columns."""
        form = (self.schema.names, self.shows_op, self.options.exp, self.shown, self.order, self.edges)
        flexible = "" if self.options.periods == "exact" else self.options.periods
        return hashlib.sha256((self.id + stable_text(form) + flexible).encode()).hexdigest()[:16]

    @property
    def graph(self) -> Graph:
        """The query alone as a graph."""
        return Graph(self.vertices, (self.root,), (self,))

    @property
    def time_column(self) -> str:
        """The result's column of event time: ``ts``, unless the query has a column of that name (see ``_free``)."""
        return self._free("ts")

    @property
    def op_column(self) -> str | None:
        """The result's column of '+' and '-', if it has one: ``op``, or what is free."""
        return self._free("op") if self.shows_op else None

    def _free(self, name: str) -> str:
        """``name``, with underscores before it until no column of the query's is called that, letter case apart."""
        taken = {n.lower() for n in (*self.schema.names, *(e.name for e in self.edges))}
        while name in taken:
            name = f"_{name}"
        return name

    def spark_schema(self) -> pa.Schema:
        """The result's columns, each nullable or not."""
        known = {*self.present, self.time_column, *(e.name for e in self.edges)}
        return pa.schema([f.with_nullable(f.name not in known) for f in self.result_schema.to_arrow()])

    @cached_property
    def result_schema(self) -> Schema:
        """Columns of the result in order: the query's own, then ``ts``, ``op``, ``exp`` as they apply; with underscores
        before them where the query has columns of these names.

        Time columns are timestamps with microseconds in UTC; ``op`` is a string.
        """
        instant = pa.timestamp("us", "UTC")
        extra = [Field(self.time_column, instant)]
        if self.op_column is not None:
            extra.append(Field(self.op_column, pa.string()))
        if self.options.exp:
            extra.append(Field(self._free("exp"), instant))
        own = list(self.schema.fields)
        for edge in self.edges:
            own.insert(edge.position, Field(edge.name, instant))
        return Schema((*own, *extra))


@dataclass(frozen=True)
class Channel:
    """Rows of one vertex on one route, sent once however many vertices want them. ``level``: the deepest reader's."""

    vertex: int
    route: Route
    level: int


@dataclass(frozen=True)
class Shared:
    """What a rule let several queries share, for EXPLAIN. ``vertex``: id of what they share; ``plans``: their numbers;
    ``inside``: ids of the vertices with state that it stands for; ``saved``: what that spares, in words."""

    rule: str
    vertex: str
    plans: tuple[int, ...]
    inside: tuple[str, ...]
    saved: str


@dataclass(frozen=True)
class Graph:
    """All queries together. ``roots``: the vertex of each plan in ``plans``; equal vertices are there once; ``shared``:
    what rules made of vertices that are not equal (``dataflow.sharing``)."""

    vertices: tuple[Vertex, ...]
    roots: tuple[int, ...]
    plans: tuple[QueryPlan, ...]
    shared: tuple[Shared, ...] = ()

    @staticmethod
    def of(plans: Sequence[QueryPlan]) -> Graph:
        """The union of plans.

        They are to be planned with the same ``Places`` (``planner.plan_queries``), so that hints of one query do not
        lay out an operator otherwise than another query has it. Raises InternalError where they were not.
        """
        vertices: list[Vertex] = []
        known: dict[Vertex, int] = {}
        roots = []
        for plan in plans:
            place: list[int] = []
            for v in plan.vertices:
                moved = v.renumbered(place)
                if moved not in known:
                    known[moved] = len(vertices)
                    vertices.append(moved)
                place.append(known[moved])
            roots.append(place[plan.root])
        _check_places(vertices)
        return Graph(tuple(vertices), tuple(roots), tuple(plans))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """For each vertex how many exchanges of rows lie before it: sources -1, what reads them 0 and so on."""
        found: list[int] = []
        for v in self.vertices:
            steps = [found[e.vertex] + (not isinstance(e.route, Here)) for e in v.inputs]
            found.append(max(steps, default=-1))
        return tuple(found)

    @property
    def depth(self) -> int:
        """Number of levels that run operators."""
        return max(self.levels) + 1

    def at(self, level: int) -> list[int]:
        """The vertices of a level, in topological order."""
        return [i for i, x in enumerate(self.levels) if x == level]

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """What travels between levels, sources' rows included."""
        deepest: dict[tuple[int, Route], int] = {}
        for i, v in enumerate(self.vertices):
            for e in v.inputs:
                if self.levels[e.vertex] < self.levels[i]:
                    deepest[e.vertex, e.route] = max(deepest.get((e.vertex, e.route), 0), self.levels[i])
        return tuple(Channel(v, r, level) for (v, r), level in deepest.items())

    @cached_property
    def single(self) -> tuple[bool, ...]:
        """Which vertices have work on shard 0 alone."""
        found: list[bool] = []
        for v in self.vertices:
            alone = [isinstance(e.route, Single) or (isinstance(e.route, Here) and found[e.vertex]) for e in v.inputs]
            found.append(bool(alone) and all(alone))
        return tuple(found)

    @cached_property
    def used_by(self) -> tuple[frozenset[int], ...]:
        """For each vertex the numbers of the plans that read it, directly or through others."""
        found: list[set[int]] = [set() for _ in self.vertices]
        for number, root in enumerate(self.roots):
            found[root].add(number)
        for i in reversed(range(len(self.vertices))):
            for e in self.vertices[i].inputs:
                found[e.vertex] |= found[i]
        return tuple(map(frozenset, found))

    @cached_property
    def beside(self) -> tuple[tuple[Operator, ...], ...]:
        """For each vertex with one input on its shard the operators that read the same and nothing else, itself among
        them; else none."""
        readers: dict[int, list[Operator]] = {}
        alone = [v.inputs[0].vertex if [e.route for e in v.inputs] == [HERE] else None for v in self.vertices]
        for read, v in zip(alone, self.vertices, strict=True):
            if read is not None:
                readers.setdefault(read, []).append(v.op)
        whole = {read: tuple(ops) for read, ops in readers.items()}
        return tuple(() if read is None else whole[read] for read in alone)

    @cached_property
    def narrowed(self) -> tuple[Narrowed | None, ...]:
        """For each join of two windows that queries share how they read it (None for all else)."""
        readers: list[list[int]] = [[] for _ in self.vertices]
        for number, v in enumerate(self.vertices):
            for e in v.inputs:
                readers[e.vertex].append(number)
        return tuple(self._narrowed(i, readers[i]) for i in range(len(self.vertices)))

    def _narrowed(self, number: int, readers: Sequence[int]) -> Narrowed | None:
        v = self.vertices[number]
        if not isinstance(v.op, WindowJoin) or len(v.inputs) != 2 or v.signed or number in self.roots:
            return None
        windows = [self.vertices[e.vertex].op for e in v.inputs]
        lengths = [w.window.length for w in windows if isinstance(w, TimeWindow) and isinstance(w.window, Range)]
        plain = [n for n in lengths if isinstance(n, int)]
        ops = [self.vertices[r].op for r in readers if self.vertices[r].inputs == (Edge(number),)]
        if len(plain) != 2 or len(ops) != len(readers):
            return None
        return Narrowed.of(ops, plain, any(self.expiring[r] for r in readers))

    @cached_property
    def expiring(self) -> tuple[bool, ...]:
        """Whether anybody reads when a vertex's rows expire: not where they are shown as insertions, without it."""
        found = [True] * len(self.vertices)
        readers: list[list[int]] = [[] for _ in self.vertices]
        for number, v in enumerate(self.vertices):
            for e in v.inputs:
                readers[e.vertex].append(number)
        shown, roots = {r for r, p in zip(self.roots, self.plans, strict=True) if p.options.exp}, {*self.roots}
        for number in reversed(range(len(self.vertices))):
            op = self.vertices[number].op
            if isinstance(op, Insertions):
                found[number] = number in shown or bool(readers[number])
            elif isinstance(op, Compute | Narrow | WindowJoin) and number not in roots:
                found[number] = any(found[r] for r in readers[number])
        return tuple(found)

    @cached_property
    def hints(self) -> tuple[Hints, ...]:
        """How each vertex may run."""
        spans: list[int | None] = []
        found = []
        for v, users in zip(self.vertices, self.used_by, strict=True):
            own = [_span(v.op), *(spans[e.vertex] for e in v.inputs)]
            spans.append(max((s for s in own if s is not None), default=None))
            pane = None if spans[-1] is None else max(1, spans[-1] // PANES)
            options = [self.plans[u].options for u in users]
            budgets = [o.memory for o in options if o.memory is not None]
            found.append(Hints(pane, any(o.strategy == "direct" for o in options), min(budgets, default=None)))
        return tuple(found)

    @cached_property
    def row_bytes(self) -> tuple[int, ...]:
        """By level the bytes of the widest row that a vertex gives, with its times; texts are taken to have 32."""
        found = [0] * self.depth
        for v, level in zip(self.vertices, self.levels, strict=True):
            found[level] = max(found[level], 16 + sum(_width(f.type) for f in v.schema))
        return tuple(found)

    @cached_property
    def stateful(self) -> tuple[int, ...]:
        """The vertices that remember something from step to step."""
        return tuple(i for i, v in enumerate(self.vertices) if v.op.stateful)

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The streams that it reads, each once, in registration order."""
        found = {s.name: s for p in self.plans for s in p.streams}
        return tuple(sorted(found.values(), key=lambda s: s.order))

    @cached_property
    def domains(self) -> tuple[tuple[str, ...], ...]:
        """The distinct sets of streams whose clocks bound some vertex."""
        return tuple(dict.fromkeys(v.streams for v in self.vertices))

    @cached_property
    def functions(self) -> Mapping[str, Evaluate]:
        """Code of user-defined aggregates by name."""
        return {n: f for p in self.plans for n, f in p.functions}


@dataclass(frozen=True)
class Hints:
    """How a vertex may run, beside what it does: never part of an id.

    ``pane``: microseconds after which its small chunks are merged (None: no window above it ends); ``scan``: expired
    rows are looked for among all (strategy "direct"); ``memory``: bytes of state that it may hold (None: no limit).
    """

    pane: int | None
    scan: bool
    memory: int | None


def _span(op: Operator) -> int | None:
    match op:
        case TimeWindow(Range(length, slide)) | Rewind(Range(length, slide)):
            return nominal(length) + nominal(slide or 0)
        case TimeWindow(Now(), _, options) | Rewind(Now(), options):
            return options.granule
        case _:
            return None


def read_by(vertices: Sequence[Vertex], roots: Iterable[int]) -> tuple[tuple[Vertex, ...], dict[int, int]]:
    """The vertices that some read, directly or through others, and those, numbered anew; by former number their new
    one."""
    wanted = set(roots)
    for i in reversed(range(len(vertices))):
        if i in wanted:
            wanted |= {e.vertex for e in vertices[i].inputs}
    place = {old: new for new, old in enumerate(sorted(wanted))}
    return tuple(vertices[i].renumbered(place) for i in place), place


def _check_places(vertices: Sequence[Vertex]) -> None:
    """One vertex with state, one place for it."""
    seen: dict[str, tuple[Edge, ...]] = {}
    for v in vertices:
        if v.op.stateful and seen.setdefault(v.id, v.inputs) != v.inputs:
            raise InternalError(
                f"two plans share operator {v.id} ({type(v.op).__name__}) but were laid out apart: plan the queries of "
                "one graph with the same Places"
            )


def _width(kind: pa.DataType) -> int:
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # of no fixed width
        return 32
