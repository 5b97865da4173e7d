"""A budget of memory: joins leave out the indexes that are worth least, and what does not fit is an error."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.errors import BudgetError, ConfigError
from muntin.core.schema import Field, Schema
from muntin.core.time import SECOND
from muntin.cql import bind
from muntin.cql.options import byte_size
from muntin.dataflow.harvestable import harvestable
from muntin.dataflow.planner import plan_query
from muntin.engine.valve import Valve
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.harvest import PARTS
from muntin.operators.joins.join_graph import GraphJoin, edge_indexes
from muntin.operators.joins.memory import FIRST_BYTES, FURTHER_BYTES, kept_indexes
from muntin.operators.joins.order import Estimates
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions, Shed

TS = pa.timestamp("us", "UTC")
COLUMNS = {"A": ("k", "x"), "B": ("k", "j"), "C": ("j", "y")}
CATALOG = Catalog(
    tuple(
        Stream(n, Schema((Field("ts", TS), *(Field(c, pa.int64()) for c in cs))), "ts", order=i)
        for i, (n, cs) in enumerate(COLUMNS.items())
    )
)
TEXT = (
    "SELECT A.x, B.j, C.y FROM A [RANGE 60 SECONDS], B [RANGE 60 SECONDS], C [RANGE 60 SECONDS] "
    "WHERE A.k = B.k AND B.j = C.j"
)
CLASSES = (((0, "A.k"), (1, "B.k")), ((1, "B.j"), (2, "C.j")))


def batches(rows: int) -> list[dict[str, pa.Table]]:
    rng = np.random.default_rng(3)
    whole = {}
    for name, columns in COLUMNS.items():
        ts = pa.array(np.sort(rng.integers(0, 60 * SECOND, rows)), TS)
        whole[name] = pa.table({"ts": ts} | {c: pa.array(rng.integers(0, 900, rows)) for c in columns})
    return [{n: t.slice(i * rows // 8, rows // 8) for n, t in whole.items()} for i in range(8)]


def run(memory: int | None, rows: int = 1600) -> tuple[pa.Table, LocalPipeline, list[int]]:
    pipeline = LocalPipeline(plan_query(bind(TEXT, CATALOG, QueryOptions(memory=memory))))
    tables, held = [], []
    for batch in batches(rows):
        tables.append(pipeline.push(batch))
        first = [v for v in pipeline.graph.stateful if pipeline.graph.levels[v] == 0]
        held.append(sum(pipeline.states[0][v].size() for v in first))
    return pa.concat_tables([*tables, pipeline.finish()]), pipeline, held


def ordered(table: pa.Table) -> pa.Table:
    return table.sort_by([(n, "ascending") for n in table.schema.names])


def test_short_memory_leaves_out_indexes_and_changes_no_answer() -> None:
    whole, _, free = run(None)
    budget = int(0.8 * max(free))
    found, _, held = run(budget)
    assert ordered(found).equals(ordered(whole)) and len(whole) > 200
    assert max(held) <= budget < max(free)


def test_state_beyond_the_budget_is_an_error_that_names_the_operators() -> None:
    with pytest.raises(BudgetError, match=r"level . holds .* KB of state on shard 0, .*join of 3 inputs over .* KB"):
        run(40_000)


NEAR = "SELECT A.x, B.j FROM A [RANGE 30 SECONDS], B [RANGE 30 SECONDS] WHERE A.k = B.k"


def overloaded(text: str, memory: int | None, shed: Shed, parts: int = PARTS) -> tuple[Counter[Any], int, list[int]]:
    """(results, rows let go, bytes held after each batch) of a run that reads these youngest parts of its windows."""
    pipeline = LocalPipeline(plan_query(bind(text, CATALOG, QueryOptions(memory=memory, shed=shed))), 1)
    ways = [(i, j) for i in range(3) for j in range(3) if i != j]
    joins = [v for v in range(len(pipeline.graph.vertices)) if harvestable(pipeline.graph, v)]
    read = dict.fromkeys(ways, frozenset(range(parts)))
    pipeline.valve = Valve({}, [{}], {joins[0]: read} if shed == "harvest" else {})
    found: Counter[Any] = Counter()
    held = []
    rows = [{n: t.slice(i * 50, 50) for n, t in whole.items()} for whole in batches(1600) for i in range(4)]
    for batch in rows:
        found.update(tuple(r.values()) for r in pipeline.push(batch).to_pylist())
        held.append(sum(pipeline.states[0][v].size() for v in joins))
    return found, pipeline.shed, held


@pytest.mark.parametrize("text", [f"Istream({t})" for t in (NEAR, NEAR.replace("A.k = B.k", "ABS(A.k - B.k) <= 0"))])
def test_past_its_budget_a_join_that_may_lose_rows_lets_go_of_the_oldest(text: str) -> None:
    exact, none, free = overloaded(text, None, "drop")
    budget = max(free) * 5 // 8
    found, gone, held = overloaded(text, budget, "drop")
    assert Counter() < found < exact and none == 0 < gone and max(held) <= budget
    assert overloaded(text, budget, "drop") == (found, gone, held)
    with pytest.raises(BudgetError):
        overloaded(text, budget, "never")


def test_what_no_direction_reads_goes_first() -> None:
    near = f"Istream({NEAR})"
    read, _, free = overloaded(near, None, "harvest", parts=4)
    exact, _, _ = overloaded(near, None, "harvest")
    assert Counter() < read < exact
    budget = max(free) // 2
    found, gone, held = overloaded(near, budget, "harvest", parts=4)
    assert found == read and gone > 0 and max(held) <= budget
    less, _, held = overloaded(near, max(free) // 8, "harvest", parts=4)
    assert less < read and max(held) <= max(free) // 8


def test_the_index_that_spares_most_is_kept() -> None:
    op = GraphJoin((("A.k",), ("B.k", "B.j"), ("C.j",)), CLASSES, indexes=edge_indexes(CLASSES, 3))
    distinct = {(0, 0): 100.0, (0, 1): 100.0, (1, 1): 100.0, (1, 2): 100.0}
    e = Estimates((1000.0, 1000.0, 1000.0), (1.0, 1.0, 500.0), distinct, {})
    every = kept_indexes(op, e, None)
    assert every == {(0, 0), (1, 0), (1, 1), (2, 0)} == kept_indexes(op, e, 1000 * (3 * FIRST_BYTES + FURTHER_BYTES))
    two = kept_indexes(op, e, 1000 * (FIRST_BYTES + FURTHER_BYTES) + 10)
    assert two == {(1, 1), (0, 0)}, "the fast stream's rows go to B by j, then to A by k"
    assert kept_indexes(op, e, 0) == frozenset()


@pytest.mark.parametrize(("text", "size"), [("512 MB", 512 << 20), (1000, 1000), ("2g", 2 << 30), ("64KiB", 64 << 10)])
def test_sizes(text: int | str, size: int) -> None:
    assert byte_size(text, "option memory") == size


@pytest.mark.parametrize("text", ["much", -5, "0", "5 TB"])
def test_sizes_that_are_none(text: int | str) -> None:
    with pytest.raises(ConfigError, match="is not a size"):
        byte_size(text, "option memory")
