"""The order in which a join takes its inputs."""

from __future__ import annotations

from itertools import permutations

from muntin.optimizer.estimate import Flow, flow_of
from muntin.optimizer.join_order import greedy_order, pipeline_cost
from muntin.optimizer.rewrite import identity, is_nrr
from muntin.optimizer.statistics import Statistics
from muntin.plan.nodes import Join, Node, Project

MOST_PARTS = 5
"""Up to so many inputs every order is costed; beyond, the thesis' heuristic (5.3.2) proposes one."""

GAIN = 0.99
"""An order must cost less than this share of the present one."""


def reorder_joins(node: Node, statistics: Statistics) -> Node:
    """The cheapest order by intermediate results per unit time (thesis 5.3); a projection keeps the columns' order.

    CQL: ``SELECT a.k FROM A a [NOW], B b [NOW], C c [NOW] WHERE a.k = c.k AND b.j = c.j``. Before: ``Join (A, B, C)``,
    which starts with a cross product; after: ``Project (Join (A, C, B))``.
    """
    if not isinstance(node, Join) or len(node.parts) < 3 or any(is_nrr(p) for p in node.parts):
        return node
    flows = [flow_of(p, statistics) for p in node.parts]
    before = _cost(node, flows, tuple(range(len(flows))), statistics)
    every = tuple(range(len(flows)))
    orders = permutations(every) if len(every) <= MOST_PARTS else [greedy_order(node, flows, statistics)]
    best = min(orders, key=lambda order: (_cost(node, flows, order, statistics), order))
    if _cost(node, flows, best, statistics) >= GAIN * before:
        return node
    return Project(Join(tuple(node.parts[i] for i in best), node.predicate), identity(node))


def _cost(node: Join, flows: list[Flow], order: tuple[int, ...], statistics: Statistics) -> float:
    return pipeline_cost([flows[i] for i in order], node.predicate, statistics)
