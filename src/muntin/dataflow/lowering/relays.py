"""Planning of relayed joins: a join on two keys whose intermediate results travel and are not kept.

Of inputs A and B on key k, and C that joins B on key j::

    level 0, by k:  A x B                       -> pairs, when their newer part starts
    level 1, by j:  pairs x C (as it was)       -> results whose newest part is of A or B
                    C's new rows x B            -> pairs for the way back
    level 2, by k:  those pairs x A             -> results whose newest part is of C

Every combination comes out once, where its newest part starts; all vertices share the time of all inputs, since what is
late must be late for each of them. B and A are kept twice, and so are the windows of the
second key where there are several (Golab & Ozsu, 1: no materialised intermediate results).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from muntin.core.schema import Schema
from muntin.dataflow.builder import Builder
from muntin.dataflow.lowering.join_layout import Class, Relay, graph_keys
from muntin.dataflow.lowering.nodes import BOOL, columns, names_of
from muntin.dataflow.values import Names, Placed, Value
from muntin.operators.joins.join_graph import GraphJoin, edge_indexes
from muntin.plan.exprs import Call, Column, Expr


@dataclass(frozen=True)
class Keyed:
    """Inputs of a join over a graph: values with a column for each key term, the classes of equal columns, the other
    conditions."""

    parts: list[Value]
    classes: tuple[Class, ...]
    conditions: tuple[Expr, ...]

    def streams(self, build: Builder) -> tuple[str, ...]:
        """The streams of all inputs."""
        return tuple(sorted({s for p in self.parts for s in build.streams_of(p)}))

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


def join_relayed(build: Builder, keyed: Keyed, plan: Relay) -> Placed:
    """The result of all inputs, spread by the first key."""
    out, back = (dict(keyed.classes[k]) for k in plan.keys)
    first = [keyed.parts[i] for i in plan.first]
    here = build.colocate(first, [(out[i],) for i in plan.first])
    together = keyed.streams(build)
    pairs = _joined(build, here, [out[i] for i in plan.first], keyed.everything(plan.keys[0]), together)
    second = [keyed.parts[i] for i in plan.second]
    bridge = back[plan.bridge]
    there = build.colocate(
        [pairs, keyed.parts[plan.bridge], *second], [(bridge,), (bridge,), *((back[i],) for i in plan.second)]
    )
    keys = [bridge, *(back[i] for i in plan.second)]
    rules = keyed.everything(plan.keys[1])
    met = _joined(build, [there[0], *there[2:]], keys, rules, together, origins=(0,), passing=(0,))
    alone = (1,) if len(second) == 1 else ()  # several windows of the second key meet each other
    origins = tuple(range(1, len(keys)))
    returning = _joined(build, there[1:], keys, rules, together, origins=origins, passing=alone)
    return _returned(build, keyed, plan, met, returning)


def _returned(build: Builder, keyed: Keyed, plan: Relay, met: Placed, returning: Placed) -> Placed:
    """The way back of the second group's new rows, and both kinds of results together."""
    out = dict(keyed.classes[plan.keys[0]])
    others = [i for i in plan.first if i != plan.bridge]
    keys = [*(out[i] for i in others), out[plan.bridge]]
    *windows, last, done = build.colocate(
        [*(keyed.parts[i] for i in others), returning, met], [*((k,) for k in keys), (out[plan.bridge],)]
    )
    end = len(others)
    rules, together = keyed.everything(plan.keys[0]), keyed.streams(build)
    closed = _joined(build, [*windows, last], keys, rules, together, origins=(end,), passing=(end,))
    schema = Schema(tuple(f for p in keyed.parts for f in p.schema))
    named = columns(schema)
    sides = [build.project(v, named) for v in (done, closed)]
    return build.merge([v for v in sides if isinstance(v, Placed)], (1, 1), schema)


def _joined(
    build: Builder,
    parts: Sequence[Placed],
    keys: Sequence[str],
    rules: Sequence[Expr],
    together: tuple[str, ...],
    origins: tuple[int, ...] | None = None,
    passing: tuple[int, ...] = (),
) -> Placed:
    """A join on one key class with every condition that these inputs can tell."""
    known = [set(p.schema.names) for p in parts]
    have = {n for own in known for n in own}
    inside = [c for c in rules if names_of(c) <= have and not any(names_of(c) <= own for own in known)]
    names = Names(*parts)
    classes = (tuple((i, names.column(k)) for i, k in enumerate(keys)),)
    columns = tuple(names.columns(p.schema.names) for p in parts)
    rest = tuple(names.expr(c) for c in inside)
    op = GraphJoin(columns, classes, rest, (), edge_indexes(classes, len(parts)), origins, passing, relayed=True)
    schema = Schema(tuple(f for p in parts for f in p.schema))
    equal = frozenset(keys)
    signed = any(p.signed for p in parts)
    return build.apply(op, parts, schema, signed, lambda args: graph_keys(args, [equal]), together)
