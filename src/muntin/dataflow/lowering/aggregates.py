"""Aggregates: the rows of each group on one shard, with what the aggregates need beside their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal as OneOf

import pyarrow as pa

from muntin.aggregates.frequent import list_type
from muntin.aggregates.registry import described, folds
from muntin.core.errors import UnsupportedError
from muntin.core.schema import Field, Schema
from muntin.dataflow.graph import column_name
from muntin.dataflow.lowering.internal import InternalJoins
from muntin.dataflow.lowering.nodes import leaves
from muntin.dataflow.values import Loose, Named, Names, Placed, Value
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.sub_windows import SubWindows
from muntin.plan.exprs import Agg, Call, Column, Expr, columns_of, pair
from muntin.plan.nodes import Aggregate, Node, Project, Rewindow, Scan
from muntin.plan.windows import Ticks


class Aggregates(InternalJoins):
    """Aggregates over any rows."""

    def marks(self, node: Node) -> list[Value]:
        """What tells the instants of a query without evaluation instants (filled in by ``lowering.query``)."""
        raise NotImplementedError

    def aggregate(
        self,
        value: Value,
        node: Aggregate,
        ticks: Ticks | None,
        fires: Node | None = None,
        emit: OneOf["changes", "snapshots"] = "changes",
        marks: Sequence[Value] = (),
    ) -> Placed:
        """Each group's row; ``fires``: where the windows are whose first row comes later than the streams'; ``marks``:
        what tells the instants of snapshots without evaluation instants."""
        node = self._dated(node)
        if isinstance(value, Loose) and value.weight is not None:
            value, node = self._with_weights(value, node)
        value, by, over = self._summarised(value, node)
        arguments = list(dict.fromkeys(a.arg for _, a in over if a.arg is not None))
        names = {e: self.fresh("x") for e in arguments}
        computed = by + tuple((names[e], e) for e in arguments)
        begun = fires is not None and not node.groups
        if begun and fires is not None:
            marks = self.marks(fires)
        keys = [tuple(n for n, _ in node.groups) if not marks or begun else (), *(() for _ in marks)]
        here = self.build.colocate([self.build.project(value, computed), *marks], keys)
        at = Names(here[0])
        groups = tuple((column_name(i), Column(at.column(n), e.type)) for i, (n, e) in enumerate(node.groups))
        aggs = tuple(
            (column_name(len(groups) + i), replace(a, arg=a.arg and Column(at.column(names[a.arg]), a.arg.type)))
            for i, (_, a) in enumerate(over)
        )
        panes = not here[0].signed and ticks is not None and folds(a for _, a in aggs)
        begins = () if groups or begun else self.build.begins
        op = GroupAggregate(groups, aggs, emit, ticks, begun, panes, begins)
        spread = here[0].keys
        made = self.build.apply(op, here, node.schema, emit == "changes", lambda _: spread)
        return replace(made, endless=True)

    def _with_weights(self, value: Loose, node: Aggregate) -> tuple[Placed, Aggregate]:
        """Weighed rows on the shards of their groups: what is computed from weights is computed there."""
        args = [c for _, a in node.aggs if a.arg is not None for c in columns_of(a.arg)]
        groups = tuple(n for n, _ in node.groups)
        weight = Column(str(value.weight), pa.float64())
        used = tuple((c.name, c) for c in dict.fromkeys(args) if c != weight)
        rows = Project(node.input, (*node.groups, *used, (weight.name, weight)))
        (here,) = self.build.colocate([self.build.project(value, rows.exprs)], [groups])
        return here, replace(node, groups=tuple((n, Column(n, e.type)) for n, e in node.groups), input=rows)

    def _summarised(self, value: Value, node: Aggregate) -> tuple[Value, Named, tuple[tuple[str, Agg], ...]]:
        """The rows, groups and aggregates; the rows as summaries of sub-windows where an aggregate is over these.
        Without groups they are spread by value for it, so that no shard counts all of them."""
        found = [a for _, a in node.aggs if described(a).summary]
        if not found:
            return value, node.groups, node.aggs
        ((name, agg),) = node.aggs if len(node.aggs) == 1 else ((found[0].fn, None),)
        what = described(found[0])
        if agg is None or agg.arg is None:
            raise UnsupportedError(
                f"{what.shown} stands alone in its SELECT list, beside columns of GROUP BY: it keeps no rows for other "
                "aggregates. Its answer has the number of rows; write a query of its own for the others"
            )
        groups, item = tuple(n for n, _ in node.groups), self.fresh("x")
        spread = groups or (item,)
        (rows,) = self.build.colocate([self.build.project(value, (*node.groups, (item, agg.arg)))], [spread])
        if rows.signed:
            raise UnsupportedError(
                f"{what.shown} is over rows whose expiry is known (windows of time, and joins of them, under another "
                "strategy than nt): these may be taken back. FREQUENT counts them exactly"
            )
        type = list_type(agg.arg.type) if what.summary == "lists" else pa.binary()
        fields = tuple(Field(n, e.type) for n, e in node.groups)
        schema = Schema((*fields, Field(item, type)))
        keys = rows.keys if groups else None
        for merging in (False,) if groups or what.summary == "sketches" else (False, True):
            at = Names(rows)
            op = SubWindows(at.columns(groups), at.column(item), int(agg.param or 1), what.summary, merging)
            made = self.build.apply(op, [rows], schema, False, lambda _: keys)
            (rows,) = (made,) if groups else self.build.colocate([made], [()])
        kept = tuple((n, Column(n, e.type)) for n, e in node.groups)
        return rows, kept, ((name, replace(agg, arg=Column(item, type))),)

    def _dated(self, node: Aggregate) -> Aggregate:
        """Some (FIRST, LAST) take the row's event time beside their argument: the latest of its parts'."""
        if not any(described(a).dated for _, a in node.aggs):
            return node
        below = leaves(node.input)
        times = [
            Column(f"{n.alias}.{n.stream.ts}", n.schema.get(f"{n.alias}.{n.stream.ts}").type)  # type: ignore[union-attr]
            for n in below
            if isinstance(n, Scan)
        ]
        have = set(node.input.schema.names)
        dateless = not times or any(isinstance(n, Rewindow) for n in below)
        if dateless or any(t.name not in have for t in times) or len({t.type for t in times}) > 1:
            raise UnsupportedError(
                "FIRST and LAST go by the event time of the streams' rows, and rows of a sub-query, a view or a window "
                "on results may have none: show a time there, as MAX(ts) AS t, and write ARG_MIN(x, t) for FIRST(x) "
                "and ARG_MAX(x, t) for LAST(x)"
            )
        at: Expr = times[0] if len(times) == 1 else Call("greatest", tuple(times), times[0].type)
        aggs = tuple(
            (n, replace(a, arg=_dated(at, a.arg)) if described(a).dated and a.arg is not None else a)
            for n, a in node.aggs
        )
        return replace(node, aggs=aggs)


def _dated(at: Expr, arg: Expr) -> Expr:
    """An argument beside its event time; without a time where FILTER leaves the row out."""
    match arg:
        case Call("only", (condition, value)):
            return pair(Call("only", (condition, at), at.type), value)
        case _:
            return pair(at, arg)
