"""GROUP BY, aggregates and HAVING: what is grouped, what is computed, and how the select list refers to both."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.cql.coerce import bounded_decimal
from muntin.cql.expressions import ExprBinder
from muntin.cql.operators import describe
from muntin.cql.places import place_of
from muntin.cql.scopes import Scope
from muntin.cql.types import family
from muntin.plan.exprs import Agg, Call, Column, Expr, Literal, columns_of

AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


@dataclass
class Aggregation:
    """Groups and aggregates of one query, named ``g0, g1, ...`` and ``a0, a1, ...`` in order of first use."""

    scope: Scope
    text: str
    zone: str | None = None
    groups: list[tuple[str, Expr]] = field(default_factory=list)
    aggs: list[tuple[str, Agg]] = field(default_factory=list)

    def group_by(self, e: Expr) -> None:
        """Add a grouping expression; a repeated one changes nothing."""
        if e not in [g for _, g in self.groups]:
            self.groups.append((f"g{len(self.groups)}", e))

    def collect(self, node: exp.Expr) -> Column:
        """The column that will hold the aggregate; equal aggregates share one."""
        agg = self._agg(node)
        name = next((n for n, known in self.aggs if known == agg), None)
        if name is None:
            name = f"a{len(self.aggs)}"
            self.aggs.append((name, agg))
        return Column(name, agg.type)

    def _agg(self, node: exp.Expr) -> Agg:
        name = type(node).__name__.lower()
        place = place_of(node, self.text)
        if node.expressions:
            raise place.unsupported(f"{name.upper()} takes one argument")
        arg, distinct = node.this, isinstance(node.this, exp.Distinct)
        if distinct:
            if name != "count" or len(arg.expressions) != 1:
                raise place.unsupported("DISTINCT is supported in COUNT(DISTINCT x) with one argument")
            arg = arg.expressions[0]
        if isinstance(arg, exp.Star) and name == "count" and not distinct:
            return Agg("count", None, pa.int64())
        if arg is None:
            raise place.error(f"{name.upper()} takes an argument, as in {name.upper()}(x) or COUNT(*)")
        value = ExprBinder(self.scope, self.text, f"the argument of {name.upper()}", self.zone).bind(arg)
        if name == "count" and not distinct and isinstance(value, Literal) and value.value is not None:
            return Agg("count", None, pa.int64())
        return Agg("count_distinct" if distinct else name, value, self._type(name, value, node))

    def _type(self, name: str, arg: Expr, node: exp.Expr) -> pa.DataType:
        kind, t = family(arg.type), arg.type
        wrong = (name in ("sum", "avg") and kind != "number") or (kind in ("nested", "null"))
        if wrong and (name != "count" or (kind == "nested" and isinstance(node.this, exp.Distinct))):
            name = "count(distinct)" if name == "count" else name
            wants = "numbers" if name in ("sum", "avg") else "numbers, strings, booleans, dates or timestamps"
            raise place_of(node, self.text).error(f"{name.upper()} takes {wants}, not {describe(arg)}")
        match name:
            case "count":
                return pa.int64()
            case "avg":
                return pa.float64()
            case "sum" if pa.types.is_decimal(t):
                return bounded_decimal(min(38, t.precision + 10), t.scale)
            case "sum":
                return pa.int64() if pa.types.is_integer(t) else pa.float64()
            case _:
                return t

    def lift(self, e: Expr, node: exp.Expr) -> Expr:
        """``e`` over the columns of the aggregate: group expressions become group columns.

        Raises:
            QueryError: a column is left that is neither grouped nor inside an aggregate.
        """
        lifted = self._replace(e)
        exposed = {n for n, _ in self.groups} | {n for n, _ in self.aggs}
        stray = next((c for c in columns_of(lifted) if c.name not in exposed), None)
        if stray is not None:
            raise self._ungrouped(stray, node)
        return lifted

    def _replace(self, e: Expr) -> Expr:
        name = next((n for n, g in self.groups if g == e), None)
        if name is not None:
            return Column(name, e.type)
        match e:
            case Call(fn, args, t):
                return Call(fn, tuple(self._replace(a) for a in args), t)
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
        if isinstance(node.this, exp.Star) or node.find_ancestor(*AGGREGATES):
            return False
        try:
            return self.scope.resolve(node) == column
        except QueryError:
            return False
