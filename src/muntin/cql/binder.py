"""Binding: query text and catalog to a plan (see ``plan.nodes`` for its canonical shape)."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.cql.aggregates import Aggregation
from muntin.cql.expressions import ExprBinder
from muntin.cql.from_clause import bind_from
from muntin.cql.operators import describe
from muntin.cql.parse import parse
from muntin.cql.places import Place, place_of
from muntin.cql.scopes import Scope
from muntin.cql.select_list import Item, expand, group_nodes, named
from muntin.cql.shape import body_of, check_clauses, has_aggregates
from muntin.cql.types import family
from muntin.plan.catalog import Catalog
from muntin.plan.exprs import TRUE, Expr, conjunction
from muntin.plan.nodes import Aggregate, BoundQuery, Filter, Join, Node, Output, OutputKind, Project, Scan
from muntin.plan.windows import QueryOptions, Range

_DEFAULT_OPTIONS = QueryOptions()


def bind(text: str, catalog: Catalog, options: QueryOptions = _DEFAULT_OPTIONS) -> BoundQuery:
    """The plan of a CQL query over the streams of ``catalog``.

    Raises:
        QueryError: the text is wrong; line, column and token say where.
        UnsupportedError: the text is valid CQL beyond this version.
    """
    try:
        return _bind(text, catalog, options)
    except RecursionError:
        raise QueryError("the query is nested too deeply: split it, or use IN (...) for long chains of OR") from None


def _bind(text: str, catalog: Catalog, options: QueryOptions) -> BoundQuery:
    select, kind = body_of(parse(text), text)
    check_clauses(select, text)
    project, scans = _Select(text, catalog, options).bind(select)
    return BoundQuery(text, Output(project, kind or _default_kind(scans)), options)


def _default_kind(scans: tuple[Scan, ...]) -> OutputKind:
    sliding = any(isinstance(s.window, Range) and s.window.slide is not None for s in scans)
    return "rstream" if sliding else "changes"


@dataclass(frozen=True)
class _Select:
    text: str
    catalog: Catalog
    options: QueryOptions

    def bind(self, select: exp.Select) -> tuple[Project, tuple[Scan, ...]]:
        scans, conditions = bind_from(select, self.catalog, self.options, self.text)
        scope = Scope(scans, self.text)
        source = self._source(scans, scope, conditions, select.args.get("where"))
        items = expand(select, scope)
        if not has_aggregates(select):
            binder = ExprBinder(scope, self.text, "SELECT", self.options.zone)
            exprs = [i.column or binder.bind(i.node) for i in items]
            return self._project(source, items, exprs), scans
        return self._aggregated(select, source, scope, items), scans

    def _source(self, scans: tuple[Scan, ...], scope: Scope, on: list[exp.Expr], where: exp.Where | None) -> Node:
        parts = [ExprBinder(scope, self.text, "ON", self.options.zone).condition(c) for c in on]
        if where is not None:
            parts.append(ExprBinder(scope, self.text, "WHERE", self.options.zone).condition(where.this))
        predicate = conjunction(parts)
        if len(scans) > 1:
            return Join(scans, predicate)
        return scans[0] if predicate == TRUE else Filter(scans[0], predicate)

    def _aggregated(self, select: exp.Select, source: Node, scope: Scope, items: list[Item]) -> Project:
        zone = self.options.zone
        agg = Aggregation(scope, self.text, zone)
        grouping = ExprBinder(scope, self.text, "GROUP BY", zone)
        for node in group_nodes(select, scope, items):
            key = node.column or grouping.bind(node.node)
            if family(key.type) == "nested":
                raise self._at(node.node).error(f"GROUP BY takes plain values, not {describe(key)}")
            agg.group_by(key)
        binder = ExprBinder(scope, self.text, "SELECT", zone, agg)
        exprs = [agg.lift(i.column or binder.bind(i.node), i.node) for i in items]
        having = self._having(select, scope, agg, items)
        whole: Node = Aggregate(source, tuple(agg.groups), tuple(agg.aggs))
        return self._project(whole if having is None else Filter(whole, having), items, exprs)

    def _having(self, select: exp.Select, scope: Scope, agg: Aggregation, items: list[Item]) -> Expr | None:
        clause = select.args.get("having")
        if clause is None:
            return None
        grouped = {e.name for _, e in agg.groups if hasattr(e, "name")}
        aliases = {i.alias.lower(): i.node for i in items if i.alias and not _names_group(i.alias, grouped)}
        binder = ExprBinder(scope, self.text, "HAVING", self.options.zone, agg, aliases)
        return agg.lift(binder.condition(clause.this), clause.this)

    def _project(self, source: Node, items: list[Item], exprs: list[Expr]) -> Project:
        names = named(items, self.text)
        for item, e in zip(items, exprs, strict=True):
            if pa.types.is_null(e.type):
                raise self._at(item.node).error("NULL alone has no type: write CAST(NULL AS STRING) or another type")
        return Project(source, tuple(zip(names, exprs, strict=True)))

    def _at(self, node: exp.Expr) -> Place:
        return place_of(node, self.text)


def _names_group(alias: str, grouped: set[str]) -> bool:
    return any(g.split(".", 1)[-1].lower() == alias.lower() for g in grouped)
