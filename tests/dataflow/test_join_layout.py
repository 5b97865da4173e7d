"""How a join without a common key is laid out, by the rates that streams are expected to have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema
from muntin.cql import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.harvestable import harvestable
from muntin.dataflow.planner import plan_query
from muntin.dataflow.routes import Everywhere
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.source import Source
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions

FIELDS = Schema((Field("ts", pa.timestamp("us", "UTC")), *(Field(c, pa.int64()) for c in "kjv")))
CHAIN = "A [RANGE 10 SECONDS], B [RANGE 10 SECONDS], C [RANGE 10 SECONDS] WHERE A.k = B.k AND B.j = C.j"


def plan(text: str, options: QueryOptions | None = None, **rates: float) -> QueryPlan:
    streams = (Stream(n, FIELDS, "ts", order=i, rate=rates.get(n)) for i, n in enumerate("ABC"))
    return plan_query(bind(text, Catalog(tuple(streams)), options or QueryOptions()))


def everywhere(found: QueryPlan) -> set[str]:
    """The streams that every shard gets."""
    edges = [e for v in found.vertices for e in v.inputs if isinstance(e.route, Everywhere)]
    sources = [found.vertices[e.vertex].op for e in edges]
    return {op.stream.name for op in sources if isinstance(op, Source)}


def joins(found: QueryPlan) -> list[GraphJoin]:
    return [v.op for v in found.vertices if isinstance(v.op, GraphJoin)]


def test_the_slow_side_goes_to_every_shard() -> None:
    text = f"SELECT A.v, B.v AS w, C.v AS x FROM {CHAIN}"
    assert everywhere(plan(text, A=500, B=500, C=5)) == {"C"}
    assert everywhere(plan(text, A=5, B=500, C=500)) == {"A"}


def test_relays_where_broadcasting_costs_more_than_intermediate_results() -> None:
    text = f"SELECT A.v, B.v AS w, C.v AS x FROM {CHAIN}".replace("10 SECONDS", "1 SECOND")
    found = plan(text, A=1000, B=1, C=1000)  # few rows in the middle: hardly a pair, and both others are fast
    ops = joins(found)
    assert len(ops) == 4 and not everywhere(found) and found.graph.depth == 4
    assert [len(op.passing) for op in ops] == [0, 1, 1, 1]
    assert not any(harvestable(found.graph, v) for v in range(len(found.vertices)))
    harvested = plan(text, QueryOptions(shed="harvest"), A=1000, B=1, C=1000)
    (join,) = (v for v in range(len(harvested.vertices)) if harvestable(harvested.graph, v))
    assert harvestable(harvested.graph, join) == 3


def test_without_an_equality_the_fast_side_is_spread_and_the_other_goes_everywhere() -> None:
    text = "SELECT A.v, B.v AS w FROM A [RANGE 1 SECOND], B [RANGE 1 SECOND] WHERE ABS(A.v - B.v) <= 3"
    found = plan(text, A=5, B=500)
    assert everywhere(found) == {"A"}
    (join,) = joins(found)
    assert {(b.input, b.column, b.low, b.high) for b in join.bands if b.input == 0} == {
        (0, "c0", None, 3.0), (0, "c0", -3.0, None),
    }  # fmt: skip


def test_a_rate_is_positive() -> None:
    with pytest.raises(ConfigError, match="rate is rows a second"):
        Stream("A", FIELDS, "ts", rate=0)
