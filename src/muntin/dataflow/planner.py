"""From a bound query to stages: where each predicate goes, where the key changes, which operator does what."""

from __future__ import annotations

from dataclasses import dataclass, replace

from muntin.core.errors import UnsupportedError
from muntin.core.schema import Field, Schema
from muntin.dataflow.choose_state import folds
from muntin.dataflow.conditions import Conditions, analyse
from muntin.dataflow.dataflow import plan_dataflow
from muntin.dataflow.join_stages import Joined, join_stages, source_columns, wants_relays
from muntin.dataflow.stage import DerivedInput, Op, PhysicalQuery, SourceInput, Stage
from muntin.operators.compute import Compute
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.materialize import Insertions, Materialize
from muntin.operators.net import Net, OneSign
from muntin.optimizer import optimize, settled
from muntin.optimizer.shape import is_canonical
from muntin.plan.exprs import TRUE, Agg, Column, Expr, columns_of
from muntin.plan.nodes import Aggregate, BoundQuery, Filter, Join, Node, Project, Scan, reaches, walk
from muntin.plan.presence import never_null

Named = tuple[tuple[str, Expr], ...]


@dataclass(frozen=True)
class _Parts:
    """A query in its canonical shape, taken apart."""

    scans: tuple[Scan, ...]
    where: tuple[Expr, ...]
    aggregate: Aggregate | None
    having: Expr
    project: Named


def plan_query(query: BoundQuery) -> PhysicalQuery:
    """Optimize the plan, then cut it into stages.

    Raises UnsupportedError for what this version cannot run.
    """
    return plan_as_written(optimize(settled(query)).query)


def plan_as_written(query: BoundQuery) -> PhysicalQuery:
    """The stages of a plan as it stands: no rule touches it."""
    present = tuple(n for n in query.root.schema.names if n in never_null(query.root))
    return replace(_staged(query), horizon=tuple(reaches(query.root, query.options)), present=present)


def _staged(query: BoundQuery) -> PhysicalQuery:
    if not (is_canonical(query.root) and _plain(query)):
        return plan_dataflow(query)
    parts = _take_apart(query)
    conditions = analyse(parts.where)
    if len(parts.scans) > 2 and wants_relays(parts.scans, conditions):
        return plan_dataflow(query)
    kind = query.root.kind
    plan = _plan_aggregate if parts.aggregate is not None else _plan_rows
    stages = tuple(_snapped(s, query) for s in plan(query, parts, conditions))
    if kind == "rstream" and query.ticks is None:
        stages = (*stages[:-1], _watch_instants(stages[-1], parts.scans))
    shows_op = kind == "changes"
    return PhysicalQuery(stages, query.options, query.ticks, query.root.schema, shows_op)


def _plain(query: BoundQuery) -> bool:
    """Whether the plans for canonical queries fit: FIRST and LAST need the event time beside their argument, and
    strategy "nt" negative tuples for every expiry."""
    aggregates = (a for n in walk(query.root) if isinstance(n, Aggregate) for _, a in n.aggs)
    return query.options.strategy != "nt" and not any(a.fn in ("first", "last") for a in aggregates)


def _snapped(stage: Stage, query: BoundQuery) -> Stage:
    """The stage with its windows moving at the query's evaluation instants."""
    inputs = (replace(i, ticks=query.ticks) if isinstance(i, SourceInput) else i for i in stage.inputs)
    return replace(stage, inputs=tuple(inputs))


def _take_apart(query: BoundQuery) -> _Parts:
    project = query.root.input
    if not isinstance(project, Project):
        raise UnsupportedError("this form of query cannot run yet: SELECT ... FROM windows is what can")
    below = project.input
    having: Expr = TRUE
    aggregate: Aggregate | None = None
    if isinstance(below, Filter) and isinstance(below.input, Aggregate):
        having = below.predicate
        below = below.input
    if isinstance(below, Aggregate):
        aggregate, below = below, below.input
    where: list[Expr] = []
    while isinstance(below, Filter):
        where.append(below.predicate)
        below = below.input
    scans = _scans(below, where)
    return _Parts(scans, tuple(where), aggregate, having, project.exprs)


def _scans(node: Node, where: list[Expr]) -> tuple[Scan, ...]:
    match node:
        case Scan():
            return (node,)
        case Join(parts, predicate) if all(isinstance(p, Scan) for p in parts):
            where.append(predicate)
            return tuple(p for p in parts if isinstance(p, Scan))
        case _:
            raise UnsupportedError("sub-queries cannot run yet: FROM takes windows on registered streams")


def _watch_instants(stage: Stage, scans: tuple[Scan, ...]) -> Stage:
    """The last stage also receives every row's event time: the query answers whenever one enters or leaves."""
    watched = {(s.stream.name, s.window): s for s in scans}
    marks = tuple(SourceInput(s.alias, s.stream, s.window, TRUE, (), (), instants_only=True) for s in watched.values())
    return replace(stage, inputs=stage.inputs + marks)


# -- queries without aggregates


def _plan_rows(query: BoundQuery, parts: _Parts, conditions: Conditions) -> tuple[Stage, ...]:
    outputs = tuple(n for n, _ in parts.project)
    schema = query.root.schema
    ops = _row_ops(query, parts)
    alone = query.root.kind == "rstream" and query.ticks is None
    if len(parts.scans) == 1:
        shard_key = () if alone else outputs
        source = source_columns(parts.scans[0], conditions, list(parts.project), shard_key)
        return (Stage((source,), ops, schema, _signed(ops)),)
    joined = join_stages(parts.scans, conditions, _used(e for _, e in parts.project), _splits(query))
    compute = Compute(TRUE, parts.project)
    if not alone and (not _must_meet(ops) or _agree_on_shard(joined, parts.project)):
        return _extend_last(joined, (compute, *ops), schema, _signed(ops))
    emitted = _extend_last(joined, (compute,), schema, signed=False)
    source_key = () if alone else outputs
    last = Stage((DerivedInput(len(emitted) - 1, schema, source_key),), ops, schema, _signed(ops))
    return (*emitted, last)


def _row_ops(query: BoundQuery, parts: _Parts) -> tuple[Op, ...]:
    match query.root.kind:
        case "rstream":
            return (Materialize("snapshots", query.ticks),)
        case "changes":
            return (Materialize("changes"),)
        case "istream":
            if _shows_every_time(parts):
                return (Insertions(),)
            return (Materialize("changes"), OneSign(1))
        case _:
            return (Materialize("changes"), OneSign(-1))


def _shows_every_time(parts: _Parts) -> bool:
    """Whether the output has the event time of every window: then equal rows start together, and none is netted
    away."""
    plain = {e.name for _, e in parts.project if isinstance(e, Column)}
    return all(f"{s.alias}.{s.stream.ts}" in plain for s in parts.scans)


def _must_meet(ops: tuple[Op, ...]) -> bool:
    """Whether equal output rows must be on one shard (to be netted)."""
    return any((isinstance(op, Materialize) and op.emit == "changes") or isinstance(op, Net) for op in ops)


def _agree_on_shard(joined: Joined, project: Named) -> bool:
    """Whether equal output rows are on one shard already: the output has a column of each part of the shard key."""
    if joined.shard_terms is None:
        return True
    plain = {e.name for _, e in project if isinstance(e, Column)}
    return all(plain & terms for terms in joined.shard_terms)


def _extend_last(joined: Joined, ops: tuple[Op, ...], schema: Schema, signed: bool) -> tuple[Stage, ...]:
    last = joined.stages[-1]
    return (*joined.stages[:-1], Stage(last.inputs, last.ops + ops, schema, signed))


def _signed(ops: tuple[Op, ...]) -> bool:
    return any(not isinstance(op, Compute | Materialize) or _changes(op) for op in ops)


def _changes(op: Op) -> bool:
    return isinstance(op, Materialize | GroupAggregate) and op.emit == "changes"


# -- queries with aggregates


def _plan_aggregate(query: BoundQuery, parts: _Parts, conditions: Conditions) -> tuple[Stage, ...]:
    node = parts.aggregate
    assert node is not None
    computed, aggs = _aggregate_inputs(node)
    groups: Named = tuple((n, Column(n, e.type)) for n, e in node.groups)
    emit = "snapshots" if query.root.kind == "rstream" else "changes"
    aggregate = GroupAggregate(groups, aggs, emit, query.ticks, panes=folds(aggs, query.ticks))  # type: ignore[arg-type]
    group_names = tuple(n for n, _ in groups)
    alone = query.root.kind == "rstream" and query.ticks is None
    key = () if alone else group_names
    finish, apart = _finish(query, parts, node)
    schema = query.root.schema
    first = (aggregate, *finish) if not apart else (aggregate, Compute(parts.having, parts.project))
    signed = emit == "changes"
    if len(parts.scans) == 1:
        source = source_columns(parts.scans[0], conditions, list(computed), key)
        stages: tuple[Stage, ...] = (Stage((source,), first, schema, signed),)
    else:
        joined = join_stages(parts.scans, conditions, _used(e for _, e in computed), _splits(query))
        compute = Compute(TRUE, computed)
        if not alone and _groups_agree(joined, node):
            stages = _extend_last(joined, (compute, *first), schema, signed)
        else:
            between = Schema(tuple(Field(n, e.type) for n, e in computed))
            stages = _extend_last(joined, (compute,), between, signed=False)
            stages += (Stage((DerivedInput(len(stages) - 1, between, key),), first, schema, signed),)
    if apart:
        derived = DerivedInput(len(stages) - 1, schema, schema.names, signed=True)
        stages += (Stage((derived,), finish, schema, signed=True),)
    return stages


def _aggregate_inputs(node: Aggregate) -> tuple[Named, tuple[tuple[str, Agg], ...]]:
    """Columns to compute before the aggregate (groups, then distinct arguments), and the aggregates over them."""
    arguments = list(dict.fromkeys(a.arg for _, a in node.aggs if a.arg is not None))
    names = {e: f"__x{i}" for i, e in enumerate(arguments)}
    computed = node.groups + tuple((names[e], e) for e in arguments)
    aggs = tuple((n, replace(a, arg=None if a.arg is None else Column(names[a.arg], a.arg.type))) for n, a in node.aggs)
    return computed, aggs


def _finish(query: BoundQuery, parts: _Parts, node: Aggregate) -> tuple[tuple[Op, ...], bool]:
    """Operators after the aggregate, and whether they need a stage of their own (rows of other groups may be equal)."""
    compute = Compute(parts.having, parts.project)
    if query.root.kind == "rstream":
        return (compute,), False
    sign: tuple[Op, ...] = ()
    if query.root.kind in ("istream", "dstream"):
        sign = (OneSign(1 if query.root.kind == "istream" else -1),)
    plain = {e.name for _, e in parts.project if isinstance(e, Column)}
    groups = {n for n, _ in node.groups}
    if groups <= plain and {n for n, _ in node.aggs} <= plain:
        return (compute, *sign), False  # distinct groups and changed values: nothing can cancel
    if groups <= plain:
        return (compute, Net(), *sign), False
    return (Net(), *sign), True


def _groups_agree(joined: Joined, node: Aggregate) -> bool:
    """Whether each group is on one shard of the join already."""
    if joined.shard_terms is None:
        return True
    plain = {e.name for _, e in node.groups if isinstance(e, Column)}
    return all(plain & terms for terms in joined.shard_terms)


def _splits(query: BoundQuery) -> bool:
    return query.options.skew == "split"


def _used(exprs: object) -> frozenset[str]:
    return frozenset(c.name for e in exprs for c in columns_of(e))  # type: ignore[attr-defined]
