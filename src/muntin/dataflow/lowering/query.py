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
    INTERNAL       what comes to be in the join of the windows, until its external parts leave

so one join, one aggregate and one way to expire rows serve the whole language, and a retraction is a row of weight -1.
"""

from __future__ import annotations

from dataclasses import replace

from muntin.core.errors import UnsupportedError
from muntin.dataflow.builder import Places
from muntin.dataflow.graph import QueryPlan, read_by
from muntin.dataflow.harvestable import harvestable
from muntin.dataflow.lowering.nodes import (
    cannot_cancel,
    continual,
    fires_late,
    is_nrr,
    leaves,
    renews,
    rows_decide,
    shows_every_time,
    unslid,
)
from muntin.dataflow.lowering.windows import Windows
from muntin.dataflow.routes import Here
from muntin.dataflow.values import Loose, Names, Placed, Value, loose, table
from muntin.operators.compute import Compute
from muntin.operators.endless import Endless
from muntin.operators.fired_window import FiredWindow
from muntin.operators.insertions import Insertions
from muntin.operators.net import Net
from muntin.operators.one_sign import OneSign
from muntin.operators.restore import Restore
from muntin.operators.rows_window import RowsWindow
from muntin.operators.session_window import SessionWindow
from muntin.operators.top_rows import TopRows
from muntin.optimizer.presence import never_null
from muntin.optimizer.scaling import scaled, scales
from muntin.optimizer.shedding import check_shed
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Column
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
    has_internal,
    reaches,
    ticks_of,
    walk,
    windows_of,
    within,
)
from muntin.plan.windows import Ticks, as_external


def lower(
    query: BoundQuery, places: Places | None = None, known: Statistics | None = None, keep_unread: bool = False
) -> QueryPlan:
    """The graph of a bound query. ``places``: where vertices with state are already (new ones are entered); ``known``:
    statistics by which joins are laid out; ``keep_unread``: windows of rows keep columns that nothing reads, too.

    Raises UnsupportedError for what no operator does yet.
    """
    if scales(query):
        query = scaled(query)
    elif query.options.shed != "never":
        check_shed(query)
    found = _Lowering(query, Places() if places is None else places, known or Statistics(), keep_unread).run()
    if query.options.shed == "harvest" and not any(harvestable(found.graph, v) for v in range(len(found.vertices))):
        raise UnsupportedError(
            "shed='harvest' reads parts of the windows of a join, and this query has none of windows of time "
            "whose rows leave by themselves; use shed='drop'"
        )
    counting = any(isinstance(v.op, RowsWindow | FiredWindow | SessionWindow) for v in found.vertices)
    if counting and (sampled := next((s.name for s in found.streams if s.sample not in (None, 1)), None)):
        raise UnsupportedError(
            f"stream {sampled} is sampled: a window of rows would count only what was admitted, and reach further "
            "back, and sessions would fall apart; use a window of time, or register the stream without sample="
        )
    return found


class _Lowering(Windows):
    """One match over the nodes, and the outputs."""

    def run(self) -> QueryPlan:
        root = self.query.root
        top = _ordered(root)
        result = self.output(root) if top is None else self._first_rows(root, top)
        if not isinstance(result.edge.route, Here):  # rows that only change shards: something must receive them
            result = self.build.apply(Compute(), [result], result.schema, result.signed)
        vertices, place = read_by(self.build.vertices, [result.edge.vertex])
        present = tuple(n for n in root.schema.names if n in never_null(root))
        horizon = tuple(reaches(root, self.query.options))
        ticks = ticks_of(root, self.query.options)
        found = QueryPlan(
            vertices, place[result.edge.vertex], self.query.options, ticks, root.schema, root.kind == "changes",
            present=present, horizon=horizon, edges=root.edges, relayed=tuple(self.build.relayed),
        )  # fmt: skip
        if top is None:
            return found
        names = Names(result)
        groups = ((e, False, True) for e in (top.by if top.grouped else ()))
        keys = ((e, d, first) for e, d, first in (*groups, *top.keys) if isinstance(e, Column))
        order = tuple((names.column(e.name), descending, first) for e, descending, first in keys)
        return replace(found, shown=names.columns(root.schema.names), order=order)

    def _first_rows(self, root: Output, top: TopK) -> Placed:
        """The output of ORDER BY ... LIMIT, with the columns that it is ordered by; changes are those of the columns
        that are shown. An order over several groups takes one shard."""
        if top.by and not top.grouped:
            return self.build.colocate([self._changed_rows(root, top)], [()])[0]
        return self._changed_rows(root, top)

    def _changed_rows(self, root: Output, top: TopK) -> Placed:
        if root.kind == "rstream" or top.schema.names == root.schema.names:
            return self.output(replace(root, input=top))
        changes = self.output(replace(root, input=top, kind="changes"))
        if top.by:  # rows of different groups may look the same
            (changes,) = self.build.colocate([changes], [()])
        net = Net(Names(changes).columns(root.schema.names))
        shown = self.build.apply(net, [changes], changes.schema, True)
        if root.kind == "changes":
            return shown
        one = OneSign(1 if root.kind == "istream" else -1)
        return self.build.apply(one, [shown], shown.schema, True)

    def output(self, node: Output) -> Placed:
        """What the query shows: snapshots, or changes of one sign or both."""
        around, self.scope = self.scope, node.input
        shown = self._shown(node, ticks_of(node, self.query.options))
        self.scope = around
        return shown

    def _shown(self, node: Output, ticks: Ticks | None) -> Placed:
        match node.kind:
            case "rstream":
                return self._dateless(self.snapshots(node.input, ticks), node)
            case "changes":
                return self._dateless(self.changes(node.input, ticks), node)
            case "istream" | "dstream":
                return self.one_sign(node, ticks)
            case "istream_restore" | "rstream_restore":
                return self.restored(node, ticks)

    def _dateless(self, shown: Placed, node: Output) -> Placed:
        """Results without their expiry where another duplicate may take a row's place: the answer does not show it."""
        if not (self.query.options.exp and renews(node.input)):
            return shown
        return self.build.apply(Endless(), [shown], shown.schema, shown.signed)

    def snapshots(self, node: Node, ticks: Ticks | None) -> Placed:
        """The whole answer at each instant; aggregates report it themselves."""
        direct = self.aggregate_snapshots(node, ticks)
        if direct is not None:
            return direct
        value = self.visit(node, ticks)
        if ticks is not None:
            return self.materialize(self.build.place(value), "snapshots", ticks, [])
        marks = self.marks(node)
        placed = self.build.colocate([value, *marks], [()] * (1 + len(marks)))
        return self.materialize(placed[0], "snapshots", None, placed[1:])

    def aggregate_snapshots(self, node: Node, ticks: Ticks | None) -> Placed | None:
        """Conditions and columns over an aggregate that gives snapshots: no change has to be made up and taken back.
        None where the query has another shape."""
        match node:
            case Aggregate() if not has_internal(node.input) and (node.groups or self._late() is None):
                value = self.visit(node.input, ticks, external=True)
                marks = self.marks(node) if ticks is None else []
                return self.aggregate(value, node, ticks, emit="snapshots", marks=marks)
            case Filter(child, predicate):
                below = self.aggregate_snapshots(child, ticks)
                return None if below is None else self._placed(self.build.filter(below, predicate))
            case Project(child, exprs):
                below = self.aggregate_snapshots(child, ticks)
                return None if below is None else self._placed(self.build.project(below, exprs))
            case _:
                return None

    def _placed(self, value: Value) -> Placed:
        assert isinstance(value, Placed)
        return value

    def changes(self, node: Node, ticks: Ticks | None) -> Placed:
        """What comes and goes, equal rows on one shard so that they can cancel."""
        value = self.visit(node, ticks)
        (here,) = self.build.colocate([value], [value.schema.names])
        if here.signed and here.endless:  # every row that goes is announced: nothing has to be remembered
            if cannot_cancel(node):
                return here
            return replace(self.build.apply(Net(), [here], here.schema, True), endless=True)
        return self.materialize(here, "changes", ticks, [])

    def one_sign(self, node: Output, ticks: Ticks | None) -> Placed:
        """Insertions or deletions."""
        if node.kind == "istream" and shows_every_time(node.input):
            value = self.visit(node.input, ticks)
            if not value.signed:
                here = self.build.place(value)
                return self.build.apply(Insertions(), [here], here.schema, True)
        changes = self._dateless(self.changes(node.input, ticks), node)
        return self.build.apply(OneSign(1 if node.kind == "istream" else -1), [changes], changes.schema, True)

    def restored(self, node: Output, ticks: Ticks | None) -> Placed:
        """The same query without SLIDE, reported at the evaluation instants."""
        assert ticks is not None
        value = self.visit(continual(node.input), None)
        here = self.build.colocate([value], [value.schema.names])[0]
        changes = self.materialize(here, "changes", None, [])
        whole = node.kind == "rstream_restore"
        op = Restore(ticks, whole, self.build.begins if whole else ())
        return self.build.apply(op, [changes], changes.schema, not whole)

    def marks(self, node: Node) -> list[Value]:
        """The windows and relations of the query, without columns: their rows' comings and goings mark instants, also
        those of rows that no evaluation sees."""
        found: list[Value] = []
        for leaf in (n for n in leaves(node) if not is_nrr(n)):
            value = self.build.project(self.visit(unslid(leaf), None, external=True), ())
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
        combines = isinstance(node, Scan | Rewindow | SemiJoin | Join)
        if combines and not external and has_internal(node) and not self._read_as_of(node):
            return self.internal(node, ticks)
        match node:
            case Scan(window=window):
                counted = self.counted_window(node, ticks)
                return loose(replace(node, window=as_external(window)), ticks) if counted is None else counted
            case Filter(child, predicate):
                return self.build.filter(self.visit(child, ticks, external), predicate)
            case Project(child, exprs):
                return self.build.project(self.visit(child, ticks, external), exprs)
            case Join(parts, predicate):
                joined = self.join_with_tables(parts, predicate, ticks)
                return self.internal_results(joined) if not external and has_internal(node) else joined
            case Aggregate():
                value = self.aggregate(self.visit(node.input, ticks, external=True), node, ticks, self._late())
                if external or not has_internal(node.input):
                    return value
                return self.internal_results(value)
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
            case TopK():
                return self._top_rows(node, ticks)
            case Rewindow():
                return self.rewindow(node, ticks)
            case TableScan():
                return table(node, ticks)
            case Output():
                raise UnsupportedError(
                    "a query's output inside another query needs a window: add [ROWS n] or [RANGE t]"
                )

    def _top_rows(self, node: TopK, ticks: Ticks | None) -> Placed:
        """The first rows, those of each group on one shard."""
        by = tuple(e.name for e in node.by if isinstance(e, Column))
        assert len(by) == len(node.by), "what groups are by is computed below"
        (here,) = self.build.colocate([self.visit(node.input, ticks)], [by])
        names = Names(here)
        keys = tuple((names.expr(e), d, n) for e, d, n in node.keys)
        ranks = tuple(kind for _, kind in node.ranks)
        op = TopRows(keys, node.count, names.columns(by), node.offset, node.ties, ranks)
        made = self.build.apply(op, [here], node.schema, True)
        return replace(made, endless=True)

    def _read_as_of(self, node: Node) -> bool:
        """Whether all that stands beside non-retroactive relations are INTERNAL windows of time: one of them that
        slides is read at the event time of its rows."""
        if not isinstance(node, Join):
            return False
        others = [n for p in node.parts if not is_nrr(p) for n in within(p)]
        plain = all(isinstance(n, Scan | Filter | Project | Join) for n in others)
        windows = [w for p in node.parts for w in windows_of(p)]
        internal = all(w.internal for w in windows) and not any(map(rows_decide, windows))
        return plain and internal and any(map(is_nrr, node.parts))

def _ordered(root: Output) -> TopK | None:
    """The ORDER BY ... LIMIT that the whole query ends with, hidden columns included."""
    match root.input:
        case TopK() as top:
            return None if root.kind.endswith("_restore") else top
        case Project(TopK() as top, exprs) if all(isinstance(e, Column) and e.name == n for n, e in exprs):
            return None if root.kind.endswith("_restore") else top
        case _:
            return None


def _read(node: Node) -> set[str]:
    """The streams and tables below the node."""
    scans = {n.stream.name for n in walk(node) if isinstance(n, Scan)}
    return scans | {n.table.name for n in walk(node) if isinstance(n, TableScan)}
