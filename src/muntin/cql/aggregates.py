"""GROUP BY, aggregates and HAVING: what is grouped, what is computed, and how the select list refers to both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.cql.aggregate_calls import AggregateCalls
from muntin.cql.calls import AGGREGATES
from muntin.cql.places import place_of
from muntin.cql.scopes import Scope
from muntin.plan.catalog import Catalog
from muntin.plan.exprs import Agg, Call, Column, Expr, columns_of


@dataclass
class Aggregation:
    """Groups and aggregates of one query, named ``g0, g1, ...`` and ``a0, a1, ...`` in order of first use."""

    scope: Scope
    text: str
    zone: str | None = None
    catalog: Catalog = Catalog()
    groups: list[tuple[str, Expr]] = field(default_factory=list)
    aggs: list[tuple[str, Agg]] = field(default_factory=list)

    def group_by(self, e: Expr) -> None:
        """Add a grouping expression; a repeated one changes nothing."""
        if e not in [g for _, g in self.groups]:
            self.groups.append((f"g{len(self.groups)}", e))

    def collect(self, node: exp.Expr) -> Column:
        """The column that will hold the aggregate; equal aggregates share one."""
        agg = AggregateCalls(self.scope, self.text, self.zone, self.catalog).agg(node)
        name = next((n for n, known in self.aggs if known == agg), None)
        if name is None:
            name = f"a{len(self.aggs)}"
            self.aggs.append((name, agg))
        return Column(name, agg.type)

    def lift(self, e: Expr, node: exp.Expr) -> Expr:
        """``e`` over the columns of the aggregate: group expressions become group columns.

        Raises:
            QueryError: a column is left that is neither grouped nor inside an aggregate.
        """
        lifted = self._replace(e)
        local = self.scope.local()
        stray = next((c for c in columns_of(lifted) if c.name in local), None)
        if stray is not None:
            raise self._ungrouped(stray, node)
        return lifted

    def _replace(self, e: Expr) -> Expr:
        name = next((n for n, g in self.groups if g == e), None)
        if name is not None:
            return Column(name, e.type)
        match e:
            case Call():
                return replace(e, args=tuple(self._replace(a) for a in e.args))
            case _:
                return e

    def _ungrouped(self, stray: Column, node: exp.Expr) -> QueryError:
        at = next((c for c in node.find_all(exp.Column) if self._is(c, stray)), node)
        by = (
            "it is neither in GROUP BY nor inside an aggregate"
            if self.groups
            else "the query aggregates without GROUP BY"
        )
        return place_of(at, self.text).error(
            f"{stray.name} has no single value here: {by}. "
            f"Add it to GROUP BY, or write MIN({stray.name}) or another aggregate"
        )

    def _is(self, node: exp.Column, column: Column) -> bool:
        around = node.find_ancestor(*AGGREGATES, exp.Filter, exp.Query)
        if isinstance(node.this, exp.Star) or isinstance(around, (*AGGREGATES, exp.Filter)):
            return False
        try:
            return self.scope.resolve(node) == column
        except QueryError:
            return False
