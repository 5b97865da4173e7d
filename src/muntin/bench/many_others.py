"""Ten queries by other engines beside one: Spark's streaming windows, Flink SQL; all of them by Muntin on Spark.

Each of Spark's queries is a streaming query of its own over the same files; Flink's are one job of ten inserts. Both
get the aggregates of ``bench.many_queries`` whose windows they have (multiples of the slide), and its ten joins
(``bench.many_joins``). Timed is a batch after one that warms them up, by the clock; answers are compared with Muntin's
over that batch's rows, every instant complete. Muntin on Spark runs as many queries as in process, as one pipeline
whose results are counted and dropped on the workers.
"""

from __future__ import annotations

import csv
import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muntin.bench import flink_env, flink_sql, many_joins
from muntin.bench.data import SCHEMA_DDL, Feed, rows
from muntin.bench.flink import Child
from muntin.bench.many_joins import TEN
from muntin.bench.many_queries import AGGREGATES, JOINS, Many, ManyRecord, Say, Shape, shape, shown_in_process
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import run_local
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions

ROWS = {"spark": 60_000, "flink": 300_000}
"""Rows of the timed batch."""

Answer = set[tuple[int, int, float]]
"""(end of the window in microseconds, key, value)."""


def shapes() -> list[Shape]:
    """The first ten queries whose window is a multiple of their slide."""
    found = (shape(i) for i in range(200))
    return [s for s in found if s.length % s.slide == 0][:TEN]


def muntin_answers(queries: Sequence[Shape], count: int) -> list[Answer]:
    """What each query gives over the first rows, with windows bounded as Spark's and Flink's are."""
    table = rows(0, count, 0)
    catalog = Catalog((Stream("A", Schema.of(**{f.name: f.type for f in table.schema}), "ts"),))
    found = []
    for q in queries:
        plan = plan_query(bind(q.text, catalog, QueryOptions(bounds="start")))
        answer = run_local(plan, [{"A": table}])
        columns = (answer["ts"].cast("int64"), answer["k"], answer["a"])
        found.append({(t, k, float(a)) for t, k, a in zip(*(c.to_pylist() for c in columns), strict=True)})
    return found


@dataclass(frozen=True)
class _Timed:
    seconds: float
    equal: bool
    results: int


def run(engines: Sequence[str], say: Say) -> list[ManyRecord]:
    """One query and ten by each engine (``spark``, ``flink``), of each case; Muntin's beside Spark's."""
    found: list[ManyRecord] = []
    with tempfile.TemporaryDirectory(prefix="muntin-many-") as name, _spark_of(engines):
        folder = Path(name)
        if "spark" in engines:
            found += on_spark(AGGREGATES, folder, say)
            found += on_spark(JOINS, folder, say)
        for engine in engines:
            found += _aggregates(engine, folder, say)
        for engine in engines:
            found += _joins(engine, folder, say)
    return found


@contextmanager
def _spark_of(engines: Sequence[str]) -> Iterator[None]:
    """Spark, if it takes part, is stopped at the end. What it and Muntin say of single queries is left out: it would be
    hundreds of lines."""
    if "spark" not in engines:
        yield
        return
    from muntin.session import local_spark

    spark, log = local_spark(cores="2", memory="4g"), logging.getLogger("muntin")
    level = log.level
    spark.sparkContext.setLogLevel("ERROR")
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
        spark.stop()


def _aggregates(engine: str, folder: Path, say: Say) -> list[ManyRecord]:
    queries, given = shapes(), ROWS[engine]
    expected = muntin_answers(queries, given)
    timed = {"spark": _spark, "flink": _flink}[engine](folder)
    return _records(AGGREGATES.name, engine, given, lambda n: timed(queries[:n], expected[:n]), say)


def _joins(engine: str, folder: Path, say: Say) -> list[ManyRecord]:
    expected = many_joins.muntin_answers(many_joins.CHECKED)
    timed = {"spark": many_joins.on_spark, "flink": many_joins.on_flink}[engine](folder)
    given = 2 * many_joins.ROWS[engine]
    return _records(JOINS.name, engine, given, lambda n: _Timed(*timed(n, expected[:n])), say)


def _records(case: str, engine: str, given: int, timed: Callable[[int], _Timed], say: Say) -> list[ManyRecord]:
    """Of one query and of ten."""
    found: list[ManyRecord] = []
    for count in (1, TEN):
        t = timed(count)
        one = found[0].wall if found else t.seconds
        record = ManyRecord(
            case, count, engine, round(t.seconds, 2), round(t.seconds / one, 2), 0, t.equal, given, t.results,
            round(t.seconds, 3),
        )  # fmt: skip
        say(f"{case} by {engine}, {count} queries: {given / t.seconds:,.0f} rows/s, {record.relative} x one")
        found.append(record)
    return found


# --- Muntin on Spark --------------------------------------------------------------------------------------------------


TIMED, SHARDS = 2, 8
"""Batches timed after the first, and shards of the session."""


def on_spark(case: Many, folder: Path, say: Say) -> list[ManyRecord]:
    """Muntin's queries as one live pipeline. ``answers_equal``: it shows as many rows as in process. One query runs
    before any is timed, so that the one that others are compared with does not pay for loading."""
    found: list[ManyRecord] = []
    _live(case, case.counts[0], folder / f"muntin-{case.name}-first")
    for count in case.counts:
        seconds, results = _live(case, count, folder / f"muntin-{case.name}-{count}")
        one = found[0].wall if found else seconds
        equal = results == shown_in_process(case, count, 1 + TIMED)
        record = ManyRecord(
            case.name, count, "on spark", round(seconds, 2), round(seconds / one, 2), 0, equal,
            case.size * case.streams * TIMED, results, round(seconds, 3),
        )  # fmt: skip
        say(f"{case.name} on spark, {count} queries: {record.rows / seconds:,.0f} rows/s, {record.relative} x one")
        found.append(record)
    return found


def _live(case: Many, count: int, folder: Path) -> tuple[float, int]:
    """(seconds of the timed batches, results of all)."""
    from muntin.session import Session, local_spark

    spark = local_spark(cores="2", memory="4g")
    session = Session(spark, shards=SHARDS)
    feeds = [Feed(folder / name, case.size, i) for i, name in enumerate("ABCDEFGH"[: case.streams])]
    for feed in feeds:
        feed.more(1)
        source = spark.readStream.schema(SCHEMA_DDL).option("maxFilesPerTrigger", 1).parquet(str(feed.folder))
        session.stream(feed.folder.name, source, ts="ts", slack="1 second")
    for number, text in enumerate(case.texts(count)):
        session.sql(text, name=f"q{number}").write("blackhole")
    run = session.start(str(folder / "check"))
    run.query.processAllAvailable()
    began = time.perf_counter()
    for feed in feeds:
        feed.more(TIMED)
    run.query.processAllAvailable()
    seconds = time.perf_counter() - began
    results = run.metrics().results
    run.stop()
    return seconds, results


# --- Spark ------------------------------------------------------------------------------------------------------------


def spark_sql(q: Shape, table: str) -> str:
    """The query in Spark SQL."""
    window = f"window(ts, '{q.length} seconds', '{q.slide} seconds')"
    return f"SELECT {window}.end AS t, k, {q.function} AS a FROM {table} WHERE {q.where} GROUP BY {window}, k"


def _spark(folder: Path) -> Callable[[Sequence[Shape], list[Answer]], _Timed]:
    def timed(queries: Sequence[Shape], expected: list[Answer]) -> _Timed:
        from muntin.session import local_spark

        spark = local_spark(cores="2", memory="4g")
        size = ROWS["spark"]
        feed = Feed(folder / f"spark{len(queries)}", size)
        feed.more(1)
        frame = spark.read.schema(SCHEMA_DDL).parquet(str(feed.folder))
        frame.createOrReplaceTempView("whole")
        answers = [_collected(spark.sql(spark_sql(q, "whole")).collect()) for q in queries]
        live = spark.readStream.schema(SCHEMA_DDL).option("maxFilesPerTrigger", 1).parquet(str(feed.folder))
        live.withWatermark("ts", "1 second").createOrReplaceTempView("native")
        results = (spark.sql(spark_sql(q, "native")) for q in queries)
        running = [many_joins.started(r, folder / f"check-{len(queries)}-{i}") for i, r in enumerate(results)]
        many_joins.drained(running)
        began = time.perf_counter()
        feed.more(1)
        many_joins.drained(running)
        seconds = time.perf_counter() - began
        for r in running:
            r.stop()
        return _Timed(seconds, answers == expected, sum(map(len, answers)))

    return timed


def _collected(found: Sequence[Any]) -> Answer:
    return {(round(r["t"].timestamp() * 1_000_000), r["k"], float(r["a"])) for r in found}


# --- Flink ------------------------------------------------------------------------------------------------------------


def flink_job(queries: Sequence[Shape], count: int, out: Path | None) -> flink_sql.Job:
    """The queries as one job; results as CSV below ``out`` (None: dropped)."""
    tables = [*flink_sql.stream("a", 0, 0, count, "1")]
    inserts = []
    for i, q in enumerate(queries):
        sink = "'connector' = 'blackhole'" if out is None else (
            f"'connector' = 'filesystem', 'path' = '{(out / str(i)).as_uri()}', 'format' = 'csv'"
        )  # fmt: skip
        tables.append(f"CREATE TABLE r{i} (t BIGINT, k BIGINT, a DOUBLE) WITH ({sink})")
        function = q.function.replace("(v)", "(CAST(v AS DOUBLE))")
        slide, length = (f"INTERVAL '{x}' SECOND(3)" for x in (q.slide, q.length))
        hop = f"HOP(TABLE a, DESCRIPTOR(ts), {slide}, {length})"
        end = "CAST(EXTRACT(EPOCH FROM window_end) AS BIGINT)"
        inserts.append(
            f"INSERT INTO r{i} SELECT {end}, k, CAST({function} AS DOUBLE) FROM TABLE({hop}) WHERE {q.where} "
            "GROUP BY k, window_start, window_end"
        )
    return flink_sql.Job(tuple(tables), f"EXECUTE STATEMENT SET BEGIN {'; '.join(inserts)}; END")


def _flink(folder: Path) -> Callable[[Sequence[Shape], list[Answer]], _Timed]:
    def timed(queries: Sequence[Shape], expected: list[Answer]) -> _Timed:
        child = Child.start(flink_env.python(), folder / "flink.log", "4g")
        try:
            out = folder / f"flink-{len(queries)}"
            child.run(flink_job(queries, ROWS["flink"], out))
            answers = [_read(out / str(i)) for i in range(len(queries))]
            seconds = child.run(flink_job(queries, ROWS["flink"], None))
        finally:
            child.stop()
        return _Timed(seconds, answers == expected, sum(map(len, answers)))

    return timed


def _read(folder: Path) -> Answer:
    found: Answer = set()
    for part in (p for p in folder.rglob("*") if p.is_file()):
        with part.open(newline="") as f:
            found |= {(int(t) * 1_000_000, int(k), float(a)) for t, k, a in csv.reader(f)}
    return found
