"""ORDER BY ... LIMIT on Spark: rows of one instant leave in the query's order, in DataFrames, sinks and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest_spark import Feed, events

from muntin.session import Session
from muntin.session.answers import first_in_order

pytestmark = pytest.mark.spark

COUNTS = "SELECT k, name, COUNT(*) AS n FROM a [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k, name"
TOP = f"{COUNTS} ORDER BY n DESC, 1 LIMIT 5"
HIDDEN = TOP.replace(", COUNT(*) AS n", "").replace("ORDER BY n", "ORDER BY COUNT(*)")


def session_of(spark: Any, source: Feed, live: bool) -> Session:
    session = Session(spark, shards=4)
    session.stream("a", source.live() if live else source.replay())
    return session


@pytest.fixture
def source(feed: Callable[[str], Feed]) -> Feed:
    return feed("a").put(*(events(i, 20 * i, 20, 120) for i in range(3)))


def ordered(rows: list[dict[str, Any]]) -> bool:
    """Whether the rows are in order of time, and those of one instant in the query's."""
    times = [r["ts"] for r in rows]
    instants = [[(-r["n"], r["k"], r["name"]) for r in group] for _, group in groupby(rows, key=lambda r: r["ts"])]
    assert max(map(len, instants)) == 5
    return times == sorted(times) and all(i == sorted(i) for i in instants)


def test_a_dataframe_and_the_command(spark: Any, source: Feed) -> None:
    session = session_of(spark, source, live=False)
    known, other = session.sql(TOP), session.sql(HIDDEN)
    rows = known.to_df().toArrow().to_pylist()
    assert ordered(rows)
    shown = [(r["ts"], r["k"], r["name"]) for r in rows]
    assert [(r["ts"], r["k"], r["name"]) for r in other.to_df().toArrow().to_pylist()] == shown
    for query in (known, other):
        assert query.physical.order
        printed = first_in_order(query.to_df(), query.physical, 12).to_pylist()
        assert [(r["ts"], r["k"], r["name"]) for r in printed] == shown[:13]
    assert len(first_in_order(known.to_df(), known.physical, 0)) == len(rows)


def test_sinks(spark: Any, source: Feed, tmp_path: Path) -> None:
    session = session_of(spark, source, live=True)
    kept: list[pa.Table] = []
    session.sql(TOP, name="memory").write()
    session.sql(TOP + " ", name="parquet").write("parquet", str(tmp_path / "parquet"))
    session.sql(TOP + "  ", name="json").write("json", str(tmp_path / "json"))
    session.sql(TOP + "   ", name="function").write(foreach_batch=lambda df, _: kept.append(df.toArrow()))
    session.start(str(tmp_path / "cp"), "available_now").await_termination()
    rows = session.queries["memory"].rows().to_pylist()
    assert ordered(rows) and len(rows) > 40
    assert pa.concat_tables(kept).to_pylist() == rows
    files = sorted((tmp_path / "parquet").glob("batch=*"), key=lambda p: int(p.name.split("=")[1]))
    written = [r for f in files for p in sorted(f.glob("*.parquet")) for r in pq.ParquetFile(p).read().to_pylist()]
    assert written == rows
    texts = sorted((tmp_path / "json").glob("batch=*"), key=lambda p: int(p.name.split("=")[1]))
    lines = [json.loads(x) for f in texts for p in sorted(f.glob("part-*")) for x in p.read_text().splitlines()]
    assert [(r["k"], r["name"], r["n"]) for r in lines] == [(r["k"], r["name"], r["n"]) for r in rows]
