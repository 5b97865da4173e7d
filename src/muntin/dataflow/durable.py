"""The durable plan: what a pipeline's checkpoint says of its queries and vertices, and how a run takes it up again.

State is named by vertex, so whatever leaves a query's vertices as they are leaves their state: hints, aliases, output
names, neighbours. What makes other vertices of the same question (another version's planner, a rule switched off,
another strategy) goes on with the plan as it was stored. What asks another question starts with empty windows only when
the user says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from typing import Literal as OneOf

from muntin.core.errors import ConfigError, StoreError
from muntin.core.time import instant_text
from muntin.dataflow.builder import Places, Spread
from muntin.dataflow.codec import CLASS, decode, encode
from muntin.dataflow.explain.words import words_of
from muntin.dataflow.fillable import why_not
from muntin.dataflow.graph import QueryPlan, Vertex
from muntin.dataflow.joining_in import joined_in
from muntin.dataflow.lowering.query import lower
from muntin.dataflow.sharing.alike import differs_only_by_sharing
from muntin.dataflow.sharing.joined_rows import joined_rows
from muntin.dataflow.sharing.rules import shared_graph
from muntin.dataflow.sharing.slices import with_schedule
from muntin.dataflow.sharing.value_costs import settled_by_cost
from muntin.dataflow.sharing.windows import share_windows
from muntin.operators.joining_in import JoiningIn
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.narrow import Narrow
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow, meaning_of
from muntin.optimizer.scaling import scales
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Stream
from muntin.plan.nodes import BoundQuery, Scan
from muntin.plan.rewriting import map_scans
from muntin.plan.user_functions import code_of, user_calls, with_code

log = logging.getLogger("muntin")

OnChange = OneOf["refuse", "refill"]
"""What to do when a query asks another question than at the checkpoint: refuse to start, or start what is new with
empty windows."""


STORED = "goes on with its plan as it was stored: the one that is made of it now would begin anew"
"""A word to the user of a query that is planned otherwise than it was."""


def check_on_change(given: str) -> None:
    """Raises ConfigError for what is no ``OnChange``."""
    if given not in ("refuse", "refill"):
        raise ConfigError(f'on_change is "refuse" or "refill", not {given!r}')


@dataclass(frozen=True)
class Since:
    """Since when state fills: the first batch that has it, the time of day at which that run was started (microseconds
    since 1970 in UTC), and the watermark at which it began (microseconds of event time): it lacks rows from before.

    None: not known (a checkpoint of an earlier version), or no watermark yet.
    """

    batch: int
    at: int | None = None
    watermark: int | None = None


@dataclass(frozen=True)
class DurableVertex:
    """A vertex with state: the first batch that has it, its level, how its inputs are spread, what it does; ``at`` and
    ``watermark``: see ``Since``."""

    since: int
    level: int
    places: tuple[Spread, ...]
    words: str
    at: int | None = None
    watermark: int | None = None
    inside: str = ""
    """The vertex that keeps its state along with others' (``dataflow.sharing``); empty: it has state of its own."""


@dataclass(frozen=True)
class DurableQuery:
    """A query: its text, options by name, the id of its question (``question_of``) and its plan as JSON."""

    text: str
    options: Mapping[str, Any]
    question: str
    root: str
    plan: Any
    since: int = 0
    """The first batch that it answered."""
    known: Mapping[str, Any] = field(default_factory=dict)
    """The statistics that it was planned with, as JSON (``Statistics.to_json``)."""


@dataclass(frozen=True)
class DurablePlan:
    """What runs from ``batch`` on, by the release ``version``."""

    batch: int
    version: str
    vertices: Mapping[str, DurableVertex] = field(default_factory=dict)
    queries: Mapping[str, DurableQuery] = field(default_factory=dict)

    def readable(self) -> Iterator[QueryPlan]:
        """The plans of its queries; of another release's, those that this one can read."""
        yield from self.named.values()

    @cached_property
    def named(self) -> Mapping[str, QueryPlan]:
        """The same by name, in the form in which their state is kept."""
        found = {}
        for name, query in self.queries.items():
            with suppress(StoreError):
                plan = decode(query.plan)
                found[name] = replace(plan, sharing=_forms(plan, self))
        return found

    def left(self, asked: Collection[str]) -> frozenset[str]:
        """The questions of the queries that are not ``asked`` any more: under another name they are the same query."""
        return frozenset(q.question for name, q in self.queries.items() if name not in asked)

    def begun(self, batch: int, at: int, watermarks: Mapping[str, int]) -> DurablePlan:
        """The same plan, all of whose state begins in a batch; units: see ``Since``."""
        start = Start(batch, at, watermarks)
        mark = start.of(s.name for plan in self.readable() for s in plan.streams if not s.static)
        return replace(
            self,
            batch=batch,
            vertices={id: replace(v, since=batch, at=at, watermark=mark) for id, v in self.vertices.items()},
            queries={name: replace(q, since=batch) for name, q in self.queries.items()},
        )

    def filling(self, name: str) -> Since:
        """Since when the youngest state of a query fills."""
        ids = {v["id"] for v in self.queries[name].plan["vertices"]}
        own = [Since(v.since, v.at, v.watermark) for id, v in self.vertices.items() if id in ids]
        return max(own, key=lambda s: s.batch, default=Since(0))


@dataclass(frozen=True)
class Start:
    """Where a run starts: in ``batch``, at a time of day (``at``), with the ``watermarks`` that its streams have, by
    name. See ``Since`` for units. ``sampled``: streams of which a part has been admitted so far."""

    batch: int
    at: int | None = None
    watermarks: Mapping[str, int] = field(default_factory=dict)
    sampled: Collection[str] = ()

    def of(self, streams: Iterable[str]) -> int | None:
        """The watermark of a set of streams."""
        known = [self.watermarks.get(s) for s in streams]
        return min((w for w in known if w is not None), default=None) if None not in known else None


@dataclass(frozen=True)
class Asked:
    """A query to be run: bound, and how it is planned where vertices already have their places, with statistics."""

    bound: BoundQuery
    plan: Callable[[Places, Statistics], QueryPlan]

    @cached_property
    def question(self) -> str:
        """The id of what it asks (``question_of``)."""
        return question_of(self.bound)


@dataclass(frozen=True)
class TakenUp:
    """How the queries of a run take up what a checkpoint has. ``notes``: by query what its user should know."""

    plans: Mapping[str, QueryPlan]
    durable: DurablePlan
    notes: Mapping[str, str]

    @property
    def since(self) -> Mapping[str, int]:
        """By vertex the first batch that has it."""
        return {id: v.since for id, v in self.durable.vertices.items()}

    @property
    def begun(self) -> Mapping[str, int]:
        """By query the batch from which on its results are those of all that it has read: of a query that found
        vertices with state there already, when the oldest of them began."""
        since = self.since
        return {
            name: min([q.since, *(since[v.id] for v in self.plans[name].vertices if v.id in since)])
            for name, q in self.durable.queries.items()
        }


def take_up(
    before: DurablePlan | None,
    asked: Mapping[str, Asked],
    batch: int,
    version: str,
    on_change: OnChange = "refuse",
    at: int | None = None,
    watermarks: Mapping[str, int] | None = None,
    sampled: Collection[str] = (),
    known: Statistics | None = None,
    schedule: str | None = None,
) -> TakenUp:
    """The plans with which the queries go on from ``before`` (None: from nothing) in ``batch``. ``known``: statistics
    for queries that are new; ``schedule``: policy by which shared joins are done slice by slice (None: new ones whole).

    ``at``: time of day; ``watermarks``: of the streams by name, those that have one (units: see ``Since``);
    ``sampled``: streams that are, or were in an earlier run.

    Raises ConfigError where a query asks another question than it did and would start over.
    """
    start = Start(batch, at, watermarks or {}, sampled)
    places = Places((id, v.places) for id, v in before.vertices.items()) if before else Places()
    there = frozenset(before.vertices) if before else frozenset()
    plans: dict[str, QueryPlan] = {}
    notes, statistics, settled = {}, {}, set()
    for name, query in asked.items():
        old = before.queries.get(name) if before else None
        statistics[name] = Statistics.from_json(old.known) if old else known or Statistics()
        plans[name] = query.plan(places, statistics[name])
        stored = None if old is None else _going_on(name, query, plans[name], old, there, on_change, start)
        if stored is not None:
            plans[name], notes[name] = stored
            settled.add(name)
    stays = {number for number, name in enumerate(plans) if name in settled}
    filled = {n for n, (q, p) in enumerate(plans.items()) if q not in settled and begins_with_pairs(p, asked[q], start)}
    shared = share_windows(list(plans.values()), places, known or Statistics(), stays, schedule, filled)
    plans = {n: with_schedule(p, schedule) for n, p in zip(plans, shared, strict=True)}
    if before is not None:
        for name in plans.keys() - settled:
            if new := _new(plans[name], there):
                notes[name] = _begun(new, plans[name], start, name in before.queries)
            if name not in before.queries and asked[name].question not in before.left(asked):
                plans[name] = joined_in(plans[name], name, batch, there)
    notes = {n: notes[n] for n in plans if notes.get(n)}
    kept = [replace(plan, sharing=_forms(plan, before)) for plan in plans.values()]
    plans = dict(zip(plans, settled_by_cost(kept, known or Statistics()), strict=True))
    return TakenUp(plans, _durable(plans, asked, before, places, start, version, statistics), notes)


def begins_with_pairs(plan: QueryPlan, asked: Asked, start: Start) -> bool:
    """Whether a query that is one join of windows of rows could begin with the pairs that another such join holds."""
    joins = [v for n, v in enumerate(plan.vertices) if joined_rows(plan, n) is not None]
    windows = [v for v in plan.vertices if isinstance(v.op, TimeWindow)]
    if len(joins) != 1 or len(windows) > 2 or asked.bound.root.kind not in ("changes", "rstream"):
        return False
    if any(s.name in start.sampled for s in plan.streams):  # the pairs that are there are of a part of their rows
        return False
    (join,) = joins
    return start.of(join.streams) is not None and why_not(plan, frozenset([join.id])) is None


def _forms(plan: QueryPlan, before: DurablePlan | None) -> tuple[tuple[str, bool], ...]:
    """In which form the checkpoint keeps the plan's state (``QueryPlan.sharing``)."""
    known = before.vertices if before else {}
    return tuple((v.id, bool(known[v.id].inside)) for v in plan.vertices if v.id in known)


def _new(plan: QueryPlan, known: frozenset[str]) -> list[str]:
    """What those operators do that have state and were not there before."""
    graph = plan.graph
    return [words_of(graph, i) for i in graph.stateful if graph.vertices[i].id not in known]


def _going_on(
    name: str,
    asked: Asked,
    plan: QueryPlan,
    old: DurableQuery,
    there: frozenset[str],
    on_change: OnChange,
    start: Start,
) -> tuple[QueryPlan, str] | None:
    """The plan of a query that goes on, and a word to its user ("" for none); None where it begins anew, as a changed
    one may under "refill". ``there``: vertices with state that the checkpoint has."""
    new = _new(plan, there)
    if old.question == asked.question:
        if not new and not _shares(old):
            return plan, ""
        stored = _stored(name, plan, old)
        if new and not differs_only_by_sharing(plan, stored):
            return stored, STORED
        log.debug("query %s goes on with what it shares", name)
        return stored, ""
    if not new:
        return plan, ""
    if on_change == "refuse":
        raise ConfigError(
            f"query {name!r} asks another question than at the checkpoint (then: {' '.join(old.text.split())}); "
            f"{len(new)} of its operators would start with empty windows: {'; '.join(new)}. Put its text and options "
            "(bounds, zone, origin, granule) back, give the new query another name, or start with "
            'on_change="refill" to let those windows fill from now on'
        )
    return None


def _shares(old: DurableQuery) -> bool:
    """Whether a stored plan reads a join that it shares with others, or joined in what ran: it goes on so, whoever else
    still does."""
    shared = {Narrow.__name__, CountedJoin.__name__, JoiningIn.__name__}
    return any(v["op"][CLASS] in shared for v in old.plan["vertices"])


def _begun(new: list[str], plan: QueryPlan, start: Start, changed: bool) -> str:
    """A word to the user of a query that has operators which were not there before."""
    if changed:
        return f"changed: {len(new)} of its operators begin anew {_filling(plan, start)}: {'; '.join(new)}"
    return f"new: {len(new)} of its operators begin {_filling(plan, start)}"


def _filling(plan: QueryPlan, start: Start) -> str:
    """How what is new begins."""
    mark = start.of(s.name for s in plan.streams if not s.static)
    lacking = "" if mark is None else f", without rows from before {instant_text(mark)}"
    return f"in batch {start.batch} with empty windows{lacking}"


def _stored(name: str, plan: QueryPlan, old: DurableQuery) -> QueryPlan:
    """The stored plan under the query's present names and hints."""
    try:
        stored = decode(old.plan)
    except StoreError as e:
        raise StoreError(
            f"query {name!r} cannot go on from the checkpoint: {e}. Use the release that wrote it, or start with "
            'on_change="refill" and another name'
        ) from e
    streams = {s.name: s for s in plan.streams}
    vertices = with_code(tuple(_reading(v, streams) for v in stored.vertices), code_of(user_calls(plan.vertices)))
    return replace(
        plan, vertices=vertices, root=stored.root, ticks=stored.ticks, horizon=stored.horizon,
        shown=stored.shown, order=stored.order,
    )  # fmt: skip


def _reading(vertex: Vertex, streams: Mapping[str, Stream]) -> Vertex:
    """A stored vertex that reads the stream as it is registered now."""
    if not isinstance(vertex.op, Source) or vertex.op.stream.name not in streams:
        return vertex
    return replace(vertex, op=replace(vertex.op, stream=streams[vertex.op.stream.name]))


def question_of(bound: BoundQuery) -> str:
    """The id of what a query asks, whatever its hints, aliases and output names are and however it is optimized."""
    root = map_scans(bound.root, _without_hints)
    options = meaning_of(bound.options)
    plain = replace(bound, root=root, options=replace(options, shed="drop") if scales(bound) else options)
    found = lower(plain, keep_unread=True)  # what is kept is no part of it: checkpoints have questions with all columns
    return found.id + ("+" if found.shows_op else "")


def _without_hints(scan: Scan) -> Scan:
    return replace(scan, stream=replace(scan.stream, rate=None))


def _durable(
    plans: Mapping[str, QueryPlan],
    asked: Mapping[str, Asked],
    before: DurablePlan | None,
    places: Places,
    start: Start,
    version: str,
    statistics: Mapping[str, Statistics],
) -> DurablePlan:
    graph = shared_graph(list(plans.values()))
    known, spread = before.vertices if before else {}, dict(places.items())
    vertices = {}
    for number in graph.stateful:
        v = graph.vertices[number]
        old = known.get(v.id, DurableVertex(start.batch, 0, (), "", start.at, start.of(v.streams)))
        where = spread.get(v.id) or old.places
        vertices[v.id] = replace(old, level=graph.levels[number], places=where, words=words_of(graph, number))
    for note in graph.shared:
        holder = vertices[note.vertex]
        for id in note.inside:
            old = known.get(id, DurableVertex(start.batch, 0, (), "", start.at, holder.watermark))
            where, words = spread.get(id) or old.places, f"read from {note.vertex}"
            vertices[id] = replace(old, level=holder.level, places=where, words=words, inside=note.vertex)
    queries = {}
    for name, plan in plans.items():
        held, question = before.queries.get(name) if before else None, asked[name].question
        begun = held.since if held is not None and held.question == question else start.batch
        queries[name] = DurableQuery(
            asked[name].bound.text, _options(plan), question, plan.id,
            encode(replace(plan, functions=(), sharing=())), begun, statistics[name].to_json(),
        )  # fmt: skip
    return DurablePlan(start.batch, version, vertices, queries)


def _options(plan: QueryPlan) -> dict[str, Any]:
    return {k: v for k, v in vars(plan.options).items() if v is not None}


def to_json(plan: DurablePlan) -> dict[str, Any]:
    """The plan as plain values."""
    vertices = {
        id: vars(v) | {"places": [_spread_json(p) for p in v.places]}
        for id, v in plan.vertices.items()
    }
    queries = {n: vars(q) | {"options": dict(q.options)} for n, q in plan.queries.items()}
    return {"batch": plan.batch, "version": plan.version, "vertices": vertices, "queries": queries}


def from_json(value: Mapping[str, Any]) -> DurablePlan:
    """What ``to_json`` made. Raises StoreError for a plan of another shape."""
    try:
        vertices = {
            id: DurableVertex(
                v["since"], v["level"], tuple(map(_spread, v["places"])), v["words"], v.get("at"), v.get("watermark"),
                v.get("inside", ""),
            )
            for id, v in value["vertices"].items()
        }
        queries = {
            n: DurableQuery(
                q["text"], q["options"], q["question"], q["root"], q["plan"], q.get("since", 0), q.get("known", {})
            )
            for n, q in value["queries"].items()
        }
        return DurablePlan(value["batch"], value["version"], vertices, queries)
    except (KeyError, TypeError, AttributeError) as e:
        raise StoreError(f"the durable plan has another shape than this version reads: {e!r}") from e


def _spread_json(spread: Spread) -> Any:
    return list(spread) if isinstance(spread, tuple) else spread


def _spread(value: Any) -> Spread:
    return tuple(value) if isinstance(value, list) else value


def newest_before(plans: Iterable[DurablePlan], batch: int) -> DurablePlan | None:
    """The plan that ran the batch before ``batch``; None if there is none."""
    return max((p for p in plans if p.batch < batch), key=lambda p: p.batch, default=None)
