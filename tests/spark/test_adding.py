"""Queries added to and dropped from a pipeline while rows flow: nothing is lost or repeated, and the run goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest_spark import SECOND, Feed, bag, events, until
from test_going_on import shown

from muntin.core.errors import ConfigError
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.session import Session
from muntin.spark import run as run_module
from muntin.spark import tables
from muntin.spark.inspect import inspect

pytestmark = pytest.mark.spark

KEPT = "SELECT j, k, v FROM a [RANGE 20 SECONDS]"
SLIDE = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 9 SECONDS SLIDE 2 SECONDS] GROUP BY k"
COUNTS = "SELECT j, COUNT(*) AS n FROM a [RANGE 12 SECONDS] WHERE v > 20 GROUP BY j"
NEWS = "ISTREAM(SELECT j, v FROM a [RANGE 5 SECONDS] WHERE v > 50)"
FILES, END = 10, 1000 * SECOND


def session_over(spark: Any, source: Feed) -> Session:
    session = Session(spark, shards=2)
    session.stream("a", source.live(), slack="2 seconds")
    return session


def alone(session: Session, rows: pa.Table, text: str) -> pa.Table:
    """The answer of a query that runs by itself over these rows."""
    pipeline = LocalPipeline(plan_query(bind(text, session.catalog)))
    return until(pa.concat_tables([pipeline.push({"a": rows}), pipeline.finish()]), END)


def written(path: Path) -> pa.Table:
    return pq.read_table(path, partitioning=None)


@contextmanager
def closing(end: Callable[[], Any]) -> Iterator[None]:
    """Where an assertion fails, threads that wait for a run do not keep the test from ending."""
    try:
        yield
    finally:
        end()


def wait_for(what: Callable[[], Any], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def looking(seen: list[int]) -> Callable[[Any, int], None]:
    """A sink that takes a while, and notes batches: what is repeated shows there; files would be written over."""

    def see(df: Any, batch: int) -> None:
        seen.append(batch)
        time.sleep(0.1)
        df.count()

    return see


def reaches(run: Any, batch: int) -> None:
    wait_for(lambda: run.metrics().batch >= min(batch, FILES - 1))


def goes_on(run: Any, batches: int = 1) -> None:
    reaches(run, run.metrics().batch + batches)


def test_queries_come_and_go_while_rows_flow(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    source = feed("a").put(events(0, 0, 10, 60))
    session = session_over(spark, source)

    def query(text: str, name: str, out: str | None = None) -> Any:
        return session.sql(text, name=name).write("parquet", str(tmp_path / (out or name)))

    seen: list[int] = []
    query(KEPT, "kept")
    session.sql("SELECT k FROM a [NOW]", name="seen").write(foreach_batch=looking(seen))
    slide = query(SLIDE, "slide")
    run = session.start(str(tmp_path / "cp"))
    waiter = ThreadPoolExecutor(1).submit(run.await_termination)
    request.addfinalizer(run.stop)

    def flow() -> None:
        for i in range(1, FILES):
            source.put(events(i, 10 * i, 10, 60, disorder_s=2))
            reaches(run, i - 2)

    wait_for(run.metrics)
    with ThreadPoolExecutor(3) as threads, closing(lambda: flowing.done() or run.stop()):
        flowing = threads.submit(flow)
        goes_on(run, 2)
        both = [threads.submit(run.add, q) for q in (query(COUNTS, "counts"), query(NEWS, "news"))]
        assert [b.result() for b in both] == [None, None], "two at a time follow one another"
        listed = {row.name: row for row in run.queries()}
        assert list(listed) == ["kept", "seen", "slide", *(n for n in run.job.asked if n in ("counts", "news"))]
        assert listed["counts"].since.batch == 0 and listed["news"].since.batch > 0, "history, and none"
        goes_on(run)
        run.drop("slide")
        ended = slide.metrics()
        before = {p.name for p in (tmp_path / "slide").iterdir()}
        goes_on(run)
        run.drop("news")
        run.add(query(SLIDE, "again"))
        run.add(query(KEPT, "twin"))
        run.drop("counts")
        run.add(session.queries["counts"])
        goes_on(run)
        flowing.result()
    run.process_all_available()
    run.heartbeat(END)
    run.process_all_available()
    assert run.active and not waiter.done()
    run.stop()
    assert waiter.result(60) is True and run.exception is None

    assert seen == list(range(FILES + 1)), "each batch once"
    assert {p.name for p in (tmp_path / "slide").iterdir()} == before, "nothing more"
    nothing_lost_or_repeated(session, source, tmp_path, run, ended)
    run_as_if_undisturbed(session, run, tmp_path / "cp")


def run_as_if_undisturbed(session: Session, run: Any, checkpoint: Path) -> None:
    """Counts and state go on from where they were before queries came and went."""
    found = run.metrics()
    assert (found.batch, found.batches, found.rows, found.late) == (FILES, FILES + 1, FILES * 60, 0), "counts go on"
    assert set(found.queries) == {"kept", "seen", "again", "twin", "counts"} and session.queries["again"].run is run
    state = inspect(str(checkpoint))
    assert state.queries["counts"]["since"] == 0, "the rows that others keep since then"
    users = {q for v in state.vertices for q in v.queries}
    assert users == {"kept", "seen", "again", "twin", "counts"}


def nothing_lost_or_repeated(session: Session, source: Feed, out: Path, run: Any, ended: Any) -> None:
    """What each query wrote is what it answers alone, from where it came to where it went; ``ended``: the metrics of
    the one that was dropped."""
    kept, twin = alone(session, source.table(), KEPT), written(out / "twin")
    assert bag(written(out / "kept")) == bag(kept)
    first = min(twin["ts"].to_pylist())
    assert shown(twin, first) == shown(kept, first) and len(twin) < len(kept), "it shows what ran before, at its start"
    whole = alone(session, source.table(), SLIDE)
    assert bag(written(out / "slide")) == bag(until(whole, ended.watermark)) and ended.watermark > 20 * SECOND
    again = written(out / "again")
    assert bag(again) == bag(whole.filter(pc.greater_equal(whole["ts"], pc.min(again["ts"])))) and len(again) > 20
    counts, always = written(out / "counts"), alone(session, source.table(), COUNTS)
    first = min(counts["ts"].to_pylist())
    assert shown(counts, first) == shown(always, first) and len(counts) > 20
    batches = sorted(int(p.name.partition("=")[2]) for p in (out / "news").glob("batch=*"))
    news = alone(session, pa.concat_tables(pq.read_table(source.path / f"{b:04d}.parquet") for b in batches), NEWS)
    assert batches == list(range(run.first_of("news"), batches[-1] + 1))
    upto = session.queries["news"].metrics().watermark
    assert bag(written(out / "news")) == bag(until(news, upto)) and len(news) > 10


def test_an_add_that_fails_leaves_the_others_running(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = feed("a").put(events(0, 0, 10, 60))
    session = session_over(spark, source)
    session.table("limits", spark.createDataFrame([(1, 5)], "k long, top long"))
    session.sql(KEPT, name="kept").write("parquet", str(tmp_path / "kept"))
    run = session.start(str(tmp_path / "cp"))
    run.process_all_available()
    joined = session.sql("SELECT a.j, t.top FROM a [RANGE 5 SECONDS], limits t WHERE a.k = t.k", name="joined")
    joined.write("parquet", str(tmp_path / "joined"))
    with ThreadPoolExecutor(1) as threads, closing(lambda: run.stop()):
        waiting = threads.submit(run.await_termination)
        with monkeypatch.context() as m:
            m.setattr(tables, "TABLE_BYTES", 0)
            with pytest.raises(ConfigError, match="leave out columns or rows"):
                run.add(joined)
        source.put(events(1, 10, 10, 60))
        run.process_all_available()
        with monkeypatch.context() as m:
            built, real = [], run_module.build

            def build(*args: Any, **more: Any) -> Any:
                built.append(args)
                if len(built) == 1:
                    raise LookupError("once")
                return real(*args, **more)

            m.setattr(run_module, "build", build)
            with pytest.raises(LookupError, match="once"):
                run.add(joined)
            with pytest.raises(ConfigError, match="runs already"):
                run.add(session.queries["kept"])
        assert len(built) == 2 and joined.run is None and list(run.job.asked) == ["kept"] and not waiting.done()
        source.put(events(2, 20, 10, 60))
        run.process_all_available()
        run.add(joined)
        run.add(session.sql("SELECT j, v FROM a [ROWS 5]", name="last").write("blackhole"))
        source.put(events(3, 30, 10, 60))
        run.process_all_available()
        with pytest.raises(ConfigError, match="it would not become exact"):
            count = session.sql("Istream(SELECT j, SUM(v) AS n FROM a [ROWS 5] GROUP BY j)", name="count")
            run.add(count.write("blackhole"))
        source.put(events(4, 40, 10, 60))
        run.process_all_available()
        run.heartbeat(END)
        run.process_all_available()
        run.stop()
        assert waiting.result(60) is True
    assert bag(written(tmp_path / "kept")) == bag(alone(session, source.table(), KEPT))
    assert run.metrics().rows == 300 and joined.metrics().results > 0


def test_waiting_stopping_and_failing_across_an_add(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    source = feed("a").put(events(0, 0, 10, 60))
    session = session_over(spark, source)
    inside, go, said = threading.Event(), threading.Event(), []

    def sink(df: Any, batch: int) -> None:
        try:
            run.drop("slow")
        except ConfigError as e:
            said.append(str(e))
        inside.set()
        go.wait(20)

    def failing(df: Any, batch: int) -> None:
        raise LookupError("the shelf is gone")

    session.sql(KEPT, name="slow").write(foreach_batch=sink)
    run = session.start(str(tmp_path / "cp"))
    more = session.sql(SLIDE, name="more").write("blackhole")
    bad = session.sql(COUNTS, name="bad").write(foreach_batch=failing)
    with ThreadPoolExecutor(3) as threads, closing(lambda: (go.set(), run.stop())):
        waiting = threads.submit(run.await_termination)
        assert inside.wait(120) and "outside of a sink's function" in said[0]
        adding = threads.submit(run.add, more)
        time.sleep(0.3)
        assert run.active and not adding.done(), "it waits for the batch under way"
        stopping = threads.submit(run.stop)
        with pytest.raises(ConfigError, match="was stopped in the meantime"):
            adding.result(60)
        go.set()
        stopping.result(60)
        assert waiting.result(60) is True and not run.active and run.exception is None
        with pytest.raises(ConfigError, match="the run has ended"):
            run.add(more)
        assert run.metrics().batch == 0, "the batch under way was finished"

        run = session.queries["slow"].start(str(tmp_path / "cp"))
        run.add(more)
        assert run.await_termination(0.2) is False
        waiting = threads.submit(run.await_termination)
        source.put(events(1, 10, 10, 60))
        run.add(bad)
        with pytest.raises(LookupError, match="the shelf is gone"):
            waiting.result(120)
    assert not run.active and isinstance(run.exception, LookupError)
