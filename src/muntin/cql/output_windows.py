"""Windows on results (thesis 3.3.2 to 3.4): which stream a sub-query gives, and what may not be windowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sqlglot import exp

from muntin.cql.context import Context
from muntin.cql.dialect import ToStream
from muntin.cql.rebuild import rebuild
from muntin.cql.window_syntax import WindowSpec
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Distinct,
    Filter,
    Node,
    OuterJoin,
    Output,
    OutputKind,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TopK,
    has_internal,
    walk,
    windows_of,
    within,
)
from muntin.plan.windows import Now, Range, Rows, Session, as_external

Relation = Callable[[Context, exp.Expr], Node]


def streamed(ctx: Context, tree: exp.Expr, wstream: bool, relation: Relation) -> Output:
    """The stream of a query: as its wrapper says; without one (and under Wstream) the stream of its insertions, where a
    periodically evaluated aggregate gives its value at every evaluation.

    INTERNAL is taken off the windows where the stream of insertions is the same without it.

    Raises:
        QueryError: without a wrapper, an aggregate over an external window, DISTINCT or negation.
    """
    kind = tree.args["kind"] if isinstance(tree, ToStream) else None
    if kind == "wstream":
        return streamed(ctx, tree.this, True, relation)
    if kind is not None:
        node = relation(ctx, tree.this)
        check_internal(ctx, tree, node)
        return Output(external(node) if kind == "istream" else node, cast(OutputKind, kind))
    node = relation(ctx, tree)
    check_internal(ctx, tree, node)
    _check_windowable(ctx, tree, node, wstream)
    windows = [w for w in windows_of(node) if not isinstance(w, Now)]
    periodic = bool(windows) and all(isinstance(w, Range | Rows) and w.slide is not None for w in windows)
    if any(isinstance(w, Session) for w in windows):
        return Output(node, "rstream")
    return Output(external(node), "rstream" if periodic and _aggregate(node) is not None else "istream")


def _check_windowable(ctx: Context, tree: exp.Expr, node: Node, wstream: bool) -> None:
    place, explicit = ctx.at(tree), "Istream(SELECT ...), to take the stream of its insertions"
    odd = next((what for n in within(node) if (what := undone_by_deletions(n)) is not None), None)
    if odd is not None:
        raise place.error(
            f"the results of {odd} cannot have a window: results that no longer hold would stay in it. Write {explicit}"
        )
    aggregate = _aggregate(node)
    latest = aggregate is not None and not all(w.internal or isinstance(w, Session) for w in windows_of(aggregate))
    if latest and not wstream:
        raise place.error(
            "an aggregate over an external window is one latest value and cannot have a window: "
            "write INTERNAL in the window of the sub-query, as in [RANGE 6 SECONDS SLIDE 6 SECONDS INTERNAL], "
            f"or {explicit}"
        )


def undone_by_deletions(node: Node) -> str | None:
    """What makes the node need deletions to be right (thesis 3.3.2): DISTINCT or negation, by name; None for others."""
    match node:
        case Distinct():
            return "DISTINCT"
        case SemiJoin(anti=True):
            return "a negation (NOT EXISTS, NOT IN, ANTI JOIN)"
        case SetOp(kind="except" | "except_all" as kind):
            return kind.replace("_", " ").upper()
        case SetOp(kind="intersect" | "intersect_all" as kind):
            return kind.replace("_", " ").upper()
        case OuterJoin():
            return "an outer join (its rows without a partner are a negation)"
        case TopK():
            return "ORDER BY ... LIMIT"
        case _:
            return None


def check_internal(ctx: Context, tree: exp.Expr, root: Node) -> None:
    """Raise when an INTERNAL window is below DISTINCT or negation, or what else takes results back."""
    for node in walk(root):
        what = undone_by_deletions(node) or _replacing(node)
        if what is not None and has_internal(node):
            raise ctx.at(internal_spec(tree) or tree).error(
                f"INTERNAL cannot be used below {what}: its results must leave when they no longer hold. "
                "Remove INTERNAL"
            )


def _replacing(node: Node) -> str | None:
    """What takes results back, beside ``undone_by_deletions``, while the windows stand still."""
    match node:
        case Apply():
            return "a scalar sub-query"
        case _:
            return None


def internal_spec(tree: exp.Expr) -> exp.Expr | None:
    """The first window with INTERNAL in the text."""
    return next((w for w in tree.find_all(WindowSpec, bfs=False) if w.args.get("internal")), None)


def external(node: Node) -> Node:
    """The plan without INTERNAL."""

    def strip(n: Node) -> Node:
        match n:
            case Scan(stream, alias, window):
                return Scan(stream, alias, as_external(window))
            case Rewindow(output, window):
                return Rewindow(output, as_external(window))
            case _:
                return n

    return rebuild(node, strip)


def _aggregate(node: Node) -> Aggregate | None:
    """The aggregate whose values the query shows."""
    match node:
        case Aggregate():
            return node
        case Project(child) | Filter(child) | TopK(child) | Distinct(child) | Apply(child) | SemiJoin(child):
            return _aggregate(child)
        case _:
            return None
