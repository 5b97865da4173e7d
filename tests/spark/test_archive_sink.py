"""Live queries that write to an archive: each result once, until it expires; and a DataFrame over it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import SECOND, Feed, events
from typer.testing import CliRunner

from muntin.archive import create, snapshot
from muntin.cli.app import app
from muntin.core.errors import ConfigError, QueryError
from muntin.session import Session

SUMS = "SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k"


def bag(rows: pa.Table, *names: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(r[n] for n in names) for r in rows.to_pylist())


def microseconds(rows: pa.Table, name: str) -> list[int]:
    return rows.column(name).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()


@pytest.mark.spark
def test_results_once_and_until_they_expire(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    place, source = str(tmp_path / "archive"), feed("a")
    windows = "a [RANGE 20 SECONDS], a AS b [RANGE 8 SECONDS]"
    joined = f"SELECT a.k, a.v, b.j, a.ts AS at, b.ts AS bt FROM {windows} WHERE a.k = b.j"
    whole: dict[str, pa.Table] = {}
    for part in range(2):  # a run, and another one that goes on; the last batch of the first is asked for again
        source.put(*(events(7 + i, 20 * i, 20, 25) for i in range(2 * part, 2 * part + 2)))
        session = Session(spark, shards=4)
        session.stream("a", source.live(), ts="ts")
        options = {"key": "k", "every": "5 seconds", "retain": "30 seconds", "layout": "2x2", "update": "norebuild"}
        session.sql(SUMS, name="sums").write("archive", place, options=options)
        pairs = {"key": "k", "every": "5 seconds", "span": "20 seconds"}
        session.sql(joined, name="pairs", exp=True).write("archive", place + "2", options=pairs)
        session.start(str(tmp_path / "checkpoint"), "available_now").await_termination()
        found = snapshot(place)
        answer = Session(spark, shards=4)
        answer.stream("a", source.replay(), ts="ts")
        whole = {"sums": answer.sql(SUMS).to_df().toArrow(), "pairs": answer.sql(joined, exp=True).to_df().toArrow()}
        now = found.now or 0
        kept = whole["sums"].filter(pa.array([now - 30 * SECOND < t <= now for t in microseconds(whole["sums"], "ts")]))
        assert bag(found.scan(), "k", "n", "ts") == bag(kept, "k", "n", "ts") and kept.num_rows
    frame = session.archive(place, key=1).toArrow()
    assert bag(frame, "n", "ts") == bag(snapshot(place).probe(1), "n", "ts") and frame.num_rows
    later = snapshot(place).now + 12 * SECOND
    assert (
        session.archive(place, low=1, high=3, as_of=later).count() == snapshot(place).range(1, 3, as_of=later).num_rows
    )
    assert session.archive(place, key=99).count() == 0
    pairs_kept = snapshot(place + "2")
    plus = whole["pairs"].filter(pa.array([o == "+" for o in whole["pairs"]["op"].to_pylist()]))
    alive = [
        t <= pairs_kept.now < e
        for t, e in zip(microseconds(plus, "ts"), microseconds(plus, "exp"), strict=True)
    ]  # fmt: skip
    assert bag(pairs_kept.scan(), "k", "at", "bt") == bag(plus.filter(pa.array(alive)), "k", "at", "bt")
    asked(session, source.table(), str(tmp_path / "checkpoint"))


def asked(session: Session, rows: pa.Table, checkpoint: str) -> None:
    """One-time queries over the windows that the join holds: in process, and by the command."""
    text = "SELECT k, COUNT(*) AS n FROM a [RANGE 7 SECONDS] WHERE k IS NOT NULL GROUP BY k"
    found = session.snapshot(text)
    there = list(zip(microseconds(rows, "ts"), rows["k"].to_pylist(), strict=True))
    expected = Counter(k for t, k in there if found.at - 7 * SECOND < t <= found.at)
    assert dict(zip(*found.rows.to_pydict().values(), strict=True)) == expected and len(expected) > 1
    assert found.committed is not None and found.behind == max(t for t, _ in there) - found.at
    for isolation in ("latest", "serial"):
        same = session.snapshot(text, isolation=isolation)  # type: ignore[arg-type]
        assert (same.batch, same.newer) == (found.batch, 0) and same.rows.sort_by("k") == found.rows.sort_by("k")
    with pytest.raises(ConfigError, match="isolation is one of"):
        session.snapshot(text, isolation="dirty")  # type: ignore[arg-type]
    shown = dict(zip(*session.snapshot("SELECT k, n FROM sums").rows.to_pydict().values(), strict=True))
    other = (
        "WITH p AS (SELECT k, COUNT(*) AS c FROM pairs GROUP BY k) "
        "SELECT s.k, s.n, p.c FROM sums s LEFT JOIN p ON p.k = s.k"
    )
    for engine in ("duckdb", "spark"):
        same = session.snapshot(other, engine=engine)  # type: ignore[arg-type]
        assert (same.at, same.batch) == (found.at, found.batch)
        assert dict(zip(same.rows["k"].to_pylist(), same.rows["n"].to_pylist(), strict=True)) == shown
        assert sum(c or 0 for c in same.rows["c"].to_pylist()) > 0
        with pytest.raises(QueryError, match="zz"):
            session.snapshot("SELECT zz FROM sums", engine=engine)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="reads nothing of what the pipeline holds: a, sums, pairs"):
        session.snapshot("SELECT 1", engine="duckdb")
    done = CliRunner().invoke(app, ["sql", text, "--live", checkpoint, "--format", "json", "--isolation", "latest"])
    assert done.exit_code == 0 and len(done.stdout.splitlines()) == len(expected), done.stderr
    assert "after batch" in done.stderr and "s ago" in done.stderr
    assert CliRunner().invoke(app, ["sql", text, "--live", checkpoint, "--shards", "3"]).exit_code == 2
    file = Path(checkpoint).parent / "asked.parquet"
    typed = f"\\d a\n\\format json\n\\o {file}\n{text};{text};\nEXPLAIN {text};\n\\stream b x y\n"
    shell = CliRunner().invoke(app, ["shell", "--live", checkpoint], input=typed)
    assert [line for line in shell.stdout.splitlines() if line.startswith("{")] == done.stdout.splitlines()
    assert f"{len(expected)} rows in {file}" in shell.stderr and file.exists()
    assert "stream a" in shell.stdout and "Logical plan" in shell.stdout and "after batch" in shell.stderr
    assert shell.exit_code == 2 and "streams of its own" in shell.stderr


@pytest.mark.spark
def test_what_it_refuses(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    session = Session(spark)
    session.stream("a", feed("a").put(events(1, 0, 10, 5)).live(), ts="ts")
    place, good = str(tmp_path / "x"), {"key": "k", "every": "5 seconds", "retain": "1 minute"}
    query = session.sql(SUMS, name="sums")
    cases = [
        (None, good, "needs a directory"), (place, {**good, "retane": 1}, "did you mean|has no option"),
        (place, {"every": "5 seconds"}, "needs option 'key'"), (place, {**good, "key": "zz"}, "is no column"),
        (place, {"key": "k", "every": "5 seconds", "span": "1 minute"}, "its rows have no expiry"),
        (place, {**good, "layout": "many"}, "write GxE"),
    ]  # fmt: skip
    for path, options, words in cases:
        with pytest.raises(ConfigError, match=words):
            query.write("archive", path, options=options)
    taken_back = session.sql("SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS] GROUP BY k", name="counts", exp=True)
    with pytest.raises(ConfigError, match="taken back before they expire"):
        taken_back.write("archive", place, options={"key": "k", "every": "5 seconds", "span": "1 minute"})


@pytest.mark.spark
def test_columns_of_any_name(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("k`1", pa.int64()), ("t`s", pa.int64()), ("exp", pa.int64())])
    archive = create(str(tmp_path / "x"), schema, key="k`1", time="t`s", every=5, span=10)
    archive.write(pa.table([[1, 2], [3, 4], [8, 9]], schema=schema))
    assert Session(spark).archive(archive.files.where(""), key=2, since=1).collect() == [(2, 4, 9)]
