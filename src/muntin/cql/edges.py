"""Windows as other dialects write them, and WINDOW_START() and WINDOW_END(), the span of the instant's window.

``FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '5' MINUTES))`` and HOP of Flink's, and ``GROUP BY window(ts, '10
minutes', '5 minutes')`` of Spark's, become ``s [RANGE size SLIDE slide]``; a query that has one takes rows of [start,
end), option ``bounds="start"``, as they do. There is one window at an instant, so grouping by it needs no key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from muntin.core.calendar import Months
from muntin.core.errors import QueryError
from muntin.core.time import DAY
from muntin.cql.context import Context
from muntin.cql.dialect import StreamRef
from muntin.cql.durations import parse_span
from muntin.cql.limits import whole_number
from muntin.cql.places import place_of
from muntin.cql.window_syntax import WindowSpec
from muntin.plan.catalog import Catalog
from muntin.plan.nodes import Node, Output, Scan, WindowEdge, windows_of, within
from muntin.plan.windows import QueryOptions, Range

_CALLS = {"window": ("size", "slide"), "tumble": ("size",), "hop": ("slide", "size")}
_ENDS = {
    "window_end": False, "tumble_end": False, "hop_end": False,
    "window_start": True, "tumble_start": True, "hop_start": True,
}  # fmt: skip
_ALONE = (
    "stands in the outermost select list, as a column of its own: column ts of the result is the window's end, and "
    "there is one window at an instant, so nothing else needs it"
)


def in_brackets(tree: exp.Expr, text: str, options: QueryOptions, catalog: Catalog) -> tuple[QueryOptions, bool]:
    """Write windows of other dialects as Muntin's; the tree changes. Gives the options that they ask for, and whether
    there are some.

    Raises:
        QueryError: a stream with two windows, no stream for a window, bounds that they do not go with.
    """
    foreign = [w for w in tree.find_all(WindowSpec) if w.args.get("function")]
    selects = list(tree.find_all(exp.Select))
    for select in selects:
        _positions_named(select)
        foreign += _grouped(select, text, catalog)
    if not foreign:
        return options, False
    own = _columns_called_so(tree, catalog)
    for select in reversed(selects):  # the inner ones first
        if not own:
            _lift(select)
        _forget_keys(select)
    if options.bounds == "closed":
        raise place_of(foreign[0], text).error(
            'this window holds the rows of [start, end), which option bounds="closed" contradicts: leave the option out'
        )
    return replace(options, bounds="start"), True


def _grouped(select: exp.Select, text: str, catalog: Catalog) -> Iterator[WindowSpec]:
    """``GROUP BY window(ts, size)``: the window goes to the stream that has none."""
    group = select.args.get("group")
    if group is None:
        return
    for call in [n for n in group.expressions if _is_window(n)]:
        clause = select.args.get("from_")
        items = [clause.this, *(j.this for j in select.args.get("joins") or [])] if clause is not None else []
        streams = [i for i in items if isinstance(i, StreamRef) and catalog.stream(i.name) is not None]
        bare = [i for i in streams if i.args.get("window") is None]
        if len(bare) != 1:
            raise place_of(call, text).error(
                f"{call.name.upper()}(...) goes with one stream in FROM without a window: write [RANGE size SLIDE "
                "slide] at each stream"
            )
        spec = _spec(call, text)
        bare[0].set("window", spec)
        rest = [n for n in group.expressions if n is not call]
        group.set("expressions", rest or [exp.Boolean(this=True)])
        yield spec


def _is_window(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _CALLS


def _spec(call: exp.Expr, text: str) -> WindowSpec:
    parts = _CALLS[str(call.this).lower()]
    time, *spans = call.expressions or [None]
    if not 1 <= len(spans) <= len(parts) or (len(spans) < len(parts) and call.name.lower() != "window"):
        takes = f"{call.name.upper()} takes the column of event time, and {' and '.join(parts)}"
        if len(spans) > len(parts):
            takes += "; where windows begin is the option origin of the query, as in origin='2 minutes'"
        raise place_of(call, text).error(takes)
    args = {part: length_of(n, text) for part, n in zip(parts, spans, strict=False)}
    args.setdefault("slide", args["size"].copy())
    return WindowSpec(kind="range", slide_kind="range", function=str(call.this), time=time, **args)


def length_of(node: exp.Expr, text: str) -> exp.Literal:
    """A length as windows have it: microseconds, or months."""
    try:
        value = node.this if isinstance(node, exp.Interval) else node
        if isinstance(value, exp.Not | exp.Neg | exp.BitwiseNot):  # its name is that of what it is applied to
            raise ValueError(f"a length is a number and a unit, as in INTERVAL '5' MINUTE: not {value.sql()}")
        if isinstance(node, exp.Interval):
            span = parse_span(f"{node.this.name} {node.args.get('unit') or ''}")
        else:
            span = parse_span(node.name)
    except ValueError as e:
        raise place_of(node, text).error(str(e)) from None
    made = exp.Literal(this=str(span) if isinstance(span, int) else f"{span.count} MONTHS", is_string=False)
    made.meta.update(place_of_meta(node))
    return made


def place_of_meta(node: exp.Expr) -> dict[str, int]:
    """Where a node stands, as its ``meta`` has it."""
    found = next((n.meta for n in node.walk() if "start" in n.meta), {})
    return {k: found[k] for k in ("start", "end") if k in found}


def _positions_named(select: exp.Select) -> None:
    """Positions in GROUP BY as the expressions that they stand for, where the select list has edges, which leave it."""
    group = select.args.get("group")
    items = [i.this if isinstance(i, exp.Alias) else i for i in select.expressions]
    if group is None or all(_edge(i) is None for i in items):
        return
    numbers = ((n, whole_number(n)) for n in group.expressions)
    named = [items[at - 1].copy() if at is not None and 0 < at <= len(items) else n for n, at in numbers]
    group.set("expressions", named)


def _columns_called_so(tree: exp.Expr, catalog: Catalog) -> bool:
    """Whether a column of a source may be called as an edge is: then it is not known which is meant."""
    for ref in tree.find_all(StreamRef):
        stream, table = catalog.stream(ref.name), catalog.table(ref.name)
        schema = stream.schema if stream is not None else table.schema if table is not None else None
        if schema is None or any(f.name.lower() in ("window_start", "window_end") for f in schema):
            return True
    return False


def _lift(select: exp.Select) -> None:
    """Edges in the select lists of sub-queries in FROM go to the list around them: there is one window at an instant.

    A ``*`` there shows them first; that two of them are equal says nothing.
    """
    clause = select.args.get("from_")
    items = [clause.this, *(j.this for j in select.args.get("joins") or [])] if clause is not None else []
    shown: dict[str, bool] = {}
    for item in items:
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and item.args.get("window") is None:
            shown |= _without_edges(item.this)
    for eq in list(select.find_all(exp.EQ)):
        if _edge(eq.this) is not None and _edge(eq.this) == _edge(eq.expression):
            eq.replace(exp.true())
    listed: list[exp.Expr] = []
    for i, e in enumerate(select.expressions):
        if isinstance(e, exp.Star) and i == 0:
            listed += [_named_edge(name, start) for name, start in shown.items()]
        renamed = isinstance(e, exp.Column) and e.name.lower() in shown and _edge(e) is None
        listed.append(_named_edge(e.name, shown[e.name.lower()]) if renamed else e)
    select.set("expressions", listed)


def _without_edges(select: exp.Select) -> dict[str, bool]:
    """Take the edges out of a select list, but not all that there is: by name whether each is the start."""
    found, rest = {}, []
    for item in select.expressions:
        start = _edge(item.this if isinstance(item, exp.Alias) else item)
        if start is None:
            rest.append(item)
        else:
            found[item.alias_or_name.lower() or ("window_start" if start else "window_end")] = start
    if not rest:
        return {}
    select.set("expressions", rest)
    return found


def _named_edge(name: str, start: bool) -> exp.Expr:
    edge = exp.Column(this=exp.to_identifier("window_start" if start else "window_end"))
    return edge if edge.name == name else exp.Alias(this=edge, alias=exp.to_identifier(name, quoted=True))


def _forget_keys(select: exp.Select) -> None:
    """Without ``window_start`` and ``window_end`` in GROUP BY and PARTITION BY."""
    group = select.args.get("group")
    if group is not None:
        rest = [n for n in group.expressions if _edge(n) is None]
        if len(rest) < len(group.expressions):
            group.set("expressions", rest or [exp.Boolean(this=True)])
    for over in select.find_all(exp.Window):
        over.set("partition_by", [n for n in over.args.get("partition_by") or [] if _edge(n) is None] or None)


def _edge(node: exp.Expr) -> bool | None:
    """Whether a node is the start of the window, or its end; None for other nodes."""
    if isinstance(node, exp.Column):
        if node.table.lower() == "window" and node.name.lower() in ("start", "end"):
            return node.name.lower() == "start"
        return _ENDS.get(node.name.lower()) if node.name.lower() in ("window_start", "window_end") else None
    if isinstance(node, exp.Coalesce):
        kinds = {_edge(part) for part in (node.this, *node.expressions)}
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(node, exp.Dot) and _is_window(node.this) and node.expression.name.lower() in ("start", "end"):
        return bool(node.expression.name.lower() == "start")
    return _ENDS.get(str(node.this).lower()) if isinstance(node, exp.Anonymous) else None


def taken_out(tree: exp.Expr, foreign: bool) -> list[tuple[int, str, bool, exp.Expr]]:
    """The edges in the outermost select list: place, name, whether it is the start, and the node; the tree loses them.

    ``foreign``: the query has windows of other dialects, so that the plain names of their columns are edges too.
    """
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if not isinstance(tree, exp.Select):
        return []
    found, rest = [], []
    for i, item in enumerate(tree.expressions):
        node = item.this if isinstance(item, exp.Alias) else item
        start = None if isinstance(node, exp.Column) and not foreign else _edge(node)
        if start is None:
            rest.append(item)
        else:
            name = item.alias if isinstance(item, exp.Alias) else node.name if isinstance(node, exp.Column) else ""
            found.append((i, name or ("window_start" if start else "window_end"), start, node))
    if found and rest:
        tree.set("expressions", rest)
    return found if rest else []


def edges_of(
    ctx: Context, found: list[tuple[int, str, bool, exp.Expr]], output: Output, options: QueryOptions
) -> tuple[WindowEdge, ...]:
    """The edges as the plan has them.

    Raises:
        QueryError: the query shows no whole answers of windows of one length, a name twice.
    """
    if not found:
        return ()
    at = ctx.at(found[0][3])
    length = _length(output.input)
    if output.kind != "rstream" or length is None:
        raise at.error(
            "WINDOW_START() and WINDOW_END() are of windows of one length with SLIDE, in a query that shows whole "
            "answers"
        )
    starts = any(start for _, _, start, _ in found)
    if starts and (isinstance(length, Months) or (options.zone is not None and length % DAY == 0)):
        raise at.unsupported("WINDOW_START() of days or months on the calendar is not supported: take WINDOW_END()")
    taken = [n.lower() for n in output.schema.names]
    cumulative = any(getattr(n.window, "cumulative", False) for n in within(output.input) if isinstance(n, Scan))
    edges = []
    for place, name, start, node in found:
        if name.lower() in taken:
            raise ctx.at(node).error(f"two output columns are called {name!r}: add AS with another name")
        taken.append(name.lower())
        assert isinstance(length, int) or not start
        back = length if start and isinstance(length, int) else 0
        since = (0, back, options.origin) if cumulative and start else (back, 0, 0)
        edges.append(WindowEdge(place, name, *since))
    return tuple(edges)


def _length(node: Node) -> int | Months | None:
    """The length that all windows of the query have; None where they differ, or one does not slide."""
    windows = set(windows_of(node))
    spans = {(w.length, w.cumulative) if isinstance(w, Range) and w.slide is not None else None for w in windows}
    found = next(iter(spans)) if len(spans) == 1 else None
    return None if found is None else found[0]


def stray(tree: exp.Expr, text: str) -> QueryError | None:
    """The error about an edge that stands elsewhere."""
    node = next((n for n in tree.walk() if isinstance(n, exp.Anonymous) and _edge(n) is not None), None)
    return None if node is None else place_of(node, text).unsupported(f"{str(node.this).upper()}() {_ALONE}")
