"""Windows of the latest rows of one stream, of several sizes: rows are numbered and kept once, as the largest needs.

They share where the same rows are numbered alike: one stream, the same rows of it, partitions and order, SLIDE and
time. Each query then reads its own window's rows, in any size and with any columns. What runs already stays as it is,
as with shared joins: a new query reads it if its window is among those, and has its own otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.dataflow.builder import Places
from muntin.dataflow.graph import Edge, QueryPlan, Vertex, column_name, vertex_id
from muntin.dataflow.routes import HERE, Keyed, Route, Single
from muntin.dataflow.sharing.joined_windows import domain_of, numbered
from muntin.dataflow.sharing.rewriting import Build, with_vertices
from muntin.dataflow.sharing.shared_join import spreads_of
from muntin.operators.reader import Reader
from muntin.operators.rows_window import RowsWindow
from muntin.operators.shared_rows import SharedRows
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.plan.exprs import Expr


@dataclass(frozen=True)
class RowWindow:
    """A window of rows straight on a stream: vertex number ``vertex`` of plan number ``plan``. ``columns``: over the
    stream's own; ``key``: equal for those that can share."""

    plan: int
    vertex: int
    id: str
    op: RowsWindow
    source: Vertex
    window: Vertex
    columns: tuple[Expr, ...]
    route: Route
    domain: tuple[str, ...]
    key: Hashable


def row_window(plan: QueryPlan, number: int, of: int) -> RowWindow | None:
    """The vertex as a window that could be shared; None where it is none."""
    v = plan.vertices[number]
    if not isinstance(v.op, RowsWindow) or v.op.by_value or v.inputs[0].route != HERE:
        return None
    window = plan.vertices[v.inputs[0].vertex]
    if not isinstance(window.op, TimeWindow) or len(window.inputs) != 1:
        return None
    (sent,) = window.inputs
    source, domain, below = plan.vertices[sent.vertex], domain_of(plan.vertices, v), domain_of(plan.vertices, window)
    if not isinstance(source.op, Source) or domain is None or below != () or not isinstance(sent.route, Keyed | Single):
        return None
    if source.op.stream.static or source.op.stream.silent:
        return None
    columns = tuple(e for _, e in source.op.columns)
    by, order = (tuple(columns[int(c[1:])] for c in names) for names in (v.op.by, (v.op.order,) if v.op.order else ()))
    route = tuple(columns[int(c[1:])] for c in sent.route.columns) if isinstance(sent.route, Keyed) else ()
    key = (
        source.op.stream.name, source.op.keep, window.op, by, order, v.op.slide, route, domain, window.streams,
        v.streams,
    )  # fmt: skip
    return RowWindow(of, number, v.id, v.op, source, window, columns, sent.route, domain, key)


def share_row_windows(
    plans: Sequence[QueryPlan], places: Places, settled: Collection[int] = ()
) -> list[QueryPlan]:
    """The plans with windows of rows shared. ``settled``: numbers of plans that stay as they are, whose shared windows
    others may read."""
    running = {v.id for n in settled for v in plans[n].vertices}
    groups: dict[Hashable, list[RowWindow]] = {}
    hosts: dict[Hashable, list[RowWindow]] = {}
    for found in _all(plans):
        if found.plan in settled and isinstance(found.op, SharedRows):
            hosts.setdefault(found.key, []).append(found)
        elif found.plan not in settled and found.id not in running and plans[found.plan].options.memory is None:
            groups.setdefault(found.key, []).append(found)
    builds: dict[int, dict[int, Build]] = {}
    for key, own in groups.items():
        for member, host in _hosted(own, hosts.get(key, [])):
            builds.setdefault(member.plan, {})[member.vertex] = _build(plans[member.plan], member, host, places)
    made = {n: with_vertices(plans[n], own, places) for n, own in builds.items()}
    return [made.get(n) or plan for n, plan in enumerate(plans)]


def _all(plans: Sequence[QueryPlan]) -> Iterator[RowWindow]:
    for n, plan in enumerate(plans):
        for i in range(len(plan.vertices)):
            found = row_window(plan, i, n)
            if found is not None:
                yield found


@dataclass(frozen=True)
class _Host:
    """What windows share: ``pattern`` is one of them."""

    counts: tuple[int, ...]
    columns: tuple[Expr, ...]
    pattern: RowWindow


def _hosted(own: Sequence[RowWindow], there: Sequence[RowWindow]) -> list[tuple[RowWindow, _Host]]:
    """Windows that share, each with what it reads: one that runs already, else one of all that are new."""
    found, rest = [], []
    for member in own:
        fits = (_Host(_counts(h), h.columns, h) for h in there)
        host = next((h for h in fits if member.op.count in h.counts and set(member.columns) <= set(h.columns)), None)
        if host is None:
            rest.append(member)
        else:
            found.append((member, host))
    if len({m.id for m in rest}) < 2:
        return found
    columns = tuple(dict.fromkeys(e for m in rest for e in m.columns))
    host = _Host(tuple(sorted({m.op.count for m in rest})), columns, rest[0])
    return [*found, *((m, host) for m in rest)]


def _counts(host: RowWindow) -> tuple[int, ...]:
    return host.op.counts if isinstance(host.op, SharedRows) else (host.op.count,)


def _build(plan: QueryPlan, member: RowWindow, host: _Host, places: Places) -> Build:
    v = plan.vertices[member.vertex]

    def build(first: int) -> list[Vertex]:
        made = _vertices(host, first)
        places.wanted(made[-1].id, spreads_of(made[-1], made, first))
        own = tuple(column_name(host.columns.index(e)) for e in member.columns)
        op = Reader(host.counts.index(member.op.count), own, f"ROWS {member.op.count}")
        id = vertex_id(op, [made[-1].id], member.domain)
        return [*made, replace(v, id=id, op=op, inputs=(Edge(first + len(made) - 1),))]

    return build


def _vertices(host: _Host, first: int) -> list[Vertex]:
    """Source, window and the sequencer."""
    one, columns = host.pattern, host.columns
    known: Mapping[Expr, str] = dict(zip(one.columns, one.source.names, strict=False))
    names = tuple(known.get(e, f"{one.source.streams[0]}.{column_name(i)}") for i, e in enumerate(columns))
    types = tuple(e.type for e in columns)
    kept = one.source.op
    assert isinstance(kept, Source)
    source = Source(kept.stream, kept.keep, tuple((column_name(i), e) for i, e in enumerate(columns)))
    made = [replace(one.source, id=vertex_id(source, ()), op=source, types=types, names=names)]
    edge = Edge(first, numbered(one.route, one.columns, columns))
    window = replace(one.window, id=vertex_id(one.window.op, [made[0].id]), inputs=(edge,), types=types, names=names)
    place = dict(zip(map(column_name, range(len(one.columns))), one.columns, strict=True))
    by, order = (
        tuple(column_name(columns.index(place[c])) for c in own)
        for own in (one.op.by, (one.op.order,) if one.op.order else ())
    )
    op = SharedRows(host.counts[-1], one.op.slide, by, order[0] if order else None, counts=host.counts)
    sequencer = Vertex(
        vertex_id(op, [window.id], one.domain), op, (Edge(first + 1),), (*types, pa.int32()), True, one.window.streams,
        names=(*names, "window"),
    )  # fmt: skip
    return [*made, window, sequencer]
