"""GROUP BY, aggregates and HAVING: what is grouped, what is computed, and how the select list refers to both."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.cql.calls import AGGREGATES, function_name, function_of
from muntin.cql.coerce import bounded_decimal, coerce, common_type
from muntin.cql.expressions import ExprBinder
from muntin.cql.operators import describe
from muntin.cql.places import place_of
from muntin.cql.scopes import Scope
from muntin.cql.types import family, to_spark
from muntin.plan.catalog import Catalog
from muntin.plan.exprs import Agg, Call, Column, Expr, Literal, columns_of

_MOMENTS = ("median", "quantile", "stddev_samp", "stddev_pop", "var_samp", "var_pop")
_NUMERIC = ("sum", "avg", *_MOMENTS)
_ANY = ("count", "first", "last", "collect")


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
        agg = self._agg(node)
        name = next((n for n, known in self.aggs if known == agg), None)
        if name is None:
            name = f"a{len(self.aggs)}"
            self.aggs.append((name, agg))
        return Column(name, agg.type)

    def _agg(self, node: exp.Expr) -> Agg:
        fn, name = function_of(node, self.catalog), function_name(node, self.catalog)
        assert fn is not None and name is not None
        place = place_of(node, self.text)
        args = list(node.expressions) if isinstance(node, exp.Anonymous) else [node.this, *node.expressions]
        arg: exp.Expr | None = args[0] if args else None
        distinct = isinstance(arg, exp.Distinct)
        if len(args) > 1:
            raise place.unsupported(f"{name} takes one argument")
        if isinstance(arg, exp.Distinct):
            if fn != "count" or len(arg.expressions) != 1:
                raise place.unsupported("DISTINCT is supported in COUNT(DISTINCT x) with one argument")
            arg = arg.expressions[0]
        if isinstance(arg, exp.Star) and fn == "count" and not distinct:
            return Agg("count", None, pa.int64())
        if arg is None:
            raise place.error(f"{name} takes an argument, as in {name}(x) or COUNT(*)")
        value = self._argument(name, arg)
        if fn == "count" and not distinct and isinstance(value, Literal) and value.value is not None:
            return Agg("count", None, pa.int64())
        if fn.startswith("udaf:"):
            return self._udaf(fn, value, node)
        param = self._quantile(node) if fn == "quantile" else None
        return Agg("count_distinct" if distinct else fn, value, self._type(fn, name, value, node), param)

    def _argument(self, name: str, arg: exp.Expr) -> Expr:
        value = ExprBinder(self.scope, self.text, f"the argument of {name}", self.zone).bind(arg)
        local = self.scope.local()
        outer = next((c for c in columns_of(value) if c.name not in local), None)
        if outer is not None:
            raise place_of(arg, self.text).unsupported(
                f"{outer.name} belongs to the enclosing query: an aggregate takes columns of its own query"
            )
        return value

    def _udaf(self, fn: str, value: Expr, node: exp.Expr) -> Agg:
        known = self.catalog.function(fn.removeprefix("udaf:"))
        assert known is not None
        if known.argument is not None and common_type(value.type, known.argument) is None:
            raise place_of(node, self.text).error(
                f"{known.name} takes {to_spark(known.argument)}, not {describe(value)}: write CAST(...)"
            )
        arg = value if known.argument is None else coerce(value, known.argument)
        return Agg(fn, arg, known.result or arg.type)

    def _quantile(self, node: exp.Expr) -> float:
        """The second argument of QUANTILE: a number from 0 to 1."""
        given = node.args.get("quantile")
        how = "QUANTILE takes a number from 0 to 1 as its second argument, as in QUANTILE(x, 0.95)"
        if given is None:
            raise place_of(node, self.text).error(how)
        q = ExprBinder(self.scope, self.text, "QUANTILE", self.zone).bind(given)
        if not isinstance(q, Literal) or family(q.type) != "number" or q.value is None or not 0 <= q.value <= 1:
            raise place_of(given, self.text).error(how)
        return float(q.value)

    def _type(self, fn: str, name: str, arg: Expr, node: exp.Expr) -> pa.DataType:
        kind, t, distinct = family(arg.type), arg.type, isinstance(node.this, exp.Distinct)
        wrong = (fn in _NUMERIC and kind != "number") or kind in ("nested", "null")
        if wrong and (fn not in _ANY or (kind == "nested" and distinct) or (kind == "null" and fn != "count")):
            wants = "numbers" if fn in _NUMERIC else "numbers, strings, booleans, dates or timestamps"
            shown = "COUNT(DISTINCT)" if distinct else name
            raise place_of(node, self.text).error(f"{shown} takes {wants}, not {describe(arg)}")
        match fn:
            case "count":
                return pa.int64()
            case "sum" if pa.types.is_decimal(t):
                return bounded_decimal(min(38, t.precision + 10), t.scale)
            case "sum":
                return pa.int64() if pa.types.is_integer(t) else pa.float64()
            case "collect":
                return pa.list_(t)
            case _:
                return pa.float64() if fn == "avg" or fn in _MOMENTS else t

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
        around = node.find_ancestor(*AGGREGATES, exp.Query)
        if isinstance(node.this, exp.Star) or isinstance(around, tuple(AGGREGATES)):
            return False
        try:
            return self.scope.resolve(node) == column
        except QueryError:
            return False
