"""The whole language live on Spark: every query's rows are the local runtime's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest_spark import SECOND, Feed, bag, events, until

from muntin.core.errors import ConfigError, DataError, QueryError
from muntin.core.time import ALWAYS
from muntin.local.runtime import LocalPipeline
from muntin.session import Query, Session

pytestmark = pytest.mark.spark

END = 90 * SECOND
SECONDS = 60

QUERIES = {
    "rows": "ISTREAM(SELECT COUNT(*) AS n, SUM(v) AS total, MAX(name) AS top FROM a [ROWS 7])",
    "partitioned": "SELECT k, AVG(v) AS mean FROM a [PARTITION BY k ROWS 3] GROUP BY k",
    "absent": "SELECT k, v FROM a [RANGE 8 SECONDS] x WHERE NOT EXISTS "
    "(SELECT * FROM b [RANGE 5 SECONDS] y WHERE y.j = x.j)",
    "outer": "SELECT x.name, x.v, y.v AS other FROM a [RANGE 4 SECONDS] x LEFT JOIN b [RANGE 3 SECONDS] y ON x.j = y.j",
    "distinct": "SELECT DISTINCT name, k FROM a [RANGE 6 SECONDS]",
    "except": "SELECT j FROM a [RANGE 5 SECONDS] EXCEPT ALL SELECT j FROM b [RANGE 5 SECONDS]",
    "top of groups": "SELECT k, v, RANK() OVER (PARTITION BY k ORDER BY v DESC) AS place FROM a [RANGE 9 SECONDS] "
    "QUALIFY place <= 2",
    "top": "RSTREAM(SELECT k, v, name FROM a [RANGE 10 SECONDS SLIDE 5 SECONDS] ORDER BY v DESC LIMIT 3)",
    "scalar": "SELECT k, v FROM a [RANGE 5 SECONDS SLIDE 5 SECONDS] WHERE v > (SELECT AVG(v) FROM b [RANGE 9 SECONDS])",
    "static": "SELECT d.label, COUNT(*) AS n FROM a [RANGE 7 SECONDS] x, dim d WHERE x.k = d.k GROUP BY d.label",
    "relation": "SELECT x.name, r.rate FROM a [RANGE 3 SECONDS] x, rates r WHERE x.k = r.k",
    "nrr": "SELECT x.name, x.v, p.rate FROM a [RANGE 3 SECONDS] x, prices p WHERE x.k = p.k",
    "view": "SELECT k, n FROM busy WHERE n > 6",
    "own": "SELECT name, spread(v) AS width FROM b [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY name",
    "order": "SELECT k, MEDIAN(v) AS middle, LAST(v) AS newest FROM b [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k",
    "filtered": "SELECT k, COUNT(*) FILTER (WHERE v > 20) AS many, SUM(DISTINCT v) AS total, FIRST(v) FILTER (WHERE "
    "v > 10) AS early FROM a [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k",
    "marked": "SELECT x.k, x.v FROM a [RANGE 5 SECONDS] x WHERE x.v > 40 OR x.j IN "
    "(SELECT y.j FROM b [RANGE 5 SECONDS] y WHERE y.v > x.v)",
    "further out": "SELECT x.k, x.v FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] x WHERE EXISTS (SELECT 1 FROM "
    "b [RANGE 4 SECONDS SLIDE 2 SECONDS] y WHERE y.j = x.j AND NOT EXISTS (SELECT 1 FROM b [RANGE 2 SECONDS SLIDE 2 "
    "SECONDS] z WHERE z.k = y.k AND z.v > x.v))",
    "partly internal": "SELECT x.k, y.v FROM a [RANGE 3 SECONDS INTERNAL] x, b [RANGE 6 SECONDS] y WHERE x.j = y.j",
    "internal rows": "SELECT x.k, y.v FROM a [ROWS 4 INTERNAL] x, b [PARTITION BY k ROWS 2] y WHERE x.j = y.j AND "
    "EXISTS (SELECT 1 FROM b [RANGE 3 SECONDS INTERNAL] z WHERE z.j = x.j)",
    "clock": "SELECT DATE_TRUNC('minute', ts) AS minute, SECOND(ts) % 10 AS s, COUNT(*) AS n FROM a [RANGE 9 SECONDS] "
    "WHERE name NOT LIKE '/_%' ESCAPE '/' GROUP BY DATE_TRUNC('minute', ts), SECOND(ts) % 10",
    "moving": "SELECT k, sum_of(v) AS total FROM b [RANGE 12 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "kinds": "SELECT k, COUNT(DISTINCT j, name) AS n FROM a [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k",
    "rows in": "SELECT x.k, x.v FROM a [RANGE 5 SECONDS] x WHERE (x.k, x.v) NOT IN "
    "(SELECT y.k, y.v FROM b [RANGE 20 SECONDS] y WHERE y.name <> x.name)",
    "restore": "ISTREAM-RESTORE(SELECT k, COUNT(*) AS n FROM a [RANGE 6 SECONDS SLIDE 6 SECONDS] GROUP BY k)",
}


def spread() -> type:
    class Spread:
        """Largest minus smallest."""

        def init(self) -> list[int]:
            return []

        def add(self, state: list[int], value: int) -> list[int]:
            return [*state, value]

        def merge(self, a: list[int], b: list[int]) -> list[int]:
            return a + b

        def finish(self, state: list[int]) -> float | None:
            return float(max(state) - min(state)) if state else None

    return Spread


def sum_of() -> type:
    class Held:
        """A state of a class that no worker can import."""

        def __init__(self) -> None:
            self.total = 0

    class SumOf:
        def init(self) -> Held:
            return Held()

        def add(self, state: Held, value: int) -> Held:
            state.total += value
            return state

        def subtract(self, state: Held, value: int) -> Held:
            state.total -= value
            return state

        def merge(self, a: Held, b: Held) -> Held:
            a.total += b.total
            return a

        def finish(self, state: Held) -> int:
            return state.total

    return SumOf


def updates(seed: int, start_s: int, seconds: int, old: dict[int, int]) -> pa.Table:
    """Changes of a table (k, rate): a key's first row comes, later the old row goes and a new one comes."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, str, int, int]] = []
    for ts in np.sort(rng.integers(start_s * SECOND, (start_s + seconds) * SECOND, 12)).tolist():
        k = int(rng.integers(0, 5))
        if k in old:
            rows.append((ts, "d", k, old.pop(k)))
        if rng.random() < 0.8:
            old[k] = int(rng.integers(0, 50))
            rows.append((ts, "I", k, old[k]))
    ts, op, k, rate = map(list, zip(*rows, strict=True))
    return pa.table({"ts": pa.array(ts, pa.timestamp("us", "UTC")), "op": op, "k": pa.array(k), "rate": pa.array(rate)})


def as_feed(table: pa.Table) -> pa.Table:
    added = [op in ("I", "+") for op in table["op"].to_pylist()]
    at = table["ts"].cast(pa.int64())
    return table.select(["k", "rate"]).append_column("__at", at).append_column("__add", pa.array(added))


DIM = pa.table({"k": pa.array([0, 1, 2, 2]), "label": ["zero", "one", "two", "deux"]})


@pytest.fixture
def feeds(feed: Callable[[str], Feed]) -> dict[str, Feed]:
    step = SECONDS // 3
    found = {n: feed(n).put(*(events(10 * i + s, step * i, step, 60, disorder_s=2) for i in range(3)))
             for s, n in enumerate("ab")}  # fmt: skip
    for seed, name in enumerate(("rates", "prices")):
        old: dict[int, int] = {}
        found[name] = feed(name).put(*(updates(seed + i, step * i, step, old) for i in range(3)))
    return found


def session_over(spark: Any, feeds: dict[str, Feed], live: bool, shards: int = 3) -> Session:
    session = Session(spark, shards=shards)
    for name, source in feeds.items():
        df = source.live() if live else source.replay()
        if name in "ab":
            session.stream(name, df, slack="2 seconds")
        else:
            session.table(name, df, kind="relation" if name == "rates" else "nrr", ts="ts", op="op")
    session.table("dim", spark.createDataFrame(DIM.to_pandas()))
    session.view("busy", "SELECT k, COUNT(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY k")
    session.aggregate("spread", spread(), argument="double", result=pa.float64())
    session.aggregate("sum_of", sum_of())
    return session


def local_answer(query: Query, feeds: dict[str, Feed], end: int | None) -> pa.Table:
    """The local runtime's answer before ``end``, or to the end of input."""
    always = DIM.append_column("__at", pa.array([ALWAYS] * 4)).append_column("__add", pa.array([True] * 4))
    known = {"dim": always, **{n: f.table() if n in "ab" else as_feed(f.table()) for n, f in feeds.items()}}
    pipeline = LocalPipeline(query.physical, 2)
    rows = pipeline.push({s.name: known[s.name] for s in query.physical.streams})
    return pa.concat_tables([rows, pipeline.finish() if end is None else pipeline.heartbeat(end)])


IN_MEMORY = {"rows", "top", "own", "restore"}
"""What these show is kept by Spark; files of the others are written by the workers, without a job of Spark for each."""


def test_live_in_micro_batches(spark: Any, feeds: dict[str, Feed], tmp_path: Path) -> None:
    def asked(name: str) -> Query:
        query = session.sql(QUERIES[name], name=name)
        return query.write() if name in IN_MEMORY else query.write("parquet", str(tmp_path / "out" / name))

    def shown(query: Query) -> pa.Table:
        where = tmp_path / "out" / query.name
        return query.rows() if query.name in IN_MEMORY else pq.read_table(where, partitioning=None)

    session = session_over(spark, feeds, live=True)
    first = {name: asked(name) for name in QUERIES}
    session.start(str(tmp_path / "cp"), "available_now").await_termination()
    held = {name: len(shown(query)) for name, query in first.items()}
    session = session_over(spark, feeds, live=True)
    queries = {name: asked(name) for name in QUERIES}
    for name in IN_MEMORY:
        queries[name].sink = first[name].sink
    run = session.start(str(tmp_path / "cp"))
    run.heartbeat(END)
    run.process_all_available()
    run.stop()
    for name, query in queries.items():
        wanted = local_answer(query, feeds, END)
        assert len(wanted) > 10, name
        assert bag(shown(query)) == bag(wanted), name
        assert held[name] > 0, name
    assert run.metrics().late == 0


@pytest.mark.parametrize("name", ["rows", "absent", "static", "nrr", "own"])
def test_replayed(spark: Any, feeds: dict[str, Feed], name: str) -> None:
    query = session_over(spark, feeds, live=False, shards=2).sql(QUERIES[name])
    wanted = local_answer(query, feeds, None)
    assert bag(query.to_df().toArrow()) == bag(wanted)
    assert len(until(wanted, END)) > 10


def test_an_update_with_an_unknown_op_stops_the_run(spark: Any, feeds: dict[str, Feed], tmp_path: Path) -> None:
    rows = feeds["rates"].table().slice(0, 3)
    feeds["rates"].put(rows.set_column(1, "op", pa.array(["+", "upsert", "+"])))
    session = session_over(spark, feeds, live=True)
    session.sql(QUERIES["relation"]).write()
    with pytest.raises(DataError, match="table 'rates': unknown op 'upsert' in its updates; an update is"):
        session.start(str(tmp_path / "cp"), "available_now").await_termination()


def test_change_events_with_before_and_after(spark: Any) -> None:
    session = Session(spark, shards=2)
    rows = [
        (1, "c", None, (1, "a")), (2, "u", (1, "a"), (1, "b")), (3, "D", (1, "b"), None), (4, "r", None, (2, "c")),
    ]  # fmt: skip
    row = "STRUCT<k: BIGINT, name: STRING>"
    df = spark.createDataFrame(rows, f"ts_ms BIGINT, op STRING, before {row}, after {row}").coalesce(1)
    session.table("t", df, kind="relation", ts="ts_ms", op="op", ts_unit="ms")
    table = session.catalog.table("t")
    assert table is not None and table.schema.names == ("k", "name")
    assert [tuple(r)[:4] for r in session.frames["t"].collect()] == [  # and the update as it came
        (1, "a", 1000, True), (1, "a", 2000, False), (1, "b", 2000, True), (1, "b", 3000, False), (2, "c", 4000, True),
    ]  # fmt: skip


def test_tables_that_do_not_fit(spark: Any, feeds: dict[str, Feed]) -> None:
    session = session_over(spark, feeds, live=True)
    updates = feeds["rates"].replay()
    with pytest.raises(QueryError, match=r"dim is a table, and tables have no window: write dim without \[...\]"):
        session.sql("SELECT k FROM dim [RANGE 5 SECONDS]")
    with pytest.raises(ConfigError, match=r"table 't': there is no column 'change' .* it has ts, op, k, rate"):
        session.table("t", updates, kind="relation", ts="ts", op="change")
    with pytest.raises(ConfigError, match=r"table 't': a table that changes needs op=..."):
        session.table("t", updates, kind="nrr", ts="ts")
    with pytest.raises(ConfigError, match="table 't': there is no column 'when' to take event time from"):
        session.table("t", updates, kind="nrr", ts="when", op="op")
    with pytest.raises(ConfigError, match="table 't': a static table never changes and takes neither ts nor op"):
        session.table("t", updates, ts="ts", op="op")
    with pytest.raises(ConfigError, match="table 't': a static table is a batch DataFrame, this one is streaming"):
        session.table("t", feeds["rates"].live())
    with pytest.raises(ConfigError, match='kind is "static", "relation", "nrr" or "upsert", not'):
        session.table("t", updates, kind="dynamic")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="there is a stream, table or view 'BUSY' already"):
        session.table("BUSY", updates)
    with pytest.raises(QueryError, match="nothing"):
        session.view("v", "SELECT nothing FROM a")
    with pytest.raises(ConfigError, match=r"aggregate 'half': object has no method init\(\)"):
        session.aggregate("half", object())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'half': 'wide' is not a type"):
        session.aggregate("half", spread(), argument="wide")


def test_a_static_table_that_is_too_large(
    spark: Any, feeds: dict[str, Feed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from muntin.spark import tables

    monkeypatch.setattr(tables, "TABLE_BYTES", 10)
    session = session_over(spark, feeds, live=True)
    session.sql(QUERIES["static"]).write()
    with pytest.raises(ConfigError, match="table 'dim' holds 0 MiB, a static table of a live pipeline at most"):
        session.start(str(tmp_path / "cp"))
