"""How a join of inputs that share no single key is run: in one stage or several, and how its inputs are spread.

In one stage the inputs that share a key are spread by it, and every shard gets every row of the others (the small
side's windows are broadcast). In several stages the result of the first inputs is spread anew by the next key: no
window is copied, but every intermediate result travels, and waits as a row of the next stage's window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.optimizer.estimate import flow_of
from muntin.optimizer.flow import Flow
from muntin.optimizer.statistics import Statistics
from muntin.physical.join_bands import bands_of
from muntin.physical.join_graph import GraphJoin, edge_indexes
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

    def terms(self, classes: Sequence[Class]) -> tuple[frozenset[str], ...] | None:
        """For each part of the key all columns of the result that hold it; None where everything is on one shard."""
        if self.number is not None:
            return (frozenset(c for _, c in classes[self.number]),)
        by = next(k for k in self.keys if k is not None)
        return tuple(frozenset([k]) for k in by) or None


def graph_join(names: Sequence[Sequence[str]], classes: Sequence[Class], conditions: Sequence[Expr]) -> GraphJoin:
    """The operator: an index for each edge of the graph, sorted columns where a band is the only tie."""
    columns = tuple(tuple(n) for n in names)
    owner = {name: i for i, mine in enumerate(columns) for name in mine}
    indexes = edge_indexes(tuple(classes), len(columns))
    bands = bands_of(conditions, owner)
    tied = {frozenset((i, j)) for c in classes for i, _ in c for j, _ in c if i != j}
    useful = tuple(b for b in bands if frozenset((b.input, b.partner)) not in tied)
    return GraphJoin(columns, tuple(classes), tuple(conditions), useful, indexes)


def spread(names: Sequence[Sequence[str]], classes: Sequence[Class], rates: Sequence[float]) -> Spread:
    """The key whose inputs bring most rows per second: the fewest rows are broadcast then."""
    if not classes:
        largest = max(range(len(names)), key=lambda i: (bool(names[i]), rates[i], -i))
        keys = tuple(tuple(names[i]) if i == largest else None for i in range(len(names)))
        return Spread(keys if names[largest] else ((),) * len(names), None)
    number = max(range(len(classes)), key=lambda n: (sum(rates[i] for i, _ in classes[n]), -n))
    column = dict(classes[number])
    return Spread(tuple((column[i],) if i in column else None for i in range(len(names))), number)


def in_stages(nodes: Sequence[Node], predicate: Expr, spread: Spread, groups: Sequence[Sequence[int]]) -> bool:
    """Whether stages are cheaper than broadcasting (rows sent and kept per second). ``groups``: the inputs that each
    stage adds, first stage first; () where stages would take a cross product."""
    if not groups:
        return False
    known = Statistics()
    flows = [flow_of(n, known) for n in nodes]
    copies = sum((SHARDS - 1) * f.rate for f, key in zip(flows, spread.keys, strict=True) if key is None)
    between, have = 0.0, list(groups[0])
    for more in groups[1:]:
        between += _intermediate([nodes[i] for i in have], predicate, known).rate
        have += more
    return between < copies


def chain(classes: Sequence[frozenset[int]], inputs: int) -> list[list[int]]:
    """The inputs that each stage by key would add, most first; none where one stage would be a cross product."""
    found: list[list[int]] = []
    have: frozenset[int] = frozenset()
    while len(have) < inputs:
        more = max((c - have for c in classes if not have or c & have), key=len, default=frozenset())
        if not more:
            return []
        found.append(sorted(more))
        have |= more
    return found


def _intermediate(nodes: Sequence[Node], predicate: Expr, known: Statistics) -> Flow:
    have = {f.name for n in nodes for f in n.schema}
    inside = [c for c in conjuncts(predicate) if {x.name for x in columns_of(c)} <= have]
    return flow_of(Join(tuple(nodes), conjunction(inside)), known)
