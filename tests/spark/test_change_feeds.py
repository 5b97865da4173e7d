"""Tables fed in the forms of other systems: upserts of a compacted topic, Debezium's events, Delta's change feed.

Neither a broker nor Delta's jar is here: the frames are recorded, with the schemas that these systems document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest_spark import SECOND, Feed
from test_source_shapes import at, messages, run

from muntin.core.errors import ConfigError, DataError
from muntin.session import Session

pytestmark = pytest.mark.spark

UPSERTS = """
[[table]]
name = "users"
path = "users"
kind = "upsert"
decode = "json"
schema = "name STRING, town STRING"
columns = { id = "bigint(key)" }
key = "id"
ts = "timestamp"
[[query]]
name = "users"
cql = "SELECT id, name, town FROM users"
sink = { format = "memory" }
"""


def changes(session: Session, name: str) -> list[tuple[Any, ...]]:
    """(second, op, the row's values) of each change, in order."""
    rows = session.queries[name].rows().to_pylist()
    return sorted((int(r.pop("ts").timestamp()), r.pop("op"), *r.values()) for r in rows)


def test_a_compacted_topic_is_a_table_by_key(spark: Any, tmp_path: Path) -> None:
    keys = [b"1", b"2", b"1", b"1", b"3", b"2"]
    topic = messages(
        {"name": "ann", "town": "Rome"}, {"name": "bob", "town": None}, {"name": "ann", "town": "Pisa"}, None,
        b"broken", {"name": None, "town": None}, keys=keys,
    )  # fmt: skip
    session = run(spark, tmp_path, UPSERTS, {"users": topic})
    assert changes(session, "users") == [
        (100, "+", 1, "ann", "Rome"), (101, "+", 2, "bob", None), (102, "+", 1, "ann", "Pisa"),
        (102, "-", 1, "ann", "Rome"), (103, "-", 1, "ann", "Pisa"), (105, "+", 2, None, None),
        (105, "-", 2, "bob", None),
    ]  # fmt: skip
    assert session.running.metrics().bad == 1  # the broken one: an object without values is a row, no value is none


EVENTS = [
    {"before": None, "after": {"id": 1, "name": "ann"}, "op": "r", "ts_ms": 1, "source": {"ts_ms": 100_000, "db": "d"}},
    {"before": None, "after": {"id": 2, "name": "bob"}, "op": "c", "source": {"ts_ms": 101_000}},
    {"before": None, "after": {"id": 1, "name": "eve"}, "op": "u", "source": {"ts_ms": 102_000}},
    {"before": {"id": 2, "name": None}, "after": None, "op": "d", "source": {"ts_ms": 103_000}},
    None,
]
ROWS = [(100, "+", 1, "ann"), (101, "+", 2, "bob"), (102, "+", 1, "eve"), (102, "-", 1, "ann"), (103, "-", 2, "bob")]
DEBEZIUM = """
[[table]]
name = "users"
path = "users"
kind = "relation"
feed = "debezium"
decode = "json"
schema = "id BIGINT, name STRING"
key = "id"
[[query]]
name = "users"
cql = "SELECT id, name FROM users"
sink = { format = "memory" }
"""


@pytest.mark.parametrize("wrapped", [pytest.param(False, marks=pytest.mark.slow), True])
def test_debezium_by_name_with_and_without_the_envelope_of_connect(spark: Any, tmp_path: Path, wrapped: bool) -> None:
    events = [{"schema": {"type": "struct"}, "payload": e} if wrapped and e else e for e in EVENTS]
    session = run(spark, tmp_path, DEBEZIUM, {"users": messages(*events[:2], b"broken", *events[2:])})
    assert changes(session, "users") == ROWS
    found = session.running.metrics()
    assert (found.bad, found.bad_updates) == (1, {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "message"), [("d", "a Debezium event of op 'd' has no row .* REPLICA IDENTITY"), ("t", "unknown op 't'")]
)
def test_an_event_that_names_no_row_stops_the_run(spark: Any, tmp_path: Path, op: str, message: str) -> None:
    events = [*EVENTS[:2], {"before": None, "after": None, "op": op, "ts_ms": 103_000}]
    with pytest.raises(DataError, match=f"table 'users': {message}"):
        run(spark, tmp_path, DEBEZIUM, {"users": messages(*events)})


def commit(at_second: int, *rows: tuple[str, int, str]) -> pa.Table:
    """Rows of a change data feed (change type, id, name), one commit."""
    kinds, ids, names = zip(*rows, strict=True)
    moment = pa.array([at_second * SECOND] * len(rows), pa.timestamp("us", "UTC"))
    version = pa.array([at_second] * len(rows), pa.int64())
    return pa.table(
        {"id": ids, "name": names, "_change_type": kinds, "_commit_version": version, "_commit_timestamp": moment}
    )


COMMITS = [
    commit(100, ("insert", 1, "ann"), ("insert", 2, "bob")),
    commit(102, ("update_postimage", 1, "eve"), ("update_preimage", 1, "ann")),
    commit(103, ("update_postimage", 3, "bob"), ("update_preimage", 2, "bob")),
    commit(104, ("delete", 3, "bob")),
]


@pytest.mark.parametrize("key", [pytest.param((), marks=pytest.mark.slow), "id"])
def test_deltas_change_feed_by_name(spark: Any, feed: Callable[[str], Feed], tmp_path: Path, key: Any) -> None:
    source = feed("users").put(*COMMITS)
    session = Session(spark, shards=3)
    session.table("users", source.live(), kind="relation", feed="delta", key=key)
    query = session.sql("SELECT id, name FROM users", name="users").write()
    run = session.start(str(tmp_path / "cp"))
    run.process_all_available()
    run.heartbeat(200 * SECOND)
    run.process_all_available()
    run.stop()
    assert changes(session, "users") == [
        (100, "+", 1, "ann"), (100, "+", 2, "bob"), (102, "+", 1, "eve"), (102, "-", 1, "ann"), (103, "+", 3, "bob"),
        (103, "-", 2, "bob"), (104, "-", 3, "bob"),
    ]  # fmt: skip
    found = query.metrics()
    assert found is not None and found.bad_updates == {} and [f.name for f in query.schema][:2] == ["id", "name"]


@pytest.mark.any_spark
def test_an_upsert_frame_replayed_beside_a_stream(spark: Any, tmp_path: Path) -> None:
    prices = pa.table(
        {
            "at": pa.array([at(s) for s in (1, 5, 9)], pa.timestamp("us", "UTC")),
            "item": ["pen", "pen", "pen"], "price": pa.array([3, 4, None], pa.int64()),
        }
    )  # fmt: skip
    sales = pa.table({"ts": pa.array([at(s) for s in (2, 6, 10)], pa.timestamp("us", "UTC")), "item": ["pen"] * 3})
    for name, table in {"prices": prices, "sales": sales}.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    session = Session(spark, shards=2)
    session.stream("sales", spark.read.parquet(str(tmp_path / "sales.parquet")))
    session.table("prices", spark.read.parquet(str(tmp_path / "prices.parquet")), kind="nrr", feed="upsert", ts="at",
                  key="item")  # fmt: skip
    text = "SELECT s.item, p.price FROM sales s [NOW], prices p WHERE s.item = p.item"
    found = session.sql(f"ISTREAM({text})").to_df().toArrow().to_pylist()
    assert sorted((int(r["ts"].timestamp()), r["price"]) for r in found) == [(2, 3), (6, 4)]


def test_feeds_that_lack_what_their_form_has_are_refused(spark: Any) -> None:
    session = Session(spark, shards=2)
    plain = spark.createDataFrame([], "ts TIMESTAMP, id BIGINT, name STRING, op STRING")
    twice = spark.createDataFrame([], "before STRUCT<id: BIGINT>, after STRUCT<id: INT>, op STRING, ts_ms BIGINT")
    for df, arguments, message in (
        (plain, {"kind": "upsert", "ts": "ts"}, "form upsert needs key=..., .*: a row replaces the one of its key"),
        (plain, {"kind": "upsert", "key": "nr", "ts": "ts"}, "no column 'nr' to be part of the key; it has ts, id"),
        (plain, {"kind": "upsert", "key": "id"}, r"a table that changes needs ts=\.\.\.: "),
        (plain, {"kind": "relation", "feed": "debezium", "key": "id"}, "form debezium has a column 'before', this one"),
        (twice, {"kind": "relation", "feed": "debezium", "key": "id"}, "both of one type; here they are struct<id:big"),
        (twice, {"kind": "relation", "feed": "debezium"}, "needs key=..., .*: databases leave out"),
        (plain, {"kind": "nrr", "feed": "delta"}, "has a column '_change_type', .*readChangeFeed"),
        (plain, {"kind": "nrr", "feed": "cdc"}, "feed is one of upsert, debezium, delta, not 'cdc'"),
        (plain, {"kind": "static", "feed": "delta"}, "a static table never changes"),
    ):
        with pytest.raises(ConfigError, match=message):
            session.table("t", df, **arguments)
