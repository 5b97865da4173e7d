"""What planning of any node builds on: drafts, names, and the smallest pieces that several nodes share."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.core.schema import Schema
from muntin.dataflow.drafts import Drafts, Placed, Value
from muntin.dataflow.shapes import all_columns, renews
from muntin.operators.distinct import Distinct
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Materialize
from muntin.operators.net import OneSign
from muntin.operators.reshape import Merge, Rewind
from muntin.plan.exprs import Column, Expr
from muntin.plan.nodes import (
    BoundQuery,
    Node,
)
from muntin.plan.windows import Ticks, Unbounded


class Pieces:
    """The plan under construction, and operators that several nodes need."""

    def __init__(self, query: BoundQuery) -> None:
        self.query = query
        self.drafts = Drafts(query.options)
        self.names = 0

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"__{stem}{self.names}"

    def visit(self, node: Node, ticks: Ticks | None, external: bool = False) -> Value:
        """The value of a relation (the planner of the whole language fills this in)."""
        raise NotImplementedError

    def materialize(self, value: Placed, emit: str, ticks: Ticks | None, marks: Sequence[Placed]) -> Placed:
        op = Materialize(emit, ticks)  # type: ignore[arg-type]
        return self.drafts.apply(op, [value, *marks], value.schema, emit == "changes", value.keys)

    def lasting(self, value: Value, node: Node | None = None) -> Placed:
        """Results over INTERNAL windows: once there, they stay (thesis 3.3.2). ``node``: what the value is."""
        here = self.drafts.place(value)
        if here.signed or (node is not None and renews(node)):
            # every insertion stays; what cancels inside an instant was never there
            (here,) = self.drafts.colocate([here], [here.schema.names])
            changes = self.materialize(here, "changes", None, [])
            here = self.drafts.apply(OneSign(1), [changes], changes.schema, True, changes.keys)
        op = Rewind(Unbounded(), self.query.options)
        return self.drafts.apply(op, [here], here.schema, False, here.keys)

    def with_columns(self, part: Value, terms: Sequence[Expr]) -> tuple[Value, tuple[str, ...]]:
        extra = {t: self.fresh("key") for t in terms if not isinstance(t, Column)}
        if extra:
            part = self.drafts.project(part, (*all_columns(part), *((n, e) for e, n in extra.items())))
        return part, tuple(t.name if isinstance(t, Column) else extra[t] for t in terms)

    def window_join(self, parts: list[Value], keys: list[tuple[str, ...]], null_safe: bool = False) -> Placed:
        here = self.drafts.colocate(parts, keys)
        schema = Schema(tuple(f for p in here for f in p.schema))
        signed = any(p.signed for p in here)
        op = WindowJoin(tuple(keys), null_safe)
        return self.drafts.apply(op, here, schema, signed, joined_keys(here, keys))

    def kinds(self, rows: Placed) -> Placed:
        """The distinct rows of a value whose equal rows are on one shard already: interval rows where each row's expiry
        is known, counted ones otherwise (thesis 3.5.2)."""
        if not rows.signed:
            return self.drafts.apply(Distinct(), [rows], rows.schema, False, rows.keys)
        op = GroupAggregate(all_columns(rows), (), "changes")
        return self.drafts.apply(op, [rows], rows.schema, True, rows.keys)

    def distinct(self, value: Value) -> Placed:
        """Each row once."""
        (here,) = self.drafts.colocate([value], [value.schema.names])
        return self.kinds(here)

    def minus(self, left: Placed, taken: Placed) -> Placed:
        """Left rows without those in ``taken`` (each of which is a left row), in their stage."""
        return self.drafts.apply(Merge((1, -1)), [left, taken], left.schema, True, left.keys)

    def plus(self, parts: Sequence[Value], schema: Schema) -> Placed:
        """All rows of values of equal types; spread over shards as they come."""
        placed = [self.drafts.place(p) for p in parts]
        if len({p.stage for p in placed}) > 1:
            placed = self.drafts.colocate(placed, [p.schema.names for p in placed])
        keys = placed[0].keys if len({p.keys for p in placed}) == 1 else None
        signed = any(p.signed for p in placed)
        return self.drafts.apply(Merge((1,) * len(placed)), placed, schema, signed, keys)


def joined_keys(parts: Sequence[Placed], keys: Sequence[tuple[str, ...]]) -> tuple[frozenset[str], ...] | None:
    """The spread of a join's result: each part of the first input's, with the columns that the join makes equal."""
    first = parts[0].keys
    if first is None:
        return None
    equal = [frozenset(k[i] for k in keys) for i in range(len(keys[0]))]
    return tuple(part | frozenset(n for e in equal if e & part for n in e) for part in first)
