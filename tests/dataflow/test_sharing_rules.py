"""The graph of queries that run together is the union of their plans, rewritten by the rules in their order."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.graph import Graph, Shared
from muntin.dataflow.planner import plan_query
from muntin.dataflow.sharing.rule import Rule
from muntin.dataflow.sharing.rules import RULES, shared_graph
from muntin.plan.catalog import Catalog, Stream

CATALOG = Catalog((Stream("A", Schema.of(ts=pa.int64(), k=pa.int64()), "ts", ts_unit=1_000_000),))
TEXTS = ("SELECT k FROM A [RANGE 5 SECONDS]", "SELECT k AS other FROM A [RANGE 5 SECONDS]")


def noting(name: str) -> Rule:
    def rewrite(graph: Graph) -> Graph:
        seen = " ".join(s.rule for s in graph.shared)
        return replace(graph, shared=(*graph.shared, Shared(name, graph.vertices[0].id, (0,), (), f"after [{seen}]")))

    return Rule(name, "notes that it was asked", "none", rewrite)


def test_rules_are_tried_one_after_another_on_what_the_others_made() -> None:
    plans = [plan_query(bind(t, CATALOG)) for t in TEXTS]
    graph = shared_graph(plans, (noting("A"), noting("B")))
    assert [(s.rule, s.saved) for s in graph.shared] == [("A", "after []"), ("B", "after [A]")]
    assert graph.vertices == Graph.of(plans).vertices


def test_rules_have_names_of_their_own() -> None:
    assert len({r.name for r in RULES}) == len(RULES)
