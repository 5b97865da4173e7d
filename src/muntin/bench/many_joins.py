"""Ten window joins of one signature by Spark and by Flink, beside one: what a join more costs there.

They get the ten joins of ``bench.many_queries``. Each of Spark's is a streaming query of its own over the same files,
Flink's are one job of ten interval joins over two sources. Timed is a batch after one that warms them up, by the clock,
results dropped. Before that every row of every join is compared with Muntin's, over the first ``CHECKED`` rows of each
stream.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from muntin.bench import flink_env, flink_sql
from muntin.bench.data import SCHEMA_DDL, Feed, rows
from muntin.bench.flink import Child
from muntin.bench.many_queries import JOINS, plans_of
from muntin.local.runtime import run_local

TEN = 10
ROWS = {"spark": 20_000, "flink": 150_000}
"""Rows a stream of the timed batch."""

CHECKED = 20_000
"""Rows a stream over which answers are compared: twice as long as the longest window."""

COLUMNS = ("k", "v", "w", "a", "b")
INSTANT = pa.timestamp("us", "UTC")

Timed = tuple[float, bool, int]
"""(seconds, whether answers are Muntin's, results that were compared)."""


def windows() -> list[int]:
    """Seconds of the windows of the ten joins, on both sides."""
    return [TEN - i for i in range(TEN)]


def muntin_answers(count: int) -> list[pa.Table]:
    """What each of the joins gives over the first rows, as its columns say."""
    batch = {n: rows(0, count, i) for i, n in enumerate("AB")}
    return [_sorted(run_local(plan, [batch]).select(COLUMNS)) for plan in plans_of(JOINS, TEN)]


def _sorted(table: pa.Table) -> pa.Table:
    types = pa.schema([(n, INSTANT if n in "ab" else pa.int64()) for n in COLUMNS])
    return table.cast(types).sort_by([(n, "ascending") for n in reversed(COLUMNS)]).combine_chunks()


def equal(found: Sequence[pa.Table], expected: Sequence[pa.Table]) -> bool:
    """Whether engines gave the same rows, in whatever order and types of their own."""
    return all(_sorted(f).equals(e) for f, e in zip(found, expected, strict=True))


# --- Spark ------------------------------------------------------------------------------------------------------------


def spark_sql(seconds: int, a: str, b: str) -> str:
    """The join of two windows of so many seconds in Spark SQL: each row lies in the other's half-open window."""
    near = f"a.ts > b.ts - INTERVAL {seconds} SECONDS AND b.ts > a.ts - INTERVAL {seconds} SECONDS"
    columns = "a.k AS k, a.v AS v, b.v AS w, a.ts AS a, b.ts AS b"
    return f"SELECT {columns} FROM {a} a JOIN {b} b ON a.k = b.k AND {near}"


def on_spark(folder: Path) -> Callable[[int, list[pa.Table]], Timed]:
    """What times the first so many joins on Spark, having compared them with what is expected."""

    def timed(count: int, expected: list[pa.Table]) -> Timed:
        from muntin.session import local_spark

        spark = local_spark(cores="2", memory="4g")
        whole = [Feed(folder / f"whole{s}", CHECKED, s) for s in (0, 1)]
        feeds = [Feed(folder / f"spark{count}-{s}", ROWS["spark"], s) for s in (0, 1)]
        for name, checked, feed in zip("ab", whole, feeds, strict=True):
            checked.more(1)
            spark.read.schema(SCHEMA_DDL).parquet(str(checked.folder)).createOrReplaceTempView(f"whole_{name}")
            feed.more(1)
            live = spark.readStream.schema(SCHEMA_DDL).option("maxFilesPerTrigger", 1).parquet(str(feed.folder))
            live.withWatermark("ts", "1 second").createOrReplaceTempView(f"live_{name}")
        found = [spark.sql(spark_sql(s, "whole_a", "whole_b")).toArrow() for s in windows()[:count]]
        results = [spark.sql(spark_sql(s, "live_a", "live_b")) for s in windows()[:count]]
        running = [started(r, folder / f"check-joins-{count}-{i}") for i, r in enumerate(results)]
        drained(running)
        began = time.perf_counter()
        for feed in feeds:
            feed.more(1)
        drained(running)
        seconds = time.perf_counter() - began
        for r in running:
            r.stop()
        return seconds, equal(found, expected), sum(map(len, found))

    return timed


def started(result: Any, check: Path) -> Any:
    """A streaming query of Spark's whose results are dropped."""
    return result.writeStream.format("noop").option("checkpointLocation", str(check)).start()


def drained(running: Sequence[Any]) -> None:
    """Wait until each has taken in all that there is."""
    for r in running:
        r.processAllAvailable()


# --- Flink ------------------------------------------------------------------------------------------------------------


def flink_job(count: int, given: int, out: Path | None) -> flink_sql.Job:
    """The first so many joins over ``given`` rows a stream as one job; results as CSV below ``out`` (None: dropped)."""
    tables = [*flink_sql.stream("a", 0, 0, given, "1"), *flink_sql.stream("b", 1, 0, given, "1")]
    inserts = []
    for i, seconds in enumerate(windows()[:count]):
        sink = "'connector' = 'blackhole'" if out is None else (
            f"'connector' = 'filesystem', 'path' = '{(out / str(i)).as_uri()}', 'format' = 'csv'"
        )  # fmt: skip
        columns = "k BIGINT, v BIGINT, w BIGINT, a TIMESTAMP_LTZ(3), b TIMESTAMP_LTZ(3)"
        tables.append(f"CREATE TABLE r{i} ({columns}) WITH ({sink})")
        near = f"a.ts > b.ts - INTERVAL '{seconds}' SECOND(3) AND b.ts > a.ts - INTERVAL '{seconds}' SECOND(3)"
        chosen = "a.k, a.v, b.v, CAST(a.ts AS TIMESTAMP_LTZ(3)), CAST(b.ts AS TIMESTAMP_LTZ(3))"
        inserts.append(f"INSERT INTO r{i} SELECT {chosen} FROM a JOIN b ON a.k = b.k AND {near}")
    return flink_sql.Job(tuple(tables), f"EXECUTE STATEMENT SET BEGIN {'; '.join(inserts)}; END")


def on_flink(folder: Path) -> Callable[[int, list[pa.Table]], Timed]:
    """As ``on_spark``, by Flink."""

    def timed(count: int, expected: list[pa.Table]) -> Timed:
        child = Child.start(flink_env.python(), folder / "flink.log", "4g")
        try:
            out = folder / f"flink-joins-{count}"
            child.run(flink_job(count, CHECKED, out))
            found = [_read(out / str(i)) for i in range(count)]
            seconds = child.run(flink_job(count, ROWS["flink"], None))
        finally:
            child.stop()
        return seconds, equal(found, expected), sum(map(len, found))

    return timed


def _read(folder: Path) -> pa.Table:
    types = {n: INSTANT if n in "ab" else pa.int64() for n in COLUMNS}
    plain = pyarrow.csv.ReadOptions(column_names=list(COLUMNS))
    convert = pyarrow.csv.ConvertOptions(column_types=types)
    parts = [p for p in folder.rglob("*") if p.is_file() and p.stat().st_size]
    return pa.concat_tables([pyarrow.csv.read_csv(p, plain, convert_options=convert) for p in parts])
