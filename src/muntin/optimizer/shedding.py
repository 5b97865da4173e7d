"""What a query may leave out under overload and still give a part of its exact answer."""

from __future__ import annotations

from muntin.core.calendar import nominal
from muntin.core.errors import UnsupportedError
from muntin.core.time import SECOND
from muntin.plan.nodes import BoundQuery, Filter, Join, Node, Output, Project, Scan, SetOp, TableScan, walk
from muntin.plan.windows import Range, Window, moves_with_rows


def scans(query: BoundQuery) -> tuple[str, ...]:
    """The streams that a query scans, each as often as it does; tables are no streams."""
    return tuple(name for name, _ in spans(query))


def spans(query: BoundQuery) -> tuple[tuple[str, float | None], ...]:
    """The same with the seconds of each window (None: it is not a plain window of time)."""
    found = (n for n in walk(query.root) if isinstance(n, Scan))
    return tuple((n.stream.name, _seconds(n.window)) for n in found)


def _seconds(window: Window) -> float | None:
    match window:
        case Range(length, rows=None):
            return nominal(length) / SECOND
    return None


def check_shed(query: BoundQuery) -> None:
    """Raises UnsupportedError where dropping rows of the streams would give results that the exact answer lacks.

    Filters, projections, joins and UNION ALL over windows of time pass on what is left; an aggregate, a negation, an
    outer join, DISTINCT or LIMIT make something else of it.
    """
    for node in walk(query.root):
        if (reason := _fault(node)) is not None:
            raise UnsupportedError(
                f"shed={query.options.shed!r} would give wrong rows, not fewer: {reason}. Use shed='never', or shed "
                "in a query of joins and filters"
            )


def _fault(node: Node) -> str | None:
    match node:
        case Scan(stream, _, window) if moves_with_rows(window):
            return f"the window of rows on {stream.name} would count only what was admitted, and reach further back"
        case Scan() | Filter() | Join() | Project() | TableScan() | Output():
            return None
        case SetOp(kind="union_all"):
            return None
    return f"{_WORDS.get(type(node).__name__, type(node).__name__)} is no part of what it is over all rows"


_WORDS = {
    "Aggregate": "an aggregate", "Apply": "an aggregate of a sub-query", "Distinct": "DISTINCT", "TopK": "LIMIT",
    "SemiJoin": "EXISTS or IN", "OuterJoin": "an outer join", "SetOp": "a set operation",
    "Rewindow": "a window on results",
}  # fmt: skip
