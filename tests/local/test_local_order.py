"""Order inside an instant, and event times beyond reach, on the local runtime."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from muntin.core.errors import DataError
from muntin.core.schema import Schema
from muntin.core.time import USABLE
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream

SCHEMA = Schema.of(ts=pa.int64(), n=pa.int64(), k=pa.int64())
TEXT = "ISTREAM(SELECT n FROM s [ROWS 2])"


def answers(text: str, stream: Stream, batches: list[list[tuple[int | None, int]]], shards: int = 1) -> list[object]:
    pipeline = LocalPipeline(plan_query(bind(text, Catalog((stream,)))), shards)
    tables = []
    for rows in batches:
        ts, n = map(list, zip(*rows, strict=True))
        table = pa.table({"ts": pa.array(ts, pa.int64()), "n": pa.array(n, pa.int64()), "k": pa.array([1] * len(n))})
        tables.append(pipeline.push({"s": table}))
    tables.append(pipeline.finish())
    assert pipeline.late == 0
    return sorted(map(repr, pa.concat_tables(tables).to_pylist()))


@pytest.mark.parametrize("text", [TEXT, "SELECT k, SUM(n) AS total FROM s [PARTITION BY k ROWS 3] GROUP BY k"])
def test_a_window_of_rows_through_a_tie_is_ordered_by_the_sequence_column(text: str) -> None:
    stream = Stream("s", SCHEMA, "ts", order_by="n")
    rows = [(1, 0), *((5, n) for n in range(1, 9)), (9, 20), *((9, n) for n in (13, 11, 12)), (12, 30)]
    whole = answers(text, stream, [rows])
    for seed in range(6):
        rng = Random(seed)
        mixed = sorted(rng.sample(rows, len(rows)), key=lambda r: r[0])
        cuts = sorted(rng.sample(range(1, len(mixed)), 4))
        pieces = [mixed[a:b] for a, b in zip([0, *cuts], [*cuts, len(mixed)], strict=True)]
        assert answers(text, stream, pieces, shards=1 + seed % 3) == whole


def test_without_one_rows_of_an_instant_are_taken_as_they_come() -> None:
    stream = Stream("s", SCHEMA, "ts")
    assert answers(TEXT, stream, [[(1, 5), (1, 9), (1, 2)]]) != answers(TEXT, stream, [[(1, 2), (1, 5), (1, 9)]])


@pytest.mark.parametrize("ts", [None, USABLE, -USABLE])
def test_an_event_time_beyond_reach_is_bad(ts: int | None) -> None:
    stream = Stream("s", SCHEMA, "ts")
    pipeline = LocalPipeline(plan_query(bind("SELECT COUNT(*) AS n FROM s [RANGE 5 SECONDS]", Catalog((stream,)))))
    pipeline.push({"s": pa.table({"ts": pa.array([1, ts, 2]), "n": [1, 2, 3], "k": [1, 1, 1]})})
    assert pipeline.bad == 1
    strict = Stream("s", SCHEMA, "ts", on_bad_time="fail")
    with pytest.raises(DataError, match="'s': row 1 of partition 0 has no usable event time"):
        answers(TEXT, strict, [[(1, 1), (ts, 2)]])


def test_units_do_not_overflow_into_reach() -> None:
    stream = Stream("s", SCHEMA, "ts", ts_unit=1_000_000)
    pipeline = LocalPipeline(plan_query(bind(TEXT, Catalog((stream,)))))
    pipeline.push({"s": pa.table({"ts": [3, 2**62 // 1000, 4], "n": [1, 2, 3], "k": [1, 1, 1]})})
    assert pipeline.bad == 1
