"""The windows of a new query filled from the rows that a checkpoint's vertices keep of the same streams.

Nothing is answered twice or for the past: rows that are in a window at the watermark W enter it at W, so the first step
that the query runs begins with full windows and shows, as of W, all that they hold. In between the rows wait where
every operator keeps rows that have not started.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows
from muntin.core.calendar import nominal
from muntin.core.errors import InternalError
from muntin.core.schema import Schema
from muntin.core.time import DAY, FOREVER, NEVER
from muntin.core.watermark import Header, SourceClock
from muntin.dataflow.durable import Asked, DurablePlan, Since, TakenUp
from muntin.dataflow.fillable import NUMBERING, why_not
from muntin.dataflow.graph import QueryPlan, Vertex
from muntin.dataflow.history import KeptNumbers, KeptRows, kept_numbers, kept_rows, serves, since_of
from muntin.dataflow.row_history import NumberedInput, columns_needed, numbered_by
from muntin.engine.clocks import CLOCKS, Times
from muntin.engine.deferral import BEHIND
from muntin.engine.source import Arrived, ship
from muntin.local.contents import NotHeld
from muntin.local.joining_in import shown_before
from muntin.local.marks import watermark_of
from muntin.local.row_history import Opening, Unmarked, begin, rows_of
from muntin.local.runtime import LocalPipeline
from muntin.operators.context import Context
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joining_in import JoiningIn
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.materialize import Materialize
from muntin.operators.operator import Described, Operator, Show
from muntin.operators.reader import Reader
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.plan.windows import Range, Unbounded, own_ticks
from muntin.state.shard_state import Chunk, ShardState
from muntin.state.snapshots import Snapshot
from muntin.state.window_rows import EXP, int64s

MOST_BYTES = 1 << 30
"""Rows of history that are taken up at most, in bytes: they pass through the memory of one process."""

Open = Callable[[Collection[str]], Snapshot | None]
"""The state after the last batch of the given vertices (and the clocks); None where no batch has been committed."""


@dataclass(frozen=True)
class Filled:
    """``taken``: with the vertices that were filled, since their history began; ``cells``: their states by name;
    ``watermarks``: heads that the clocks are to have beside theirs."""

    taken: TakenUp
    cells: Mapping[str, ShardState] = field(default_factory=dict)
    watermarks: Mapping[str, int] = field(default_factory=dict)


class NoHistory(Exception):
    """Why a query begins with empty windows."""


def fill(taken: TakenUp, asked: Mapping[str, Asked], before: DurablePlan | None, opens: Open, shards: int) -> Filled:
    """Fill the windows of the queries that are new as a whole, where what ``before`` keeps allows it exactly.

    The notes of the others say why they begin with empty windows. Cost: the rows that are taken over, once.
    """
    batch = taken.durable.batch
    begun = frozenset(i for i, since in taken.since.items() if since == batch)
    if before is None or not begun:
        return Filled(taken)
    numbered = [n for n in numbered_by(taken.plans.values()) if n.vertex in begun]
    histories = _Histories(taken, before, begun, Kept.of(before), numbered, opens, shards)
    given: dict[str, _Given | None] = {}
    why: dict[str, str] = {}
    for name, plan in taken.plans.items():
        if begun.isdisjoint(v.id for v in plan.vertices if v.op.stateful):
            continue
        try:
            given[name] = histories.of(name, asked[name])
        except (NoHistory, NotHeld) as e:
            why[name] = str(e)
    for name in _begin_empty(taken.plans, given, why, begun):
        why[name] = "a new query that begins with empty windows numbers the same rows"
    found = Filled(taken)
    for name in taken.plans:
        if name in why:
            note = f"{found.taken.notes.get(name, 'new')}; no history was taken up: {why[name]}"
            found = _noted(found, name, note)
        elif name in given:
            cells = given[name]
            found = _noted(found, name, _reading(found, name, batch)) if cells is None else _with(found, name, cells)
    return found


@dataclass(frozen=True)
class _Given:
    """What a query begins with: states by name of vertices that are new, since when they have rows, and by time domain
    the watermark at which they begin."""

    cells: Mapping[str, ShardState]
    since: Since
    watermarks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Histories:
    """Where new queries find theirs. ``begun``: the vertices that are new; ``numbered``: the inputs of new windows of
    rows, in any query."""

    taken: TakenUp
    before: DurablePlan
    begun: frozenset[str]
    kept: Kept
    numbered: Sequence[NumberedInput]
    opens: Open
    shards: int

    def of(self, name: str, asked: Asked) -> _Given | None:
        """A query's; None where what is new in it is kept inside of what runs. Raises NoHistory or NotHeld."""
        plan, ran = self.taken.plans[name], self.before.vertices
        known = {v.id: since_of(ran[v.id]) for v in plan.vertices if v.op.stateful and v.id in ran}
        if isinstance(plan.vertices[plan.root].op, JoiningIn):
            cells = shown_before(name, plan, self.before, self.opens, self.shards)
            return _Given(cells, max(known.values(), key=lambda since: since.batch))
        if asked.bound.root.kind not in ("changes", "rstream"):
            raise NoHistory("it shows what changes from instant to instant, not what its windows hold")
        own = self.begun.intersection(v.id for v in plan.vertices)
        if holders := {self.taken.durable.vertices[v].inside for v in own} - {""}:
            if holders <= ran.keys():
                return None
            raise NoHistory("it reads a synopsis that begins with it")
        reason = why_not(plan, frozenset(ran))
        if reason is not None:
            raise NoHistory(reason)
        filling = _Filling(plan, self.kept, self.opens, self.shards, known, self.numbered)
        return _Given(*filling.cells(), {filling.domain: filling.watermark})


def _begin_empty(
    plans: Mapping[str, QueryPlan], given: dict[str, _Given | None], why: Mapping[str, str], begun: Collection[str]
) -> list[str]:
    """Take out of ``given`` who has a new window of rows with a query that cannot be filled: that would be asked to
    take back rows that it never got."""
    unfilled = [*why, *(name for name, cells in given.items() if cells is None)]
    empty = {v.id for n in unfilled for v in plans[n].vertices if v.id in begun and isinstance(v.op, NUMBERING)}
    left: list[str] = []
    while gone := [n for n, cells in given.items() if cells and empty & {v.id for v in plans[n].vertices}]:
        for name in gone:
            del given[name]
            empty |= {v.id for v in plans[name].vertices if v.id in begun and isinstance(v.op, NUMBERING)}
        left += gone
    return left


def _noted(found: Filled, name: str, note: str) -> Filled:
    return replace(found, taken=replace(found.taken, notes={**found.taken.notes, name: note}))


def _reading(found: Filled, name: str, batch: int) -> str:
    """A word to the user of a query that reads a synopsis which is there already (``state.pane_partials``)."""
    kind = found.taken.notes.get(name, "new").partition(":")[0]
    return (
        f"{kind}: it reads a synopsis of panes with others, and begins with those that tell what it asks; where none "
        f"do, its windows fill from batch {batch} on"
    )


def _with(found: Filled, name: str, given: _Given) -> Filled:
    taken, since = found.taken, given.since
    ids = {c.rpartition("/")[0] for c in given.cells}
    vertices = {
        i: replace(v, since=since.batch, at=since.at, watermark=since.watermark) if i in ids else v
        for i, v in taken.durable.vertices.items()
    }
    kind = found.taken.notes.get(name, "new").partition(":")[0]
    first = taken.durable.batch
    rows = f"with the rows that others keep since batch {since.batch}"
    note = f"{kind}: its windows are full from batch {first} on, {rows}"
    taken = replace(taken, durable=replace(taken.durable, vertices=vertices), notes={**taken.notes, name: note})
    return Filled(taken, {**found.cells, **given.cells}, {**found.watermarks, **given.watermarks})


@dataclass(frozen=True)
class Kept:
    """What the vertices of a checkpoint keep of streams: by time, and by number."""

    rows: tuple[KeptRows, ...]
    numbers: tuple[KeptNumbers, ...]

    @staticmethod
    def of(plan: DurablePlan) -> Kept:
        """Of a durable plan's vertices."""
        return Kept(kept_rows(plan), kept_numbers(plan))


@dataclass
class _Filling:
    """One query being filled."""

    plan: QueryPlan
    kept: Kept
    opens: Open
    shards: int
    shared: Mapping[str, Since]
    """Vertices that go on, with the first batch that each has rows of."""
    new: Sequence[NumberedInput]
    """Inputs of the windows of rows that are new, in any query."""
    watermark: int = NEVER

    @property
    def streams(self) -> tuple[str, ...]:
        """Whose clocks its operators go by."""
        return next(v.streams for v in self.plan.vertices if not v.is_source)

    @property
    def domain(self) -> str:
        return "\n".join(self.streams)

    @cached_property
    def _made(self) -> tuple[dict[str, ShardState], Since]:
        sources = {w.inputs[0].vertex for w in self.plan.vertices if _by_time(w)}
        candidates = {i: [k for k in self.kept.rows if self._serves(k, i)] for i in sorted(sources)}
        lacking = [self._source(i).stream.name for i, ks in candidates.items() if not ks]
        if lacking:
            raise NoHistory(f"no other query keeps the rows of {lacking[0]} with the columns and filters that it needs")
        numbered = self._numbered()
        wanted = {k.vertex for ks in candidates.values() for k in ks} | {k.given.vertex for _, k in numbered}
        held = self.opens(wanted | self._going_on() | {CLOCKS})
        if held is None:
            raise NoHistory("no batch has been committed")
        clock = held.of(CLOCKS)[0]
        sampled = [s.name for s in self.plan.streams if s.name in clock.heads.get("sampled", {})]
        if sampled:
            raise NoHistory(f"stream {sampled[0]} was sampled in an earlier run")
        self.watermark = watermark_of(clock, self.streams)
        if self.watermark == NEVER:
            raise NoHistory("no instant has been answered yet")
        chosen = {i: self._longest(i, ks, clock) for i, ks in candidates.items()}
        known = (*(k.since for k in chosen.values()), *(k.since for _, k in numbered), *self.shared.values())
        since = {s.batch: s for s in known}
        if len(since) > 1:
            raise NoHistory("the rows of its streams have been kept since different batches")
        rows = {i: rows_held(self._source(i), k, held) for i, k in chosen.items()}
        return self._warm(rows, clock, self._numbering(numbered, held)), next(iter(since.values()))

    def cells(self) -> tuple[dict[str, ShardState], Since]:
        """The states of all of its vertices, and since when those rows were kept. Raises NoHistory."""
        return self._made

    def _going_on(self) -> set[str]:
        """The operators with numbered rows that go on."""
        return {v.id for v in self.plan.vertices if v.id in self.shared and isinstance(v.op, NUMBERING)}

    def _numbered(self) -> list[tuple[NumberedInput, KeptNumbers]]:
        """For each input of a new window of rows whose numbers it goes on from. Raises NoHistory."""
        found, own = [], {v.id for v in self.plan.vertices}
        for given in (n for n in self.new if n.vertex in own):
            needed = columns_needed(given.source)
            fitting = [k for k in self.kept.numbers if k.given.serves(given, needed)]
            if not fitting:
                raise NoHistory(
                    f"no other query numbers the rows of {given.source.stream.name} alike and keeps as many, with the "
                    "columns and filters that it needs"
                )
            found.append((given, min(fitting, key=lambda k: (k.since.batch, k.given.sizes, k.given.vertex))))
        return found

    def _numbering(
        self, numbered: Sequence[tuple[NumberedInput, KeptNumbers]], held: Snapshot
    ) -> dict[str, ShardState]:
        """The states, by name, of windows of rows: those that go on, and new ones. Raises NoHistory."""
        used = self._going_on() | {kept.given.vertex for _, kept in numbered}
        if any(BEHIND in s.heads for id in used for s in held.of(id).values()):
            raise NoHistory("those who number the rows of its streams wait for their turn")
        found = {f"{id}/{shard}": state for id in self._going_on() for shard, state in held.of(id).items()}
        made = {given.vertex: {shard: ShardState() for shard in range(self.shards)} for given, _ in numbered}
        for given, kept in numbered:
            rows, size = rows_of(kept, held, self.watermark)
            if size > MOST_BYTES:
                raise NoHistory(_too_many(given.source.stream.name, size))
            begin(given, rows, made[given.vertex])
        return found | {f"{id}/{shard}": state for id, states in made.items() for shard, state in states.items()}

    def _source(self, number: int) -> Source:
        op = self.plan.vertices[number].op
        assert isinstance(op, Source)
        return op

    def _serves(self, kept: KeptRows, number: int) -> bool:
        return serves(kept, self._source(number), self.streams)

    def _longest(self, number: int, candidates: Sequence[KeptRows], clock: ShardState) -> KeptRows:
        """The rows that reach back furthest, if that is far enough for every window on the source."""
        best = max(candidates, key=lambda k: (k.window.window.length, -k.since.batch))  # type: ignore[union-attr]
        windows = [v.op for v in self.plan.vertices if _by_time(v) and v.inputs[0].vertex == number]
        first = min(first_in(w, self.watermark) for w in windows if isinstance(w, TimeWindow))
        if expiry_of(best.window, first) <= watermark_of(clock, best.streams):
            raise NoHistory(f"its window on {best.stream} reaches further back than the rows that are kept")
        return best

    def _warm(
        self,
        rows: Mapping[int, tuple[pa.RecordBatch, NDArray[np.int64]]],
        clock: ShardState,
        numbered: Mapping[str, ShardState],
    ) -> dict[str, ShardState]:
        """The states after the rows have come to the query's operators, before any of its instants."""
        at = self.watermark
        first = at - 1 if self.shared else at  # what goes on has answered the instants before W
        vertices = tuple(self._begun(v, first) for v in self.plan.vertices)
        pipeline = LocalPipeline(replace(self.plan, vertices=vertices), self.shards)
        pipeline.restore(numbered)
        clocks = clock.heads.get("clocks", {})
        seen = [s.name in clocks and SourceClock(**clocks[s.name]).top_ts != NEVER for s in pipeline.graph.streams]
        lows = tuple(first if came else FOREVER for came in seen)
        domains = len(pipeline.graph.domains)
        arrived = {i: ship(self._source(i), Arrived(*r, Header(0, 0, len(r[1])))) for i, r in rows.items()}
        shown = pipeline.take_in(arrived, Times((NEVER,) * domains, (at,) * domains, lows))
        if any(len(t) for t in shown):
            raise InternalError("a query that was being filled answered instants of the past")
        others = {CLOCKS, *self.shared}
        cells = {n: s for n, s in pipeline.cells().items() if n.rpartition("/")[0] not in others}
        for state in cells.values():
            if state.heads.get("first", FOREVER) != FOREVER:
                state.heads["first"] = at
        return cells


    def _begun(self, vertex: Vertex, first: int) -> Vertex:
        """The vertex such that no row enters a window before ``first``, nor a new operator before W."""
        op = vertex.op
        if isinstance(op, CountedJoin):
            op = op.read_in({v.op.window for v in self.plan.vertices if isinstance(v.op, Reader)})
        if isinstance(op, NUMBERING):
            return replace(vertex, op=Opening(op, first, self.watermark))
        if isinstance(op, TimeWindow):
            return replace(vertex, op=FromThen(op.window, op.ticks, op.options, first))
        if isinstance(op, GroupAggregate | Materialize) and len(vertex.inputs) > 1:
            op = Unmarked(op)
        if self.shared and op.stateful and vertex.id not in self.shared:
            op = _Begun(op, self.watermark)
        return replace(vertex, op=op)


def _by_time(vertex: Vertex) -> bool:
    """Whether it is a window of time on a stream, which has no numbered rows."""
    return isinstance(vertex.op, TimeWindow) and not isinstance(vertex.op.window, Unbounded)


def rows_held(
    source: Source, kept: KeptRows, held: Snapshot, needed: Collection[str] | None = None
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """The rows of a stream that a vertex keeps, in the columns ``needed`` (None: all that a source reads), and their
    event times. Raises NoHistory.
    """
    names = sorted(columns_needed(source) if needed is None else needed)
    schema = Schema(tuple(f for f in source.stream.schema if f.name in names)).to_arrow()
    return joined_parts([part_of(c, kept, schema) for c in chunks_held(kept, held).values()], schema)


Part = tuple[pa.RecordBatch, NDArray[np.int64]]
"""Rows of one chunk, and their event times."""


def chunks_held(kept: KeptRows, held: Snapshot) -> dict[tuple[int, Hashable], Chunk]:
    """The chunks of the rows, each under a name of its own: what has the same name has the same rows, in every version.
    Raises NoHistory."""
    states = held.of(kept.vertex)
    if any(s.chunks.get(f"{kept.structure}.spread") for s in states.values()):
        raise NoHistory(f"rows of {kept.stream} are kept spread over shards (skew)")
    found = {
        (shard, c.address or c): c
        for shard, s in states.items()
        if not kept.everywhere or shard == 0
        for c in s.list(kept.structure)
    }
    size = sum(c.meta["bytes"] for c in found.values())
    if size > MOST_BYTES:
        raise NoHistory(_too_many(kept.stream, size))
    return found


def _too_many(stream: str, size: int) -> str:
    return f"the rows kept of {stream} are {size >> 20} MB, more than {MOST_BYTES >> 20}"


def part_of(chunk: Chunk, kept: KeptRows, schema: pa.Schema) -> Part:
    """The rows of a chunk in the stream's columns that ``schema`` names."""
    rows = chunk.load()
    stays = expiry_of(kept.window, 0)  # a row that was taken over itself starts later than its event time
    times = int64s(rows, EXP) - stays
    if not schema.names:
        return _counted(rows.num_rows), times
    return _columns(rows, {n: kept.columns[n] for n in schema.names}, schema), times


def joined_parts(parts: Sequence[Part], schema: pa.Schema) -> Part:
    """Rows of several chunks one after the other."""
    times = [t for _, t in parts]
    if not schema.names:
        whole = _counted(sum(map(len, times)))
    else:
        empty = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
        whole = concat_rows([empty, *(rows for rows, _ in parts)])
    return whole, np.concatenate(times) if times else np.empty(0, np.int64)


@dataclass(frozen=True)
class _Begun(Described):
    """A new operator over others that go on: their rows come to it at ``at`` if they came before."""

    op: Operator
    at: int

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        moved = [Batch(b.columns, np.maximum(b.ts, self.at), b.exp, b.sign) for b in inputs]
        return self.op.step([b.where(b.ts < b.exp) for b in moved], state, ctx)

    def words(self, show: Show) -> str:
        return self.op.words(show)


@dataclass(frozen=True)
class FromThen(TimeWindow):
    """A window that rows enter at ``at`` if they would have entered it before."""

    at: int = NEVER

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        batch = super().step(inputs, state, ctx)
        then = np.array([self.at], np.int64)
        for ticks in (own_ticks(self.window, self.options), self.ticks):
            then = then if ticks is None else ticks.at_or_after(then)
        start = np.maximum(batch.ts, then[0])
        return Batch(batch.columns, start, batch.exp, batch.sign).where(start < batch.exp)


def expiry_of(window: TimeWindow, ts: int) -> int:
    """When a row of that event time leaves the window."""
    rows = pa.RecordBatch.from_arrays([pa.array([0])], names=["x"])
    at = np.array([ts], np.int64)
    plain = Context(NEVER, FOREVER, FOREVER, NEVER, None, None)
    out = window.step([Batch(rows, at, at)], ShardState(), plain)
    return int(out.exp[0]) if len(out) else ts


def first_in(window: TimeWindow, watermark: int) -> int:
    """The least event time of a row that is still in the window at the watermark, or never was seen in it."""
    length = window.window.length if isinstance(window.window, Range) else window.options.granule
    slides = (getattr(window.window, "slide", None) or 0, *(window.ticks.slides if window.ticks else ()))
    low, high = watermark - 2 * sum(map(nominal, (length, *slides))) - 3 * DAY, watermark
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if expiry_of(window, middle) > watermark else (middle, high)
    return high


def _columns(rows: pa.RecordBatch, names: Mapping[str, str], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([rows.column(n) for n in names.values()], schema=schema)


def _counted(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=["__none"])
