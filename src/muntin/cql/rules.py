"""Rules that a whole plan must keep: SLIDEs, restore, INTERNAL, and where tables may stand (thesis 3.3.1 to 3.5.3)."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from muntin.cql.context import Context
from muntin.cql.output_windows import external
from muntin.cql.places import Place
from muntin.cql.window_syntax import WindowSpec
from muntin.plan.nodes import (
    Aggregate,
    Apply,
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
    walk,
    within,
)
from muntin.plan.patterns import Pattern, pattern
from muntin.plan.windows import Range, Rows, Session, Unbounded, delay_of


def check_plan(ctx: Context, tree: exp.Expr, root: Output) -> None:
    """Raise a ``QueryError`` when a rule is broken."""
    for output in (n for n in walk(root) if isinstance(n, Output)):
        _check_slides(ctx, tree, output)
        _check_sessions(ctx, tree, output)
        if output.kind.endswith("_restore"):
            _check_restore(ctx, tree, output)
    _check_nrr(ctx, tree, root, joined=False)


def _specs(tree: exp.Expr, kind: str | None = None) -> list[WindowSpec]:
    """The windows in the text, in order, of one kind when given."""
    return [w for w in tree.find_all(WindowSpec, bfs=False) if kind in (None, w.args["kind"])]


def _windowed(root: Node) -> list[Scan | Rewindow]:
    """The windows of one query, not those inside windowed sub-queries."""
    return [n for n in within(root) if isinstance(n, Scan | Rewindow)]


def _check_slides(ctx: Context, tree: exp.Expr, root: Output) -> None:
    windows = [n.window for n in _windowed(root)]
    timed = any((isinstance(w, Range) and w.slide) or (isinstance(w, Rows) and w.every) for w in windows)
    counted = any((isinstance(w, Rows) and w.slide) or (isinstance(w, Range) and w.rows) for w in windows)
    if timed and counted:
        slides = [s for s in _specs(tree) if s.args.get("slide")]
        counts = (s.args["slide"] for s in slides if (s.args.get("slide_kind") or s.args["kind"]) == "rows")
        spec = next(counts, tree)
        raise ctx.at(spec).error(
            "a query has time SLIDEs or ROWS SLIDEs, not both: their evaluation instants have nothing in common"
        )


_ALONE = (
    "a SESSION window stands alone in FROM (static tables may be joined): put it into a sub-query in FROM, whose "
    "results have a window of their own, as in (SELECT k, COUNT(*) AS n FROM s [PARTITION BY k SESSION 5 MINUTES] "
    "GROUP BY k) x [RANGE 1 HOUR]"
)


def _check_sessions(ctx: Context, tree: exp.Expr, root: Output) -> None:
    """A session is there at one instant: what would last beside it, or be shown at every instant, is refused."""
    nodes = list(within(root))
    if not any(isinstance(n, Scan | Rewindow) and isinstance(n.window, Session) for n in nodes):
        return
    at = ctx.at(next(iter(_specs(tree, "session")), tree))
    lasting = [n for n in nodes if isinstance(n, TableScan) and n.table.kind != "static"]
    if len(_windowed(root)) > 1 or lasting or any(isinstance(n, OuterJoin | SemiJoin | SetOp | Apply) for n in nodes):
        raise at.unsupported(_ALONE)
    if root.kind != "rstream":
        raise at.unsupported(
            "a query over SESSION shows each session once, when it ends: leave out the stream operator around it"
        )
    if any(isinstance(n, Aggregate) and not n.groups for n in nodes):
        raise at.error(
            "an aggregate over SESSION needs GROUP BY: by the columns of PARTITION BY, or by window_start where there "
            "are none; without groups it would have an answer at every instant"
        )


def _check_restore(ctx: Context, tree: exp.Expr, root: Output) -> None:
    """All windows are evaluated at the same instants; without SLIDE nothing is lost that could be restored."""
    name = root.kind.split("_")[0].capitalize()
    windows = [n.window for n in _windowed(root)]
    slides = {w.slide for w in windows if isinstance(w, Range | Rows)}
    if slides == {None} or not slides:
        raise ctx.at(tree).error(
            f"{name}-restore needs windows with SLIDE: without it every result is reported as it comes. "
            f"Write {name}(...)"
        )
    if len(slides) > 1 or any(not isinstance(w, Range | Rows | Unbounded) for w in windows):
        first = _specs(tree)[0].args.get("slide") if _specs(tree) else None
        odd = next((s for s in _specs(tree)[1:] if s.args.get("slide") != first), None)
        raise ctx.at((odd.args.get("slide") or odd) if odd is not None else tree).error(
            f"{name}-restore needs the same SLIDE in all windows of the query: results lost between two evaluations "
            "are only defined for common evaluation instants"
        )


def _check_nrr(ctx: Context, tree: exp.Expr, node: Node, joined: bool) -> None:
    """Raise when a non-retroactive table stands anywhere but beside a stream in a join, or that stream is STR."""
    if isinstance(node, TableScan) and node.table.kind == "nrr" and not joined:
        raise _place(ctx, tree, node).error(
            f"table {node.table.name} is non-retroactive and only goes into a join with a stream: its rows are looked "
            'up when a row of the stream comes. Register it with kind="relation" to query it otherwise'
        )
    for child, others in _pairs(node):
        looked_up = _nrr(child)
        for other in others if looked_up is not None else ():
            assert looked_up is not None
            _check_delay(ctx, tree, looked_up, other)
            if not _is_table(other) and (pattern(external(other)) is Pattern.STR or _comes_back(other)):
                raise _place(ctx, tree, looked_up).error(
                    f"table {looked_up.table.name} is non-retroactive and cannot be joined with an input whose rows "
                    "may leave for a reason of their own (ROWS windows, aggregates, negation): use a window of time, "
                    'or register it with kind="relation"'
                )
        _check_nrr(ctx, tree, child, looked_up is not None and any(not _is_table(o) for o in others))


def _check_delay(ctx: Context, tree: exp.Expr, looked_up: TableScan, other: Node) -> None:
    if any(delay_of(w.window) for w in within(other) if isinstance(w, Scan | Rewindow)):
        raise _place(ctx, tree, looked_up).error(
            f"table {looked_up.table.name} is non-retroactive: its rows are looked up when a row of the stream comes, "
            'so it does not go with a window with DELAY. Register it with kind="relation"'
        )


def _comes_back(node: Node) -> bool:
    """Whether a row may come later than its own event time, or a second time: when a partner of it does."""
    return any(isinstance(n, SemiJoin) for n in within(node))


def _pairs(node: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """The inputs, each with the inputs whose rows it may be looked up for."""
    match node:
        case Join(parts):
            for i, part in enumerate(parts):
                yield part, parts[:i] + parts[i + 1 :]
        case OuterJoin(left, right, _, side):
            yield left, ((right,) if side == "right" else ())
            yield right, ((left,) if side == "left" else ())
        case Filter(child) | Project(child) | Aggregate(child):
            yield child, ()
        case _:
            for child in node.inputs:
                yield child, ()


def _nrr(node: Node) -> TableScan | None:
    return node if isinstance(node, TableScan) and node.table.kind == "nrr" else None


def _is_table(node: Node) -> bool:
    return isinstance(node, TableScan)


def _place(ctx: Context, tree: exp.Expr, node: TableScan) -> Place:
    """Where the table is named in the text; the query when only a view names it."""
    named = (t for t in tree.find_all(exp.Table, bfs=False) if t.name.lower() == node.table.name.lower())
    found = next(named, None)
    return ctx.at(found.this if found is not None else tree)
