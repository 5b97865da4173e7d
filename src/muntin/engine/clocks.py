"""Time on one shard: a clock a source, a watermark a set of sources, and what a vertex may answer in a step.

Clocks belong to sources, whichever queries read them. A vertex's time is the least of its sources' watermarks; where a
source of a query may fall idle, all vertices of the query share the time of all of its sources (they would drift apart
otherwise), which their ids say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from muntin.core.time import DAY, FOREVER, NEVER
from muntin.core.watermark import Header, SourceClock, watermark_of
from muntin.core.zones import zone
from muntin.dataflow.graph import Graph, QueryPlan, Reach, Vertex
from muntin.engine.valve import Valve
from muntin.plan.windows import (
    QueryOptions,
    Session,
    Unbounded,
    Window,
    delay_of,
    in_order,
    moves_with_rows,
    own_ticks,
    validity,
)
from muntin.state.shard_state import ShardState

WAITED = "waited"
"""Head of the clocks: by signature of a query that waits, the instants before it are answered."""

CLOCKS = "clocks"
"""Name of the cell that keeps a shard's clocks."""


@dataclass(frozen=True)
class Times:
    """What a batch did to time on a shard, the same on every shard.

    ``befores``, ``watermarks``: by set of streams as ``Graph.domains`` lists them; instants in ``[before, watermark)``
    are answered now. ``lows``: by stream as ``Graph.streams`` lists them, the least event time of the batch's rows
    (FOREVER: none). ``ends``: by query, nothing after it is ever answered (at the end of input; () before).
    ``deferred``: the queries that wait, by number. ``behind``: by query the instants before it were answered when the
    batch began, where that is less than ``befores`` says, since it waited. ``shown``: by query the instants before it
    are not reported (``engine.stretching``). ``reach``: how far a substep goes.
    """

    befores: tuple[int, ...]
    watermarks: tuple[int, ...]
    lows: tuple[int, ...]
    ends: tuple[int, ...] = ()
    deferred: tuple[int, ...] = ()
    behind: Mapping[int, int] = field(default_factory=dict)
    shown: Mapping[int, int] = field(default_factory=dict)
    reach: int = FOREVER

    @property
    def end(self) -> int:
        """The end of the query that answers longest; what it shares with others may have been answered by then."""
        return max(self.ends, default=FOREVER)

    def answered(self, query: int, domain: int) -> tuple[int, int]:
        """The instants in [from, to) that a query (whose answer has the time of a domain) answers in this batch; none
        where it waits."""
        before = self.behind.get(query, self.befores[domain])
        return before, before if query in self.deferred else self.watermarks[domain]

    def end_of(self, query: int) -> int:
        """The end of a query, by its number: its neighbours do not change its answer."""
        return self.ends[query] if self.ends else FOREVER


@dataclass(frozen=True)
class Progress:
    """Instants in ``[before, watermark)`` are answered by this step; nothing after ``end`` ever is (end of input).

    ``first``: when the first row enters of the streams that begin the operator's answers, SLIDE apart (FOREVER: none
    yet; NEVER where that does not matter).
    """

    before: int
    watermark: int
    first: int = NEVER
    end: int = FOREVER


def advance(
    graph: Graph,
    state: ShardState,
    headers: Sequence[Header],
    now: int,
    finish: bool = False,
    since: int = NEVER,
    deferred: Collection[int] = (),
    valve: Valve | None = None,
) -> Times:
    """Move the clocks kept in ``state.heads`` over one batch of headers (numbered as ``graph.streams``); ``finish``
    completes every instant; ``since``: processing time at which the run began that the batch belongs to; ``deferred``:
    the queries that wait in this batch (``engine.deferral``); ``valve``: what the batch admits (None: as the streams
    were registered)."""
    stored = state.heads.get("clocks", {})
    clocks = {}
    for i, s in enumerate(graph.streams):
        clock = SourceClock(**stored[s.name]) if s.name in stored else SourceClock(s.slack, s.idle_after, s.max_jump)
        clocks[s.name] = clock.advance([h for h in headers if h.source == i], now, since)
    befores = answered(graph, state)
    if finish:
        watermarks, ends = (FOREVER,) * len(befores), tuple(last_instant(p, clocks) for p in graph.plans)
    else:
        pairs = zip(graph.domains, befores, strict=True)
        watermarks, ends = tuple(watermark_of([clocks[s] for s in d], now, b) for d, b in pairs), ()
    sampled = (Valve.of(graph.streams) if valve is None else valve).sampled
    if sampled:  # what was admitted once stays a part, whatever is admitted later
        state.heads["sampled"] = {**state.heads.get("sampled", {}), **sampled}
    state.heads["clocks"] = {n: c.to_json() for n, c in clocks.items()}
    state.heads["watermarks"] = {_name(d): w for d, w in zip(graph.domains, watermarks, strict=True)}
    lows = tuple(
        min([FOREVER, *(h.min_ts for h in headers if h.source == i and h.rows)]) for i in range(len(graph.streams))
    )
    wait = () if finish else tuple(sorted(deferred))
    return Times(befores, watermarks, lows, ends, wait, _behind(graph, state, befores, wait))


def _behind(graph: Graph, state: ShardState, befores: Sequence[int], wait: Sequence[int]) -> dict[int, int]:
    """By query that waited how far it was answered; noted in ``state.heads`` for those that wait now."""
    known: dict[str, int] = state.heads.get(WAITED, {})
    numbers = {p.signature: n for n, p in enumerate(graph.plans)} if known or wait else {}
    behind = {numbers[s]: before for s, before in known.items() if s in numbers}
    now = {n: behind.get(n, befores[graph.domains.index(graph.vertices[graph.roots[n]].streams)]) for n in wait}
    if now or known:
        state.heads[WAITED] = {graph.plans[n].signature: before for n, before in now.items()}
    return behind


def answered(graph: Graph, state: ShardState) -> tuple[int, ...]:
    """By set of streams as ``Graph.domains`` lists them: instants before it are answered (NEVER: none yet)."""
    marks: dict[str, int] = state.heads.get("watermarks", {})
    return tuple(marks.get(_name(d), NEVER) for d in graph.domains)


def _name(domain: Sequence[str]) -> str:
    return "\n".join(domain)


def progress_of(graph: Graph, vertex: Vertex, state: ShardState, times: Times) -> Progress:
    """What a vertex may answer in this step; moves on the first instant that is kept in ``state.heads``."""
    at = graph.domains.index(vertex.streams)
    before, watermark = times.befores[at], times.watermarks[at]
    if not vertex.op.begins:
        return Progress(before, watermark, NEVER, times.end)
    place = {s.name: i for i, s in enumerate(graph.streams)}
    first: int = state.heads.get("first", FOREVER)
    if first >= before:  # not answered yet: an earlier row may still come
        lows = [times.lows[place[s]] + shift for s, shift in vertex.op.begins if times.lows[place[s]] != FOREVER]
        first = max(before, min([first, *lows]))
    state.heads["first"] = first
    return Progress(before, watermark, first, times.end)


def last_instant(plan: QueryPlan, clocks: Mapping[str, SourceClock]) -> int:
    """End of input: time runs on to the last expiry of a finite window of a query."""
    tops = {s.name: clocks[s.name].top_ts for s in plan.streams if not (s.static or s.silent)}
    return max([NEVER, *(_run_on(tops[name], reach, plan.options) for name, reach in plan.horizon if name in tops)])


def _run_on(at: int, reach: Reach, options: QueryOptions) -> int:
    """The last that a row of this event time can do to windows, each on the output of the one before."""
    shift = 0
    for window, ticks in reach if at != NEVER else ():
        if isinstance(window, Session):
            at, shift = at + shift + window.gap, 0
            continue
        entry, own = (Unbounded(), own_ticks(window, options)) if moves_with_rows(window) else (window, None)
        moves = ticks if own is None else own
        start, exp = validity(entry, np.array([at + shift]), options)
        exp = np.maximum(exp, _latest_leaving(entry, at + shift, options))
        if moves is not None:
            start, exp = moves.at_or_after(start), moves.at_or_after(exp)
        at = int(start[0] if exp[0] == FOREVER else exp[0])
        shift = -1 if options.bounds == "start" and ticks is not None else 0  # as ``Rewind`` of its results has it
    return at


def _latest_leaving(window: Window, ts: int, options: QueryOptions) -> int:
    """When rows not newer than ``ts`` have left a window whose rows leave in another order than they came in: of days
    that become the last of a month, those before the newest may leave later, up to the end of that day."""
    if in_order(window):
        return NEVER
    clock = zone(options.zone)
    delay = delay_of(window)
    midnight = clock.wall(np.array([ts + delay])) // DAY * DAY
    return int(validity(window, clock.reach(midnight) - 1 - delay, options)[1][0])
