"""What a query says that its author may not have meant: notes, not errors."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from muntin.core.calendar import nominal
from muntin.cql.dialect import StreamRef
from muntin.cql.durations import format_duration
from muntin.plan.catalog import Catalog
from muntin.plan.nodes import Filter, Node, Note, Output, Project, Scan, walk
from muntin.plan.windows import Range


def notes_of(tree: exp.Expr, text: str, root: Output, catalog: Catalog) -> tuple[Note, ...]:
    """About streams that FROM names without a window, windows that slide by more than their length, and texts that may
    be meant as columns."""
    found = [Note(t, endless=True) for t in _unbounded(tree, root, catalog)]
    found += [Note(t) for t in (*_gaps(root), *_quoted(tree, text, root))]
    return tuple(dict.fromkeys(found))


def _quoted(tree: exp.Expr, text: str, root: Output) -> Iterator[str]:
    """Texts in double quotes that are a column's name."""
    names = {f.name for n in walk(root) if isinstance(n, Scan) for f in n.stream.schema}
    for node in tree.find_all(exp.Literal):
        at = node.meta.get("start", len(text))
        if node.is_string and node.name in names and text[at : at + 1] == '"':
            yield f'"{node.name}" is a text, as in Spark SQL: the column is written {node.name}, or in backquotes'


def _unbounded(tree: exp.Expr, root: Output, catalog: Catalog) -> Iterator[str]:
    if _keeps_nothing(root.input):
        return
    for ref in tree.find_all(StreamRef, bfs=False):
        stream = catalog.stream(ref.name)
        if stream is not None and ref.args.get("window") is None:
            yield (
                f"stream {stream.name} has no window, so all its rows so far are in the query ([UNBOUNDED]) and what "
                "is kept of them (every row in a join, every value in DISTINCT and MEDIAN, every group) grows without "
                f"end: write {stream.name} [RANGE 1 HOUR], or [UNBOUNDED] if that is meant"
            )


def _keeps_nothing(node: Node) -> bool:
    """Whether rows only pass."""
    match node:
        case Filter(child) | Project(child):
            return _keeps_nothing(child)
        case _:
            return isinstance(node, Scan)


def _gaps(root: Output) -> Iterator[str]:
    for window in (n.window for n in walk(root) if isinstance(n, Scan)):
        if isinstance(window, Range) and window.slide is not None and nominal(window.slide) > nominal(window.length):
            length, slide = format_duration(window.length), format_duration(window.slide)
            yield (
                f"[RANGE {length} SLIDE {slide}] slides by more than its length: rows fall between its windows, and of "
                f"every {slide} only the last {length} are looked at"
            )
