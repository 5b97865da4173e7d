"""Planning of relayed stages: a join on two keys whose intermediate results travel and are not kept.

Of inputs A and B on key k, and C that joins B on key j::

    stage 0, by k:  A x B                       -> pairs, when their newer part starts
    stage 1, by j:  pairs x C (as it was)       -> results whose newest part is of A or B
                    C's new rows x B            -> pairs for the way back
    stage 2, by k:  those pairs x A             -> results whose newest part is of C

Every combination comes out once, where its newest part starts; B and A are kept twice (Golab & Ozsu, 1: no
materialised intermediate results).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from muntin.core.schema import Schema
from muntin.dataflow.drafts import Drafts, Placed, Value
from muntin.dataflow.join_layout import Class, Relay
from muntin.dataflow.shapes import BOOL, columns, names_of
from muntin.operators.joins.join_graph import GraphJoin, edge_indexes
from muntin.operators.reshape import Merge
from muntin.plan.exprs import Call, Column, Expr


@dataclass(frozen=True)
class Keyed:
    """Inputs of a join over a graph: values with a column for each key term, the classes of equal columns, the other
    conditions."""

    parts: list[Value]
    classes: tuple[Class, ...]
    conditions: tuple[Expr, ...]

    def everything(self, but: int) -> tuple[Expr, ...]:
        """The conditions, with the equalities of every class but one spelled out."""
        types = {f.name: f.type for p in self.parts for f in p.schema}
        spelled = [
            Call("eq", (Column(a, types[a]), Column(b, types[b])), BOOL)
            for number, members in enumerate(self.classes)
            if number != but
            for (_, a), (_, b) in combinations(members, 2)
        ]
        return (*spelled, *self.conditions)


def join_relayed(drafts: Drafts, keyed: Keyed, plan: Relay) -> Placed:
    """The result of all inputs, spread by the first key."""
    out, back = (dict(keyed.classes[k]) for k in plan.keys)
    first = [keyed.parts[i] for i in plan.first]
    here = drafts.colocate(first, [(out[i],) for i in plan.first])
    pairs = _joined(drafts, here, [out[i] for i in plan.first], keyed.everything(plan.keys[0]))
    second = [keyed.parts[i] for i in plan.second]
    bridge = back[plan.bridge]
    there = drafts.colocate(
        [pairs, keyed.parts[plan.bridge], *second], [(bridge,), (bridge,), *((back[i],) for i in plan.second)]
    )
    keys = [bridge, *(back[i] for i in plan.second)]
    rules = keyed.everything(plan.keys[1])
    met = _joined(drafts, [there[0], *there[2:]], keys, rules, origins=(0,), passing=(0,), borrows=1)
    returning = _joined(drafts, there[1:], keys, rules, origins=tuple(range(1, len(keys))))
    return _returned(drafts, keyed, plan, met, returning)


def _returned(drafts: Drafts, keyed: Keyed, plan: Relay, met: Placed, returning: Placed) -> Placed:
    """The way back of the second group's new rows, and both kinds of results together."""
    out = dict(keyed.classes[plan.keys[0]])
    others = [i for i in plan.first if i != plan.bridge]
    keys = [*(out[i] for i in others), out[plan.bridge]]
    *windows, last, done = drafts.colocate(
        [*(keyed.parts[i] for i in others), returning, met], [*((k,) for k in keys), (out[plan.bridge],)]
    )
    end = len(others)
    closed = _joined(drafts, [*windows, last], keys, keyed.everything(plan.keys[0]), origins=(end,), passing=(end,))
    schema = Schema(tuple(f for p in keyed.parts for f in p.schema))
    named = columns(schema)
    sides = [drafts.project(v, named) for v in (done, closed)]
    placed = [v for v in sides if isinstance(v, Placed)]
    spread = (frozenset(out.values()),)
    return drafts.apply(Merge((1, 1)), placed, schema, any(p.signed for p in placed), spread)


def _joined(
    drafts: Drafts,
    parts: Sequence[Placed],
    keys: Sequence[str],
    rules: Sequence[Expr],
    origins: tuple[int, ...] | None = None,
    passing: tuple[int, ...] = (),
    borrows: int = 0,
) -> Placed:
    """A join on one key class with every condition that these inputs can tell."""
    names = tuple(tuple(p.schema.names) for p in parts)
    have = {n for mine in names for n in mine}
    classes = (tuple(enumerate(keys)),)
    told = tuple(c for c in rules if names_of(c) <= have and not any(names_of(c) <= set(mine) for mine in names))
    op = GraphJoin(
        names, classes, told, (), edge_indexes(classes, len(parts)), origins=origins, passing=passing, borrows=borrows
    )
    schema = Schema(tuple(f for p in parts for f in p.schema))
    return drafts.apply(op, parts, schema, any(p.signed for p in parts), parts[0].keys)
