"""Three real logs joined by connection: one is out of order by minutes, some rows have no connection.

Nearly all triples have equal event times in the three logs; a few span up to 78 seconds, which some windows miss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from zeek_logs import LABELS, SECOND, Logs, Triples, connections, disorder, on_time, pieces, times

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions

pytestmark = pytest.mark.real

LENGTHS = {"ssl": 20 * SECOND, "analyzer": 5 * SECOND, "weird": 60 * SECOND}
JOIN = """
SELECT s.uid, s.label AS version, a.label AS analyzer, w.label AS weird
FROM ssl [RANGE 20 SECONDS] s, analyzer [RANGE 5 SECONDS] a, weird [RANGE 60 SECONDS] w
WHERE s.uid = a.uid AND a.uid = w.uid
"""


def slack_of(logs: Logs) -> dict[str, int]:
    return {name: disorder(log) for name, log in logs.items()}


def cut(logs: Logs, rng: Random) -> list[dict[str, pa.Table]]:
    """Three to ten batches, each log cut at its own random places."""
    count = rng.randint(2, 9)
    return pieces(logs, {n: sorted(rng.randint(0, len(log)) for _ in range(count)) for n, log in logs.items()})


def delayed(log: pa.Table, seconds: int) -> pa.Table:
    """The rows in an order in which each has been delayed by up to so many seconds more."""
    delay = np.random.default_rng(len(log)).integers(0, seconds * SECOND, len(log))
    return log.take(np.argsort(np.maximum.accumulate(times(log)) + delay, kind="stable"))


def answered(
    batches: list[dict[str, pa.Table]], slack: Mapping[str, int], shards: int, strategy: str
) -> tuple[Counter[tuple[object, ...]], int]:
    """What the local runtime answers, as ``Triples.changes``, and the late rows that it counted."""
    schema = Schema.of(ts=pa.timestamp("us", "UTC"), uid=pa.string(), label=pa.string())
    streams = [Stream(n, schema, "ts", slack=slack[n], order=i) for i, n in enumerate(LABELS)]
    query = bind(JOIN, Catalog(tuple(streams)), QueryOptions(strategy=strategy))
    pipeline = LocalPipeline(plan_query(query), shards)
    found = pa.concat_tables([*map(pipeline.push, batches), pipeline.finish()])
    columns = [found["ts"].cast(pa.int64()), found["op"]] + [found[c] for c in ("uid", "version", "analyzer", "weird")]
    return Counter(zip(*(c.to_pylist() for c in columns), strict=True)), pipeline.late


def snapshot(changes: Counter[tuple[object, ...]], t: int) -> Counter[tuple[object, ...]]:
    """The answer at an instant, from the changes up to it."""
    rows: Counter[tuple[object, ...]] = Counter()
    for (at, op, *row), n in changes.items():
        if at <= t:  # type: ignore[operator]
            rows[tuple(row)] += n if op == "+" else -n
    assert all(n >= 0 for n in rows.values())
    return +rows


def check(logs: Logs, slack: Mapping[str, int], seed: int) -> tuple[Counter[tuple[object, ...]], int]:
    """(changes, late rows) of one run, equal to what DuckDB says of the rows that were not late."""
    rng = Random(seed)
    batches = cut(logs, rng)
    kept, late = on_time(batches, slack)
    found, counted = answered(batches, slack, rng.randint(1, 4), rng.choice(("upa", "nt", "direct")))
    assert counted == late
    triples = Triples(kept, LENGTHS)
    assert found == triples.changes(), f"seed {seed}"
    for t in rng.sample(sorted({int(str(c[0])) for c in found}), 5):
        assert snapshot(found, t) == triples.at(t), f"seed {seed} at {t}"
    return found, late


def test_three_logs_by_connection(shared: Path) -> None:
    logs = connections(shared)
    assert disorder(logs["ssl"]) > 800 * SECOND
    assert logs["weird"]["uid"].null_count > 0
    for seed in range(2):
        changes, late = check(logs, slack_of(logs), seed)
        assert changes.total() > 40_000 and late == 0


def test_late_rows_are_counted_and_left_out(shared: Path) -> None:
    logs = connections(shared)
    _, late = check(logs, dict.fromkeys(logs, SECOND), 3)
    assert late > 50


def test_late_rows_of_triples(shared: Path) -> None:
    """The rows that are late as written belong to no triple; those that are delayed besides do."""
    logs = {name: delayed(log, 90) for name, log in connections(shared).items()}
    changes, late = check(logs, dict.fromkeys(logs, 20 * SECOND), 4)
    assert late > 1_000
    assert changes.total() < Triples(logs, LENGTHS).changes().total() - 1_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_three_logs_by_connection_in_many_ways(seed: int, shared: Path) -> None:
    logs = connections(shared)
    slack = slack_of(logs) if seed % 2 else dict.fromkeys(logs, 10 * SECOND)
    _, late = check(logs, slack, seed)
    assert late == 0 or seed % 2 == 0
