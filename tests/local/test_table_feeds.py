"""Feeds of tables that repeat themselves, through whole queries: answers, counts, errors, where feeds are cleaned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from muntin.core.errors import ConfigError, DataError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.dataflow.routes import Keyed
from muntin.local.runtime import LocalPipeline
from muntin.operators.table_feed import TableFeed
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table

SECOND = 1_000_000
CLICKS = Stream("clicks", Schema.of(ts=pa.int64(), k=pa.int64()), "ts", ts_unit=SECOND)
COLUMNS = Schema.of(k=pa.int64(), name=pa.string(), v=pa.int64())
ONE = {"k": 1, "name": "one", "v": 10}
ALONE = [(5, "-", ONE), (8, "+", {"k": 2, "name": "two", "v": 20})]
AGAIN = [(1, "+", ONE), (3, "-", ONE), (4, "-", ONE), (8, "+", ONE), (20, "+", {"k": 9, "name": "end", "v": 0})]


def ran(table: Table, text: str, updates: list[Any], clicks: list[int], shards: int = 3) -> tuple[list[Any], Any]:
    """Rows and the pipeline, after batches of one update each; the evaluator's answer is the same."""
    query = bind(text, Catalog((CLICKS,), (table,)))
    rows = [{"ts": t, "k": 1} for t in clicks]
    entries = [(t * SECOND, op, row) for t, op, row in updates]
    pipeline = LocalPipeline(plan_query(query), shards)
    known = {s.name: s for s in pipeline.query.streams}
    batches = [{"T": to_table(known["T"], [{**row, "__at": t, "__add": op == "+"}])} for t, op, row in entries]
    if "clicks" in known:
        batches[0]["clicks"] = to_table(CLICKS, rows)
    found = [pipeline.push(b) for b in batches] + [pipeline.finish()]
    got = [r for t in found for r in from_table(t, pipeline.query.schema, pipeline.query.shows_op)]
    got.sort(key=lambda r: (r[0], r[1] == "+"))
    assert got == run(query, {"clicks": rows}, tables={"T": entries})
    return [(t // SECOND, op, row) for t, op, row in got], pipeline


JOIN = "SELECT clicks.ts AS c, T.name AS name FROM clicks [RANGE 2 SECONDS], T WHERE clicks.k = T.k"


def test_a_non_retroactive_table_does_not_join_what_was_deleted_twice() -> None:
    got, pipeline = ran(Table("T", COLUMNS, "nrr"), JOIN, AGAIN, [2, 5, 9])
    assert [(op, row[1]) for _, op, row in got] == [("+", "one"), ("-", "one"), ("+", "one"), ("-", "one")]
    assert [t for t, _, _ in got] == [2, 4, 9, 11] and pipeline.bad_updates == {"T": 1}


def test_a_relation_shows_no_deletion_before_an_insertion_and_swallows_none() -> None:
    got, pipeline = ran(Table("T", COLUMNS, "relation"), "SELECT COUNT(*) AS n FROM T", AGAIN, [])
    assert [row[0] for _, op, row in got if op == "+"] == [1, 0, 1, 2] and pipeline.bad_updates == {"T": 1}
    got, pipeline = ran(Table("T", COLUMNS, "relation"), "SELECT k FROM T", ALONE, [])
    assert got == [(8, "+", (2,))] and pipeline.bad_updates == {"T": 1}


def test_with_a_key_repeats_change_nothing_and_are_not_shown_again() -> None:
    repeated = [(1, "+", ONE), (2, "+", ONE), (3, "+", {**ONE, "v": 11}), (4, "+", {**ONE, "v": 11}), (9, "-", ONE)]
    table = Table("T", COLUMNS, "relation", key=("k",))
    assert ran(table, "SELECT v FROM T", repeated, [])[0] == [
        (1, "+", (10,)), (3, "-", (10,)), (3, "+", (11,)), (9, "-", (11,))
    ]  # fmt: skip
    assert ran(table, "Rstream(SELECT v FROM T)", repeated, [])[0] == [(1, None, (10,)), (3, None, (11,))]


@pytest.mark.parametrize(
    ("key", "on", "stages"),
    [((), "k", 1), ((), "v + 1", 2), (("k",), "k", 1), (("k", "v"), "k", 1), (("k",), "v", 2), (("name",), "k", 2)],
)
def test_a_feed_is_cleaned_where_all_updates_of_a_row_meet(key: tuple[str, ...], on: str, stages: int) -> None:
    """By the columns of the join where they are part of the row (of its key), else in a stage before."""
    table = Table("T", COLUMNS, "nrr", key=key)
    text = f"Istream(SELECT clicks.ts AS c, T.name AS name FROM clicks [NOW], T WHERE clicks.k = T.{on})"
    query = plan_query(bind(text, Catalog((CLICKS,), (table,))))
    (cleaned,) = [v for v in query.vertices if isinstance(v.op, TableFeed)]
    (signed,) = (query.vertices[e.vertex] for e in cleaned.inputs)
    (window,) = (query.vertices[e.vertex] for e in signed.inputs)
    (route,) = (e.route for e in window.inputs)
    assert isinstance(route, Keyed)
    names = [COLUMNS.names[int(c[1:])] for c in route.columns]
    assert set(names) <= set(key or COLUMNS.names) and query.graph.depth - stages in (0, 1)
    moving = [(1, "+", {**ONE, "v": 1}), (3, "+", {"k": 2, "name": "one", "v": 0}), (5, "-", {**ONE, "v": 1})]
    for shards in (1, 5):
        _, pipeline = ran(table, text, [*moving, (7, "-", ONE), (9, "+", ONE)], [2, 4, 6, 8, 10], shards)
        assert pipeline.bad_updates["T"] >= 1


def test_a_bad_update_counts_once_however_often_the_query_reads_the_table_and_on_however_many_shards() -> None:
    table = Table("T", COLUMNS, "relation")
    text = "SELECT a.v AS x, b.v AS y FROM T a JOIN T b ON a.v < b.v"
    for shards in (1, 4):
        assert ran(table, text, ALONE, [], shards)[1].bad_updates == {"T": 1}


def test_a_filter_does_not_change_what_is_counted() -> None:
    text = "SELECT v FROM T WHERE v > 1000"
    assert ran(Table("T", COLUMNS, "relation"), text, ALONE, [])[1].bad_updates == {"T": 1}


def test_rows_that_differ_in_columns_that_the_query_does_not_read_are_not_taken_for_one() -> None:
    others = [(1, "+", ONE), (2, "-", {**ONE, "v": 99}), (5, "+", {**ONE, "k": 3})]
    got, pipeline = ran(Table("T", COLUMNS, "relation"), "SELECT name FROM T", others, [])
    assert got == [(1, "+", ("one",)), (5, "+", ("one",))] and pipeline.bad_updates == {"T": 1}


def test_a_bad_update_fails_where_it_must() -> None:
    with pytest.raises(DataError, match=r"table 'T': an update at 1970-01-01T00:00:05\+00:00 .* \(k = 1, name = 'one'"):
        ran(Table("T", COLUMNS, "relation", on_bad_update="fail"), "SELECT v FROM T", ALONE, [])


def test_a_key_names_columns_of_the_table() -> None:
    with pytest.raises(ConfigError, match="'T': there is no column 'id' to be part of the key; it has k, name, v"):
        Table("T", COLUMNS, "relation", key=("id",))


@pytest.mark.parametrize("text", [JOIN, JOIN.replace("clicks [RANGE 2 SECONDS], T", "T, clicks [RANGE 2 SECONDS]")])
@pytest.mark.parametrize("kind", ["nrr", "relation"])
def test_splitting_hot_keys_leaves_tables_alone(text: str, kind: Any) -> None:
    query = bind(text, Catalog((CLICKS,), (Table("T", COLUMNS, kind),)))
    split = replace(query, options=replace(query.options, skew="split"))
    assert plan_query(split).vertices == plan_query(query).vertices
