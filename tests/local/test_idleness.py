"""A stream is idle for the time in which it was read without a row, not for that in which the pipeline was down."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from muntin.core.errors import StoreError
from muntin.core.schema import Schema
from muntin.core.time import NEVER
from muntin.core.watermark import Header, SourceClock, lost, watermark_of
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.spark.starts import KEPT, note_start, started
from muntin.verify.arrow import to_table

SECOND = 1_000_000
HOUR = 3600 * SECOND
COLUMNS = Schema.of(ts=pa.int64(), k=pa.int64())
FAST = Stream("fast", COLUMNS, "ts", ts_unit=SECOND)
SLOW = Stream("slow", COLUMNS, "ts", ts_unit=SECOND, order=1, idle_after=60 * SECOND)


def rows_of(stream: Stream, *times: int) -> dict[str, pa.Table]:
    return {stream.name: to_table(stream, [{"ts": t, "k": 1} for t in times])}


@pytest.mark.parametrize(("since", "late"), [(10 * HOUR, 0), (NEVER, 4)])
def test_rows_that_waited_in_the_source_are_not_late_after_a_restart(since: int, late: int) -> None:
    """``since`` unknown is what made them late."""
    text = "SELECT fast.ts AS a, slow.ts AS b FROM fast [RANGE 9 SECONDS], slow [RANGE 9 SECONDS] WHERE fast.k = slow.k"
    pipeline = LocalPipeline(plan_query(bind(text, Catalog((FAST, SLOW)))))
    pipeline.push(rows_of(FAST, 1, 2) | rows_of(SLOW, 1, 2), now=0)
    pipeline.since = since  # down for ten hours
    pipeline.push(rows_of(FAST, 5, 50), now=10 * HOUR + SECOND)
    pipeline.push(rows_of(SLOW, 3, 4, 5, 6), now=10 * HOUR + 2 * SECOND)
    assert pipeline.late == late


def test_idleness_is_counted_from_the_start_of_the_run() -> None:
    clock = SourceClock(idle_after=60 * SECOND).advance([Header(0, 0, 1, 5, 5, 5)], 0)
    other = SourceClock().advance([Header(1, 0, 1, 900, 900, 900)], 0)
    down = clock.advance([], 10 * HOUR, since=10 * HOUR)
    assert not down.idle(10 * HOUR) and watermark_of([down, other], 10 * HOUR, NEVER) == 5
    later = down.advance([], 10 * HOUR + 60 * SECOND, since=10 * HOUR)
    assert later.idle(10 * HOUR + 60 * SECOND)
    assert watermark_of([later, other], 10 * HOUR + 60 * SECOND, NEVER) == 900
    assert clock.advance([], 61 * SECOND, since=NEVER).idle(61 * SECOND)


def test_a_batch_that_is_repeated_finds_the_run_that_planned_it(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    assert note_start(store, 100) == (100,)
    first = note_start(store, 200)
    again = note_start(store, 900)
    assert first == (100, 200) and again == (100, 200, 900)
    assert [started(starts, 250) for starts in (first, again)] == [200, 200]
    assert [started(again, t) for t in (99, 100, 900, 2000)] == [NEVER, 100, 900, 900]
    (tmp_path / "store" / ".starts").write_text(str([*range(KEPT)]))
    assert note_start(store, KEPT) == (*range(1, KEPT + 1),)


def test_starts_that_are_damaged_say_so(tmp_path: Path) -> None:
    (tmp_path / ".starts").write_text("[1, ")
    with pytest.raises(StoreError, match=r"\.starts is damaged .* delete it"):
        note_start(str(tmp_path), 5)


def test_streams_that_brought_nothing_that_could_be_used() -> None:
    headers = [
        Header(0, 0, 0, bad=5), Header(0, 1, 0, bad=2),
        Header(1, 0, 3, 10, 20, 15, bad=1), Header(1, 1, 2, 5, 99, 50),
        Header(2, 0, 0), Header(3, 0, 4, 1, 7, 4, bad=1),
    ]  # fmt: skip
    assert lost(headers, 50) == {0: (7, 0), 3: (1, 4)}
    assert lost(headers, 7) == {0: (7, 0)} and lost(headers, 100)[1] == (1, 5)
