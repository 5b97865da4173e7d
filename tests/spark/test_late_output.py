"""The late output on Spark: each late row once, whole, fit to be fed again; the counts agree with the local runtime."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import SECOND, Feed, bag, events
from pyspark.sql import functions as F

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.session import Session

pytestmark = pytest.mark.spark

TEXTS = {
    "sum": "SELECT k, SUM(v + 1) AS s FROM a [RANGE 5 SECONDS] GROUP BY k",
    "self join": "SELECT x.v FROM a [RANGE 5 SECONDS] x, a [RANGE 9 SECONDS] y WHERE x.k = y.k AND y.v > 50",
    "twin": "SELECT q.k, SUM(q.v + 1) AS s FROM a [RANGE 5 SECONDS] q GROUP BY q.k",
    "inner": (
        "SELECT q.n FROM (SELECT k, COUNT(*) AS n FROM a [RANGE 9 SECONDS] WHERE v > 50 GROUP BY k) AS q, "
        "b [RANGE 4 SECONDS] y WHERE q.k = y.k"
    ),
    "both": "SELECT x.v FROM a [RANGE 5 SECONDS] x, b [RANGE 9 SECONDS] y WHERE x.k = y.k",
}


def locally(tables: dict[str, list[pa.Table]]) -> LocalPipeline:
    schema = Schema.of(**{f.name: f.type for f in tables["a"][0].schema})
    catalog = Catalog(tuple(Stream(n, schema, "ts", slack=2 * SECOND, order=i) for i, n in enumerate(tables)))
    pipe = LocalPipeline([plan_query(bind(t, catalog)) for t in TEXTS.values()], 4)
    for batch in zip(*tables.values(), strict=True):
        pipe.push(dict(zip(tables, batch, strict=True)))
    return pipe


def test_spark_gives_the_late_rows_of_the_local_runtime(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    tables = {
        "a": [events(1, 0, 60, 100), events(2, 30, 60, 40, disorder_s=50), events(3, 60, 50, 40, disorder_s=20)],
        "b": [events(4, 0, 20, 50), events(5, 10, 60, 40, disorder_s=30), events(6, 50, 50, 40, disorder_s=20)],
    }
    session = Session(spark, shards=4)
    for name, parts in tables.items():
        session.stream(name, feed(name).put(*parts).live(), slack="2 seconds")
    for name, text in TEXTS.items():
        session.sql(text, name=name).write("blackhole")
    sink = session.write_late()
    run = session.start(str(tmp_path / "cp"), "available_now")
    run.await_termination()
    pipe = locally(tables)
    names = list(TEXTS)
    wanted = [
        (part.stream, by, json.dumps(sorted(n for n, yes in zip(names, lost, strict=True) if yes)), row)
        for part in pipe.late_rows
        for row, by, lost in zip(part.rows.to_pylist(), part.by.tolist(), part.queries.tolist(), strict=True)
    ]
    row = F.from_json("row", feed("a").replay().schema).alias("row")
    rows = spark.createDataFrame(sink.rows()).select("stream", "late_us", "queries", row).toArrow().to_pylist()
    got = [(r["stream"], r["late_us"], r["queries"], r["row"]) for r in rows]
    assert sorted(got, key=repr) == sorted(wanted, key=repr)
    assert len(got) > 50 and len({r["queries"] for r in rows}) > 3
    assert any("inner" in r["queries"] and "both" not in r["queries"] for r in rows)
    assert run.metrics().late == pipe.late == len(got)
    assert run.metrics("sum").late == run.metrics("twin").late


def test_a_row_of_any_type_can_be_fed_again(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    """Columns that no query names too, NULLs, microseconds, nested values; a date as event time stays one."""
    moment = datetime(2024, 5, 1, 3, 4, 5, 678901, UTC)
    late = {
        "day": date(2024, 5, 1), "k": "ä\"'\\", "nothing": None, "at": moment, "d": Decimal("1.10"), "raw": b"\x00\xff",
        "many": [{"x": 1, "at": moment}, {"x": None, "at": None}], "from": 2**62 + 1, "a.b": 0.1,
    }  # fmt: skip
    kinds = pa.schema(
        [
            ("day", pa.date32()), ("k", pa.string()), ("nothing", pa.int64()), ("at", pa.timestamp("us", "UTC")),
            ("d", pa.decimal128(9, 2)), ("raw", pa.binary()),
            ("many", pa.list_(pa.struct([("x", pa.int64()), ("at", pa.timestamp("us", "UTC"))]))),
            ("from", pa.int64()), ("a.b", pa.float64()),
        ]
    )  # fmt: skip
    first = {**late, "day": date(2024, 6, 1)}
    source = feed("s").put(*(pa.Table.from_pylist([r], schema=kinds) for r in (first, late, first)))
    session = Session(spark, shards=2)
    session.stream("s", source.live(), ts="day")
    session.sql("SELECT COUNT(*) AS n FROM s [RANGE 1 DAY]").write("blackhole")
    session.write_late("parquet", str(tmp_path / "late"))
    session.start(str(tmp_path / "cp"), "available_now").await_termination()
    df = spark.read.parquet(str(tmp_path / "late"))
    assert [r.late_us for r in df.collect()] == [31 * 86_400 * SECOND]
    again = df.select(F.from_json("row", source.replay().schema).alias("r")).select("r.*")
    assert bag(again.toArrow().cast(kinds)) == bag(pa.Table.from_pylist([late], schema=kinds))


def test_late_updates_of_a_table_keep_their_columns(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    rows = [("2024-01-02", "+", 1), ("2024-01-01", "-", 1), ("2024-01-03", "+", 2)]
    updates = feed("t").put(*(
        pa.table({"when": pa.array([datetime.fromisoformat(d).replace(tzinfo=UTC)]), "op": [op], "id": [i]})
        for d, op, i in rows
    ))  # fmt: skip
    session = Session(spark, shards=2)
    session.table("t", updates.live(), kind="relation", ts="when", op="op")
    session.sql("SELECT id FROM t").write("blackhole")
    sink = session.write_late()
    run = session.start(str(tmp_path / "cp"), "available_now")
    run.await_termination()
    assert [json.loads(r) for r in sink.rows()["row"].to_pylist()] == [
        {"when": "2024-01-01T00:00:00.000000Z", "op": "-", "id": 1}
    ]
    assert run.metrics().late == 1
