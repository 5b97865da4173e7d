"""Planning of negation and what is built on it: semi and outer joins, set operations, scalar sub-queries."""

from __future__ import annotations

from dataclasses import replace

from muntin.core.schema import Field, Schema
from muntin.dataflow.graph import column_name
from muntin.dataflow.lowering.aggregates import Aggregates
from muntin.dataflow.lowering.joins import check_lasts
from muntin.dataflow.lowering.nodes import (
    BOOL,
    INT,
    ONE,
    Shape,
    all_columns,
    columns,
    default_of,
    equality,
    is_nrr,
    multiplicity,
    renamed_columns,
)
from muntin.dataflow.values import Names, Placed, Value, table
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.net import Net
from muntin.operators.repeat import Repeat
from muntin.plan.exprs import Agg, Call, Column, Expr, Literal, columns_of, conjunction, conjuncts
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Node,
    OuterJoin,
    SemiJoin,
    SetOp,
    TableScan,
)
from muntin.plan.windows import Ticks


class Negation(Aggregates):
    """Rows with, without, or beside their partners, as merges of weighted rows."""

    def semi_join(self, node: SemiJoin, ticks: Ticks | None, external: bool = False) -> Value:
        """EXISTS, IN and their negations: the left rows that have a partner, or the others."""
        left, right = self.visit(node.left, ticks, external), self.visit(node.right, ticks, external)
        if node.null_aware is not None:
            return self._not_in(left, right, node)
        left, matched = self._matched(left, right, node.predicate)
        return self.minus(left, matched) if node.anti else matched

    def _not_in(self, left: Value, right: Value, node: SemiJoin) -> Placed:
        """x NOT IN (y): fails for an equal y, and while there are candidates also for a NULL x or any NULL y.

        Three negations on keys: rows with an x, without an equal y and without a NULL y; and rows without an x while
        there is no candidate at all.
        """
        assert node.null_aware is not None
        x, y = node.null_aware
        same = Call("eq", (x, y), BOOL)
        rest = conjunction([c for c in conjuncts(node.predicate) if c != same])
        known = self._anti(self.build.filter(left, Call("is_not_null", (x,), BOOL)), right, conjunction([same, rest]))
        certain = self._anti(known, self.build.filter(right, Call("is_null", (y,), BOOL)), rest)
        nameless = self._anti(self.build.filter(left, Call("is_null", (x,), BOOL)), right, rest)
        return self.plus([certain, nameless], node.schema)

    def _anti(self, left: Value, right: Value, predicate: Expr) -> Placed:
        """Left rows without a partner."""
        here, matched = self._matched(left, right, conjunction(conjuncts(predicate)))
        return self.minus(here, matched)

    def _matched(self, left: Value, right: Value, predicate: Expr) -> tuple[Placed, Placed]:
        """(left, those of its rows that some row of ``right`` matches), on the same shards."""
        mine, theirs = set(left.schema.names), set(right.schema.names)
        conditions = conjuncts(predicate)
        own_right = [c for c in conditions if {x.name for x in columns_of(c)} <= theirs]
        right = self.build.filter(right, conjunction(own_right))
        rest = [c for c in conditions if c not in own_right]
        pairs = [p for p in (equality(c, mine, theirs) for c in rest) if p is not None]
        if len(pairs) == len(rest):
            return self._matched_by_key(left, right, pairs)
        return self._matched_by_row(left, right, conjunction(rest))

    def _matched_by_key(self, left: Value, right: Value, pairs: list[tuple[Expr, Expr]]) -> tuple[Placed, Placed]:
        left, left_keys = self.with_columns(left, [a for a, _ in pairs])
        named = tuple((self.fresh("match"), b) for _, b in pairs) or ((self.fresh("any"), ONE),)
        usable = conjunction([Call("is_not_null", (b,), BOOL) for _, b in pairs])
        right = self.build.project(self.build.filter(right, usable), named)
        right_keys = tuple(n for n, _ in named[: len(pairs)])
        here, there = self.build.colocate([left, right], [left_keys, right_keys])
        distinct = self.distinct_rows(there)
        joined = self.window_join([here, distinct], [left_keys, right_keys])
        matched = self.build.project(joined, all_columns(here))
        assert isinstance(matched, Placed)
        return here, matched

    def _matched_by_row(self, left: Value, right: Value, predicate: Expr) -> tuple[Placed, Placed]:
        """Any predicate: the distinct left rows that have a partner, then the left rows equal to one of them."""
        left = self.build.place(left)
        pairs = self.join([left, right], predicate)
        wide = self.build.project(pairs, tuple((f"{self.mark}m.{n}", e) for n, e in all_columns(left)))
        names = tuple(f"{self.mark}m.{n}" for n in left.schema.names)
        here, there = self.build.colocate([left, wide], [left.schema.names, names])
        distinct = self.distinct_rows(there)
        joined = self.window_join([here, distinct], [left.schema.names, names], null_safe=True)
        matched = self.build.project(joined, all_columns(here))
        assert isinstance(matched, Placed)
        return here, matched

    def outer_join(self, node: OuterJoin, ticks: Ticks | None) -> Value:
        """The join, and the rows without a partner beside NULLs."""
        if is_nrr(node.right) and node.side == "left":
            return self._outer_as_of(node.left, node.right, node, ticks)
        if is_nrr(node.left) and node.side == "right":
            return self._outer_as_of(node.right, node.left, node, ticks)
        left, right = self.visit(node.left, ticks), self.visit(node.right, ticks)
        left, right = self.build.place(left), self.build.place(right)
        whole: list[Value] = [self.build.project(self.join([left, right], node.predicate), columns(node.schema))]
        if node.side in ("left", "full"):
            whole.append(self._unmatched(left, right, node))
        if node.side in ("right", "full"):
            whole.append(self._unmatched(right, left, node))
        return self.plus(whole, node.schema)

    def _outer_as_of(self, kept: Node, relation: Node, node: OuterJoin, ticks: Ticks | None) -> Value:
        """An outer join with a non-retroactive relation: the row with NULLs stays, whatever comes later."""
        assert isinstance(relation, TableScan)
        check_lasts([kept])
        raw = self.at_event_time([kept], ticks)
        value = raw if raw is not None else self.visit(kept, ticks)
        moment = ticks if raw is None else None
        conditions = conjuncts(node.predicate)
        joined, _ = self.as_of(value, table(relation, moment), conditions, outer=True, own_time=raw is not None)
        if raw is not None:
            joined = self.moving(joined, kept, ticks)
        return self.build.project(joined, columns(node.schema))

    def _unmatched(self, kept: Placed, other: Placed, node: OuterJoin) -> Value:
        names = kept.schema.names
        own = [c for c in conjuncts(node.predicate) if {x.name for x in columns_of(c)} <= set(names)]
        if own:  # a row that fails its own condition has no partner, but stays
            here, matched = self._matched_by_row(kept, other, node.predicate)
        else:
            here, matched = self._matched(kept, other, node.predicate)
        alone = self.minus(here, matched)
        padded = tuple(
            (f.name, Column(f.name, f.type) if f.name in names else Literal(None, f.type)) for f in node.schema
        )
        return self.build.project(alone, padded)

    def set_op(self, node: SetOp, ticks: Ticks | None, external: bool = False) -> Value:
        """UNION, INTERSECT and EXCEPT, by how often each row is on either side."""
        left, right = self.visit(node.left, ticks, external), self.visit(node.right, ticks, external)
        right = self.build.project(
            right, tuple((a.name, Column(b.name, b.type)) for a, b in zip(left.schema, right.schema, strict=True))
        )
        if node.kind == "union_all":
            return self.plus([left, right], node.schema)
        ours, theirs = self.fresh("l"), self.fresh("r")
        sides = [
            self.build.project(v, (*all_columns(v), (ours, Literal(a, INT)), (theirs, Literal(1 - a, INT))))
            for v, a in ((left, 1), (right, 0))
        ]
        here = self.build.colocate(sides, [node.schema.names, node.schema.names])
        both = self.build.merge(here, (1, 1), here[0].schema)
        names = Names(both)
        counted = Schema((*node.schema.fields, Field(ours, INT), Field(theirs, INT)))
        groups = tuple((column_name(i), Column(column_name(i), f.type)) for i, f in enumerate(node.schema))
        aggs = tuple((names.column(n), Agg("sum", Column(names.column(n), INT), INT)) for n in (ours, theirs))
        counts = self.build.apply(GroupAggregate(groups, aggs, "changes"), [both], counted, True)
        times = multiplicity(node.kind, Column(ours, INT), Column(theirs, INT))
        repeated = self.build.apply(Repeat(Names(counts).expr(times)), [counts], counted, True)
        rows = self.build.project(replace(repeated, endless=True), columns(node.schema))
        assert isinstance(rows, Placed)
        return replace(self.build.apply(Net(), [rows], rows.schema, True), endless=True)

    def apply(self, node: Apply, ticks: Ticks | None) -> Value:
        """Aggregates of a correlated sub-query beside each left row."""
        left, right = self.visit(node.left, ticks), self.visit(node.right, ticks)
        mine = set(left.schema.names)
        used = tuple(dict.fromkeys(c.name for c in columns_of(node.predicate) if c.name in mine))
        if not used:
            return self._apply_global(left, right, node, ticks)
        left = self.build.place(left)
        outer = self.build.project(left, tuple((f"{self.mark}o.{n}", Column(n, left.schema.get(n).type)) for n in used))  # type: ignore[union-attr]
        distinct = self.distinct(outer)
        renamed = {n: f"{self.mark}o.{n}" for n in used}
        predicate = renamed_columns(node.predicate, renamed)
        pairs = self.join([distinct, right], predicate)
        groups = tuple((f"{self.mark}g.{n}", Column(renamed[n], left.schema.get(n).type)) for n in used)  # type: ignore[union-attr]
        grouped = self.aggregate(pairs, Aggregate(Shape(pairs.schema, node.right), groups, node.aggs), ticks)  # type: ignore[arg-type]
        keys = tuple(n for n, _ in groups)
        here, there = self.build.colocate([left, grouped], [used, keys])
        joined = self.window_join([here, there], [used, keys], null_safe=True)
        found = self.build.project(joined, columns(node.schema))
        matched = self.build.project(joined, all_columns(here))
        assert isinstance(matched, Placed)
        alone = self.minus(here, matched)
        defaults = self.build.project(alone, (*all_columns(here), *((n, default_of(a)) for n, a in node.aggs)))
        return self.plus([found, defaults], node.schema)

    def _apply_global(self, left: Value, right: Value, node: Apply, ticks: Ticks | None) -> Value:
        """No correlation: one row of aggregates beside every left row."""
        right = self.build.filter(right, node.predicate)
        one = self.aggregate(right, Aggregate(Shape(right.schema, node.right), (), node.aggs), ticks)  # type: ignore[arg-type]
        joined = self.window_join([left, one], [(), ()])
        return self.build.project(joined, columns(node.schema))
