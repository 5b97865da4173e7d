"""All sharing rules, and the graph of queries that run together."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.sharing.rule import Rule
from muntin.dataflow.sharing.synopses import SYNOPSES

RULES: tuple[Rule, ...] = (SYNOPSES,)
"""In the order in which they are tried."""


def shared_graph(plans: Sequence[QueryPlan], rules: Sequence[Rule] = RULES) -> Graph:
    """The union of plans (``Graph.of``), rewritten by the rules one after another. Every runtime runs this graph."""
    graph = Graph.of(plans)
    for rule in rules:
        graph = rule.rewrite(graph)
    return graph
