"""What an order of a plan's join inputs costs per unit time, and the heuristic that proposes one (thesis 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.optimizer.flow import Flow
from muntin.optimizer.selectivity import selectivity
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Call, Expr, columns_of, conjuncts
from muntin.plan.nodes import Join


def pipeline_cost(
    flows: Sequence[Flow], predicate: Expr, statistics: Statistics, probes: Sequence[float] | None = None
) -> float:
    """Probes and intermediate results per unit time when each new row visits the other inputs in this order.

    As ``multiway.cost.eager``, but an input that an equality connects to those before it is a hash index: a probe costs
    one (``probes``: so much, by input) and what it finds; without an equality the whole window is read.
    """
    conditions = [c for c in conjuncts(predicate) if list(columns_of(c))]
    owner = {name: i for i, f in enumerate(flows) for name in f.distinct}
    needs = [frozenset(owner[c.name] for c in columns_of(e) if c.name in owner) for e in conditions]
    distinct = {n: v for f in flows for n, v in f.distinct.items()}
    shares = [selectivity(c, distinct, statistics) for c in conditions]
    total = 0.0
    for i, flow in enumerate(flows):
        found, seen = flow.rate + flow.early, frozenset([i])
        for k in (k for k in range(len(flows)) if k != i):
            closing = [c for c, need in enumerate(needs) if k in need and need <= seen | {k} and len(need) > 1]
            indexed = any(_is_equality(conditions[c]) for c in closing)
            probe = 1.0 if probes is None else probes[k]
            total += found * (probe if indexed else max(flows[k].size, 1.0))
            found *= flows[k].size
            for c in closing:
                found *= shares[c]
            total += found
            seen |= {k}
    return total


def greedy_order(node: Join, flows: Sequence[Flow], statistics: Statistics) -> tuple[int, ...]:
    """Smallest window first, then always the input that leaves the fewest results (descending selectivity, 5.3.2)."""
    left = set(range(len(flows)))
    order = [min(left, key=lambda i: (flows[i].size, i))]
    left.discard(order[0])
    while left:
        best = min(left, key=lambda i: (_prefix_size(node.predicate, [flows[k] for k in [*order, i]], statistics), i))
        order.append(best)
        left.discard(best)
    return tuple(order)


def _prefix_size(predicate: Expr, flows: Sequence[Flow], statistics: Statistics) -> float:
    distinct = {n: v for f in flows for n, v in f.distinct.items()}
    size = 1.0
    for f in flows:
        size *= max(f.size, 1.0)
    for c in conjuncts(predicate):
        used = {x.name for x in columns_of(c)}
        if used and used <= distinct.keys():
            size *= selectivity(c, distinct, statistics)
    return size


def _is_equality(e: Expr) -> bool:
    return isinstance(e, Call) and e.fn in ("eq", "eq_null_safe")
