"""Forms that the random draw leaves out, over drawn streams: the local runtime against the evaluator."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from draws import seeds
from test_local_matches import difference

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.plan.windows import QueryOptions
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table

SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())
STREAMS = tuple(Stream(n, SCHEMA, "ts", ts_unit=1_000_000, order=i) for i, n in enumerate("AB"))
PAIRS = "SELECT A.k AS k, A.v AS v, B.v AS w FROM A [RANGE 6 SECONDS{s}], B [RANGE 3 SECONDS{s}] WHERE A.k = B.k"

QUERIES = {
    "istream-restore": f"Istream-restore({PAIRS.format(s=' SLIDE 4 SECONDS')})",
    "rstream-restore": f"Rstream-restore({PAIRS.format(s=' SLIDE 4 SECONDS')})",
    "rstream-restore of sums": "Rstream-restore(SELECT k, SUM(v) AS s FROM A [RANGE 6 SECONDS SLIDE 4 SECONDS] "
    "GROUP BY k)",
    "istream-restore of distinct": "Istream-restore(SELECT DISTINCT k FROM A [RANGE 2 SECONDS SLIDE 4 SECONDS])",
    "join of internal windows": PAIRS.format(s=" INTERNAL"),
    "all results of internal windows": f"Rstream({PAIRS.format(s=' INTERNAL')})",
    "internal rows with a partner": "SELECT k, v FROM A [RANGE 6 SECONDS INTERNAL] WHERE EXISTS (SELECT 1 FROM B "
    "[RANGE 3 SECONDS INTERNAL] WHERE B.k = A.k AND B.v > A.v)",
    "internal rows with a partner, at evaluations": "SELECT k, v FROM A [RANGE 6 SECONDS SLIDE 4 SECONDS INTERNAL] "
    "WHERE k IN (SELECT k FROM B [RANGE 3 SECONDS SLIDE 4 SECONDS INTERNAL])",
    "sums of internal rows with a partner": "SELECT COUNT(*) AS n, SUM(v) AS s FROM A [RANGE 6 SECONDS INTERNAL] "
    "WHERE EXISTS (SELECT 1 FROM B [RANGE 3 SECONDS INTERNAL] WHERE B.k = A.k)",
    "values of internal sums that are not shown": "SELECT q.k AS k FROM (SELECT k, SUM(v) AS s FROM A [RANGE 4 SECONDS "
    "INTERNAL] GROUP BY k) AS q",
    "sums over internal and external rows": "SELECT k, COUNT(*) AS n FROM (SELECT k FROM A [RANGE 4 SECONDS INTERNAL] "
    "UNION ALL SELECT k FROM B [RANGE 3 SECONDS INTERNAL]) AS q GROUP BY k",
    "internal time moved by rows": "SELECT k, v FROM A [RANGE 5 SECONDS SLIDE 3 INTERNAL]",
    "internal window on results": "SELECT k, COUNT(*) AS n FROM (Istream(SELECT k, SUM(v) AS s FROM A [ROWS 3] GROUP "
    "BY k)) [RANGE 5 SECONDS INTERNAL] AS q GROUP BY k",
    "the last results": "Wstream(SELECT k, v FROM A [RANGE 6 SECONDS SLIDE 4 SECONDS])[ROWS 3]",
    "the last arrays": "Wstream(SELECT k, COLLECT(v) AS c FROM A [RANGE 6 SECONDS SLIDE 4 SECONDS] GROUP BY k)[ROWS 4]",
    "the mean of counts to the end": "SELECT AVG(Wstream(COUNT(*))[RANGE 3 SECONDS SLIDE 3 SECONDS]) AS a FROM A "
    "[RANGE 5 SECONDS SLIDE 3 SECONDS]",
    "internal sums": "SELECT k, SUM(v) AS s FROM A [RANGE 4 SECONDS INTERNAL] GROUP BY k",
    "internal periodic sum": "SELECT SUM(v) AS s FROM A [RANGE 4 SECONDS SLIDE 2 SECONDS INTERNAL]",
    "sum of chunks": "SELECT SUM(Wstream(SUM(v))[ROWS 3]) FROM A [RANGE 2 SECONDS SLIDE 2 SECONDS]",
    "first and last": "SELECT k, FIRST(v) AS f, LAST(v) AS l FROM A [RANGE 5 SECONDS] GROUP BY k",
    "first and last of rows": "Rstream(SELECT FIRST(v) AS f, LAST(v) AS l FROM A [ROWS 4])",
    "holistic over rows": "SELECT k, MEDIAN(v) AS m, STDDEV(v) AS d, COLLECT(v) AS c FROM A [ROWS 5] GROUP BY k",
    "rows moved by time": "SELECT k, v FROM A [ROWS 3 SLIDE 4 SECONDS]",
    "sums of rows moved by time": "Rstream(SELECT k, SUM(v) AS s FROM A [ROWS 5 SLIDE 3 SECONDS] GROUP BY k)",
    "a quotient that the empty window has not": "SELECT k, COUNT(*) AS n FROM A [RANGE 6 SECONDS] GROUP BY k HAVING "
    "COUNT(*) >= (SELECT COUNT(*) DIV COUNT(DISTINCT k) FROM A [RANGE 6 SECONDS])",
    "time moved by rows": "SELECT k, v FROM A [RANGE 5 SECONDS SLIDE 3]",
    "sum of time moved by rows": "SELECT SUM(v) AS s FROM A [RANGE 10 SECONDS SLIDE 4]",
    "join with time moved by rows": "Istream(SELECT A.v AS v, B.v AS w FROM A [RANGE 10 SECONDS SLIDE 4], B [ROWS 2] "
    "WHERE A.k = B.k)",
    "partitioned rows moved by rows": "SELECT k, v FROM A [PARTITION BY k ROWS 3 SLIDE 2]",
    "partitioned rows moved by time": "Rstream(SELECT k, v FROM A [PARTITION BY k ROWS 2 SLIDE 5 SECONDS])",
}


def test_a_key_of_a_non_retroactive_table_that_is_used_again() -> None:
    """Old results go on referring to the old row, and its going shows nothing (thesis 3.3.1)."""
    table = Table("N", Schema.of(k=pa.int64(), name=pa.string()), "nrr")
    text = "SELECT A.v AS v, N.name AS name FROM A [RANGE 9 SECONDS], N WHERE A.k = N.k"
    bound = bind(text, Catalog(STREAMS, (table,)))
    updates = [(0, "+", {"k": 1, "name": "old"}), (3_000_000, "-", {"k": 1, "name": "old"})]
    updates += [(5_000_000, "+", {"k": 1, "name": "new"}), (20_000_000, "+", {"k": 2, "name": "end"})]
    rows = [{"ts": t, "k": 1, "v": t} for t in (1, 4, 6)]
    expected = [(t * 1_000_000, op, (v, name)) for t, op, v, name in (
        (1, "+", 1, "old"), (6, "+", 6, "new"), (10, "-", 1, "old"), (15, "-", 6, "new"),
    )]  # fmt: skip
    assert run(bound, {"A": rows}, tables={"N": updates}) == expected
    query = plan_query(bound)
    feed = next(s for s in query.streams if s.name == "N")
    pipeline = LocalPipeline(query, shards=2)
    entries = [{**row, "__at": at, "__add": op == "+"} for at, op, row in updates]
    tables = [pipeline.push({"A": to_table(STREAMS[0], rows[:1]), "N": to_table(feed, entries[:2])})]
    tables += [
        pipeline.push({"A": to_table(STREAMS[0], rows[1:]), "N": to_table(feed, entries[2:])}),
        pipeline.finish(),
    ]
    assert [r for t in tables for r in from_table(t, query.schema, query.shows_op)] == expected


def draw(rng: Random) -> dict[str, list[dict[str, Any]]]:
    times = {n: sorted(rng.sample(range(40), 12)) for n in "AB"}
    return {n: [{"ts": t, "k": rng.randint(1, 2), "v": rng.randint(0, 99)} for t in ts] for n, ts in times.items()}


def answers(query: Any, streams: dict[str, list[dict[str, Any]]], rng: Random) -> list[Any]:
    pipeline = LocalPipeline(query, shards=rng.choice((1, 3)))
    marks = sorted({0, 12, *(rng.randint(0, 12) for _ in range(3))})
    tables = []
    for low, high in pairwise(marks):
        tables.append(pipeline.push({s.name: to_table(s, streams[s.name][low:high]) for s in STREAMS}))
    tables.append(pipeline.finish())
    return [r for t in tables for r in from_table(t, query.schema, query.shows_op)]


@pytest.mark.parametrize("name", QUERIES)
@seeds(1, 6)
def test_in_a_zone_whose_clock_changes(name: str, seeds: range) -> None:
    """Hours for seconds, a row each half an hour, around the hour that New York has twice."""
    streams = tuple(replace(s, ts_unit=1_800_000_000) for s in STREAMS)
    bound = bind(QUERIES[name].replace("SECONDS", "HOURS"), Catalog(streams), QueryOptions(zone="America/New_York"))
    query = plan_query(bound)
    for seed in seeds:
        rng = Random(f"{name} {seed}")
        start = 1_730_613_600 // 1800 - rng.randint(2, 36)
        rows = {n: [{**r, "ts": start + r["ts"]} for r in given] for n, given in draw(rng).items()}
        got = sorted(answers(query, rows, rng), key=lambda r: r[0])
        assert not (problem := difference(run(bound, rows), got)), f"seed {seed}: {problem}"


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("strategy", ["upa", "nt", "direct"])
@seeds(4, 40)
def test_the_local_runtime_gives_the_evaluator_s_answer(name: str, strategy: str, seeds: range) -> None:
    bound = bind(QUERIES[name], Catalog(STREAMS), QueryOptions(strategy=strategy))
    query = plan_query(bound)
    for seed in seeds:
        rng = Random(f"{name} {seed}")
        streams = draw(rng)
        got = sorted(answers(query, streams, rng), key=lambda r: r[0])
        assert not (problem := difference(run(bound, streams), got)), f"seed {seed}: {problem}"
