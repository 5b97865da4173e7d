"""The strategies do different work, by what the meter counts and the state holds: each of these fails if an option did
nothing (thesis 2.3.3). That they give one answer is in ``test_strategies``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.engine.meter import Counter, Meter
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.state.window_rows import ARRIVAL, EXP, int64s

SECOND = 1_000_000
SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())
STREAMS = tuple(Stream(n, SCHEMA, "ts", ts_unit=SECOND, order=i) for i, n in enumerate("AB"))
WINDOW, STEP, STEPS = 200, 10, 60
"""Seconds of window and batch, and batches; one row a second and stream."""

JOIN = f"SELECT a.k, a.v, b.v AS w FROM A [RANGE {WINDOW} SECONDS] a, B [RANGE {WINDOW} SECONDS] b WHERE a.k = b.k"
ROWS = f"SELECT k, v FROM A [RANGE {WINDOW} SECONDS]"
SUM = f"SELECT k, SUM(v) AS s FROM A [RANGE {WINDOW} SECONDS] GROUP BY k"


@dataclass(frozen=True)
class Ran:
    """A strategy's run: counters by name of the operator (added up), and how many rows it held after each step."""

    pipeline: LocalPipeline
    counters: dict[str, Counter]
    held: list[int]


def run(text: str, strategy: str) -> Ran:
    meter = Meter()
    pipeline = LocalPipeline(plan_query(bind(text, Catalog(STREAMS), QueryOptions(strategy=strategy))), 1, meter)
    rng = np.random.default_rng(5)
    held = []
    for low in range(0, STEP * STEPS, STEP):
        ts = np.arange(low, low + STEP)
        rows = {n: pa.table({"ts": ts, "k": rng.integers(0, 40, STEP), "v": rng.integers(0, 9, STEP)}) for n in "AB"}
        pipeline.push({s.name: rows[s.name] for s in pipeline.graph.streams})
        held.append(sum(s.rows() for s in pipeline.states[0].values()))
    counters: dict[str, Counter] = {}
    for number, c in meter.counters.items():
        total = counters.setdefault(type(pipeline.graph.vertices[number].op).__name__, Counter())
        for field in vars(c):
            setattr(total, field, getattr(total, field) + getattr(c, field))
    return Ran(pipeline, counters, held)


@pytest.mark.parametrize(("text", "operator"), [(ROWS, "Materialize"), (SUM, "GroupAggregate"), (JOIN, "WindowJoin")])
def test_direct_looks_at_every_row_that_it_holds_in_every_step(text: str, operator: str) -> None:
    upa, direct = run(text, "upa"), run(text, "direct")
    scanned = direct.counters[operator].looked - upa.counters[operator].looked
    windows = 2 if operator == "WindowJoin" else 1
    assert scanned > 0.75 * STEPS * WINDOW * windows  # the window fills in the first third
    assert direct.counters[operator].rows_in == upa.counters[operator].rows_in


def test_direct_keeps_rows_as_they_came_and_others_by_expiry() -> None:
    """Pairs leave in another order than that in which they come: sorted under upa, not under direct."""
    for strategy, sorted_ in (("upa", True), ("direct", False)):
        states = [s for s in run(JOIN, strategy).pipeline.states[0].values() if s.list("rows")]
        chunks = [c for s in states for c in s.list("rows") if c.meta["n"] > 1]
        orders = [bool((np.diff(int64s(c.load(), EXP)) >= 0).all()) for c in chunks]
        assert chunks and all(orders) is sorted_
        assert all((ARRIVAL in c.meta) is not sorted_ for c in chunks)


def test_windows_of_a_join_under_direct_hold_no_chunk_that_is_mostly_expired() -> None:
    ran = run(JOIN, "direct")
    join = next(s for n, s in ran.pipeline.states[0].items() if s.list("in0"))
    now = (STEP * STEPS - 1) * SECOND
    for chunk in (*join.list("in0"), *join.list("in1")):
        assert 2 * int((int64s(chunk.load(), EXP) <= now).sum()) <= chunk.meta["n"] + 1


def test_a_strategy_may_change_at_a_restart() -> None:
    """What was kept as it came is read as such afterwards, by another strategy too."""
    for text in (ROWS, SUM, JOIN):
        plans = [plan_query(bind(text, Catalog(STREAMS), QueryOptions(strategy=s))) for s in ("direct", "upa")]
        assert plans[0].id == plans[1].id
        tables = {}
        for name, second in (("whole", plans[0]), ("changed", plans[1])):
            pipeline, found, rng = LocalPipeline(plans[0]), [], np.random.default_rng(7)
            for low in range(0, 400, 10):
                if low == 200:
                    cells, pipeline = pipeline.cells(), LocalPipeline(second)
                    pipeline.restore(cells)
                data = {"ts": np.arange(low, low + 10), "k": rng.integers(0, 9, 10), "v": rng.integers(0, 9, 10)}
                found.append(pipeline.push({s.name: pa.table(data) for s in pipeline.graph.streams}))
            found.append(pipeline.finish())
            whole = pa.concat_tables(found)
            tables[name] = whole.sort_by([(n, "ascending") for n in whole.column_names]).combine_chunks()
        assert tables["whole"].equals(tables["changed"]), text


def test_nt_announces_every_expiry_and_what_stands_above_handles_twice_the_rows() -> None:
    upa, nt = run(JOIN, "upa"), run(JOIN, "nt")
    rows, gone = STEP * STEPS, STEP * STEPS - WINDOW
    assert "Endless" not in upa.counters
    assert nt.counters["Endless"].rows_in == pytest.approx(2 * (rows + gone), abs=2 * STEP)
    assert nt.counters["Endless"].negative == pytest.approx(2 * gone, abs=2 * STEP)
    assert upa.counters["WindowJoin"].rows_in == 2 * rows
    assert nt.counters["WindowJoin"].rows_in == nt.counters["Endless"].rows_out
    assert nt.counters["WindowJoin"].negative > 0 == upa.counters["WindowJoin"].negative


def test_a_negative_tuple_takes_its_row_out_of_the_window_of_a_join() -> None:
    """By cancelling in merges, a logarithm of rewriting instead of a look-up each: never more than about twice what is
    there, however long the query runs."""
    ran = run(JOIN, "nt")
    join = next(s for n, s in ran.pipeline.states[0].items() if s.list("in0"))
    assert WINDOW <= sum(c.meta["n"] for c in join.list("in0")) <= 2.5 * WINDOW
    assert max(ran.held) < 1.5 * max(ran.held[: STEPS // 2])
