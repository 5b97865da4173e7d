"""Queries to relations: SELECT blocks, set operations, and the plain sub-queries that conditions use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from muntin.cql.aggregates import Aggregation
from muntin.cql.carry import Domains, carry
from muntin.cql.context import Context
from muntin.cql.dialect import ToStream
from muntin.cql.expressions import ExprBinder
from muntin.cql.from_clause import FromClause, bind_from
from muntin.cql.operators import TypeClash, describe
from muntin.cql.ordering import Ordering, top_of_set
from muntin.cql.output_windows import streamed
from muntin.cql.ranks import bounds_moved_in
from muntin.cql.scopes import Scope
from muntin.cql.select_list import Item, expand, group_nodes, named
from muntin.cql.set_operations import combine
from muntin.cql.shape import SUPPORTED, check_clauses, check_plain, has_aggregates, unwrapped
from muntin.cql.sources import Sources, renamed
from muntin.cql.steps import FilterStep, Step, replaced, rows_of, stacked, uses_of
from muntin.cql.subqueries import Inner, SubQueries, by_correlation, split_where
from muntin.cql.types import family
from muntin.cql.windows import bind_window
from muntin.cql.wstream import stream_of_list, unnested
from muntin.plan.exprs import TRUE, Column, Expr, columns_of, conjunction
from muntin.plan.nodes import Aggregate, Distinct, Filter, Join, Node, Project, Rewindow


@dataclass(frozen=True)
class Queries:
    """Binds queries of one text; also what sub-queries in conditions are bound with."""

    ctx: Context

    def relation(self, tree: exp.Expr, outer: Scope | None = None) -> Node:
        """The relation that a query computes: ``Project``, ``Distinct``, ``SetOp`` or ``TopK`` on top.

        ``outer`` is only there to say that its columns cannot be used.
        """
        tree = stream_of_list(unwrapped(tree))
        if isinstance(tree, exp.Subquery):
            return self._modified(tree, outer)
        if isinstance(tree, ToStream):
            return self._to_stream(tree)
        if isinstance(tree, exp.SetOperation):
            node = combine(self.ctx, tree, [self.relation(tree.this, outer), self.relation(tree.expression, outer)])
            return top_of_set(self.ctx, tree, node)
        if isinstance(tree, exp.Select):
            return Block(self.ctx, tree, outer).bind()
        raise self.ctx.at(tree).error(f"this is not a query; {SUPPORTED}")

    def _modified(self, tree: exp.Subquery, outer: Scope | None) -> Node:
        check_plain(tree, self.ctx.text, frozenset({"this", "order", "limit", "offset"}))
        return top_of_set(self.ctx, tree, self.relation(tree.this, outer))

    def _to_stream(self, tree: ToStream) -> Node:
        """``Wstream(query)[window]``: the results of the window's length, a relation."""
        if tree.args["kind"] != "wstream":
            raise self.ctx.at(tree).error("one relation-to-stream wrapper goes around a query, not two")
        ctx, spec = self.ctx, tree.args.get("window")
        if spec is None:
            raise ctx.at(tree).error("Wstream takes a window after it, as in Wstream(SELECT ...)[ROWS 10]")
        output = streamed(ctx, tree.this, True, relation)
        window = bind_window(spec, ctx.at(tree), ctx.text, ctx.options, output.schema, "the query")
        inner = renamed(Rewindow(output, window), "q")
        return Project(inner, tuple((f.name, Column(f"q.{f.name}", f.type)) for f in output.schema))

    def relation_within(self, tree: exp.Expr, outer: Scope, barrier: str) -> Node:
        """As ``relation``, for a sub-query that cannot use columns of ``outer``."""
        return self.relation(tree, replace(outer, barrier=barrier))

    def inner(self, select: exp.Select, outer: Scope, extra: Callable[[Scope], list[Expr]], domains: Domains) -> Inner:
        """FROM and WHERE of a plain sub-query: what is its own, and the conditions that name outer columns."""
        check_clauses(select, self.ctx.text, self.ctx.catalog)
        block = Block(self.ctx, select, outer, domains)
        node, correlated = block.source(extra)
        return Inner(node, correlated, block.clause.scope)

    def item(self, tree: exp.Expr, outer: Scope, on: exp.Expr, alias: str) -> Inner:
        """An item of FROM with a condition, as the plain sub-query ``SELECT 1 FROM item WHERE on``."""
        source = Sources(self.ctx, relation).bind(tree, alias)
        scope = Scope((source,), self.ctx.text, outer)
        e = ExprBinder(scope, self.ctx.text, "ON", self.ctx.options.zone, catalog=self.ctx.catalog).condition(on)
        local, correlated = by_correlation(e, scope.local())
        return Inner(Filter(source.node, conjunction(local)) if local else source.node, correlated, scope)


def relation(ctx: Context, tree: exp.Expr) -> Node:
    """The relation that a query of ``ctx`` computes."""
    return Queries(ctx).relation(tree)


class Block:
    """One SELECT being bound. ``domains``: of the columns of enclosing queries."""

    def __init__(self, ctx: Context, select: exp.Select, outer: Scope | None, domains: Domains | None = None) -> None:
        check_clauses(select, ctx.text, ctx.catalog)
        bounds_moved_in(select)
        self.ctx, self.select = ctx, unnested(ctx, select)
        self.clause: FromClause = bind_from(ctx, Sources(ctx, relation), self.select, outer)
        self.scope = self.clause.scope
        self.domains: Domains = domains or {}
        self.subqueries = SubQueries(ctx, Queries(ctx), self.scope, self.domains)

    def binder(self, clause: str, aggregates: Aggregation | None = None) -> ExprBinder:
        """A binder of expressions of one clause, sub-queries included."""
        ctx = self.ctx
        return ExprBinder(self.scope, ctx.text, clause, ctx.options.zone, aggregates, {}, self.subqueries, ctx.catalog)

    def bind(self) -> Node:
        """The whole block."""
        source, _ = self.source(lambda _: [])
        items = expand(self.select, self.scope)
        named(items, self.ctx.text)
        ordering = Ordering(self.ctx, self.select, items)
        if has_aggregates(self.select, self.ctx.catalog):
            project = self._aggregated(source, items, ordering)
        else:
            binder = self.binder("SELECT")
            exprs = [i.column or binder.bind(i.node) for i in ordering.shown]
            steps = self.subqueries.take()
            hidden = ordering.keys(exprs, self.binder("ORDER BY"), lambda e, _: e)
            project = self._project(stacked(source, steps), ordering.shown, exprs, hidden)
        top = ordering.top(self._distinct(project))
        return top_of_set(self.ctx, self.select, top) if ordering.qualify is not None else top

    def source(self, extra: Callable[[Scope], list[Expr]]) -> tuple[Node, list[Expr]]:
        """FROM and WHERE, and the conditions that name columns of an enclosing query."""
        where = self.select.args.get("where")
        plain, queries = split_where(where.this if where is not None else None)
        binder = self.binder("WHERE")
        parts = self.clause.on + [replace(binder, subqueries=None).condition(n) for n in plain] + extra(self.scope)
        inside, correlated = by_correlation(conjunction(parts), self.scope.local())
        node = self._joined(conjunction(inside))
        self.subqueries.domains = {**self.domains, **dict.fromkeys(self.scope.local(), node)}
        for semi in self.clause.semis:
            self.subqueries.semi_join(semi)
        for condition in queries:
            self.subqueries.condition(condition, binder)
        steps, outside = _pulled(self.subqueries.take(), self.scope)
        return self._stacked(node, steps, correlated + outside)

    def _stacked(self, node: Node, steps: list[Step], outer: list[Expr]) -> tuple[Node, list[Expr]]:
        """The node with the steps on it, and the conditions ``outer``; where a step uses columns of an enclosing query,
        their values are carried along."""
        taken = {*self.scope.aliases(), *(f.name.split(".", 1)[0].lower() for s in steps for f in rows_of(s))}
        ready = [e for e in outer if all(c.name in self.domains or c.name in node.schema.names for c in columns_of(e))]
        try:
            carried = carry(node, (e for s in steps for e in uses_of(s)), ready, self.domains, taken)
        except TypeClash as e:
            raise self.ctx.at(self.select).error(str(e)) from None
        if carried is None:
            return stacked(node, steps), outer
        rest = [e for e in outer if e not in ready]
        inside = [replaced(s, carried.inside) for s in steps]
        return stacked(carried.node, inside), carried.conditions + rest

    def _joined(self, predicate: Expr) -> Node:
        parts = self.clause.parts
        if len(parts) > 1:
            return Join(tuple(parts), predicate)
        return parts[0] if predicate == TRUE else Filter(parts[0], predicate)

    def _aggregated(self, source: Node, items: list[Item], ordering: Ordering) -> Project:
        ctx = self.ctx
        agg = Aggregation(self.scope, ctx.text, ctx.options.zone, ctx.catalog)
        grouping = replace(self.binder("GROUP BY"), subqueries=None)
        for node in group_nodes(self.select, self.scope, items):
            key = node.column or grouping.bind(node.node)
            if family(key.type) == "nested":
                raise ctx.at(node.node).error(f"GROUP BY takes plain values, not {describe(key)}")
            agg.group_by(key)
        self.subqueries.lift = agg.lift
        binder = self.binder("SELECT", agg)
        exprs = [agg.lift(i.column or binder.bind(i.node), i.node) for i in ordering.shown]
        selected = self.subqueries.take()
        having, steps = self._having(agg, items)
        hidden = ordering.keys(exprs, self.binder("ORDER BY", agg), agg.lift)
        whole: Node = Aggregate(source, tuple(agg.groups), tuple(agg.aggs))
        whole = whole if having == TRUE else Filter(whole, having)
        return self._project(stacked(whole, [*steps, *selected]), ordering.shown, exprs, hidden)

    def _having(self, agg: Aggregation, items: list[Item]) -> tuple[Expr, list[Step]]:
        clause = self.select.args.get("having")
        if clause is None:
            return TRUE, []
        grouped = {e.name for _, e in agg.groups if isinstance(e, Column)}
        aliases = {i.alias.lower(): i.node for i in items if i.alias and not _names_group(i.alias, grouped)}
        binder = replace(self.binder("HAVING", agg), aliases=aliases)
        plain, queries = split_where(clause.this)
        condition = conjunction([agg.lift(replace(binder, subqueries=None).condition(n), n) for n in plain])
        for node in queries:
            self.subqueries.condition(node, binder)
        return condition, self.subqueries.take()

    def _project(self, source: Node, items: list[Item], exprs: list[Expr], hidden: list[tuple[str, Expr]]) -> Project:
        names = named(items, self.ctx.text)
        for item, e in zip(items, exprs, strict=True):
            if pa.types.is_null(e.type):
                raise self.ctx.at(item.node).error(_untyped(item.node, e))
        return Project(source, (*zip(names, exprs, strict=True), *hidden))

    def _distinct(self, project: Project) -> Node:
        if not self.select.args.get("distinct"):
            return project
        nested = next((c for c in project.schema if family(c.type) == "nested"), None)
        if nested is not None:
            raise self.ctx.at(self.select).error(f"DISTINCT takes plain values, not {nested.name} ({nested.type})")
        return Distinct(project)


def _untyped(node: exp.Expr, e: Expr) -> str:
    """What to write for a value that is always NULL."""
    if isinstance(e, Column):
        name = node.name if isinstance(node, exp.Column) else e.name
        return f"{name} holds nothing but NULL, so that it has no type: write CAST({name} AS STRING) or another type"
    return "NULL alone has no type: write CAST(NULL AS STRING) or another type"


def _pulled(steps: list[Step], scope: Scope) -> tuple[list[Step], list[Expr]]:
    """The steps, and the conditions among them that name columns of an enclosing query: those go to its predicate."""
    further = scope.outer.every() if scope.outer is not None else set()

    def outside(step: Step) -> bool:
        return isinstance(step, FilterStep) and any(c.name in further for c in columns_of(step.predicate))

    return [s for s in steps if not outside(s)], [
        s.predicate for s in steps if isinstance(s, FilterStep) and outside(s)
    ]


def _names_group(alias: str, grouped: set[str]) -> bool:
    return any(g.split(".", 1)[-1].lower() == alias.lower() for g in grouped)
