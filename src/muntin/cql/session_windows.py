"""Sessions as other dialects write them, and where a session starts and ends, as columns.

``GROUP BY k, session_window(ts, '5 minutes')`` of Spark's becomes ``[PARTITION BY k SESSION 5 MINUTES]`` at the stream
(``SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' MINUTES)`` of Flink's is read so by the parser). A group
then is one session, so its start is ``MIN(ts)``, its end ``MAX(ts)`` and the gap; as keys they say nothing.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from muntin.cql.dialect import StreamRef
from muntin.cql.edges import length_of
from muntin.cql.places import place_of
from muntin.cql.window_syntax import WindowSpec
from muntin.plan.catalog import Catalog, Stream

_EDGES = {"window_start": True, "window_end": False, "session_start": True, "session_end": False}


def sessions_written_out(tree: exp.Expr, text: str, catalog: Catalog) -> None:
    """Write sessions as Muntin's windows and their edges as aggregates; the tree changes.

    Raises:
        QueryError: no one stream without a window for session_window(...), a gap that is no length of time, edges where
            groups are more than one session.
    """
    for select in list(tree.find_all(exp.Select)):
        _grouped(select, text, catalog)
        ref = _session_of(select)
        if ref is not None:
            _edges_written_out(select, ref, text, catalog)


def _refs(select: exp.Select) -> list[StreamRef]:
    clause = select.args.get("from_")
    items = [clause.this, *(j.this for j in select.args.get("joins") or [])] if clause is not None else []
    return [i for i in items if isinstance(i, StreamRef)]


def _grouped(select: exp.Select, text: str, catalog: Catalog) -> None:
    """The window of ``GROUP BY session_window(ts, gap)`` goes to the stream that has none; its keys are the others."""
    group = select.args.get("group")
    call = next((n for n in group.expressions if _called(n) == "session_window"), None) if group is not None else None
    if group is None or call is None:
        return
    place = place_of(call, text)
    bare = [r for r in _refs(select) if catalog.stream(r.name) is not None and r.args.get("window") is None]
    if len(bare) != 1:
        raise place.error("session_window(...) goes with one stream in FROM that has no window: write [SESSION gap]")
    if len(call.expressions) != 2:
        raise place.error("session_window takes the column of event time and a gap: session_window(ts, '5 minutes')")
    keys = [n for n in group.expressions if n is not call and _edge(n) is None]
    odd = next((k for k in keys if not isinstance(k, exp.Column)), None)
    if odd is not None:
        raise place_of(odd, text).unsupported(
            "sessions are of plain columns: compute this one in the registered stream, or group by plain columns"
        )
    plain = [exp.Column(this=k.this.copy()) for k in keys]
    time, gap = call.expressions
    bare[0].set("window", WindowSpec(kind="session", size=length_of(gap, text), partition=plain, time=time))
    group.set("expressions", [n for n in group.expressions if n is not call] or [exp.Boolean(this=True)])


def _called(node: exp.Expr) -> str:
    return str(node.this).lower() if isinstance(node, exp.Anonymous) else ""


def _session_of(select: exp.Select) -> StreamRef | None:
    """The stream with a session window."""
    found = (r for r in _refs(select) if isinstance(r.args.get("window"), WindowSpec))
    return next((r for r in found if r.args["window"].args["kind"] == "session"), None)


def _edge(node: exp.Expr) -> bool | None:
    """Whether a node is the start of a session, or its end; None for other nodes."""
    if isinstance(node, exp.Column):
        if node.table.lower() in ("session_window", "window"):
            return {"start": True, "end": False}.get(node.name.lower())
        return _EDGES.get(node.name.lower())
    if isinstance(node, exp.Dot) and _called(node.this) == "session_window":
        return {"start": True, "end": False}.get(node.expression.name.lower())
    return _EDGES.get(_called(node))


def _edges_written_out(select: exp.Select, ref: StreamRef, text: str, catalog: Catalog) -> None:
    stream, group = catalog.stream(ref.name), select.args.get("group")
    if stream is None:
        return
    if group is not None:
        keys = [n for n in group.expressions if _edge(n) is None or _is_column(n, stream)]
        group.set("expressions", keys or [exp.Boolean(this=True)])
    parts = [*select.expressions, *(select.args.get(k) for k in ("having", "order", "qualify"))]
    found = [n for p in parts if p is not None for n in p.find_all(exp.Column, exp.Dot, exp.Anonymous)]
    edges = [n for n in found if _edge(n) is not None and not _is_column(n, stream)]
    if not edges:
        return
    _check(select, stream, ref.args["window"], edges[0], text)
    for node in edges:
        name = node.name if isinstance(node, exp.Column) else ""
        made = _aggregate(stream, ref, bool(_edge(node)))
        made.meta.update(node.meta)
        top = node.parent is select
        called = name or ("window_start" if _edge(node) else "window_end")
        node.replace(exp.Alias(this=made, alias=exp.to_identifier(called)) if top else made)


def _is_column(node: exp.Expr, stream: Stream) -> bool:
    """Whether the stream has a column of the name: that is what is meant."""
    plain = isinstance(node, exp.Column) and node.table.lower() not in ("session_window", "window")
    return plain and any(f.name.lower() == node.name.lower() for f in stream.schema)


def _check(select: exp.Select, stream: Stream, window: WindowSpec, node: exp.Expr, text: str) -> None:
    group = select.args.get("group")
    names = {n.name.lower() for n in group.expressions if isinstance(n, exp.Column)} if group is not None else set()
    lacking = [k.name for k in window.args.get("partition") or [] if k.name.lower() not in names]
    if group is None or lacking:
        by = ", ".join(["window_start", *lacking] if group is None else lacking)
        raise place_of(node, text).error(
            f"the start and end of a session are those of a group that is one session: GROUP BY {by} as well, or take "
            "column ts of the result for the end"
        )
    if not pa.types.is_timestamp(stream.schema.get(stream.ts).type):  # type: ignore[union-attr]
        raise place_of(node, text).unsupported(
            f"event time {stream.ts} of {stream.name} is no timestamp: take MIN({stream.ts}) for the start of a "
            "session and column ts of the result for its end"
        )


def _aggregate(stream: Stream, ref: StreamRef, start: bool) -> exp.Expr:
    alias = ref.args.get("alias")
    owner = exp.to_identifier(alias.name if alias is not None else ref.name, quoted=True)
    at = exp.Column(this=exp.to_identifier(stream.ts, quoted=True), table=owner)
    if start:
        return exp.Min(this=at)
    span = exp.Literal.string(str(ref.args["window"].args["size"].this))
    gap = exp.Interval(this=span, unit=exp.Var(this="MICROSECOND"))
    return exp.Paren(this=exp.Add(this=exp.Max(this=at), expression=gap))
