"""Numbers of a batch, gathered from the reports that the tasks leave in their manifests."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from muntin.core.time import DAY, FOREVER, NEVER

log = logging.getLogger("muntin")

PIPELINE = ""
"""Key of the whole pipeline in a report; queries stand under their signatures."""

MOST_LAG = 366 * DAY
"""Event time that is further from the clock does not follow it (a recording, a generator that counts from 1970): how
far it is behind says nothing."""

Report = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Metrics:
    """One query in one batch (or the whole pipeline). Times are microseconds.

    ``rows``: rows with a usable event time that its streams brought, before WHERE; ``late``, ``bad``: rows dropped for
    coming late (of those that WHERE keeps: others are never sent) or without a usable event time; ``results``: rows
    out; ``state_rows``: rows remembered; ``state_bytes``: bytes written to the pane store; ``watermark``: every instant
    before it is answered (None: none yet); ``lag``: the batch's processing time minus the watermark (None: no watermark
    yet, or one that is ``MOST_LAG`` away from the clock).
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


@dataclass(frozen=True)
class RunMetrics(Metrics):
    """The whole pipeline: rows, late, bad and results since the run began, the rest as of the last batch."""

    batches: int = 0
    queries: Mapping[str, Metrics] = field(default_factory=dict)


def combine(batch: int, reports: Iterable[Report]) -> dict[str, Metrics]:
    """Sum of the tasks' reports, by signature."""
    sums: dict[str, dict[str, int]] = {}
    for report in reports:
        for key, values in report.items():
            mine = sums.setdefault(key, {})
            for name, value in values.items():
                high = name in ("watermark", "now")
                mine[name] = max(mine.get(name, value), value) if high else mine.get(name, 0) + value
    return {key: _metrics(batch, values) for key, values in sums.items()}


def _metrics(batch: int, values: dict[str, int]) -> Metrics:
    watermark, now = values.pop("watermark", NEVER), values.pop("now", NEVER)
    known = watermark not in (NEVER, FOREVER)
    lag = now - watermark if known and now != NEVER and abs(now - watermark) <= MOST_LAG else None
    return Metrics(batch, **values, watermark=watermark if known else None, lag=lag)


def add_up(before: RunMetrics | None, batch: int, found: Mapping[str, Metrics], names: Mapping[str, str]) -> RunMetrics:
    """The run's metrics after one more batch; ``names``: query name -> signature."""
    whole = found.get(PIPELINE, Metrics(batch))
    queries = {n: found.get(s, Metrics(batch)) for n, s in names.items()}
    marks = [m.watermark for m in queries.values() if m.watermark is not None]
    lags = [m.lag for m in queries.values() if m.lag is not None]
    base = before or RunMetrics(batch)
    per_query = [found[s] for s in set(names.values()) if s in found]
    return RunMetrics(
        batch,
        rows=base.rows + whole.rows,
        late=base.late + sum(m.late for m in per_query),
        bad=base.bad + whole.bad,
        results=base.results + sum(m.results for m in queries.values()),
        state_rows=sum(m.state_rows for m in per_query),
        state_bytes=whole.state_bytes,
        watermark=min(marks) if marks else None,
        lag=max(lags) if lags else None,
        batches=base.batches + 1,
        queries=queries,
    )


def report_to_log(metrics: RunMetrics) -> None:
    """One INFO line per query and batch."""
    for name, m in metrics.queries.items():
        log.info(
            "batch %d query %s: rows %d, late %d, bad %d, results %d, state rows %d, watermark %s, lag %s us",
            m.batch, name, m.rows, m.late, m.bad, m.results, m.state_rows, m.watermark, m.lag,
        )  # fmt: skip
    log.info("batch %d: rows so far %d, state bytes written %d", metrics.batch, metrics.rows, metrics.state_bytes)
