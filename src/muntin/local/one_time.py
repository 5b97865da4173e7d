"""One-time queries over the windows that a checkpoint holds, answered while its pipeline goes on.

The answer is that of one committed batch (which one, the isolation says): of the last instant that it completed, W - 1
for the watermark W of the streams asked for. It is worked out from the rows that joins and queries which show their
rows keep of plain RANGE windows, read from a snapshot, so the pipeline does not wait for it, but under ``serial``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.errors import ConfigError, UnsupportedError
from muntin.core.schema import Schema
from muntin.core.time import ALWAYS, NEVER, instant_text
from muntin.core.watermark import Header, SourceClock
from muntin.cql.binder import bind
from muntin.cql.durations import format_duration
from muntin.cql.user_functions import with_functions
from muntin.dataflow.durable import DurablePlan
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.history import KeptRows, kept_rows
from muntin.dataflow.planner import plan_query
from muntin.dataflow.row_history import columns_needed
from muntin.engine.clocks import CLOCKS, Times
from muntin.engine.source import Arrived, ship
from muntin.local.contents import NotHeld, Running
from muntin.local.history import FromThen, expiry_of
from muntin.local.marks import answered_before
from muntin.local.pane_reads import PaneReads, Versions, Wanted
from muntin.local.runtime import LocalPipeline
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.optimizer.plan_text import spark_text
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.plan.exprs import conjuncts
from muntin.plan.user_functions import ScalarFunction
from muntin.plan.windows import Now, QueryOptions, Range, Unbounded
from muntin.state.snapshots import Snapshot

Isolation = OneOf["latest", "window", "serial"]
"""What an answer is of, where batches are committed while it is worked out (Golab 2006, 7.3). ``window``: the newest
batch when it was asked. ``latest``: the newest one when it had been read (latest-window-serializable); what is
committed meanwhile is caught up with. ``serial``: the newest one still when it answers; none is committed in between.
"""

Pause = Callable[[], object]
"""Called between two reads, and before the answer is worked out: it may wait, to let a batch pass."""

APART = 1 << 20
"""Between the numbers of the sources of two queries that are asked together."""

MOST_ROUNDS = 4
"""How often an answer is worked out at most because batches were committed in the meantime."""


class OvertakenError(ConfigError):
    """Batches are committed faster than a query in between can be answered."""


@dataclass(frozen=True)
class OneTimeAnswer:
    """``rows``: the query's columns. ``at``: the instant that they are of (microseconds). ``batch``: the version read.
    ``behind``: by how much the newest rows that have come are later than ``at`` (microseconds of event time).
    ``committed``: when that batch was committed (seconds since the epoch), where it is known; ``newer``: batches that
    were committed after it when the answer was there. ``caught_up``: batches that were committed while it was read, and
    that it is with; ``again``: panes that were read again, since these batches had replaced them. ``waited``: seconds
    for which it let batches and other queries pass. ``notes``: what the windows lack."""

    rows: pa.Table
    at: int
    batch: int
    behind: int
    committed: float | None = None
    notes: tuple[str, ...] = ()
    newer: int = 0
    caught_up: int = 0
    again: int = 0
    waited: float = 0.0


def one_time(
    text: str,
    plan: DurablePlan,
    versions: Versions,
    options: QueryOptions | None = None,
    isolation: Isolation = "window",
    pause: Pause = lambda: None,
    functions: Sequence[ScalarFunction] = (),
) -> OneTimeAnswer:
    """The answer to a query over windows that the vertices of ``plan`` keep, and over what its queries show, under
    their names. A stream without a window in the text is all that is held of it.

    Under ``serial`` the caller sees to it that batches wait; one that was committed all the same has the query begin
    anew. Under ``latest`` the state is that of the newest version once all of it is read; it is worked out anew where
    another one came until the answer was there, ``MOST_ROUNDS`` times at most, so that nobody waits for ever.
    ``pause``: see ``Pause``. ``functions``: users' own, which the query and those that run may call.

    Raises QueryError for a text that is wrong, ConfigError where nothing is held yet, UnsupportedError where what is
    held does not give the answer exactly, and OvertakenError. Cost: the rows of the windows, in this process.
    """
    return one_time_of([text], plan, versions, lambda found: found[0], options, isolation, pause, functions)


def one_time_of(
    texts: Sequence[str],
    plan: DurablePlan,
    versions: Versions,
    finish: Callable[[Sequence[OneTimeAnswer]], OneTimeAnswer],
    options: QueryOptions | None = None,
    isolation: Isolation = "window",
    pause: Pause = lambda: None,
    functions: Sequence[ScalarFunction] = (),
) -> OneTimeAnswer:
    """What ``finish`` makes of the answers to several queries over one state. Else as ``one_time``."""
    questions = [_Question.of(t, plan, options or QueryOptions(), i, functions) for i, t in enumerate(texts)]
    wanted = {n: w for q in questions for n, w in q.wanted.items()}
    vertices = {CLOCKS}.union(*(q.vertices for q in questions))

    def opened() -> Snapshot:
        held = versions.open(vertices)
        if held is None:
            raise ConfigError("no batch has been committed yet: there is nothing to ask")
        if len({q.instant(held) for q in questions}) > 1:  # before anything is read
            raise UnsupportedError(
                "the windows and queries asked for go by the time of different streams, so no instant has them all; "
                "ask for each alone"
            )
        return held

    def newer(than: int) -> Snapshot | None:
        return opened() if versions.newest() > than else None

    held, reads = opened(), PaneReads(wanted, pause)
    for left in reversed(range(MOST_ROUNDS)):
        held = reads.read(held, newer if isolation == "latest" else None)
        found = finish([q.answered(held, reads) for q in questions])
        found = replace(found, newer=max(versions.newest() - held.version, 0))
        if not found.newer or isolation == "window" or (isolation == "latest" and not left):
            return found
        if isolation == "serial":
            held, reads = opened(), PaneReads(wanted, pause)
    raise OvertakenError(
        f"batches were committed during each of {MOST_ROUNDS} attempts to answer between two; narrow the query, or ask "
        'with isolation "latest", which takes up what is committed meanwhile'
    )


@dataclass(frozen=True)
class _Question:
    """A query over what vertices keep: its plan, and by number of its sources what they read of windows (``wanted``)
    and the running queries whose answers they read (``tables``)."""

    asked: QueryPlan
    wanted: Mapping[int, Wanted]
    tables: Mapping[int, str]
    running: Running
    place: int = 0
    """Among several questions: numbers of ``wanted`` begin at so many times ``APART``."""

    @staticmethod
    def of(
        text: str, plan: DurablePlan, options: QueryOptions, place: int, functions: Sequence[ScalarFunction]
    ) -> _Question:
        kept, running = kept_rows(plan), Running.of(plan, functions)
        catalog = with_functions(held_catalog(plan, kept, running), functions)
        bound = bind(text, catalog, options)
        if bound.root.kind not in ("changes", "rstream"):
            raise UnsupportedError("a one-time query shows an answer, not what changes: leave out Istream and Dstream")
        asked = plan_query(bound)
        _plain_windows(asked)
        wanted, tables = {}, {}
        for number, vertex in enumerate(asked.vertices):
            if isinstance(vertex.op, Source) and vertex.op.stream.static:
                tables[number] = vertex.op.stream.name
            elif isinstance(vertex.op, Source):
                serving = _serving(vertex.op, asked, number, kept, catalog)
                columns = columns_needed(vertex.op) & serving.columns.keys()
                wanted[place * APART + number] = Wanted(vertex.op, serving, frozenset(columns))
        return _Question(asked, wanted, tables, running, place)

    @property
    def vertices(self) -> frozenset[str]:
        """The vertices whose state it reads."""
        below = (self.running.vertices(n) for n in self.tables.values())
        return frozenset(w.kept.vertex for w in self.wanted.values()).union(*below)

    def answered(self, held: Snapshot, reads: PaneReads) -> OneTimeAnswer:
        """The answer over what was read of a version."""
        kept, streams = [w.kept for w in self.wanted.values()], {w.kept.stream for w in self.wanted.values()}
        at = self.instant(held) - 1
        shown = {n: self._shown(name, held) for n, name in self.tables.items()}
        rows = _answer(self, reads, {n: rows for n, (rows, _) in shown.items()}, at)
        instants = {self.tables[n]: instant for n, (_, instant) in shown.items()}
        if instants and not kept:
            at = max(instants.values())
        for name in instants:
            streams |= {s.name for s in self.running.plans[name].streams if not (s.static or s.silent)}
        clocks = held.of(CLOCKS)[0].heads.get("clocks", {})
        newest = [SourceClock(**clocks[s]).top_ts for s in streams if s in clocks]
        behind = max([t - at for t in newest if t != NEVER], default=0)
        counts = {"caught_up": reads.caught_up, "again": reads.again}
        earlier = tuple(f"{n} is as of {instant_text(t)}" for n, t in instants.items() if t != at)
        return OneTimeAnswer(rows, at, held.version, behind, notes=(*_notes(kept, at), *earlier), **counts)

    def _shown(self, name: str, held: Snapshot) -> tuple[pa.RecordBatch, int]:
        """What a running query shows, and the instant that it is of."""
        try:
            return self.running.answer(name, held)
        except NotHeld as e:
            raise UnsupportedError(
                f"what query {name} shows is not held as a whole: {e}; its results go to its sink, and the rows that "
                "windows keep can be asked by the names of the streams"
            ) from e

    def instant(self, held: Snapshot) -> int:
        """The watermark of all that is asked for. Raises where there is not one."""
        marks = {answered_before(held, w.kept.vertex, w.kept.streams) for w in self.wanted.values()}
        marks |= {self.running.mark(n, held) for n in self.tables.values()}
        if NEVER in marks:
            raise ConfigError("no instant has been answered yet: there is nothing to ask")
        if len(marks) > 1:
            raise UnsupportedError(
                "what is asked for belongs to queries that go by the time of different streams, or of which one waits, "
                "so no instant has it all; ask for each alone"
            )
        return marks.pop()


def held_catalog(plan: DurablePlan, kept: Sequence[KeptRows], running: Running) -> Catalog:
    """The streams, with the columns of which rows are kept (where none are: with all), and the running queries as
    tables, but those that are called as a stream is."""
    streams: dict[str, Stream] = {}
    for graph in plan.readable():
        for s in graph.streams:
            names = {n for k in kept if k.stream == s.name for n in k.columns}
            schema = Schema(tuple(f for f in s.schema if not names or f.name in names or f.name == s.ts))
            order = streams[s.name].order if s.name in streams else len(streams)
            if not s.static:
                streams[s.name] = replace(s, schema=schema, order=order, slack=0, idle_after=None, sample=None)
    taken = {n.lower() for n in streams}
    tables = tuple(Table(n, schema) for n, schema in running.tables.items() if n.lower() not in taken)
    return Catalog(tuple(streams.values()), tables)


def _plain_windows(asked: QueryPlan) -> None:
    """Refuse windows that rows with event times do not make up."""
    for _, reach in asked.horizon:
        window = reach[0][0]
        slid = isinstance(window, Range) and (window.slide is not None or window.rows is not None)
        if len(reach) > 1 or slid or not isinstance(window, Range | Now | Unbounded):
            raise UnsupportedError(
                "a one-time query is over windows of time at one instant: [RANGE ...] without SLIDE, [NOW], or none "
                "for all rows that are held"
            )


def _serving(source: Source, asked: QueryPlan, number: int, kept: Sequence[KeptRows], catalog: Catalog) -> KeptRows:
    """The kept rows that have all columns and rows that a source asks for; of several those kept longest."""
    name, needed = source.stream.name, columns_needed(source)
    own = [k for k in kept if k.stream == name]
    made = {source.stream.ts} if _can_make(source.stream) else set()
    able = [k for k in own if needed <= {*k.columns, *made} and k.keep <= frozenset(conjuncts(source.keep))]
    if not own:
        tables = ", ".join(f"{t.name} ({', '.join(t.schema.names)})" for t in catalog.tables)
        raise UnsupportedError(
            f"no query that runs keeps the rows of {name} (a join of plain RANGE windows does, and one that shows its "
            "rows without SLIDE), they hold groups, partials or values; ask what these show, by name: "
            f"{tables or 'nothing is there'}"
        )
    if not able:
        columns = sorted({c for k in own for c in k.columns})
        passed = sorted({" AND ".join(sorted(map(spark_text, k.keep))) for k in own if k.keep})
        filters = f", or with the condition that its rows passed, {' or '.join(passed)}" if passed else ""
        raise UnsupportedError(
            f"no window on {name} holds the columns {', '.join(sorted(needed)) or 'asked for'} together{filters}; held "
            f"are {', '.join(columns)}"
        )
    best = max(able, key=_reach)
    windows = [v.op for v in asked.vertices if any(e.vertex == number for e in v.inputs)]
    for window in windows:
        if isinstance(window, TimeWindow) and isinstance(window.window, Range) and expiry_of(window, 0) > _reach(best):
            raise UnsupportedError(
                f"the rows of {name} are held for {format_duration(_reach(best))}, and the window asked for is longer"
            )
    return best


def _can_make(stream: Stream) -> bool:
    """Whether event times give the column of event time back."""
    type = stream.schema.get(stream.ts)
    return type is not None and (pa.types.is_timestamp(type.type) or pa.types.is_integer(type.type))


def _reach(kept: KeptRows) -> int:
    """How long a row is kept after its event time, in microseconds."""
    return expiry_of(kept.window, 0)


def _answer(question: _Question, reads: PaneReads, tables: Mapping[int, pa.RecordBatch], at: int) -> pa.Table:
    """What the query shows when all rows that live at ``at`` enter its windows then. ``tables``: rows by source."""
    asked = question.asked
    vertices = tuple(
        replace(v, op=FromThen(v.op.window, v.op.ticks, v.op.options, at)) if isinstance(v.op, TimeWindow) else v
        for v in asked.vertices
    )
    pipeline = LocalPipeline(replace(asked, vertices=vertices))
    arrived = {}
    for number, want in question.wanted.items():
        rows, times = _with_event_time(want, *reads.rows(number))
        live = np.flatnonzero((times <= at) & (times + _reach(want.kept) > at))
        entering = Arrived(rows.take(pa.array(live)), times[live], Header(0, 0, len(live)))
        arrived[number - question.place * APART] = ship(want.source, entering)
    for number, rows in tables.items():
        source = asked.vertices[number].op
        assert isinstance(source, Source)
        arrived[number] = ship(source, _as_updates(source.stream, rows))
    domains = len(pipeline.graph.domains)
    times_now = Times((NEVER,) * domains, (at + 1,) * domains, (at,) * len(pipeline.graph.streams))
    (shown,) = pipeline.take_in(arrived, times_now)
    if asked.op_column is not None:
        shown = shown.filter(pc.equal(shown.column(asked.op_column), "+"))
    return shown.select(asked.schema.names)


def _as_updates(feed: Stream, rows: pa.RecordBatch) -> Arrived:
    """The rows of a static table, there from the start."""
    *_, at, add = feed.schema.fields
    times = np.full(len(rows), ALWAYS, np.int64)
    columns = [*rows.columns, pa.array(times), pa.array(np.ones(len(rows), np.bool_))]
    whole = pa.RecordBatch.from_arrays(columns, names=[*rows.schema.names, at.name, add.name])
    return Arrived(whole, times, Header(0, 0, len(rows)))


def _with_event_time(
    want: Wanted, rows: pa.RecordBatch, times: NDArray[np.int64]
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """Rows and event times; a column of event time that is not kept is made of these."""
    stream = want.source.stream
    if stream.ts not in columns_needed(want.source) or stream.ts in want.columns:
        return rows, times
    made = stream.schema.get(stream.ts)
    assert made is not None
    column = pa.array(times // stream.ts_unit).cast(made.type)
    names = [n for n in rows.schema.names if n in want.columns]
    return pa.RecordBatch.from_arrays([*(rows.column(n) for n in names), column], names=[*names, stream.ts]), times


def _notes(kept: Sequence[KeptRows], at: int) -> tuple[str, ...]:
    found = []
    for k in kept:
        since = k.since.watermark
        if since is not None and at - since < _reach(k):
            found.append(f"rows of {k.stream} are held since batch {k.since.batch}: older ones are missing")
    return tuple(dict.fromkeys(found))
