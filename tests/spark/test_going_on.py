"""Restarts of a live pipeline after something changed: what is asked goes on, what is new says so."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import SECOND, Feed, bag, events, until
from typer.testing import CliRunner

from muntin.cli.app import app
from muntin.core.errors import ConfigError
from muntin.session import Session

pytestmark = pytest.mark.spark

JOIN3 = (
    "SELECT x.v AS a, y.v AS b, z.v AS c FROM a x [RANGE 8 SECONDS], b y [RANGE 8 SECONDS], a z [RANGE 5 SECONDS] "
    "WHERE x.k = y.k AND y.j = z.j"
)
END = 100 * SECOND


def session_over(spark: Any, inputs: dict[str, Feed], rates: dict[str, float]) -> Session:
    session = Session(spark, shards=4)
    for name, source in inputs.items():
        session.stream(name, source.live(), slack="2 seconds", rate=rates.get(name))
    return session


def run(session: Session, checkpoint: Path, beat: int | None = None, **options: Any) -> None:
    started = session.start(str(checkpoint), "available_now", **options)
    started.await_termination()
    if beat is not None:
        started.heartbeat(beat)
        session.start(str(checkpoint), "available_now", **options).await_termination()


def held(checkpoint: Path) -> dict[str, Any]:
    """What ``muntin state`` says of a checkpoint."""
    found: dict[str, Any] = json.loads(
        CliRunner().invoke(app, ["state", str(checkpoint), "--format", "json"]).stdout
    )
    return found


@pytest.mark.slow
def test_a_rate_given_at_a_restart_leaves_the_windows(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    inputs = {n: feed(n).put(events(i, 0, 30, 60, disorder_s=2)) for i, n in enumerate("ab")}
    before = session_over(spark, inputs, {"a": 1000.0, "b": 1.0})
    before.sql(JOIN3, name="q").write("parquet", str(tmp_path / "out"))
    run(before, tmp_path / "cp")
    assert sum(v["bytes"] for v in held(tmp_path / "cp")["vertices"]) > 0
    for i, source in enumerate(inputs.values()):
        source.put(events(10 + i, 30, 30, 60, disorder_s=2))

    edited = session_over(spark, inputs, {})
    edited.sql(JOIN3.replace("RANGE 5", "RANGE 6"), name="q").write("parquet", str(tmp_path / "out"))
    with pytest.raises(ConfigError, match="asks another question than at the checkpoint"):
        run(edited, tmp_path / "cp")

    after = session_over(spark, inputs, {"a": 1.0, "b": 1000.0})
    after.sql(JOIN3, name="q").write("parquet", str(tmp_path / "out"))
    run(after, tmp_path / "cp", END)
    replayed = Session(spark, shards=4)
    for name, source in inputs.items():
        replayed.stream(name, source.replay(), slack="2 seconds")
    wanted = until(replayed.sql(JOIN3).to_df().toArrow(), END)
    assert bag(spark.read.parquet(str(tmp_path / "out")).drop("batch").toArrow()) == bag(wanted) and len(wanted) > 50

    found = held(tmp_path / "cp")
    assert found["queries"]["q"]["since"] == 0 and {v["since"] for v in found["vertices"]} == {0}
    assert all(v["queries"] == ["q"] for v in found["vertices"])
    assert "Vertices with state" in CliRunner().invoke(app, ["state", str(tmp_path / "cp")]).stdout


def test_metrics_say_since_when_windows_fill(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a query that is refilled beside one that goes on: batch, time of day and watermark, and so after a restart."""
    text = "SELECT k, COUNT(*) AS n FROM a [RANGE {} SECONDS] GROUP BY k"
    source = feed("a").put(events(1, 0, 30, 60))
    began = time.time_ns() // 1000

    def started(length: int, **options: Any) -> Any:
        session = session_over(spark, {"a": source}, {})
        session.sql(text.format(8), name="kept").write("blackhole")
        session.sql(text.format(length), name="edited").write("blackhole")
        running = session.start(str(tmp_path / "cp"), "available_now", **options)
        running.await_termination()
        return running

    first = started(9).metrics()
    assert {m.since.batch for m in first.queries.values()} == {0} and first.since.watermark is None
    assert began < first.since.at < time.time_ns() // 1000
    source.put(events(2, 30, 30, 60))
    with caplog.at_level("WARNING", "muntin"):
        second = started(10, on_change="refill").metrics()
    assert second.queries["kept"].since == first.queries["kept"].since
    assert second.queries["edited"].since.batch == 1 and second.queries["edited"].since.at > first.since.at
    assert second.queries["edited"].since.watermark == first.watermark and second.since.batch == 1
    assert "begin anew in batch 1 with empty windows, without rows from before 1970-01-01 00:00:2" in caplog.text
    source.put(events(3, 60, 30, 60))
    third = started(10).metrics()
    assert third.queries["edited"].since == second.queries["edited"].since
    assert (third.batches, third.rows, third.batch) == (1, 60, 2), "a restart counts from 0"
    found = held(tmp_path / "cp")["queries"]
    assert [found[n]["since"] for n in ("kept", "edited")] == [0, 1]
    assert found["edited"]["watermark"] == first.watermark


PAIRS = "SELECT x.j AS a, x.v AS b, y.v AS c FROM a x [RANGE 20 SECONDS], b y [RANGE 20 SECONDS] WHERE x.k = y.k"
FRESH = {
    "counts": "SELECT j, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 12 SECONDS] WHERE k IS NOT NULL GROUP BY j",
    "both": "SELECT x.j, COUNT(y.v) AS n FROM a x [RANGE 9 SECONDS], b y [RANGE 17 SECONDS SLIDE 2 SECONDS] "
    "WHERE x.k = y.k GROUP BY x.j",
    "latest": "SELECT j, COUNT(*) AS n, SUM(v) AS s FROM a [PARTITION BY k ROWS 5] GROUP BY j",
    "met": "SELECT x.j, y.v FROM a x [ROWS 7], b y [ROWS 30] WHERE x.k = y.k",
}
NUMBERED = {
    "rows": "SELECT k, j, v FROM a [PARTITION BY k ROWS 9]",
    "met30": "SELECT x.j, x.v, y.j AS i, y.v AS w FROM a x [ROWS 30], b y [ROWS 30] WHERE x.k = y.k",
    "met20": "SELECT x.v AS n FROM a x [ROWS 20], b y [ROWS 20] WHERE x.k = y.k",
}


def test_a_new_query_takes_up_the_rows_that_others_keep(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    """On more levels than there were, and in the time of a stream that nobody read alone."""
    inputs = {n: feed(n).put(events(i, 0, 30, 60, disorder_s=2)) for i, n in enumerate("ab")}
    before = session_over(spark, inputs, {})
    for name, text in {"pairs": PAIRS, **NUMBERED}.items():
        before.sql(text, name=name).write("blackhole")
    run(before, tmp_path / "cp")
    for i, source in enumerate(inputs.values()):
        source.put(events(10 + i, 30, 30, 60, disorder_s=2))
    for checkpoint, out in (("cp", "late"), ("other", "always")):
        session = session_over(spark, inputs, {})
        for name, text in {"pairs": PAIRS, **NUMBERED}.items():
            session.sql(text, name=name).write("blackhole")
        for name, text in FRESH.items():
            session.sql(text, name=name).write("parquet", str(tmp_path / out / name))
        run(session, tmp_path / checkpoint)
        assert session.queries["counts"].metrics().since.batch == 0
    assert {q["since"] for q in held(tmp_path / "cp")["queries"].values()} == {0}
    for name in FRESH:
        tables = [spark.read.parquet(str(tmp_path / o / name)).drop("batch").toArrow() for o in ("late", "always")]
        first = min(tables[0].column("ts").to_pylist())
        late, always = (shown(t, first) for t in tables)
        assert late == always and len(late) > 5


def shown(table: Any, since: Any) -> dict[Any, Any]:
    """The answer at every instant from ``since`` on."""
    held: Counter[Any] = Counter()
    found: dict[Any, Any] = {}
    for row in sorted(table.to_pylist(), key=lambda r: (r["ts"], r.get("op") == "+")):
        ts, op = row["ts"], row.get("op")
        if op is None:  # whole answers
            held = held if ts in found else Counter()
        held[tuple(v for n, v in row.items() if n not in ("ts", "op"))] += -1 if op == "-" else 1
        found[ts if op is None else max(ts, since)] = {v: n for v, n in held.items() if n}
    return {t: x for t, x in found.items() if t >= since}


def test_a_sampled_stream_admits_the_same_rows_live_and_replayed_and_may_be_opened_at_a_restart(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    source = feed("a").put(*(events(i, 10 * i, 10, 200, disorder_s=2) for i in range(3)))
    text = "SELECT k, j, v FROM a [RANGE 5 SECONDS]"

    def answer(df: Any, sample: float | None, checkpoint: str | None) -> tuple[Any, Any]:
        session = Session(spark, shards=4)
        session.stream("a", df, slack="2 seconds", sample=sample)
        query = session.sql(text, name="q")
        if checkpoint is None:
            return bag(query.to_df().toArrow()), query.metrics()
        query.write("parquet", str(tmp_path / checkpoint / "out"))
        run(session, tmp_path / checkpoint / "cp", END)
        return bag(spark.read.parquet(str(tmp_path / checkpoint / "out")).drop("batch").toArrow()), query.metrics()

    exact, _ = answer(source.replay(), None, None)
    replayed, counted = answer(source.replay(), 0.4, None)
    live, _ = answer(source.live(), 0.4, "sampled")
    assert live == replayed and 0 < len(live) < 0.6 * len(exact) and set(live) <= set(exact)
    assert 250 < counted.shed < 450 and f"{counted.shed}" in str(counted)
    source.put(events(9, 101, 5, 100), events(9, 190, 1, 100))
    more, metrics = answer(source.live(), None, "sampled")
    assert len(more) > len(live) + 150 and metrics.shed == 0


def test_a_new_query_that_could_never_be_exact_is_refused(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    """It would be asked to take back rows that another query's window held before it came."""
    source = feed("a").put(events(1, 0, 30, 60))
    session = session_over(spark, {"a": source}, {})
    session.sql("SELECT k, v FROM a [ROWS 10]", name="last").write("blackhole")
    run(session, tmp_path / "cp")
    session.sql("Istream(SELECT k, SUM(v) AS n FROM a [ROWS 10] GROUP BY k)", name="count").write("blackhole")
    with pytest.raises(ConfigError, match="would not become exact"):
        session.start(str(tmp_path / "cp"), "available_now")
    assert set(held(tmp_path / "cp")["queries"]) == {"last"}
