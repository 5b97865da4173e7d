"""A graph under construction: values come together on shards, operators are added once however often asked for.

``colocate`` brings values that must meet to the same shards, by an exchange only where their spread does not fit.
Where a vertex with state has been before (``places``), its rows go on coming to the shards that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.dataflow.graph import Edge, RelayedJoin, Vertex, column_name, vertex_id
from muntin.dataflow.routes import HERE, Everywhere, Here, Keyed, Route, Single, Split
from muntin.dataflow.values import Keys, Loose, Named, Names, Placed, Value, substitute
from muntin.operators.compute import Compute
from muntin.operators.endless import Endless
from muntin.operators.materialize import Materialize
from muntin.operators.merge import Merge
from muntin.operators.operator import Begins, Operator
from muntin.operators.signed import Signed
from muntin.operators.snap import Snap
from muntin.operators.source import Source
from muntin.operators.table_feed import TableFeed
from muntin.operators.time_window import StaticRows, TimeWindow, meaning_of
from muntin.plan.catalog import Table
from muntin.plan.exprs import TRUE, Column, Expr, columns_of, conjunction
from muntin.plan.nodes import Scan
from muntin.plan.windows import QueryOptions, Rows, Unbounded, in_order

Spread = tuple[str, ...] | str | None
"""Where an input's rows are: the columns that place them, "everywhere", "split c0,c1" (hot keys of these columns are on
all shards), or unknown (None)."""

SPLIT = "split "

KeysOf = Callable[[Sequence[Placed]], Keys]


class Places:
    """By id of a vertex with state, how its inputs are spread. Shared by all queries of a session, kept across runs."""

    def __init__(self, known: Iterable[tuple[str, tuple[Spread, ...]]] = ()) -> None:
        self._known = dict(known)

    def wanted(self, id: str, spreads: tuple[Spread, ...]) -> tuple[Spread, ...]:
        """Where the vertex is, or from now on will be: what is not known of it is settled by who asks first."""
        known = self._known.get(id, spreads)
        self._known[id] = tuple(s if k is None else k for k, s in zip(known, spreads, strict=True))
        return self._known[id]

    def same(self, id: str, other: str) -> None:
        """Vertex ``other`` is where ``id`` is, which does the same for the same rows."""
        if id in self._known:
            self._known.setdefault(other, self._known[id])

    def items(self) -> Iterable[tuple[str, tuple[Spread, ...]]]:
        return self._known.items()


@dataclass
class Builder:
    """The graph of one query under construction.

    ``begins``: its streams, as ``StaticRows`` wants them. ``domain``: all of them where one may fall idle, else ().
    """

    options: QueryOptions
    begins: Begins
    places: Places
    domain: tuple[str, ...] = ()
    vertices: list[Vertex] = field(default_factory=list)
    known: dict[tuple[str, tuple[Edge, ...], tuple[str, ...]], int] = field(default_factory=dict)
    spreads: dict[int, tuple[str, ...] | None] = field(default_factory=dict)
    """How the rows that operators make are spread, by vertex."""
    relayed: list[RelayedJoin] = field(default_factory=list)
    """What relayed joins in it are on one level."""

    # --- values -------------------------------------------------------------------------------------------------------

    def colocate(
        self, values: Sequence[Value], keys: Sequence[tuple[str, ...] | None], split: bool = False
    ) -> list[Placed]:
        """The values with rows of equal ``keys`` (aligned columns) on one shard, those of a value with the key None on
        every shard; ``split``: hot keys are shared by all shards, which takes loose values."""
        positions = self._fitting(values, keys)
        together = tuple(sorted({s for v in values for s in self.streams_of(v)}))
        found = []
        for value, key in zip(values, keys, strict=True):
            fit = positions is not None and isinstance(value, Placed) and key is not None
            if fit and isinstance(value, Placed):
                found.append(value)
            else:
                chosen = key if key is None or positions is None else tuple(key[p] for p in positions)
                found.append(self._enter(value, chosen, split, together))
        return found

    def _fitting(
        self, values: Sequence[Value], keys: Sequence[tuple[str, ...] | None]
    ) -> tuple[int, ...] | None:
        """The positions of the keys that all placed values are spread by; None where they do not agree."""
        placed = [(v, k) for v, k in zip(values, keys, strict=True) if isinstance(v, Placed)]
        if not placed:
            return None
        positions = [None if k is None else _positions(v.keys, k) for v, k in placed]
        return positions[0] if None not in positions and len(set(positions)) == 1 else None

    def streams_of(self, value: Value) -> tuple[str, ...]:
        """The streams whose rows the value is made of, static ones excepted."""
        if isinstance(value, Placed):
            return self._own(value.edge.vertex)
        return () if value.scan.stream.static else (value.scan.stream.name,)

    def _enter(
        self, value: Value, key: tuple[str, ...] | None, split: bool = False, together: tuple[str, ...] = ()
    ) -> Placed:
        """The value on its way to the shards of a key (None: to every shard); ``together``: the streams of all that it
        is to meet."""
        names = value.schema.names
        columns = () if key is None else tuple(column_name(names.index(k)) for k in key)
        way: Route = Everywhere() if key is None else Keyed(columns) if columns else Single()
        if split and columns:
            way = Split(columns)
        keys: Keys = None if key is None or split else tuple(frozenset([k]) for k in key)
        if isinstance(value, Loose):
            made = self._window(value, way, keys, together) if value.updates is None else self._table(value, key)
            return made if made.keys == keys else self._enter(made, key)  # its state is elsewhere already
        edge = Edge(value.edge.vertex, way)
        return replace(value, edge=edge, keys=keys, everywhere=key is None)

    def _window(self, value: Loose, way: Route, keys: Keys, together: tuple[str, ...]) -> Placed:
        """A source and its window."""
        numbered = tuple((column_name(i), e) for i, (_, e) in enumerate(value.columns))
        op, schema = Source(value.scan.stream, conjunction(list(value.keep)), numbered), value.schema
        sent_schema = schema if value.weight is None else Schema(schema.fields[:-1])
        static = value.scan.stream.static
        streams = self.domain or (() if static else (value.scan.stream.name,))
        source = self._add(op, (), sent_schema, False, streams)
        hot = way.columns if isinstance(way, Split) else ()
        sent = Placed(Edge(source, way), schema, False, keys, everywhere=isinstance(way, Everywhere), split=hot)
        if static:
            rows = self.apply(StaticRows(self.begins), [sent], schema, False)
        else:
            weighed = value.weight is not None
            window = TimeWindow(value.scan.window, value.ticks, meaning_of(self.options), weighed=weighed)
            at = self._add(window, (sent.edge,), schema, False, streams, fifo=in_order(window.window))
            rows = replace(sent, edge=Edge(at))
        return self._negated(rows, together) if self.negates(value) else rows

    def _table(self, value: Loose, key: tuple[str, ...] | None) -> Placed:
        """The rows of a table that changes. All updates of a row (of its key) must meet where the feed is cleaned: that
        is where they are wanted if that spread keeps them together, else elsewhere, from where rows travel on."""
        table = value.updates
        assert table is not None
        made, together = dict(value.columns), table.key or table.schema.names
        by = None if key is None else tuple(c.name if isinstance(c := made[k], Column) else "" for k in key)
        rows = self._cleaned(table, by if by is None or set(by) <= set(together) else together)
        names = Names(rows)
        columns = tuple((column_name(i), names.expr(e)) for i, (_, e) in enumerate(value.columns))
        back = {c.name: n for n, c in value.columns if isinstance(c, Column)}
        op = Compute(names.expr(conjunction(list(value.keep))), columns)
        rows = self.apply(op, [rows], value.schema, True, lambda args: _by_names(args[0].keys, back))
        if value.ticks is not None:
            rows = self.apply(Snap(value.ticks), [rows], rows.schema, True)
        return replace(rows, endless=True)

    def _cleaned(self, table: Table, by: tuple[str, ...] | None) -> Placed:
        """The feed without updates that change nothing, under the table's own names, before any filter: what is
        counted as bad does not depend on the query."""
        scan = Scan(table.feed, table.name, Unbounded())
        columns = tuple((f.name, Column(f.name, f.type)) for f in (*table.schema, Field(table.add, pa.bool_())))
        feed = self._enter(Loose(scan, None, columns), by)
        signed = self.apply(Signed(Names(feed).column(table.add)), [feed], table.schema, True)
        key = Names(signed).columns(table.key)
        op = TableFeed(table.name, key, table.on_bad_update, by is None, table.schema.names, table.deletions_first)
        return self.apply(op, [signed], table.schema, True)

    def negates(self, value: Loose) -> bool:
        """Whether the window announces every expiry by a negative tuple (strategy "nt", thesis 2.3.3)."""
        own = value.marks or value.interval
        return self.options.strategy == "nt" and not own and not isinstance(value.scan.window, Unbounded | Rows)

    def _negated(self, rows: Placed, together: tuple[str, ...]) -> Placed:
        """The rows with a negative tuple for each expiry, in the time of what they are to meet: what is late must not
        depend on the strategy."""
        shared = together if together != self._own(rows.edge.vertex) else ()
        changes = self.apply(Materialize("changes"), [rows], rows.schema, True, domain=shared)
        return replace(self.apply(Endless(), [changes], rows.schema, True), endless=True)

    def way_to(self, value: Placed, other: Placed) -> Route:
        """How rows of a value get to the shards that have those of another with the same columns."""
        there, here = other.keys, value.keys
        alike = there is not None and here is not None and len(there) == len(here)
        if there is None or (alike and all(a <= b for a, b in zip(there, here or (), strict=True))):
            return HERE
        return _way(other.spread, other.schema)[0]

    def place(self, value: Value) -> Placed:
        """The value on shards; a loose one is spread by all its columns."""
        if isinstance(value, Placed):
            return value
        return self.colocate([value], [value.schema.names])[0]

    # --- operators ----------------------------------------------------------------------------------------------------

    def apply(
        self,
        op: Operator,
        args: Sequence[Placed],
        schema: Schema,
        signed: bool,
        keys: KeysOf | None = None,
        domain: tuple[str, ...] = (),
    ) -> Placed:
        """The result of an operator; ``keys``: its spread, from those of its arguments (None: as the first one's);
        ``domain``: streams whose time it shares beside its own."""
        domain = self.domain or domain
        streams = {s for a in args for s in self._own(a.edge.vertex)} | {s for s, _ in op.begins} | {*domain}
        if op.stateful:
            args = self._as_before(op, args, tuple(sorted(streams)), domain)
        index = self._add(op, tuple(a.edge for a in args), schema, signed, tuple(sorted(streams)), domain=domain)
        spread = _within(args[0].keys if keys is None else keys(args), schema)
        made = Placed(Edge(index), schema, signed, spread, everywhere=all(a.everywhere for a in args))
        self.spreads[index] = made.spread
        return made

    def _own(self, vertex: int) -> tuple[str, ...]:
        """The streams below a vertex, whatever time it was given to share."""
        v = self.vertices[vertex]
        return self._own(v.inputs[0].vertex) if isinstance(v.op, TimeWindow | Signed) else v.streams

    def _as_before(
        self, op: Operator, args: Sequence[Placed], streams: tuple[str, ...], domain: tuple[str, ...]
    ) -> list[Placed]:
        """The arguments on the shards that have the operator's state, windows on sources in the operator's time."""
        id = vertex_id(op, [self.vertices[a.edge.vertex].id for a in args], domain)
        now = tuple(_spread_of(a) for a in args)
        wanted = self.places.wanted(id, now)
        found = []
        for a, n, w in zip(args, now, wanted, strict=True):
            sent = a if w == n or w is None else self._rerouted(a, w)
            found.append(replace(sent, edge=self._timed(sent.edge, streams)))
        return found

    def _rerouted(self, value: Placed, spread: Spread) -> Placed:
        """The value sent to where its reader's state is."""
        way, keys = _way(spread, value.schema)
        edge = Edge(value.edge.vertex) if self.spreads.get(value.edge.vertex) == spread else self._sent(value.edge, way)
        hot = way.columns if isinstance(way, Split) else ()
        return replace(value, edge=edge, keys=keys, everywhere=spread == "everywhere", split=hot)

    def _sent(self, edge: Edge, way: Route) -> Edge:
        """Rows sent on another route: what only reads a source's rows moves along."""
        v = self.vertices[edge.vertex]
        if not (isinstance(v.op, TimeWindow | Signed) and isinstance(edge.route, Here)):
            return Edge(edge.vertex, way)
        return Edge(self._again(v, self._sent(v.inputs[0], way), v.streams))

    def _timed(self, edge: Edge, streams: tuple[str, ...]) -> Edge:
        """A window on a source in the time of its reader: what comes too late for that is late."""
        v = self.vertices[edge.vertex]
        if not isinstance(v.op, TimeWindow | Signed) or not isinstance(edge.route, Here) or self.domain:
            return edge
        below = v.inputs[0] if isinstance(v.op, TimeWindow) else self._timed(v.inputs[0], streams)
        return Edge(self._again(v, below, streams))

    def _again(self, v: Vertex, below: Edge, streams: tuple[str, ...]) -> int:
        schema = Schema(tuple(Field(n, t) for n, t in zip(v.names, v.types, strict=True)))
        return self._add(v.op, (below,), schema, v.signed, streams, v.fifo)

    def _add(
        self, op: Operator, inputs: tuple[Edge, ...], schema: Schema, signed: bool, streams: tuple[str, ...],
        fifo: bool = False, domain: tuple[str, ...] = (),
    ) -> int:  # fmt: skip
        domain = domain or self.domain if inputs else ()
        id = vertex_id(op, [self.vertices[e.vertex].id for e in inputs], domain)
        key = (id, inputs, streams)
        if key not in self.known:
            types = tuple(f.type for f in schema)
            self.known[key] = len(self.vertices)
            self.vertices.append(Vertex(id, op, inputs, types, signed, streams, fifo, schema.names))
        return self.known[key]

    def filter(self, value: Value, predicate: Expr) -> Value:
        """Rows for which the predicate is true."""
        if predicate == TRUE:
            return value
        if isinstance(value, Loose):
            return replace(value, keep=(*value.keep, substitute(predicate, value.columns)))
        op = Compute(Names(value).expr(predicate))
        return replace(self.apply(op, [value], value.schema, value.signed), endless=value.endless)

    def project(self, value: Value, exprs: Named) -> Value:
        """The named expressions."""
        if exprs == tuple((f.name, Column(f.name, f.type)) for f in value.schema):
            return value
        if isinstance(value, Loose) and value.weight is None:
            return replace(value, columns=tuple((n, substitute(e, value.columns)) for n, e in exprs))
        if isinstance(value, Loose):
            *rest, last = exprs or (("", TRUE),)
            weight = Column(str(value.weight), pa.float64())
            if last[1] == weight and not any(c == weight for _, e in rest for c in columns_of(e)):
                own = tuple((n, substitute(e, value.columns)) for n, e in rest)
                return replace(value, columns=own, weight=last[0])
            value = self.place(value)
        schema = Schema(tuple(Field(n, e.type) for n, e in exprs))
        if [e for _, e in exprs] == [Column(f.name, f.type) for f in value.schema]:
            return replace(value, schema=schema, keys=_renamed(value.keys, exprs))  # other names alone
        names = Names(value)
        op = Compute(TRUE, tuple((column_name(i), names.expr(e)) for i, (_, e) in enumerate(exprs)))
        made = self.apply(op, [value], schema, value.signed, lambda args: _renamed(args[0].keys, exprs))
        return replace(made, endless=value.endless)

    def merge(self, parts: Sequence[Placed], weights: tuple[int, ...], schema: Schema) -> Placed:
        """All rows of the parts, with weights. A part that runs ahead of the others waits (``Merge.hold``)."""
        signed = min(weights) < 0 or any(p.signed for p in parts)
        ahead = len({self._own(p.edge.vertex) for p in parts}) > 1
        made = self.apply(Merge(weights, hold=ahead), parts, schema, signed, lambda args: _common_keys(args, schema))
        return replace(made, endless=all(p.endless for p in parts))


def _common_keys(parts: Sequence[Placed], schema: Schema) -> Keys:
    """The spread of all rows of parts with equal columns; None where the parts are not spread alike."""
    found = []
    for part in parts:
        if part.keys is None:
            return None
        names = part.schema.names
        found.append([{names.index(n) for n in k} for k in part.keys])
    if len({len(p) for p in found}) > 1:
        return None
    shared = [set.intersection(*k) for k in zip(*found, strict=True)]
    return tuple(frozenset(schema.names[i] for i in k) for k in shared) if all(shared) else None


def _spread_of(value: Placed) -> Spread:
    if value.everywhere:
        return "everywhere"
    return f"{SPLIT}{','.join(value.split)}" if value.split else value.spread


def _way(spread: Spread, schema: Schema) -> tuple[Route, Keys]:
    """The route to a place, and how a value of this schema is spread there."""
    match spread:
        case ():
            return Single(), ()
        case tuple():
            return Keyed(spread), tuple(frozenset([schema.names[int(c[1:])]]) for c in spread)
        case str() if spread.startswith(SPLIT):
            return Split(tuple(spread.removeprefix(SPLIT).split(","))), None
        case _:
            return Everywhere(), None


def _within(keys: Keys, schema: Schema) -> Keys:
    """The spread by what is left of its columns; None where one part has none left."""
    if keys is None:
        return None
    left = tuple(part & set(schema.names) for part in keys)
    return left if all(left) else None


def _by_names(keys: Keys, names: Mapping[str, str]) -> Keys:
    """The spread under other names; None where a part has none."""
    if keys is None:
        return None
    found = tuple(frozenset(names[n] for n in part if n in names) for part in keys)
    return found if all(found) else None


def _positions(keys: Keys, wanted: tuple[str, ...]) -> tuple[int, ...] | None:
    """Which of the wanted columns the rows are spread by; None if the spread does not keep equal ones together."""
    if keys is None:
        return None
    found: list[int] = []
    for part in keys:
        fitting = [i for i, name in enumerate(wanted) if name in part]
        if not fitting:
            return None
        found.append(next((i for i in fitting if i not in found), fitting[0]))  # one column may stand in two keys
    return tuple(found)


def _renamed(keys: Keys, exprs: Named) -> Keys:
    if keys is None:
        return None
    renamed = tuple(frozenset(n for n, e in exprs if isinstance(e, Column) and e.name in part) for part in keys)
    return renamed if all(renamed) else None
