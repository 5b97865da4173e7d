"""Joins of one signature become one join of the longest windows, and a ``Narrow`` a query (Hammad et al., 2.2, 4.5).

Which joins come together is decided by cost: selections of several queries are pulled above a shared join (their 2.1;
rows that only one of them wants are joined for all) where that costs less than joining apart, and stay below otherwise.
A join that runs already stays as it is: a new query reads it if it covers what the query asks, and has its own
otherwise. So state never has to be laid out anew, and dropping the query with the longest window changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from muntin.dataflow.builder import Places
from muntin.dataflow.graph import Edge, QueryPlan, Vertex, column_name, vertex_id
from muntin.dataflow.routes import HERE, Keyed, Route
from muntin.dataflow.sharing.join_costs import JoinFlow, flow_alone, flow_shared, joining_cost
from muntin.dataflow.sharing.joined_windows import (
    JoinedWindows,
    domain_of,
    joined_windows,
    kept_where_they_are,
    new_joins,
)
from muntin.dataflow.sharing.rewriting import Build, with_vertices
from muntin.dataflow.sharing.shared_join import (
    SharedJoin,
    covers,
    host_of,
    in_slices,
    merged,
    names_of,
    narrow_of,
    spreads_of,
    vertices_of,
)
from muntin.operators.compute import Compute
from muntin.operators.joins.narrow import Narrow
from muntin.operators.operator import Operator
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Column, conjunction, conjuncts, map_columns


def share_window_joins(
    plans: Sequence[QueryPlan], places: Places, known: Statistics, settled: Collection[int] = (),
    schedule: str | None = None,
) -> list[QueryPlan]:  # fmt: skip
    """The plans with joins of one signature shared where that costs less. ``settled``: numbers of plans that stay as
    they are, whose shared joins others may read. ``schedule``: policy by which new shared joins are done slice by slice
    (None: whole)."""
    hosts = _hosts([plans[n] for n in sorted(settled)])
    chosen: dict[int, list[tuple[JoinedWindows, SharedJoin]]] = {}
    for signature, joins in new_joins(plans, settled, joined_windows).items():
        for cluster in _clusters(joins, hosts.get(signature, []), known):
            shared = cluster.join
            if schedule is not None and not cluster.host:
                shared = in_slices(shared, cluster.joins, schedule)
            for join in cluster.joins if cluster.shared else ():
                chosen.setdefault(join.plan, []).append((join, shared))
    return [replace(p, relayed=()) if p.relayed else p for p in _rewritten(plans, chosen, places)]


def _hosts(plans: Sequence[QueryPlan]) -> dict[Hashable, list[SharedJoin]]:
    """The shared joins that run, by signature."""
    found: dict[Hashable, dict[str, SharedJoin]] = {}
    for plan in plans:
        for v in plan.vertices:
            join = joined_windows(plan, v.inputs[0].vertex) if isinstance(v.op, Narrow) else None
            if join is not None:
                found.setdefault(join.signature, {}).setdefault(join.id, host_of(join))
    return {s: list(joins.values()) for s, joins in found.items()}


@dataclass
class _Cluster:
    """Joins that come together. ``host``: the running join that they read (None: one of their own)."""

    join: SharedJoin
    flow: JoinFlow
    host: bool
    joins: list[JoinedWindows] = field(default_factory=list)
    flows: dict[str, JoinFlow] = field(default_factory=dict)
    """What each of them would do alone, by id."""

    @property
    def shared(self) -> bool:
        return self.host or len(self.flows) > 1

    @property
    def cost(self) -> float:
        """Of a join of its own and of all that read it."""
        if len(self.flows) == 1:
            return next(iter(self.flows.values())).alone
        return self.flow.alone + joining_cost(self.flow, list(self.flows.values()))

    def with_joins(self, more: Sequence[JoinedWindows], own: Mapping[str, JoinFlow], known: Statistics) -> _Cluster:
        """The cluster with more joins. ``own``: what each of them would do alone, by id."""
        joins, flows = [*self.joins, *more], {**self.flows, **own}
        if self.host or len(flows) == len(self.flows):
            return replace(self, joins=joins, flows=flows)
        made = merged(joins)
        return _Cluster(made, flow_shared(made, known), False, joins, flows)


def _clusters(joins: Sequence[JoinedWindows], hosts: Sequence[SharedJoin], known: Statistics) -> list[_Cluster]:
    """Who shares with whom: each join, those with most results first, goes where it saves most, or stays alone."""
    flows = {j.id: flow_alone(j, known) for j in joins}
    clusters = [_Cluster(h, flow_shared(h, known), True) for h in hosts]
    for join in sorted(joins, key=lambda j: (-flows[j.id].results, j.id)):
        own = flows[join.id]
        options = [(saved, n) for n, c in enumerate(clusters) if (saved := _saved(c, join, own, known)) > 0]
        if options:
            best = max(options, key=lambda o: (o[0], -o[1]))[1]
            clusters[best] = clusters[best].with_joins([join], {join.id: own}, known)
        else:
            made = merged([join])
            clusters.append(_Cluster(made, flow_shared(made, known), False, [join], {join.id: own}))
    return [*(c for c in clusters if c.shared), *_at_once([c for c in clusters if not c.shared], known)]


def _saved(cluster: _Cluster, join: JoinedWindows, own: JoinFlow, known: Statistics) -> float:
    """What it saves that a join comes to a cluster."""
    if join.id in cluster.flows:
        return own.alone
    if cluster.host:
        return own.alone - joining_cost(cluster.flow, [own]) if covers(cluster.join, join) else 0.0
    return cluster.cost + own.alone - cluster.with_joins([join], {join.id: own}, known).cost


def _at_once(alone: Sequence[_Cluster], known: Statistics) -> list[_Cluster]:
    """Joins that are alone, all together where that costs less; else those apart that would pay more for reading the
    join than alone, else the halves. Of relayed joins two may cost less than one on one level, and ten more."""
    if len(alone) < 2:
        return list(alone)
    flows = {id: own for c in alone for id, own in c.flows.items()}
    whole = alone[0].with_joins([j for c in alone[1:] for j in c.joins], flows, known)
    own = [next(iter(c.flows.values())) for c in alone]
    reading = [joining_cost(whole.flow, [o, o]) - joining_cost(whole.flow, [o]) for o in own]  # beside one like it
    gains = [r < o.alone for r, o in zip(reading, own, strict=True)]
    if all(gains) and whole.cost < sum(o.alone for o in own):
        return [whole]
    if any(gains) and not all(gains):
        parts = [[c for c, g in zip(alone, gains, strict=True) if g is kind] for kind in (True, False)]
    else:
        parts = [[*alone[: len(alone) // 2]], [*alone[len(alone) // 2 :]]]
    return [c for part in parts for c in _at_once(part, known)]


def _rewritten(
    plans: Sequence[QueryPlan], chosen: Mapping[int, Sequence[tuple[JoinedWindows, SharedJoin]]], places: Places
) -> list[QueryPlan]:
    """The plans with the shared joins in them. One whose operators would then be laid out otherwise than another has
    them stays as it is."""
    found = list(plans)
    others = [p for n, p in enumerate(plans) if n not in chosen]
    laid_out = {v.id: _inputs(p, v) for p in others for v in p.vertices if v.op.stateful}
    for number, joins in chosen.items():
        plan = plans[number]
        builds = dict(_build(plan, join, shared, places) for join, shared in joins)
        made = with_vertices(plan, builds, places)
        if made is None:
            continue
        own = {v.id: _inputs(made, v) for v in made.vertices if v.op.stateful}
        if all(laid_out.get(id, inputs) == inputs for id, inputs in own.items()):
            found[number] = made
            laid_out |= own
    return found


def _inputs(plan: QueryPlan, v: Vertex) -> tuple[object, ...]:
    """Whose rows a vertex gets, and how they reach it."""
    return tuple((plan.vertices[e.vertex].id, e.route, _sent(plan, e)) for e in v.inputs)


def _sent(plan: QueryPlan, edge: Edge) -> object:
    return tuple(e.route for e in plan.vertices[edge.vertex].inputs)


def _build(plan: QueryPlan, join: JoinedWindows, shared: SharedJoin, places: Places) -> tuple[int, Build]:
    """What makes a shared join's vertices and narrows its results, and the number of the vertex in whose place."""
    number, op = _folded(plan, join.vertex, narrow_of(shared, join))
    v, sent = plan.vertices[number], _sent_on(plan, number, shared, join, op)

    def build(first: int) -> list[Vertex]:
        made = vertices_of(shared, first, names_of(shared, [join]))
        places.wanted(made[-1].id, spreads_of(made[-1], made, first))
        steps: list[tuple[Operator, Route]] = [(op, HERE), *([] if sent == HERE else [(Compute(), sent)])]
        for step, way in steps:
            id = vertex_id(step, [made[-1].id], join.domain)
            made.append(replace(v, id=id, op=step, inputs=(Edge(first + len(made) - 1, way),)))
        return made

    return number, build


def _sent_on(plan: QueryPlan, number: int, shared: SharedJoin, join: JoinedWindows, op: Narrow) -> Route:
    """How the results go on from the shared join, where the plan has them on other shards and something above goes by
    that. ``number``: of the vertex in whose place they are."""
    alike = join.spread == shared.pattern.spread and (join.relayed is None or join.relayed.sent == HERE)
    if alike or not kept_where_they_are(plan, number):
        return HERE
    sent = join.sent
    if not isinstance(sent, Keyed):
        return sent
    columns = [shared.column(*join.expr(c)) for c in sent.columns]
    if not set(columns) <= {*op.columns}:  # nothing can go by what is not there
        return HERE
    return Keyed(tuple(column_name(op.columns.index(c)) for c in columns))


def _folded(plan: QueryPlan, join: int, op: Narrow) -> tuple[int, Narrow]:
    """The operator with the condition and the columns of the one that alone reads it, where those are columns as they
    are; in whose place it then stands."""
    readers = [i for i, v in enumerate(plan.vertices) if any(e.vertex == join for e in v.inputs)]
    reader = plan.vertices[readers[0]] if len(readers) == 1 and join != plan.root else None
    if reader is None or not isinstance(reader.op, Compute) or reader.inputs != (Edge(join),):
        return join, op
    if domain_of(plan.vertices, reader) is None:
        return join, op
    wanted = [e for _, e in reader.op.columns or ()]
    if not all(isinstance(e, Column) for e in wanted):
        return join, op

    def there(c: Column) -> Column:
        return Column(op.columns[int(c.name[1:])], c.type)

    keep = conjunction([*conjuncts(op.keep), *conjuncts(map_columns(reader.op.predicate, there))])
    columns = op.columns if reader.op.columns is None else tuple(there(e).name for e in wanted if isinstance(e, Column))
    return readers[0], replace(op, columns=columns, keep=keep)
