"""How a join of inputs that share no single key is run: on one level or several, and how its inputs are spread.

On one level the inputs that share a key are spread by it, and every shard gets every row of the others (the small
side's windows are broadcast). In a relayed join the combinations of the inputs on one key travel to the shards of the
next key, meet the windows there and go; no level keeps an intermediate result. New rows of the later inputs take the
way back, for which the windows that they need are kept once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.dataflow.values import Keys, Names, Placed
from muntin.operators.joins.bands import bands_of
from muntin.operators.joins.join_graph import GraphJoin, edge_indexes
from muntin.optimizer.estimate import flow_of
from muntin.optimizer.flow import Flow
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Expr, columns_of, conjunction, conjuncts
from muntin.plan.nodes import Join, Node

Class = tuple[tuple[int, str], ...]
"""Columns that are equal, by input."""

SHARDS = 8
"""Shards that a broadcast row is taken to go to (a plan does not know how many there will be)."""


@dataclass(frozen=True)
class Spread:
    """``key``: the columns that input i is spread by, None where every shard gets every row; ``number``: the class
    that the keys are of (None: one input by all of its columns)."""

    keys: tuple[tuple[str, ...] | None, ...]
    number: int | None


def graph_join(parts: Sequence[Placed], classes: Sequence[Class], conditions: Sequence[Expr]) -> GraphJoin:
    """The operator: an index for each edge of the graph, sorted columns where a band is the only tie."""
    names = Names(*parts)
    columns = tuple(names.columns(p.schema.names) for p in parts)
    numbered = tuple(tuple((i, names.column(c)) for i, c in k) for k in classes)
    owner = {name: i for i, own in enumerate(columns) for name in own}
    indexes = edge_indexes(numbered, len(columns))
    rest = tuple(names.expr(c) for c in conditions)
    bands = bands_of(rest, owner)
    tied = {frozenset((i, j)) for c in classes for i, _ in c for j, _ in c if i != j}
    useful = tuple(b for b in bands if frozenset((b.input, b.partner)) not in tied)
    return GraphJoin(columns, numbered, rest, useful, indexes)


def graph_keys(parts: Sequence[Placed], classes: Sequence[frozenset[str]]) -> Keys:
    """The spread of a graph join's result: that of an input that is not everywhere, with the columns made equal."""
    first = next((p for p in parts if not p.everywhere), parts[0])
    if first.keys is None:
        return None
    return tuple(part | frozenset(n for c in classes if c & part for n in c) for part in first.keys)


def spread(names: Sequence[Sequence[str]], classes: Sequence[Class], rates: Sequence[float]) -> Spread:
    """The key whose inputs bring most rows per second: the fewest rows are broadcast then."""
    if not classes:
        largest = max(range(len(names)), key=lambda i: (bool(names[i]), rates[i], -i))
        keys = tuple(tuple(names[i]) if i == largest else None for i in range(len(names)))
        return Spread(keys if names[largest] else ((),) * len(names), None)
    number = max(range(len(classes)), key=lambda n: (sum(rates[i] for i, _ in classes[n]), -n))
    column = dict(classes[number])
    return Spread(tuple((column[i],) if i in column else None for i in range(len(names))), number)


@dataclass(frozen=True)
class Relay:
    """Two groups of inputs, each on one key class; ``bridge``: the input of the first that also has the second's."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    keys: tuple[int, int]
    bridge: int


def relay(classes: Sequence[Class], inputs: int) -> Relay | None:
    """The split into two groups whose first is largest; None where two keys do not reach every input."""
    found = []
    for a, c in enumerate(classes):
        first = {i for i, _ in c}
        for b, d in enumerate(classes):
            second = {i for i, _ in d} - first
            bridges = sorted({i for i, _ in d} & first)
            if a != b and bridges and len(first) > 1 and len(first | second) == inputs:
                found.append(Relay(tuple(sorted(first)), tuple(sorted(second)), (a, b), bridges[0]))
    return max(found, key=lambda r: (len(r.first), [-k for k in r.keys]), default=None)


def relayed_is_cheaper(
    nodes: Sequence[Node], predicate: Expr, spread: Spread, plan: Relay, known: Statistics
) -> bool:
    """Whether a relayed join sends and keep fewer rows per second than broadcasting."""
    flows = [flow_of(n, known) for n in nodes]
    copies = sum((SHARDS - 1) * f.rate for f, key in zip(flows, spread.keys, strict=True) if key is None)
    there = _joined([nodes[i] for i in plan.first], predicate, known).rate
    back = _joined([nodes[i] for i in (plan.bridge, *plan.second)], predicate, known).rate
    results = _joined(nodes, predicate, known).rate
    again = sum(flows[i].rate for i in plan.first)
    return there + back + results + again < copies


def _joined(nodes: Sequence[Node], predicate: Expr, known: Statistics) -> Flow:
    have = {f.name for n in nodes for f in n.schema}
    inside = [c for c in conjuncts(predicate) if {x.name for x in columns_of(c)} <= have]
    return flow_of(Join(tuple(nodes), conjunction(inside)), known)
