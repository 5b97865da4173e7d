"""The packed transport, without Spark: letters, event times, headers, sharding."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from muntin.core.errors import DataError, StoreError
from muntin.core.schema import Schema
from muntin.core.time import ALWAYS, FOREVER, NEVER
from muntin.core.watermark import Header
from muntin.cql.binder import bind
from muntin.dataflow.graph import Graph
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.routes import Here, Keyed, Single, route
from muntin.engine.source import event_times
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.spark import wire
from muntin.spark.cells import SlotCells, cell_of
from muntin.spark.feeds import StreamPlan
from muntin.spark.level_run import LevelRun, rows_by_query
from muntin.spark.mail import arrived, canonical, sort_mail
from muntin.spark.metrics import PIPELINE, Metrics, add_up, combine
from muntin.spark.pack import Packer
from muntin.spark.pipeline import plan_pipeline
from muntin.spark.slots import slots_of_shards
from muntin.spark.spec import EVENT_TIME, PipelineSpec, Resumed
from muntin.spark.tables import StaticTables, file_of
from muntin.state.pane_store import PaneStore
from muntin.state.shard_state import ShardState

TEXT = "SELECT k, COUNT(*) AS n FROM a [RANGE 5 SECONDS SLIDE 1 SECOND] WHERE v > 2 GROUP BY k"


def spec_of(**options: Any) -> PipelineSpec:
    schema = Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64(), v=pa.int64())
    stream = Stream("a", schema, "ts", **options)
    return plan_pipeline((stream,), {"q": plan_query(bind(TEXT, Catalog((stream,))))}, shards=4, partitions=2)[0]


def pipeline(text: str) -> tuple[PipelineSpec, list[StreamPlan]]:
    schema = Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64(), v=pa.int64())
    stream = Stream("a", schema, "ts")
    return plan_pipeline((stream,), {"q": plan_query(bind(text, Catalog((stream,))))}, shards=4, partitions=2)


def rows(*ts: int | None) -> pa.RecordBatch:
    """As the JVM's SELECT gives them: e0 keeps all but the second row, e1 is the key."""
    n = len(ts)
    return pa.RecordBatch.from_pydict(
        {
            "__ts": pa.array(ts, pa.timestamp("us", "UTC")),
            "__now": pa.array([77] * n),
            "e0": pa.array([True, None, *[True] * n][:n]),
            "e1": pa.array(range(n), pa.int64()),
        }
    )


def test_letters_survive_the_journey() -> None:
    batch = pa.RecordBatch.from_pydict({"__ts": pa.array([3, 5]), "s": pa.array(["x", None])})
    sent = [
        wire.Letter(5, wire.ROWS, wire.encode(batch), target=2, shard=3, source=1, part=4, seq=7, min_ts=3),
        wire.Letter(6, wire.HEADER, wire.header_blob(Header(0, 1, 2, 3, 4, 5), 99)),
    ]
    found = list(wire.from_batches(wire.to_batches(sent)))
    assert wire.decode(found[0].blob, batch.schema).equals(batch)
    assert wire.read_header(found[1].blob) == (Header(0, 1, 2, 3, 4, 5), 99)
    for a, b in zip(sent, found, strict=True):
        assert replace(a, blob=None) == replace(b, blob=None)
        assert b.blob.address % 8 == 0


def test_blobs_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "BLOB_BYTES", 4000)
    batch = pa.RecordBatch.from_pydict({"x": pa.array(np.arange(2000))})
    pieces = list(wire.cut(batch))
    assert len(pieces) == 4 and pa.Table.from_batches(pieces).equals(pa.Table.from_batches([batch]))


@pytest.mark.parametrize(
    ("column", "unit", "wanted"),
    [
        (pa.array([1, None], pa.timestamp("us", "UTC")), 1, [1, None]),
        (pa.array([2, None], pa.timestamp("ms")), 1, [2000, None]),
        (pa.array([3, None, 2**62, -(2**62)]), 1_000_000, [3_000_000, None, None, None]),
        (pa.array([4, 2**61], pa.int64()), 1, [4, None]),
    ],
)
def test_event_times(column: pa.Array, unit: int, wanted: list[int | None]) -> None:
    ts, good = event_times(column, unit)
    assert [t if g else None for t, g in zip(ts.tolist(), good.tolist(), strict=True)] == wanted


def test_every_slot_gets_a_header_and_rows_go_to_their_shard() -> None:
    spec = spec_of(idle_after=60)
    letters = list(Packer(spec, 0, 3).letters(iter([rows(10, 20, None, 5, 7)])))
    headers = [x for x in letters if x.kind == wire.HEADER]
    slots = slots_of_shards(4, 2)
    assert sorted(x.slot for x in headers) == sorted(set(slots))
    assert {wire.read_header(x.blob) for x in headers} == {(Header(0, 3, 4, 5, 20, 20, bad=1), 77)}
    data = [x for x in letters if x.kind == wire.ROWS]
    assert all(x.slot == slots[x.shard] for x in data)
    keys = [k for x in data for k in wire.decode(x.blob, spec.feeds[0].schema).column(0).to_pylist()]
    assert sorted(keys) == [0, 3, 4]


def test_processing_time_comes_with_the_rows_only_where_it_matters() -> None:
    packer = Packer(spec_of(), 0, 3, now=5)
    assert wire.read_header([*packer.letters(iter([rows(10).drop_columns(["__now"])]))][-1].blob)[1] == 5
    assert (spec_of().timed, spec_of(idle_after=60).timed) == (False, True)


def test_the_event_time_is_sent_once_and_a_null_key_not_at_all() -> None:
    text = "SELECT x.ts, y.v FROM a x [RANGE 5 SECONDS], a y [RANGE 5 SECONDS] WHERE x.k = y.k AND x.v > 3"
    spec, plans = pipeline(text)
    assert plans[0].exprs == ((0, "(`v` > 3L)"), (1, "`k`"), (2, "`v`"))
    left, right = spec.feeds
    assert (left.keep, left.columns, left.present) == (0, (EVENT_TIME, 1), (1,))
    assert (right.keep, right.columns, right.present) == (-1, (1, 2), (0,))
    batch = pa.RecordBatch.from_pydict(
        {
            "__ts": pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
            "e0": pa.array([True, True, None]),
            "e1": pa.array([7, None, 8]),
            "e2": pa.array([4, 5, None], pa.int64()),
        }
    )
    assert (len(left.schema), len(left.sent), len(right.schema), len(right.sent)) == (3, 2, 3, 3)
    found: dict[int, list[Any]] = {0: [], 1: []}
    for mail in sort_mail(Packer(spec, 0, 0).letters(iter([batch])), 0).values():
        for shard in range(4):
            for (vertex, way), came in arrived(spec, mail, shard).items():
                channel = next(f for f in spec.feeds if spec.graph.channels[f.channel].vertex == vertex)
                assert came.schema == channel.schema and way == channel.route
                found[channel.channel] += came.to_pylist()
    times = [[r["__ts"] for r in found[c]] for c in (left.channel, right.channel)]
    assert times[0] == [1] and sorted(times[1]) == [1, 3]
    (row,) = found[left.channel]
    assert {v.microsecond for v in row.values() if isinstance(v, datetime)} == {1} and 7 in row.values()


def test_an_event_time_that_rows_are_spread_by_is_sent_as_it_is() -> None:
    """Nor one that is not in microseconds: it is another number."""
    spec, _ = pipeline("SELECT ts, COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY ts")
    assert [f.sent for f in spec.feeds] == [f.schema for f in spec.feeds]
    stream = Stream("a", Schema.of(ts=pa.int64(), k=pa.int64()), "ts", ts_unit=1_000_000)
    query = plan_query(bind("SELECT ts, k FROM a [RANGE 5 SECONDS]", Catalog((stream,))))
    spec, _ = plan_pipeline((stream,), {"q": query}, shards=4, partitions=2)
    assert [f.sent for f in spec.feeds] == [f.schema for f in spec.feeds]


def test_an_empty_partition_sends_headers_too() -> None:
    letters = list(Packer(spec_of(), 0, 0).letters(iter([rows().slice(0, 0)])))
    assert [wire.read_header(x.blob) for x in letters] == [(Header(0, 0, 0, FOREVER, NEVER, NEVER), NEVER)] * 2


def test_the_median_is_sent_where_jumps_are_bounded() -> None:
    letters = list(Packer(spec_of(max_jump=5), 0, 0).letters(iter([rows(1, 2, 1000), rows(3, 4)])))
    assert wire.read_header(letters[-1].blob)[0].mid_ts == 3


def test_a_bad_time_fails_where_it_must() -> None:
    packer = Packer(spec_of(on_bad_time="fail"), 0, 6)
    with pytest.raises(DataError, match="'a': row 5 of partition 6 has no usable event time"):
        list(packer.letters(iter([rows(1, 2, 3), rows(1, 2, None)])))


def test_canonical_order_is_time_then_part_then_position() -> None:
    schema = pa.schema([("x", pa.int64()), ("__ts", pa.int64())])

    def letter(part: int, seq: int, *pairs: tuple[int, int]) -> wire.Letter:
        x, ts = zip(*pairs, strict=True)
        batch = pa.RecordBatch.from_arrays([pa.array(x), pa.array(ts)], schema=schema)
        return wire.Letter(0, wire.ROWS, wire.encode(batch), source=0, part=part, seq=seq)

    letters = [letter(1, 0, (5, 1), (6, 2)), letter(0, 1, (3, 2), (4, 1)), letter(0, 0, (1, 2), (2, 9))]
    assert canonical(letters, schema).column("x").to_pylist() == [4, 5, 1, 3, 6, 2]


def test_routing_keeps_order_and_loses_nothing() -> None:
    batch = pa.RecordBatch.from_pydict({"k": pa.array([1, 2, 3, 1, 2, 1]), "x": pa.array(range(6))})
    parts = dict(route(batch, Keyed(("k",)), 8, 0))
    assert sorted(x for p in parts.values() for x in p.column("x").to_pylist()) == list(range(6))
    for part in parts.values():
        assert part.column("x").to_pylist() == sorted(part.column("x").to_pylist())
    assert [(s, p.num_rows) for s, p in route(batch, Single(), 8, 0)] == [(0, 6)]


def test_mail_for_later_levels_passes() -> None:
    header = wire.Letter(1, wire.HEADER, wire.header_blob(Header(0, 0, 1), 5))
    later = wire.Letter(1, wire.TIMES, b"", level=2, shard=0)
    deep = wire.Letter(1, wire.ROWS, b"", level=1, target=0, shard=3)
    result = wire.Letter(1, wire.RESULT, b"")
    mail = sort_mail([header, later, deep, result], 0)[1]
    assert mail.passing == [later, deep, result] and mail.rows == {(0, 3): [deep]} and mail.now == 5
    assert sort_mail([deep], 1)[1].passing == []


def test_equal_queries_and_equal_inputs_travel_once() -> None:
    schema = Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64(), v=pa.int64())
    stream = Stream("a", schema, "ts")
    texts = {"one": TEXT, "same": TEXT, "longer": TEXT.replace("RANGE 5", "RANGE 50")}
    queries = {n: plan_query(bind(t, Catalog((stream,)))) for n, t in texts.items()}
    spec, plans = plan_pipeline((stream,), queries, 4, 2)
    assert len(spec.queries) == 2 and len(spec.feeds) == 1
    assert len(spec.graph.vertices) == 4  # one source, one synopsis of both lengths, an answer for each
    assert sorted(text for _, text in plans[0].exprs) == ["(`v` > 2L)", "`k`", "`v`"]


def test_metrics_add_up() -> None:
    sig = {"late": 1, "results": 2, "state_rows": 3, "watermark": 50, "now": 80}
    one = {"": {"rows": 5, "bad": 1, "late": 1}, "sig": sig}
    sig2 = {"late": 0, "results": 4, "state_rows": 5, "watermark": 50, "now": 80}
    two = {"sig": sig2, "": {"state_rows": 8, "state_bytes": 9}}
    found = combine(7, [json.loads(json.dumps(one)), two])
    assert found["sig"] == Metrics(7, late=1, results=6, state_rows=8, watermark=50, lag=30)
    run = add_up(add_up(None, 6, found, {"q": "sig"}), 7, found, {"q": "sig"})
    assert (run.rows, run.bad, run.late, run.results) == (10, 2, 2, 12)
    assert (run.state_rows, run.state_bytes, run.watermark, run.lag, run.batches) == (8, 9, 50, 30, 2)


def test_old_versions_are_collected_where_no_driver_does(tmp_path: Path) -> None:
    spec = replace(spec_of(), store=str(tmp_path), retain=3)
    store = PaneStore.open(str(tmp_path), "q", 0)
    run = LevelRun(spec, 0, 0)
    cell = cell_of(spec, run.stateful[0], 0)
    for version in range(12):
        cells = SlotCells(spec, store, version, "slot0")
        states = cells.load([run])
        states[cell].append("rows", pa.RecordBatch.from_pydict({"x": [version]}))
        cells.commit(states, {PIPELINE: {"rows": 1}})
    assert sorted(store.manifest_names()) == [7, 8, 9, 10, 11]
    found = SlotCells(spec, store, 12, "slot0").load([run])[cell]
    assert [c.load().column("x").to_pylist() for c in found.list("rows")] == [[v] for v in range(12)]


def test_state_that_should_be_there_and_is_not_is_an_error(tmp_path: Path) -> None:
    spec = replace(spec_of(), store=str(tmp_path))
    store = PaneStore.open(str(tmp_path), "q", 0)
    run = LevelRun(spec, 0, 0)
    states = SlotCells(spec, store, 0, "slot0").load([run])
    kept = {name: s for name, s in states.items() if name.startswith("clocks")}
    SlotCells(spec, store, 0, "slot0").commit(kept, {})
    with pytest.raises(StoreError, match="no state of"):
        SlotCells(spec, store, 1, "slot0").load([run])
    new = replace(spec, resumed=Resumed(1, {spec.graph.vertices[run.stateful[0]].id: 1}))
    assert len(SlotCells(new, store, 1, "slot0").load([run])) == 2


def test_a_static_table_is_taken_up_once_and_whole(tmp_path: Path) -> None:
    stream = Stream("a", Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64()), "ts")
    catalog = Catalog((stream,), (Table("dim", Schema.of(k=pa.int64(), label=pa.string())),))
    text = "SELECT d.label FROM a [RANGE 5 SECONDS] x, dim d WHERE x.k = d.k AND d.label <> 'no'"
    spec = plan_pipeline((stream,), {"q": plan_query(bind(text, catalog))}, shards=4, partitions=2)[0]
    spec = replace(spec, tables=str(tmp_path))
    rows = pa.table({"k": range(40), "label": ["no", "yes"] * 20, "__at": [ALWAYS] * 40, "__add": [True] * 40})
    with pa.ipc.new_stream(str(tmp_path / file_of("dim")), rows.schema) as writer:
        writer.write_table(rows)
    found: list[list[Any]] = []
    runs = [LevelRun(spec, 0, shard) for shard in range(4)]
    for run in runs:
        states = {v: ShardState() for v in run.stateful}
        first, again = (StaticTables(spec).seeded(run, states, {}) for _ in "12")
        assert again == {} and len(first) == 1
        (taken,) = first.values()
        assert set(taken.column("__ts").to_pylist()) == {ALWAYS}
        found += taken.columns
    whole = {x for column in found for x in column.to_pylist() if isinstance(x, int) and x >= 0}
    assert whole == set(range(1, 40, 2))


def test_rows_of_shared_vertices_count_for_each_query_that_uses_them() -> None:
    catalog = Catalog((Stream("a", Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64()), "ts"),))
    texts = ("SELECT k FROM a [RANGE 5 SECONDS]", "SELECT DISTINCT k FROM a [RANGE 5 SECONDS]")
    graph = Graph.of(plan_queries(bind(t, catalog) for t in (*texts, texts[0].replace("5", "6"))))
    states = {v: ShardState() for v in graph.stateful}
    for n, state in enumerate(states.values(), 1):
        state.append("rows", pa.RecordBatch.from_pydict({"x": [0] * n}))
    wanted = [sum(s.rows() for v, s in states.items() if q in graph.used_by[v]) for q in range(3)]
    assert rows_by_query(graph, states) == wanted and any(wanted)


def test_vertices_of_one_depth_share_a_level() -> None:
    schema = Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64(), v=pa.int64())
    streams = (Stream("a", schema, "ts"), Stream("b", schema, "ts", order=1))
    text = "SELECT x.k, y.v FROM a [RANGE 4 SECONDS] x LEFT JOIN b [RANGE 3 SECONDS] y ON x.k = y.k"
    graph = plan_query(bind(text, Catalog(streams))).graph
    assert graph.depth < len([v for v in graph.vertices if not v.is_source])
    assert sorted(v for level in range(-1, graph.depth) for v in graph.at(level)) == [*range(len(graph.vertices))]
    for i, vertex in enumerate(graph.vertices):
        for edge in vertex.inputs:
            assert graph.levels[edge.vertex] + (not isinstance(edge.route, Here)) <= graph.levels[i]
            crosses = graph.levels[edge.vertex] < graph.levels[i]
            assert crosses == ((edge.vertex, edge.route) in {(c.vertex, c.route) for c in graph.channels})
