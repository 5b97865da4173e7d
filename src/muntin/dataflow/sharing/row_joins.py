"""Joins of windows of rows of one signature become one join of the largest, and a ``Reader`` a query (Hammad et al.,
2.1.2 and 2.2: windows as counts, one output for each).

As with joins of windows of time, selections of several queries are pulled above a shared join, and who comes together
is decided by cost. A join that runs keeps the rows of its largest windows, so a new query with smaller ones reads it,
too, if it can begin with the pairs that are there (``local.row_history``): each query names its window by its place,
so the join's windows may change from start to start.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.dataflow.builder import Places
from muntin.dataflow.graph import Edge, QueryPlan, Vertex, column_name, vertex_id
from muntin.dataflow.sharing.joined_rows import JoinedRows, RowsInput, joined_rows, spread
from muntin.dataflow.sharing.joined_windows import new_joins
from muntin.dataflow.sharing.rewriting import Build, with_vertices
from muntin.dataflow.sharing.row_join_costs import Flow, alone, reading_cost, shared_cost
from muntin.dataflow.sharing.running_row_joins import KeptColumns, RowJoin, RunningRowJoin, running_joins, with_windows
from muntin.dataflow.sharing.shared_join import either, ordered, spreads_of
from muntin.operators.compute import Compute
from muntin.operators.joins.bands import bands_of
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.counted_pairs import Counts
from muntin.operators.joins.counted_rows import CountedInput
from muntin.operators.joins.join_graph import Band
from muntin.operators.joins.slices import Slices
from muntin.operators.reader import Reader
from muntin.operators.source import Source
from muntin.optimizer.plan_text import window_text
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import TRUE, Column, Expr, columns_of, conjunction, map_columns
from muntin.plan.windows import Rows


def share_row_joins(
    plans: Sequence[QueryPlan], places: Places, known: Statistics, settled: Collection[int] = (),
    schedule: str | None = None, filled: Collection[int] = (),
) -> list[QueryPlan]:  # fmt: skip
    """The plans with joins of one signature shared where that costs less. ``settled``: numbers of plans that stay as
    they are, but for the windows of their joins; ``filled``: of those that can begin with what such a join holds;
    ``schedule``: policy by which new shared joins are done slice by slice (None: whole)."""
    running = {v.id for n in settled for v in plans[n].vertices}
    builds: dict[int, dict[int, Build]] = {}
    hosts = running_joins([plans[n] for n in sorted(settled)])
    for joins in new_joins(plans, settled, joined_rows).values():
        apart = []
        for join in joins:
            host = _host(join, hosts, known) if join.plan in filled else None
            if host is None:
                apart.append(join)
                continue
            hosts[host.id] = host = host.with_window(join.counts)
            builds.setdefault(join.plan, {})[join.vertex] = _build(plans[join.plan], join, host, places)
        for cluster in _clusters(apart, known):
            shared = replace(merged(cluster), schedule=schedule)
            id = shared.vertices(0)[-1].id
            if len({j.id for j in cluster}) > 1 and id not in running:
                running.add(id)
                for join in cluster:
                    build = _build(plans[join.plan], join, shared, places)
                    builds.setdefault(join.plan, {})[join.vertex] = build
    made = {n: with_vertices(plans[n], own, places) for n, own in builds.items()}
    return [with_windows(made.get(n) or plan, hosts) for n, plan in enumerate(plans)]


def _host(join: JoinedRows, hosts: Mapping[str, RunningRowJoin], known: Statistics) -> RunningRowJoin | None:
    """The running join that it costs least to read; None where a join of its own costs less."""
    own = alone(join, known)
    fitting = [h for h in hosts.values() if h.signature == join.signature and h.covers(join)]
    costs = {h.id: reading_cost(join, [i.keep for i in h.inputs], h.op.longest, own, known) for h in fitting}
    best = min(fitting, key=lambda h: (costs[h.id], h.id), default=None)
    return best if best is not None and costs[best.id] < own.cost else None


def _clusters(joins: Sequence[JoinedRows], known: Statistics) -> list[list[JoinedRows]]:
    """Who shares with whom: each join, those with most results first, goes where it saves most, or stays alone."""
    flows = {j.id: alone(j, known) for j in joins}
    clusters: list[list[JoinedRows]] = []
    for join in sorted(joins, key=lambda j: (-flows[j.id].results, j.id)):
        saved = [_saved(c, join, flows, known) for c in clusters]
        best = max(range(len(clusters)), key=lambda n: (saved[n], -n), default=None)
        if best is not None and saved[best] > 0:
            clusters[best].append(join)
        else:
            clusters.append([join])
    return clusters


def _saved(
    cluster: Sequence[JoinedRows], join: JoinedRows, flows: dict[str, Flow], known: Statistics
) -> float:
    """What it saves that a join comes to a cluster; nothing where they do not agree about how results are spread."""
    own, both = flows[join.id].cost, [*cluster, join]
    if len(_spreads(both)) > 1:
        return 0.0
    if join.id in {j.id for j in cluster}:
        return own
    return _cost(cluster, flows, known) + own - _cost(both, flows, known)


def _spreads(joins: Sequence[JoinedRows]) -> set[tuple[tuple[Column, ...] | None, ...]]:
    """How results are to be spread for those who rely on it."""
    return {tuple(i.spread for i in j.inputs) for j in joins if j.settled}


def _cost(cluster: Sequence[JoinedRows], flows: dict[str, Flow], known: Statistics) -> float:
    own = {j.id: flows[j.id] for j in cluster}
    if len(own) == 1:
        return next(iter(own.values())).cost
    joins = {j.id: j for j in cluster}
    return shared_cost(joins.values(), [i.keep for i in merged(cluster).inputs], flows, known)


@dataclass(frozen=True)
class SharedRowJoin(RowJoin):
    """A join that is made for all ``members`` (of one signature)."""

    members: tuple[JoinedRows, ...]
    schedule: str | None = None
    """The policy by which it is done slice by slice (None: whole)."""

    @property
    def slices(self) -> Slices | None:
        """Those between its windows, by the larger size of each; None where it is done whole."""
        ends = sorted({max(w) for w in self.windows})
        return None if self.schedule is None or len(ends) < 2 else Slices(tuple(ends), self.schedule)

    @property
    def windows(self) -> tuple[Counts, ...]:
        """The sizes of windows, each once."""
        return tuple(sorted({m.counts for m in self.members}))

    def vertices(self, first: int) -> list[Vertex]:
        """Sources, windows and the join, the join last; the first is to be vertex number ``first``."""
        made: list[Vertex] = []
        one = self.members[0]
        for i, own in enumerate(self.inputs):
            made += _below(one.inputs[i], own.columns, self._names(i), first + len(made))
        windows = [1, 3]
        counts = [max(m.counts[i] for m in self.members) for i in (0, 1)]
        given = [self._counted(i, one.inputs[i], count) for i, count in enumerate(counts)]
        condition = conjunction([self._condition(c) for c in one.conditions])
        op = CountedJoin((given[0], given[1]), self.windows, self.slices, condition, self._bands)
        id = vertex_id(op, [made[w].id for w in windows], one.domain)
        types = [t for w in windows for t in made[w].types]
        names = [n for w in windows for n in made[w].names]
        edges = tuple(Edge(first + w) for w in windows)
        join = Vertex(id, op, edges, (*types, pa.int32()), True, one.streams, names=(*names, "window"))
        return [*made, join]

    def _condition(self, e: Expr) -> Expr:
        """One of the members' conditions over the columns of the join's rows."""

        def there(c: Column) -> Expr:
            i, _, name = c.name.partition(".")
            return Column(self.column(int(i), Column(name, c.type)), c.type)

        return map_columns(e, there)

    @property
    def _bands(self) -> tuple[Band, ...]:
        """Ranges of columns that follow from the conditions, where nothing must be equal."""
        if self.members[0].inputs[0].keys:
            return ()
        owner = {self.column(i, c): i for i, own in enumerate(self.inputs) for c in own.columns}
        return bands_of([self._condition(c) for c in self.members[0].conditions], owner)

    def _counted(self, i: int, pattern: RowsInput, count: int) -> CountedInput:
        def named(columns: Sequence[Column]) -> tuple[str, ...]:
            return tuple(self.column(i, c) for c in columns)

        keep = map_columns(conjunction(list(self.inputs[i].keep)), lambda c: Column(self.column(i, c), c.type))
        order, spread = next(iter(named(pattern.order)), None), self.inputs[i].spread
        columns = sorted({b.column for b in self._bands if b.input == i})
        return CountedInput(
            named(pattern.keys), named(pattern.by), order, keep, count,
            None if spread is None else named(spread), tuple(columns[:1]), pattern.op.slide or 1,
        )  # fmt: skip

    def _names(self, i: int) -> tuple[str, ...]:
        """What people call the columns: as the first member does that reads them."""
        known: dict[Expr, str] = {}
        for m in self.members:
            for c, name in zip(m.inputs[i].columns, m.inputs[i].names, strict=True):
                known.setdefault(c, name)
        alias = next(iter(known.values())).partition(".")[0]
        return tuple(known.get(c, f"{alias}.{c.name}") for c in self.inputs[i].columns)


def merged(members: Sequence[JoinedRows]) -> SharedRowJoin:
    """The join of the largest windows that serves all members."""
    settled = next(iter(_spreads(members)), None)
    first, second = (_merged([m.inputs[i] for m in members]) for i in (0, 1))
    both = first, second
    if settled is not None:
        both = replace(first, spread=settled[0]), replace(second, spread=settled[1])
    return SharedRowJoin(both, tuple(members))


def _merged(inputs: Sequence[RowsInput]) -> KeptColumns:
    common = [c for c in inputs[0].keep if all(c in i.keep for i in inputs)]
    keep = ordered([*common, *either([[c for c in i.keep if c not in common] for i in inputs])])
    one, asked = inputs[0], {c for i in inputs for k in i.keep for c in columns_of(k)}
    columns = {*one.keys, *one.by, *one.order, *asked, *(c for i in inputs for c in i.columns)}
    kept = tuple(sorted(columns, key=lambda c: c.name))
    return KeptColumns(keep, kept, one.spread if one.keys or one.spread is None else kept)


def _below(pattern: RowsInput, columns: Sequence[Column], names: tuple[str, ...], first: int) -> list[Vertex]:
    """A source and the window on it."""
    kept = pattern.source.op
    assert isinstance(kept, Source)
    op = Source(kept.stream, kept.keep, tuple((column_name(i), c) for i, c in enumerate(columns)))
    types = tuple(c.type for c in columns)
    source = Vertex(vertex_id(op, ()), op, (), types, False, pattern.source.streams, names=names)
    edge = Edge(first, spread(pattern.route, columns))
    window = pattern.window
    id = vertex_id(window.op, [source.id])
    return [
        source, Vertex(id, window.op, (edge,), types, False, window.streams, fifo=window.fifo, names=names),
    ]  # fmt: skip


def _build(plan: QueryPlan, member: JoinedRows, shared: SharedRowJoin | RunningRowJoin, places: Places) -> Build:
    v, rest = plan.vertices[member.vertex], shared.rest(member)

    def build(first: int) -> list[Vertex]:
        made = shared.vertices(first)
        join = made[-1]
        places.wanted(join.id, spreads_of(join, made, first))
        own = [shared.column(i, c) for i, given in enumerate(member.inputs) for c in given.columns]
        asked = list(dict.fromkeys([*own, *(c.name for c in columns_of(rest))])) if rest != TRUE else own
        op = Reader(shared.windows.index(member.counts), tuple(asked), " and ".join(map(_words, member.inputs)))
        edges = (Edge(first + len(made) - 1),)
        id = vertex_id(op, [join.id], member.domain)
        if rest == TRUE:
            return [*made, Vertex(id, op, edges, v.types, True, v.streams, names=v.names)]
        types = tuple(join.schema.field(c).type for c in asked)
        names = tuple(join.names[int(c[1:])] for c in asked)
        reader = Vertex(id, op, edges, types, True, v.streams, names=names)
        keep = map_columns(rest, lambda c: Column(column_name(asked.index(c.name)), c.type))
        columns = tuple((column_name(n), Column(column_name(asked.index(c)), t)) for n, (c, t) in enumerate(
            zip(own, v.types, strict=True)
        ))
        narrow = Compute(keep, columns)
        id = vertex_id(narrow, [reader.id], member.domain)
        over = (Edge(first + len(made)),)
        return [*made, reader, Vertex(id, narrow, over, v.types, True, v.streams, names=v.names)]

    return build


def _words(given: RowsInput) -> str:
    return window_text(Rows(given.op.count, given.op.slide, tuple(c.name for c in given.by)))
