"""One aggregate call to an ``Agg``: its argument, DISTINCT, FILTER and IGNORE NULLS, and the type that results."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from muntin.aggregates.description import Aggregate, Parameter, Takes
from muntin.aggregates.registry import described
from muntin.aggregates.user_defined import PREFIX, name_of
from muntin.cql.calls import arguments_of, bare, function_name, function_of
from muntin.cql.coerce import coerce, common_type
from muntin.cql.expressions import ExprBinder
from muntin.cql.operators import BOOL, describe, logic
from muntin.cql.places import place_of
from muntin.cql.scopes import Scope
from muntin.cql.types import family, to_spark
from muntin.plan.catalog import Catalog
from muntin.plan.exprs import Agg, Call, Expr, Literal, columns_of, pair

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
        what = function_of(call, self.catalog)
        assert what is not None
        counts = what.counts == "conditions"
        made = _ROWS if counts else self._call(what, call)
        kept = [self._condition(call.this, what.shown)] if counts else []
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
        if not described(made).nulls or made.arg is None:
            raise place_of(node, self.text).error(
                "IGNORE NULLS and RESPECT NULLS go with FIRST and LAST: the others skip NULLs"
            )
        if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls):
            raise place_of(node, self.text).error("write IGNORE NULLS or RESPECT NULLS, once")
        return [logic("not", Call("is_null", (made.arg,), BOOL))] if isinstance(node, exp.IgnoreNulls) else []

    def _call(self, what: Aggregate, node: exp.Expr) -> Agg:
        name, place = function_name(node, self.catalog) or what.shown, place_of(node, self.text)
        args = arguments_of(node)
        arg = args[0] if args else None
        if len(args) > what.arity or isinstance(arg, exp.Tuple):
            raise place.unsupported(_one_argument(what, name, arg))
        distinct = isinstance(arg, exp.Distinct)
        if isinstance(arg, exp.Distinct):
            if len(arg.expressions) > 1 and what.counts:
                return self._rows_counted(what, arg.expressions, node)
            if len(arg.expressions) == 2 and what.beside is not None:
                args = arg.expressions
                return self._made(what, name, self._argument(name, args[0]), args[1:], distinct, node)
            arg = self._only_distinct(what, name, arg, node)
        if isinstance(arg, exp.Star) and what.counts and not distinct:
            return _ROWS
        if arg is None:
            raise place.error(f"{name} takes an argument, as in {name}(x) or COUNT(*)")
        value = self._argument(name, arg)
        if what.counts and not distinct and isinstance(value, Literal) and value.value is not None:
            return _ROWS
        if what.fn.startswith(PREFIX):
            return self._udaf(what, value, node)
        return self._made(what, name, value, args[1:], distinct, node)

    def _only_distinct(self, what: Aggregate, name: str, arg: exp.Distinct, node: exp.Expr) -> exp.Expr:
        """The one argument behind DISTINCT."""
        place = place_of(node, self.text)
        if what.beside is not None:
            raise place.error(f"{name} takes two arguments, as in {name}(DISTINCT x, y)")
        if what.distinct == "no":
            raise place.unsupported(
                "DISTINCT goes with one argument (COUNT: with several), and not into FIRST, LAST and aggregates of "
                "your own"
            )
        if not arg.expressions:
            raise place.error(f"{name}(DISTINCT) takes an argument, as in {name}(DISTINCT x)")
        if len(arg.expressions) != 1:
            columns = ", ".join(e.sql() for e in arg.expressions)
            raise place.unsupported(
                f"{name}(DISTINCT ...) takes one argument; to take each combination once, write "
                f"{name}({arg.expressions[0].sql()}) over (SELECT DISTINCT {columns} FROM ...)"
            )
        only: exp.Expr = arg.expressions[0]
        if isinstance(only, exp.Tuple):
            raise place.unsupported(_one_argument(what, name, only, distinct=True))
        return only

    def _made(
        self, what: Aggregate, name: str, value: Expr, further: list[exp.Expr], distinct: bool, node: exp.Expr
    ) -> Agg:
        """The aggregate over a value, and what else the call is written with."""
        once = what.distinct == "always" or (distinct and what.distinct == "yes")
        value = _typed(what.takes, value)
        self._check(what, f"{name}(DISTINCT)" if distinct else name, once, value, node)
        if what.by is not None:
            key = self._second(what.by, name, further, node)
            return Agg(what.fn, pair(key, value), what.type(value.type))
        if what.beside is not None:
            second = self._second(what.beside, name, further, node)
            if once:  # what is one number as a double is one pair
                value, second = coerce(value, pa.float64()), coerce(second, pa.float64())
            fields = pa.struct([("c0", value.type), ("c1", second.type)])
            fn = f"{what.fn}_distinct" if once else what.fn
            return Agg(fn, Call("row", (value, second), fields), what.type(value.type))
        param = None if what.parameter is None else self._parameter(what, what.parameter, further, node)
        rest = further[1:] if what.parameter is not None else further
        if rest and what.needless is not None:
            self._parameter(what, what.needless, rest, node)
        share = None if what.share is None or not rest else self._parameter(what, what.share, rest, node)
        fn = f"{what.fn}_distinct" if once else what.fn
        return Agg(fn, value, what.type(value.type), param, share=share)

    def _second(self, takes: Takes, name: str, given: list[exp.Expr], node: exp.Expr) -> Expr:
        """The second argument."""
        if not given:
            raise place_of(node, self.text).error(f"{name} takes two arguments, as in {name}(x, y)")
        value = _typed(takes, self._argument(name, given[0]))
        if not takes.allows(family(value.type), False):
            raise place_of(node, self.text).error(
                f"{name} takes {takes.words} after its first argument, not {describe(value)}"
            )
        return value

    def _rows_counted(self, what: Aggregate, args: list[exp.Expr], node: exp.Expr) -> Agg:
        """COUNT(DISTINCT x, y): rows of values without a NULL."""
        values = tuple(self._argument("COUNT", a) for a in args)
        for value in values:
            self._check(what, "COUNT(DISTINCT)", True, value, node)
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

    def _udaf(self, what: Aggregate, value: Expr, node: exp.Expr) -> Agg:
        known = self.catalog.function(name_of(what.fn))
        assert known is not None
        if known.argument is not None and common_type(value.type, known.argument) is None:
            raise place_of(node, self.text).error(
                f"{known.name} takes {to_spark(known.argument)}, not {describe(value)}: write CAST(...)"
            )
        arg = value if known.argument is None else coerce(value, known.argument)
        return Agg(what.fn, arg, known.result or arg.type, inverse=known.inverse)

    def _parameter(self, what: Aggregate, wanted: Parameter, given: list[exp.Expr], node: exp.Expr) -> float:
        """The constant after the argument."""
        how = f"{what.shown} takes {wanted.words}"
        if not given:
            raise place_of(node, self.text).error(how)
        q = ExprBinder(self.scope, self.text, what.shown, self.zone).bind(given[0])
        plain = isinstance(q, Literal) and family(q.type) == "number" and q.value is not None
        plain = plain and not (wanted.whole and int(q.value) != q.value)  # type: ignore[union-attr]
        if not (isinstance(q, Literal) and plain and wanted.low <= q.value <= wanted.high):
            raise place_of(given[0], self.text).error(how)
        return float(q.value)

    def _check(self, what: Aggregate, name: str, once: bool, arg: Expr, node: exp.Expr) -> None:
        """Raise for an argument of the wrong kind."""
        if not what.takes.allows(family(arg.type), once):
            raise place_of(node, self.text).error(f"{name} takes {what.takes.words}, not {describe(arg)}")


def _typed(takes: Takes, value: Expr) -> Expr:
    """A value that is always NULL in a type that the aggregate takes: a column may hold nothing else for a while."""
    untyped = pa.types.is_null(value.type) and not isinstance(value, Literal)
    return coerce(value, takes.of_nulls) if untyped else value


def _one_argument(what: Aggregate, name: str, arg: exp.Expr | None, distinct: bool = False) -> str:
    """What to write instead of several arguments, or a tuple of them."""
    if not what.counts:
        return f"{name} takes {('one argument', 'two arguments', 'at most three arguments')[what.arity - 1]}"
    if distinct or isinstance(arg, exp.Tuple):
        return "write COUNT(DISTINCT a, b) for distinct pairs (those without a NULL), and COUNT(*) for rows"
    return "COUNT takes one argument: write COUNT(*) FILTER (WHERE a IS NOT NULL AND b IS NOT NULL)"
