"""One aggregate call to an ``Agg``: its argument, DISTINCT, FILTER and IGNORE NULLS, and the type that results."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from muntin.cql.calls import bare, function_name, function_of
from muntin.cql.coerce import bounded_decimal, coerce, common_type
from muntin.cql.expressions import ExprBinder
from muntin.cql.operators import BOOL, describe, logic
from muntin.cql.places import place_of
from muntin.cql.scopes import Scope
from muntin.cql.types import family, to_spark
from muntin.plan.catalog import Catalog
from muntin.plan.exprs import ONCE, Agg, Call, Expr, Literal, columns_of

_MOMENTS = ("median", "quantile", "stddev_samp", "stddev_pop", "var_samp", "var_pop")
_NUMERIC = ("sum", "avg", *_MOMENTS)
_ANY = ("count", "first", "last", "collect")
_ONE = Literal(1, pa.int64())
_ROWS = Agg("count", None, pa.int64())


@dataclass(frozen=True)
class AggregateCalls:
    """Binds the aggregate calls of one query."""

    scope: Scope
    text: str
    zone: str | None = None
    catalog: Catalog = Catalog()

    def agg(self, node: exp.Expr) -> Agg:
        """The aggregate of a call; the rows that FILTER and IGNORE NULLS leave become ``only`` around its argument."""
        call = bare(node)
        counts = isinstance(call, exp.CountIf)
        made = _ROWS if counts else self._call(call)
        kept = [self._condition(call.this, "COUNT_IF")] if counts else []
        while node is not call:
            if isinstance(node, exp.Filter):
                kept.insert(0, self._condition(node.expression.this, "FILTER"))
            else:
                kept += self._nulls(made, node)
            node = node.this
        if not kept:
            return made
        condition = kept[0] if len(kept) == 1 else logic("and", *kept)
        value = _ONE if made.arg is None else made.arg
        return replace(made, arg=Call("only", (condition, value), value.type))

    def _condition(self, node: exp.Expr, clause: str) -> Expr:
        condition = ExprBinder(self.scope, self.text, clause, self.zone, catalog=self.catalog).condition(node)
        return self._own(condition, node)

    def _nulls(self, made: Agg, node: exp.Expr) -> list[Expr]:
        """What IGNORE NULLS keeps."""
        if made.fn not in ("first", "last") or made.arg is None:
            raise place_of(node, self.text).error(
                "IGNORE NULLS and RESPECT NULLS go with FIRST and LAST: the others skip NULLs"
            )
        if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls):
            raise place_of(node, self.text).error("write IGNORE NULLS or RESPECT NULLS, once")
        return [logic("not", Call("is_null", (made.arg,), BOOL))] if isinstance(node, exp.IgnoreNulls) else []

    def _call(self, node: exp.Expr) -> Agg:
        fn, name = function_of(node, self.catalog), function_name(node, self.catalog)
        assert fn is not None and name is not None
        place = place_of(node, self.text)
        args = list(node.expressions) if isinstance(node, exp.Anonymous) else [node.this, *node.expressions]
        arg: exp.Expr | None = args[0] if args else None
        if len(args) > 1 or isinstance(arg, exp.Tuple):
            raise place.unsupported(_one_argument(name, arg))
        distinct = isinstance(arg, exp.Distinct)
        if isinstance(arg, exp.Distinct):
            if len(arg.expressions) > 1 and fn == "count":
                return self._rows_counted(arg.expressions, node)
            if len(arg.expressions) != 1 or fn not in ONCE | {"min", "max"}:
                raise place.unsupported(
                    "DISTINCT goes with one argument (COUNT: with several), and not into FIRST, LAST and aggregates of "
                    "your own"
                )
            arg = arg.expressions[0]
            if isinstance(arg, exp.Tuple):
                raise place.unsupported(_one_argument(name, arg, distinct))
        if isinstance(arg, exp.Star) and fn == "count" and not distinct:
            return _ROWS
        if arg is None:
            raise place.error(f"{name} takes an argument, as in {name}(x) or COUNT(*)")
        value = self._argument(name, arg)
        if fn == "count" and not distinct and isinstance(value, Literal) and value.value is not None:
            return _ROWS
        if fn.startswith("udaf:"):
            return self._udaf(fn, value, node)
        once = (distinct or isinstance(node, exp.ArrayUniqueAgg)) and fn in ONCE
        self._check(fn, f"{name}(DISTINCT)" if distinct else name, once, value, node)
        param = self._quantile(node) if fn == "quantile" else None
        return Agg(f"{fn}_distinct" if once else fn, value, _type(fn, value.type), param)

    def _rows_counted(self, args: list[exp.Expr], node: exp.Expr) -> Agg:
        """COUNT(DISTINCT x, y): rows of values without a NULL."""
        values = tuple(self._argument("COUNT", a) for a in args)
        for value in values:
            self._check("count", "COUNT(DISTINCT)", True, value, node)
        fields = [(f"c{i}", v.type) for i, v in enumerate(values)]
        return Agg("count_distinct", Call("row", values, pa.struct(fields)), pa.int64())

    def _argument(self, name: str, arg: exp.Expr) -> Expr:
        binder = ExprBinder(self.scope, self.text, f"the argument of {name}", self.zone, catalog=self.catalog)
        return self._own(binder.bind(arg), arg)

    def _own(self, value: Expr, arg: exp.Expr) -> Expr:
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
        return Agg(fn, arg, known.result or arg.type, inverse=known.inverse)

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

    def _check(self, fn: str, name: str, once: bool, arg: Expr, node: exp.Expr) -> None:
        """Raise for an argument of the wrong kind."""
        kind, truth = family(arg.type), name in ("BOOL_OR", "BOOL_AND", "EVERY")
        wrong = (fn in _NUMERIC and kind != "number") or kind in ("nested", "null") or (truth and kind != "boolean")
        if wrong and (fn not in _ANY or (kind == "nested" and once) or (kind == "null" and fn != "count")):
            plain = "conditions (BOOLEAN)" if truth else "numbers, strings, booleans, dates or timestamps"
            wants = "numbers" if fn in _NUMERIC else plain
            raise place_of(node, self.text).error(f"{name} takes {wants}, not {describe(arg)}")


def _one_argument(name: str, arg: exp.Expr | None, distinct: bool = False) -> str:
    """What to write instead of several arguments, or a tuple of them."""
    if name != "COUNT":
        return f"{name} takes one argument"
    if distinct or isinstance(arg, exp.Tuple):
        return "write COUNT(DISTINCT a, b) for distinct pairs (those without a NULL), and COUNT(*) for rows"
    return "COUNT takes one argument: write COUNT(*) FILTER (WHERE a IS NOT NULL AND b IS NOT NULL)"


def _type(fn: str, t: pa.DataType) -> pa.DataType:
    """The result type of an aggregate over values of type ``t``."""
    match fn:
        case "count":
            return pa.int64()
        case "sum" if pa.types.is_decimal(t):
            return bounded_decimal(min(38, t.precision + 10), t.scale)
        case "avg" if pa.types.is_decimal(t):
            return pa.decimal128(min(38, t.precision + 4), min(38, t.scale + 4))
        case "sum":
            return pa.int64() if pa.types.is_integer(t) else pa.float64()
        case "collect":
            return pa.list_(t)
        case _:
            return pa.float64() if fn == "avg" or fn in _MOMENTS else t
