"""Planning of any query: each node becomes operators over weighted interval rows.

Everything reduces to a few linear operators. With L - X for a merge of L and X with weight -1::

    distinct       interval rows that follow one another (unsigned rows), or counts by row
    L semi R       L join distinct(keys of R)                  (equality), or
                   L join distinct(L columns of (L join R))    (any predicate)
    L anti R       L - (L semi R)
    L left R       (L join R) + (L anti R, padded with NULLs)
    L except all R multiplicity max(l - r, 0) of each row, from counts by row
    scalar query   L left (aggregate of (distinct(L columns used) join R)), counts defaulting to 0
    EXISTS, IN     inside an expression: counts of a scalar query
    INTERNAL       the join of the windows, each row living until its external parts expire

so one join, one aggregate and one way to expire rows serve the whole language, and a retraction is a row of weight -1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal as OneOf

from muntin.core.errors import UnsupportedError
from muntin.dataflow.choose_state import folds
from muntin.dataflow.drafts import Loose, Named, Placed, Value, loose, table
from muntin.dataflow.lasting_joins import only_windows
from muntin.dataflow.negation import Negation
from muntin.dataflow.shapes import (
    continual,
    fires_late,
    has_internal,
    is_internal,
    is_nrr,
    leaves,
    pair,
    renews,
    unslid,
    windows_of,
)
from muntin.dataflow.stage import PhysicalQuery
from muntin.operators.fired_window import FiredWindow
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.net import OneSign
from muntin.operators.reshape import Endless, Rewind, Snap
from muntin.operators.restore import Restore
from muntin.operators.rows_window import RowsWindow
from muntin.operators.top_rows import TopRows
from muntin.plan.exprs import Call, Column, Expr
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    BoundQuery,
    Distinct,
    Filter,
    Join,
    Node,
    OuterJoin,
    Output,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
    TopK,
    ticks_of,
    walk,
)
from muntin.plan.windows import Range, Rows, Ticks, Unbounded, beat, moves_with_rows


def plan_dataflow(query: BoundQuery) -> PhysicalQuery:
    """The stages of any bound query. Raises UnsupportedError for what no operator does yet."""
    return _Planner(query).run()


class _Planner(Negation):
    """One match over the nodes, and the outputs."""

    def __init__(self, query: BoundQuery) -> None:
        super().__init__(query)
        self.scope: Node = query.root
        """The query being planned: the whole one, or the inside of a window on results."""

    def run(self) -> PhysicalQuery:
        root = self.query.root
        result = self.output(root)
        return self.drafts.finish(result, ticks_of(root, self.query.options), root.kind == "changes")

    def output(self, node: Output) -> Placed:
        """What the query shows: snapshots, or changes of one sign or both."""
        around, self.scope = self.scope, node.input
        shown = self._shown(node, ticks_of(node, self.query.options))
        self.scope = around
        return shown

    def _shown(self, node: Output, ticks: Ticks | None) -> Placed:
        if node.kind == "rstream" and ticks is not None and (reported := self._reported(node.input, ticks)) is not None:
            return self.drafts.place(reported)
        value = self.visit(node.input, ticks)
        names = value.schema.names
        match node.kind:
            case "rstream" if ticks is not None:
                return self._dateless(self.materialize(self.drafts.place(value), "snapshots", ticks, []), node)
            case "rstream":
                marks = self.marks(node.input)
                placed = self.drafts.colocate([value, *marks], [()] * (1 + len(marks)))
                return self._dateless(self.materialize(placed[0], "snapshots", None, placed[1:]), node)
            case "changes" | "istream" | "dstream":
                here = self.drafts.colocate([value], [names])[0]
                changes = self._dateless(self.materialize(here, "changes", ticks, []), node)
                if node.kind == "changes":
                    return changes
                one = OneSign(1 if node.kind == "istream" else -1)
                return self.drafts.apply(one, [changes], changes.schema, True, changes.keys)
            case "istream_restore" | "rstream_restore":
                return self.restored(node, ticks)

    def _dateless(self, shown: Placed, node: Output) -> Placed:
        """Results without their expiry where another duplicate may take a row's place: the answer does not show it."""
        if not (self.query.options.exp and renews(node.input)):
            return shown
        return self.drafts.apply(Endless(), [shown], shown.schema, shown.signed, shown.keys)

    def _reported(self, node: Node, ticks: Ticks) -> Value | None:
        """The whole answer at every evaluation instant, if an aggregate is the last to keep anything: it reports each
        group's row then, and no change has to be made up and taken back."""
        match node:
            case Filter(child, predicate):
                below = self._reported(child, ticks)
                return None if below is None else self.drafts.filter(below, predicate)
            case Project(child, exprs):
                below = self._reported(child, ticks)
                return None if below is None else self.drafts.project(below, exprs)
            case Aggregate() if not has_internal(node.input):
                value = self.visit(node.input, ticks, external=True)
                return self.aggregate(value, node, ticks, self._late(), emit="snapshots")
            case _:
                return None

    def restored(self, node: Output, ticks: Ticks | None) -> Placed:
        """The same query without SLIDE, reported at the evaluation instants."""
        assert ticks is not None
        value = self.visit(continual(node.input), None)
        here = self.drafts.colocate([value], [value.schema.names])[0]
        changes = self.materialize(here, "changes", None, [])
        whole = node.kind == "rstream_restore"
        return self.drafts.apply(Restore(ticks, whole), [changes], changes.schema, not whole, changes.keys)

    def marks(self, node: Node) -> list[Value]:
        """The windows and relations of the query, without columns: their rows' comings and goings mark instants, also
        those of rows that no evaluation sees."""
        found: list[Value] = []
        for leaf in (n for n in leaves(node) if not is_nrr(n)):
            value = self.drafts.project(self.visit(unslid(leaf), None, external=True), ())
            if isinstance(value, Loose):
                value = replace(value, marks=True)
            if value not in found:
                found.append(value)
        return found

    def _late(self) -> Node | None:
        """The query being planned if it gets its first row later than the streams: some of its windows do, or it is
        the inside of a window on results and does not read all of them."""
        inside = self.scope is not self.query.root.input and _read(self.scope) != _read(self.query.root)
        return self.scope if inside else fires_late(self.scope)

    def visit(self, node: Node, ticks: Ticks | None, external: bool = False) -> Value:
        """The value of a relation; ``ticks``: the evaluation instants of the enclosing output; ``external``: INTERNAL
        windows are read as external ones (inside what keeps their results itself)."""
        match node:
            case Scan(window=Rows() as window):
                return self.rows_window(self._unbounded(node), window, f"{node.alias}.", ticks, node.stream.order_by)
            case Scan(window=Range(rows=int()) as window):
                fired = self.fired_window(self._unbounded(node), window)
                return self.lasting(fired) if window.internal and not external else fired
            case Scan(window=Range(internal=True) as window):
                plain = loose(replace(node, window=replace(window, internal=False)), ticks)
                return plain if external else self.lasting(replace(plain, interval=True))
            case Scan():
                return loose(node, ticks)
            case Filter(child, predicate):
                return self.drafts.filter(self.visit(child, ticks, external), predicate)
            case Project(child, exprs):
                return self.drafts.project(self.visit(child, ticks, external), exprs)
            case Join(parts, predicate):
                internal = [has_internal(p) for p in parts if windows_of(p)]
                if not external and any(internal) and (not all(internal) or only_windows(parts)):
                    return self.lasting_join(parts, predicate, ticks)
                joined = self.join_with_tables(parts, predicate, ticks)
                return self.lasting(joined, node) if not external and any(internal) else joined
            case Aggregate():
                value = self.aggregate(self.visit(node.input, ticks, external=True), node, ticks, self._late())
                if external or not has_internal(node.input):
                    return value
                return self.lasting(value)
            case Distinct(child):
                return self.distinct(self.visit(child, ticks))
            case SemiJoin():
                return self.semi_join(node, ticks, external)
            case OuterJoin():
                return self.outer_join(node, ticks)
            case SetOp():
                return self.set_op(node, ticks, external)
            case Apply():
                return self.apply(node, ticks)
            case TopK(child, keys, count):
                here = self.drafts.colocate([self.visit(child, ticks)], [()])
                return self.drafts.apply(TopRows(keys, count), here, node.schema, True, ())
            case Rewindow(window=window):
                results = self.rewindow(node, ticks)
                return self.lasting(results) if is_internal(window) and not external else results
            case TableScan():
                return table(node, ticks)
            case Output():
                raise UnsupportedError(
                    "a query's output inside another query needs a window: add [ROWS n] or [RANGE t]"
                )

    def _unbounded(self, scan: Scan) -> Loose:
        return loose(replace(scan, window=Unbounded()), None)

    def rows_window(
        self, value: Value, window: Rows, prefix: str, ticks: Ticks | None, order_by: str | None = None
    ) -> Placed:
        by = tuple(prefix + b for b in window.by)
        (here,) = self.drafts.colocate([value], [by])
        by_value = not isinstance(value, Loose)  # results of a query
        op = RowsWindow(window.count, window.slide, by, prefix + order_by if order_by else None, by_value)
        rows = self.drafts.apply(op, [here], here.schema, True, here.keys)
        own = beat(window, self.query.options)
        if own is not None:  # [ROWS n SLIDE t]: the contents of its own last instant
            rows = self.drafts.apply(Snap(Ticks((own[0],), (own[1],))), [rows], rows.schema, True, rows.keys)
        return rows if ticks is None else self.drafts.apply(Snap(ticks), [rows], rows.schema, True, rows.keys)

    def fired_window(self, value: Value, window: Range) -> Placed:
        """A time window that moves when enough rows have come; numbering the rows takes one shard."""
        assert window.rows is not None
        (here,) = self.drafts.colocate([value], [()])
        op = FiredWindow(replace(window, rows=None, internal=False), window.rows, self.query.options)
        return self.drafts.apply(op, [here], here.schema, True, ())

    def rewindow(self, node: Rewindow, ticks: Ticks | None) -> Value:
        """A window over a query's output stream."""
        shown = self.output(node.input)
        inner = ticks_of(node.input, self.query.options)
        shift = -1 if self.query.options.bounds == "start" and inner is not None else 0
        entry = Unbounded() if moves_with_rows(node.window) else node.window
        rows = self.drafts.apply(Rewind(entry, self.query.options, shift), [shown], shown.schema, False, shown.keys)
        if isinstance(node.window, Rows):
            return self.rows_window(rows, node.window, "", ticks)
        if isinstance(node.window, Range) and node.window.rows is not None:
            return self.fired_window(rows, node.window)
        return rows if ticks is None else self.drafts.apply(Snap(ticks), [rows], rows.schema, False, rows.keys)

    def aggregate(
        self,
        value: Value,
        node: Aggregate,
        ticks: Ticks | None,
        fires: Node | None = None,
        emit: OneOf["changes", "snapshots"] = "changes",
    ) -> Placed:
        """Changes of each group's row, or all rows at each evaluation instant; ``fires``: where the windows are whose
        first row comes later than the streams'."""
        node = self._dated(node)
        arguments = list(dict.fromkeys(a.arg for _, a in node.aggs if a.arg is not None))
        names = {e: self.fresh("x") for e in arguments}
        computed = node.groups + tuple((names[e], e) for e in arguments)
        aggs = tuple(
            (n, replace(a, arg=None if a.arg is None else Column(names[a.arg], a.arg.type))) for n, a in node.aggs
        )
        groups: Named = tuple((n, Column(n, e.type)) for n, e in node.groups)
        marks = self.marks(fires) if fires is not None and not groups else []
        keys = [tuple(n for n, _ in groups), *(() for _ in marks)]
        here = self.drafts.colocate([self.drafts.project(value, computed), *marks], keys)
        panes = not here[0].signed and folds(aggs, ticks)
        op = GroupAggregate(groups, aggs, emit, ticks, bool(marks), panes)
        return self.drafts.apply(op, here, node.schema, emit == "changes", here[0].keys)

    def _dated(self, node: Aggregate) -> Aggregate:
        """FIRST and LAST take the row's event time beside their argument: the latest of its parts'."""
        if not any(a.fn in ("first", "last") for _, a in node.aggs):
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
                "FIRST and LAST need the event time of every window below them: do not project it away, and take them "
                "over windows on streams, not on results"
            )
        at: Expr = times[0] if len(times) == 1 else Call("greatest", tuple(times), times[0].type)
        aggs = tuple(
            (n, replace(a, arg=_dated(at, a.arg)) if a.fn in ("first", "last") and a.arg is not None else a)
            for n, a in node.aggs
        )
        return replace(node, aggs=aggs)


def _dated(at: Expr, arg: Expr) -> Expr:
    """The argument of FIRST and LAST beside its event time; without a time where FILTER leaves the row out."""
    match arg:
        case Call("only", (condition, value)):
            return pair(Call("only", (condition, at), at.type), value)
        case _:
            return pair(at, arg)


def _read(node: Node) -> set[str]:
    """The streams and tables below the node."""
    scans = {n.stream.name for n in walk(node) if isinstance(n, Scan)}
    return scans | {n.table.name for n in walk(node) if isinstance(n, TableScan)}
