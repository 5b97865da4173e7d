"""Numbers of a batch, gathered from the reports that the tasks leave in their manifests."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from muntin.core.time import DAY, FOREVER, NEVER
from muntin.core.watermark import largest
from muntin.dataflow.durable import Since
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.engine.clocks import Times
from muntin.engine.gaps import gaps
from muntin.engine.harvesting import Given
from muntin.engine.losses import lost_text, shared
from muntin.engine.pace import LEAST
from muntin.spark.counts import SHARD, Report, VertexCounts, since_then, summed
from muntin.spark.numbers import numbers_html, numbers_text

log = logging.getLogger("muntin")

PIPELINE = ""
"""Key of the whole pipeline in a report; queries stand under their signatures."""

MOST_LAG = 366 * DAY
"""Event time that is further from the clock does not follow it (a recording, a generator that counts from 1970): how
far it is behind says nothing."""

_BAD_UPDATES, _LOST_BAD, _LOST_LATE, _MARK = "bad updates", "lost bad", "lost late", "mark"
"""First words of counters that are kept by table and by stream."""


@dataclass(frozen=True)
class ShardCounts:
    """Rows of sources that came to a shard (``arrived``), and those of them that some operator took in (``consumed``:
    the others were not admitted)."""

    arrived: int = 0
    consumed: int = 0


@dataclass(frozen=True)
class Metrics:
    """One query in one batch (or the whole pipeline). Times are microseconds, points in time since 1970 in UTC.

    ``rows``: rows with a usable event time that its streams brought, before WHERE; ``late``: rows that it left out, in
    one part at least, for coming too late (of those that WHERE keeps; queries that read one stream may all leave out
    one row, which counts once in the whole pipeline); ``bad``: rows without a usable event time; ``results``: rows out;
    ``state_rows``: rows remembered; ``state_bytes``: bytes written to the pane store; ``watermark``: every instant
    before it is answered (None: none yet); ``lag``: the batch's processing time minus the watermark (None: no watermark
    yet, or one that is ``MOST_LAG`` away from the clock). ``bad_updates``: by table, deletions of rows that were not
    there. ``lost``: by stream, if *every* row that it brought was dropped: how many were bad, how many late.
    ``since``: since when its youngest state fills (None: of a replay), so which rows its windows may lack. ``shed``:
    rows that were in time and not admitted, since the stream is sampled or under overload (``shed``): where there are
    any, answers are not exact. ``share``: the share of the query's full answer that the batch is estimated to give, by
    what was admitted and read under overload (of the whole pipeline: of the query that lost most), and ``share_error``:
    it is within that in about 95 of 100 cases (0 where rows were dropped alone: their share is known).
    ``lateness``: periods of SLIDE by which the oldest instant of the batch came late: one that answers (or owes, where
    the query waits) five of its instants shows the first of them four periods late (None: no SLIDE, or none yet).
    ``skipped``: instants that it did not report, since its period was lengthened (``periods="flexible"``). ``waited``:
    batches that it has waited for its turn (``Session(budget=...)``; 0: it ran). ``held_by``: of the streams that it
    reads the one that is furthest behind, for which the others wait (None: one stream, or all are equally far).
    ``by_shard``: of the whole pipeline, what came to each shard and what of it was taken in.
    """

    batch: int
    rows: int = 0
    late: int = 0
    bad: int = 0
    results: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    watermark: int | None = None
    lag: int | None = None
    bad_updates: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    since: Since | None = None
    shed: int = 0
    lateness: int | None = None
    skipped: int = 0
    waited: int = 0
    share: float = 1.0
    share_error: float = 0.0
    held_by: str | None = None
    by_shard: Mapping[int, ShardCounts] = field(default_factory=dict)

    def __str__(self) -> str:
        return numbers_text(self)

    def _repr_html_(self) -> str:
        return numbers_html(self)


@dataclass(frozen=True)
class RunMetrics(Metrics):
    """The whole pipeline.

    ``rows``, ``late``, ``bad``, ``results``, ``bad_updates``, ``lost``, ``skipped``, ``batches`` and ``overdue`` count
    since the run began (a restart begins at 0); the rest is as of the last batch. State that queries share counts once,
    ``watermark`` is what all of them have answered, ``lag``, ``lateness`` and ``waited`` are the greatest, ``since``
    the latest. ``overdue``: batches after which rows had waited longer than the session's ``tau`` (``lag`` beyond it).
    ``vertices``: by the vertex's id (EXPLAIN shows it) what it did and holds. ``given``: by query its results, and how
    many it is estimated to have had if nothing had been left out, with an error. ``by_shard``: since the run began.
    """

    batches: int = 0
    overdue: int = 0
    queries: Mapping[str, Metrics] = field(default_factory=dict)
    vertices: Mapping[str, VertexCounts] = field(default_factory=dict)
    given: Mapping[str, Given] = field(default_factory=dict)

    @property
    def answered(self) -> dict[str, float]:
        """By query, the estimated share of its full answer that it has given since the run began."""
        return {name: given.share for name, given in self.given.items()}

    @property
    def answered_error(self) -> dict[str, float]:
        """By query, the error of ``answered``: the share is within it in about 95 of 100 cases."""
        return {name: given.share_error for name, given in self.given.items()}


def add_to(into: dict[str, int], more: Mapping[str, int]) -> None:
    """Add counters to those of a report."""
    for name, value in more.items():
        into[name] = into.get(name, 0) + value


def count_bad_updates(into: dict[str, int], vertex: int, table: str, bad: int) -> None:
    """Count in a report what one of the places that read a table has met."""
    if bad:
        add_to(into, {f"{_BAD_UPDATES} {vertex} {table}": bad})


def count_lost(into: dict[str, int], stream: str, bad: int, late: int) -> None:
    """Note in a report that every row of a stream was dropped."""
    into |= {f"{_LOST_BAD} {stream}": bad, f"{_LOST_LATE} {stream}": late}


def count_marks(into: dict[str, int], graph: Graph, query: int, times: Times) -> None:
    """Note in a report how far each of a query's streams is, where it reads several."""
    streams = graph.vertices[graph.roots[query]].streams
    for stream in streams if len(streams) > 1 else ():
        if (stream,) in graph.domains:
            into[f"{_MARK} {stream}"] = times.watermarks[graph.domains.index((stream,))]


def _held_by(marks: Mapping[str, int]) -> str | None:
    """The stream that is furthest behind."""
    behind = min(marks, key=lambda s: (marks[s], s), default=None)
    return behind if behind is not None and marks[behind] < max(marks.values()) else None


def combine(batch: int, reports: Iterable[Report]) -> dict[str, Metrics]:
    """Sum of the tasks' reports, by signature."""
    return {key: _metrics(batch, values) for key, values in summed(reports, vertices=False).items()}


def _metrics(batch: int, values: dict[str, int]) -> Metrics:
    watermark, now = values.pop("watermark", NEVER), values.pop("now", NEVER)
    known = watermark not in (NEVER, FOREVER)
    lag = now - watermark if known and now != NEVER and abs(now - watermark) <= MOST_LAG else None
    plain: dict[str, Any] = {name: value for name, value in values.items() if " " not in name}
    bad, late = _named(values, _LOST_BAD), _named(values, _LOST_LATE)
    places = ((name.partition(" ")[2], value) for name, value in _named(values, _BAD_UPDATES).items())
    return Metrics(
        batch, **plain, watermark=watermark if known else None, lag=lag, bad_updates=largest(places),
        lost={stream: (bad[stream], late[stream]) for stream in bad}, held_by=_held_by(_named(values, _MARK)),
        by_shard=_by_shard(_named(values, SHARD)),
    )  # fmt: skip


def _by_shard(values: Mapping[str, int]) -> dict[int, ShardCounts]:
    numbers = sorted({int(name.split()[0]) for name in values})
    return {n: ShardCounts(values[f"{n} arrived"], values[f"{n} consumed"]) for n in numbers}


def _named(values: Mapping[str, int], words: str) -> dict[str, int]:
    """Counters that begin with these words, by what stands behind them."""
    return {name.removeprefix(f"{words} "): v for name, v in values.items() if name.startswith(f"{words} ")}


def add_up(
    before: RunMetrics | None,
    batch: int,
    found: Mapping[str, Metrics],
    names: Mapping[str, str],
    tau: int | None = None,
    since: Mapping[str, Since] | None = None,
    vertices: Mapping[str, VertexCounts] | None = None,
    shares: Mapping[str, float] | None = None,
    given: Mapping[str, Given] | None = None,
) -> RunMetrics:
    """The run's metrics after one more batch; ``names``: query name -> signature; ``tau``: microseconds; ``since``: by
    query name; ``vertices``: what the batch counted by vertex; ``shares``: by signature, the share of the answer that
    was admitted (1 of those not named); ``given``: by signature, how many results there were in all (none left out)."""
    whole = found.get(PIPELINE, Metrics(batch))
    filling = since or {}
    part = shares or {}
    queries = {
        n: replace(
            found.get(s, Metrics(batch)),
            since=filling.get(n),
            share=part.get(s, 1.0),
            share_error=(given or {}).get(s, Given()).share_error,
        )
        for n, s in names.items()
    }
    marks = [m.watermark for m in queries.values()]
    lags = [m.lag for m in queries.values() if m.lag is not None]
    base = before or RunMetrics(batch)
    least = min(queries.values(), key=lambda m: m.share, default=Metrics(batch))
    per_query = [found[s] for s in set(names.values()) if s in found]
    return RunMetrics(
        batch,
        rows=base.rows + whole.rows,
        late=base.late + whole.late,
        bad=base.bad + whole.bad,
        results=base.results + sum(m.results for m in queries.values()),
        state_rows=whole.state_rows,
        shed=base.shed + sum(m.shed for m in per_query),
        state_bytes=whole.state_bytes,
        watermark=None if None in marks else min((m for m in marks if m is not None), default=None),
        lag=max(lags) if lags else None,
        bad_updates=_sums(base.bad_updates, largest(u for m in per_query for u in m.bad_updates.items())),
        lost=_lost(base.lost, per_query),
        since=max(filling.values(), key=lambda s: s.batch, default=None),
        lateness=max((m.lateness for m in queries.values() if m.lateness is not None), default=None),
        skipped=base.skipped + sum(m.skipped for m in queries.values()),
        waited=max((m.waited for m in queries.values()), default=0),
        batches=base.batches + 1,
        share=least.share,
        share_error=least.share_error,
        held_by=next((m.held_by for m in sorted(queries.values(), key=_mark_of) if m.held_by is not None), None),
        overdue=base.overdue + (tau is not None and max(lags, default=0) > tau),
        queries=queries,
        vertices=since_then(base.vertices, vertices or {}),
        given=_given(base.given, queries, {n: (given or {}).get(s) for n, s in names.items()}),
        by_shard=_more_by_shard(base.by_shard, whole.by_shard),
    )


def _given(
    before: Mapping[str, Given], queries: Mapping[str, Metrics], now: Mapping[str, Given | None]
) -> dict[str, Given]:
    return {
        name: before.get(name, Given()) + (now.get(name) or Given(m.results, m.results / max(m.share, LEAST)))
        for name, m in queries.items()
    }


def _more_by_shard(old: Mapping[int, ShardCounts], new: Mapping[int, ShardCounts]) -> dict[int, ShardCounts]:
    none = ShardCounts()
    both = {n: (old.get(n, none), new.get(n, none)) for n in sorted({*old, *new})}
    return {n: ShardCounts(a.arrived + b.arrived, a.consumed + b.consumed) for n, (a, b) in both.items()}


def _mark_of(metrics: Metrics) -> int:
    return NEVER if metrics.watermark is None else metrics.watermark


def _sums(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {name: before.get(name, 0) + more.get(name, 0) for name in {**before, **more}}


def _lost(before: Mapping[str, tuple[int, int]], queries: Iterable[Metrics]) -> dict[str, tuple[int, int]]:
    """Rows of streams in batches that were dropped whole, by some query at least."""
    now: dict[str, tuple[int, int]] = {}
    for m in queries:
        now |= m.lost
    bad, late = (_sums({s: v[i] for s, v in before.items()}, {s: v[i] for s, v in now.items()}) for i in (0, 1))
    return {stream: (bad[stream], late[stream]) for stream in bad}


def report_to_log(metrics: RunMetrics, plans: Mapping[str, QueryPlan] | None = None) -> None:
    """One INFO line per query and batch; a warning for each stream of which nothing was kept, and for each query
    (``plans``: by name) that gave very many answers of empty windows."""
    counts = {name: (m.results, m.rows) for name, m in metrics.queries.items()}
    for name, words in gaps(plans or {}, counts).items():
        log.warning("batch %d query %s: %s", metrics.batch, name, words)
    for name, m in metrics.queries.items():
        for stream, (bad, late) in m.lost.items():
            log.warning("batch %d query %s: %s", m.batch, name, lost_text(stream, bad, late))
        log.info(
            "batch %d query %s: rows %d, late %d, bad %d, results %d, state rows %d, watermark %s%s, lag %s us%s",
            m.batch, name, m.rows, m.late, m.bad, m.results, m.state_rows, m.watermark,
            f" (held back by {m.held_by})" if m.held_by else "", m.lag,
            "".join(f", bad updates of {table} {n}" for table, n in m.bad_updates.items())
            + (f", not admitted {m.shed}" if m.shed else "")
            + (f": not exact, about {shared(m.share, m.share_error)} of the answer" if m.shed or m.share < 1 else ""),
        )  # fmt: skip
    log.info("batch %d: rows so far %d, state bytes written %d", metrics.batch, metrics.rows, metrics.state_bytes)
