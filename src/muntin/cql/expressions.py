"""Scalar expressions of the syntax tree to bound expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from muntin.aggregates.registry import called, listed
from muntin.cql import functions, instead, json_calls, literals, nested, spark_names, user_functions
from muntin.cql.calls import function_name
from muntin.cql.coerce import coerce
from muntin.cql.dialect import WRAPPERS, WstreamCall
from muntin.cql.operators import (
    BOOL,
    TypeClash,
    arithmetic,
    choose,
    compare,
    describe,
    logic,
    member,
    negate,
    text_of,
)
from muntin.cql.patterns import like, unnested_list
from muntin.cql.places import place_of
from muntin.cql.scopes import Scope, did_you_mean
from muntin.cql.time_functions import add_months, date_of, date_trunc, extract
from muntin.cql.types import TIMESTAMP, family, from_spark, to_spark
from muntin.plan.catalog import Catalog
from muntin.plan.exprs import Call, Column, Expr, Literal

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
    exp.NullSafeEQ: "eq_null_safe",
}  # fmt: skip
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div", exp.IntDiv: "intdiv", exp.Mod: "mod",
}  # fmt: skip
_FUNCTIONS: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.Abs: ("abs", ("this",)), exp.Round: ("round", ("this", "decimals")), exp.Floor: ("floor", ("this",)),
    exp.Ceil: ("ceil", ("this",)), exp.Sqrt: ("sqrt", ("this",)), exp.Pow: ("power", ("this", "expression")),
    exp.Sign: ("sign", ("this",)), exp.Lower: ("lower", ("this",)), exp.Upper: ("upper", ("this",)),
    exp.Trim: ("trim", ("this",)), exp.Length: ("length", ("this",)),
    exp.Substring: ("substring", ("this", "start", "length")), exp.Nullif: ("nullif", ("this", "expression")),
    exp.If: ("if", ("this", "true", "false")), exp.Concat: ("concat", ("expressions",)),
    exp.Coalesce: ("coalesce", ("this", "expressions")), exp.Greatest: ("greatest", ("this", "expressions")),
    exp.Least: ("least", ("this", "expressions")), exp.Nvl2: ("nvl2", ("this", "true", "false")),
    exp.IsNan: ("isnan", ("this",)), exp.Replace: ("replace", ("this", "expression", "replacement")),
    exp.Left: ("left", ("this", "expression")), exp.Right: ("right", ("this", "expression")),
    exp.StartsWith: ("startswith", ("this", "expression")), exp.EndsWith: ("endswith", ("this", "expression")),
    exp.Contains: ("contains", ("this", "expression")), exp.Year: ("year", ("this",)),
    exp.Quarter: ("quarter", ("this",)), exp.Month: ("month", ("this",)), exp.Day: ("day", ("this",)),
    exp.DayOfMonth: ("day", ("this",)), exp.DayOfWeek: ("dayofweek", ("this",)),
    exp.DayOfYear: ("dayofyear", ("this",)), exp.WeekOfYear: ("weekofyear", ("this",)), exp.Hour: ("hour", ("this",)),
    exp.Minute: ("minute", ("this",)), exp.Second: ("second", ("this",)),
    exp.SafeAdd: ("try_add", ("this", "expression")), exp.SafeSubtract: ("try_subtract", ("this", "expression")),
    exp.SafeMultiply: ("try_multiply", ("this", "expression")), exp.SafeDivide: ("try_divide", ("this", "expression")),
    exp.AtTimeZone: ("at_time_zone", ("this", "zone")),
    exp.BitwiseAnd: ("bit_and", ("this", "expression")), exp.BitwiseOr: ("bit_or", ("this", "expression")),
    exp.BitwiseXor: ("bit_xor", ("this", "expression")), exp.BitwiseNot: ("bit_not", ("this",)),
    exp.RegexpLike: ("rlike", ("this", "expression")), exp.StrPosition: ("instr", ("this", "substr")),
    exp.Reverse: ("reverse", ("this",)), exp.BitwiseLeftShift: ("shiftleft", ("this", "expression")),
    exp.BitwiseRightShift: ("shiftright", ("this", "expression")),
    exp.Overlay: ("overlay", ("this", "expression", "from_", "for_")),
    exp.ArraySize: ("size", ("this",)), exp.ArrayContains: ("array_contains", ("this", "expression")),
    exp.MapContainsKey: ("map_contains_key", ("this", "key")), exp.MapKeys: ("map_keys", ("this",)),
    exp.ConvertTimezone: ("convert_timezone", ("source_tz", "target_tz", "timestamp")),
}  # fmt: skip
_TWO = ("this", "expression")
ARGUMENTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    **dict.fromkeys((*_COMPARISONS, *_ARITHMETIC), _TWO),
    **{kind: parts for kind, (_, parts) in _FUNCTIONS.items()},
    exp.Trim: ("this", "position"), exp.Paren: ("this",), exp.Column: ("this", "table", "db", "catalog"),
    exp.Identifier: ("this", "quoted"), exp.And: _TWO, exp.Or: _TWO, exp.Not: ("this",), exp.Neg: ("this",),
    exp.Literal: ("this", "is_string"), exp.Boolean: ("this",), exp.Null: (), exp.HexString: ("this",),
    exp.Interval: ("this", "unit"), exp.IntervalSpan: _TWO, exp.Var: ("this",), exp.Cast: ("this", "to"),
    exp.TryCast: ("this", "to", "safe"), exp.DataType: ("this", "expressions", "nested", "values"),
    exp.DataTypeParam: ("this",),
    exp.Between: ("this", "low", "high"), exp.In: ("this", "expressions", "query", "unnest"), exp.Exists: ("this",),
    exp.Is: _TWO, exp.NullSafeNEQ: _TWO, exp.Like: (*_TWO, "negate"), exp.ILike: (*_TWO, "negate"),
    exp.Escape: _TWO, exp.Case: ("this", "ifs", "default"), exp.DPipe: _TWO, exp.TsOrDsToDate: ("this", "safe"),
    exp.TimestampTrunc: ("this", "unit"), exp.Extract: _TWO, exp.Anonymous: ("this", "expressions"),
    exp.Dot: _TWO, exp.Bracket: ("this", "expressions", "offset", "safe"),
    exp.Struct: ("expressions",), exp.PropertyEQ: _TWO,
    exp.JSONExtractScalar: _TWO,
}  # fmt: skip
"""By kind of node that an ``ExprBinder`` binds: the arguments that it reads (see ``cql.arguments``)."""
_AGGREGATE_HINTS = {
    "WHERE": "conditions on aggregates belong in HAVING",
    "ON": "conditions on aggregates belong in HAVING",
    "GROUP BY": "group by plain expressions",
}


class Aggregates(Protocol):
    """Takes an aggregate call and gives the column that will hold its value."""

    def collect(self, node: exp.Expr) -> Column: ...


class Scalars(Protocol):
    """Takes a sub-query inside an expression and gives its value."""

    def scalar(self, node: exp.Expr) -> Expr: ...

    def exists(self, node: exp.Exists) -> Expr: ...

    def member(self, node: exp.In, binder: ExprBinder) -> Expr: ...


@dataclass(frozen=True)
class ExprBinder:
    """Binds expressions of one clause.

    ``clause`` names it for messages. ``aggregates`` takes aggregate calls, ``subqueries`` scalar sub-queries; None
    forbids them. ``aliases`` are select expressions that a plain name may stand for (HAVING, ORDER BY). ``catalog``
    knows the users' aggregates and functions.
    """

    scope: Scope
    text: str
    clause: str
    zone: str | None = None
    aggregates: Aggregates | None = None
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    subqueries: Scalars | None = None
    catalog: Catalog = Catalog()

    def bind(self, node: exp.Expr) -> Expr:
        """The bound, typed expression.

        Raises:
            QueryError: unknown names, types that do not go together, an aggregate where none may be.
            UnsupportedError: functions and constructs beyond this version.
        """
        try:
            return self._bind(node)
        except (TypeClash, ValueError) as e:
            raise place_of(node, self.text).error(str(e)) from None

    def condition(self, node: exp.Expr) -> Expr:
        """As ``bind``, and it must be BOOLEAN."""
        e = self.bind(node)
        if family(e.type) not in ("boolean", "null"):
            raise place_of(node, self.text).error(f"{self.clause} takes a condition (BOOLEAN), not {describe(e)}")
        return coerce(e, BOOL)

    def _bind(self, node: exp.Expr) -> Expr:
        kind = type(node)
        if kind in _COMPARISONS:
            return compare(_COMPARISONS[kind], *self._pair(node.this, node.expression))
        if kind in (exp.Add, exp.Sub) and (months := literals.months(node.expression)) is not None:
            return add_months(self.bind(node.this), months if kind is exp.Add else -months)
        if kind is exp.Add and (months := literals.months(node.this)) is not None:
            return add_months(self.bind(node.expression), months)
        if kind in _ARITHMETIC:
            a, b = self.bind(node.this), self.bind(node.expression)
            return _days(kind, a, b) or arithmetic(_ARITHMETIC[kind], a, b)
        if kind in _FUNCTIONS:
            return self._function(node)
        match node:
            case exp.Paren():
                return self.bind(node.this)
            case exp.Column():
                return self._column(node)
            case exp.And() | exp.Or():
                return self._logic(kind.__name__.lower(), node.this, node.expression)
            case exp.Not():
                return self._logic("not", node.this)
            case exp.Neg(this=exp.Literal(is_string=False)):
                return literals.number(f"-{node.this.this}")
            case exp.Neg():
                return negate(self.bind(node.this))
            case exp.Literal() | exp.Boolean() | exp.Null() | exp.Interval() | exp.HexString():
                return _literal(node)
            case exp.Cast():
                return self._cast(node)
            case exp.Dot(expression=exp.Identifier() as name):
                return nested.field_of(self.bind(node.this), name.name)
            case exp.Bracket(expressions=[at]):
                parts = self.bind(node.this), self.bind(at)
                return nested.element_at(parts) if node.args.get("offset") else nested.subscript(*parts)
            case exp.Query() if self.subqueries is not None:
                return self.subqueries.scalar(node)
            case _ if function_name(node, self.catalog) is not None:
                return self._aggregate(node)
            case _:
                return self._predicate(node)

    def _predicate(self, node: exp.Expr) -> Expr:
        match node:
            case exp.Between():
                low = compare("ge", *self._pair(node.this, node.args["low"]))
                high = compare("le", *self._pair(node.this, node.args["high"]))
                return logic("and", low, high)
            case exp.In() if not node.args.get("query") and not node.args.get("unnest"):
                x = self.bind(node.this)
                return member(x, [self._timed(self.bind(v), x) for v in node.expressions])
            case exp.Exists() if self.subqueries is not None:
                return self.subqueries.exists(node)
            case exp.In() if node.args.get("query") and self.subqueries is not None:
                return self.subqueries.member(node, self)
            case exp.Is():
                return self._is(node)
            case exp.NullSafeNEQ():
                return logic("not", compare("eq_null_safe", *self._pair(node.this, node.expression)))
            case exp.Like() | exp.ILike():
                return self._like(node)
            case exp.Escape(this=exp.Like() | exp.ILike()):
                return self._like(node.this, node.expression)
            case exp.Case():
                return self._case(node)
            case exp.DPipe():
                return Call("concat", tuple(text_of(self.bind(n)) for n in _flat(node)), pa.string())
            case exp.TsOrDsToDate():
                return self._to_date(node)
            case exp.TimestampTrunc(unit=exp.Var(this=unit)):
                return date_trunc(str(unit), self.bind(node.this))
            case exp.Extract(this=exp.Var()):
                return extract(node.this.name, self.bind(node.expression))
            case exp.Anonymous():
                return self._named(node)
            case exp.Struct(expressions=parts) if all(isinstance(p, exp.PropertyEQ) for p in parts):
                return json_calls.struct([p.this.name for p in parts], [self.bind(p.expression) for p in parts])
            case exp.JSONExtractScalar() if "called" not in node.meta:
                return json_calls.arrow(self.bind(node.this), self.bind(node.expression))
            case _:
                raise self._unsupported(node)

    def _to_date(self, node: exp.TsOrDsToDate) -> Expr:
        """TO_DATE without a format; functions of dates have it around their argument, too."""
        e, around = self.bind(node.this), node.parent
        if isinstance(e, Literal) and isinstance(e.value, str):
            return literals.date(e.value)
        own = bool(node.args.get("safe")) or not isinstance(around, exp.Func)
        name = "to_date" if own else around.sql_name()  # type: ignore[union-attr]
        return coerce(e, pa.date32()) if family(e.type) == "string" else date_of(e, name)

    def _logic(self, fn: str, *nodes: exp.Expr) -> Expr:
        args = [self.bind(n) for n in nodes]
        for n, e in zip(nodes, args, strict=True):
            if family(e.type) not in ("boolean", "null"):
                raise place_of(n, self.text).error(f"{fn.upper()} takes conditions (BOOLEAN), not {describe(e)}")
        return logic(fn, *args)

    def _pair(self, left: exp.Expr, right: exp.Expr) -> tuple[Expr, Expr]:
        a, b = self.bind(left), self.bind(right)
        return self._timed(a, b), self._timed(b, a)

    def _timed(self, e: Expr, beside: Expr) -> Expr:
        """A string literal beside a timestamp or a date, read as one."""
        if not (isinstance(e, Literal) and isinstance(e.value, str)):
            return e
        if family(beside.type) == "timestamp":
            return literals.timestamp(e.value, beside.type, self.zone)
        return literals.date(e.value) if family(beside.type) == "date" else e

    def _column(self, node: exp.Column) -> Expr:
        if isinstance(node.this, exp.Star):
            raise place_of(node, self.text).error("* stands alone in the select list or in COUNT(*)")
        alias = None if node.table else self.aliases.get(node.name.lower())
        if alias is not None:
            return replace(self, aliases={}).bind(alias)
        found, fields = self.scope.value(node)
        return reduce(nested.field_of, fields, found)

    def _aggregate(self, node: exp.Expr) -> Expr:
        if self.aggregates is None:
            name = function_name(node, self.catalog)
            hint = _AGGREGATE_HINTS.get(self.clause, "aggregates do not nest")
            raise place_of(node, self.text).error(f"{name} is an aggregate and cannot stand in {self.clause}: {hint}")
        return self.aggregates.collect(node)

    def _function(self, node: exp.Expr) -> Expr:
        name, parts = _FUNCTIONS[type(node)]
        if isinstance(node, exp.Trim):
            name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")), name)
        return functions.build(name, [self.bind(a) for a in _arguments(node, parts)])

    def _named(self, node: exp.Anonymous) -> Expr:
        name = str(node.this).lower()
        args = node.expressions
        if name in spark_names.UNIT_FIRST and len(args) == 3 and isinstance(args[0], exp.Column | exp.Var):
            unit = Literal(args[0].name, pa.string())
            return functions.build(name, [unit, *(self.bind(a) for a in args[1:])])
        if name == "timestamp_micros" and len(args) == 1:
            value = self.bind(args[0])
            if isinstance(value, Literal) and isinstance(value.value, int):
                return Literal(value.value, TIMESTAMP)
        if name in ("date_part", "datepart") and len(args) == 2 and isinstance(args[0], exp.Literal):
            return extract(args[0].name, self.bind(args[1]))
        if name in functions.TABLE:
            return functions.build(name, [self.bind(a) for a in args])
        own = self.catalog.scalar(name)
        if own is not None:
            return user_functions.call(own, [self.bind(a) for a in args])
        if name.upper() in WRAPPERS:
            raise place_of(node, self.text).error(f"{node.this} goes around the whole query: {node.this}(SELECT ...)")
        words = instead.for_function(name)
        if words is not None:
            raise place_of(node, self.text).unsupported(instead.not_here(name, words))
        names = [*(f.name for f in self.catalog.scalars), *functions.NAMES]
        hint = did_you_mean(name, [*names, *called()])
        known = f" Functions: {', '.join(names)}; aggregates: {listed()};" if not hint else " The reference lists all;"
        raise place_of(node, self.text).unsupported(
            f"there is no function {name} here.{hint}{known} your own are registered first (muntin.function, "
            "session.function, [functions] of a job file)"
        )

    def _is(self, node: exp.Is) -> Expr:
        x = self.bind(node.this)
        match node.expression:
            case exp.Null():
                return Call("is_null", (x,), BOOL)
            case exp.Not(this=exp.Null()):
                return Call("is_not_null", (x,), BOOL)
            case exp.Boolean():
                return compare("eq_null_safe", x, self.bind(node.expression))
            case _:
                raise self._unsupported(node)

    def _like(self, node: exp.Expr, escape: exp.Expr | None = None) -> Expr:
        x, pattern, any_case = self.bind(node.this), node.expression, isinstance(node, exp.ILike)
        marked = None if escape is None else self.bind(escape)
        quantified = isinstance(pattern, exp.Any | exp.All)
        items = unnested_list(pattern) if quantified else [pattern]
        if items is None:
            raise self._unsupported(pattern)
        likes: list[Expr] = [like(x, self.bind(n), any_case, marked) for n in items]
        if node.args.get("negate"):
            likes = [logic("not", e) for e in likes]
        return reduce(lambda a, b: logic("or" if isinstance(pattern, exp.Any) else "and", a, b), likes)

    def _case(self, node: exp.Case) -> Expr:
        default = node.args.get("default")
        branches = []
        for branch in node.args["ifs"]:
            subject = node.this
            when = compare("eq", *self._pair(subject, branch.this)) if subject else self.bind(branch.this)
            branches.append((when, self.bind(branch.args["true"])))
        return choose(branches, self.bind(default) if default is not None else None)

    def _cast(self, node: exp.Cast) -> Expr:
        safe = isinstance(node, exp.TryCast) and bool(node.args.get("safe"))
        to = self._type(node.args["to"])
        e = self.bind(node.this)
        if isinstance(e, Literal) and isinstance(e.value, str) and not safe:
            return _cast_text(e.value, to, self.zone)
        if not _castable(e.type, to):
            raise TypeClash(f"cannot cast {describe(e)} to {to_spark(to)}")
        return functions.trying(coerce(e, to)) if safe else coerce(e, to)

    def _type(self, node: exp.DataType) -> pa.DataType:
        """The type that a cast names; lengths, as in VARCHAR(5), are refused: values keep theirs."""
        to = from_spark(node.sql(dialect="spark"))
        if family(to) == "nested":
            raise TypeClash(f"CAST makes no arrays, maps and structs, as {to_spark(to)}: write a plain type")
        if node.expressions and not pa.types.is_decimal(to):
            raise TypeClash(f"{node.sql(dialect='spark')} in CAST: types have no length here, write {to_spark(to)}")
        return to

    def _unsupported(self, node: exp.Expr) -> Exception:
        place = place_of(node, self.text)
        if isinstance(node, exp.Exists | exp.In):
            return place.unsupported(
                f"EXISTS and IN (SELECT ...) in {self.clause} are not supported: they go into SELECT, WHERE, HAVING"
            )
        if isinstance(node, exp.Query):
            return place.unsupported(
                f"a sub-query in {self.clause} is not supported: they go into SELECT, WHERE, HAVING"
            )
        if isinstance(node, WstreamCall):
            return place.error("Wstream(x)[window] stands inside an aggregate, as in SUM(Wstream(SUM(x))[ROWS 10])")
        if isinstance(node, exp.Any | exp.All):
            return place.unsupported(
                "ANY and ALL are not supported: compare with (SELECT MIN(x) ...) or (SELECT MAX(x) ...)"
            )
        if isinstance(node, exp.Filter):
            return place.error("FILTER (WHERE ...) goes behind an aggregate, as in COUNT(*) FILTER (WHERE v > 3)")
        name = str(node.meta.get("called") or (node.sql_name() if isinstance(node, exp.Func) else type(node).__name__))
        words = instead.for_function(name)
        message = instead.for_node(node) or (instead.not_here(name, words) if words else None)
        if message is not None:
            return place.unsupported(message)
        if isinstance(node, exp.RegexpLike):
            return place.unsupported("regular expressions are not supported: use LIKE, LIKE ANY or CONTAINS")
        if isinstance(node, exp.Star):
            return place.error("* stands alone in the select list or in COUNT(*)")
        if isinstance(node, exp.AggFunc):
            return place.unsupported(
                f"the aggregate {name} is not supported; aggregates: {listed()}, COUNT(DISTINCT x)"
            )
        what = f"the function {name}" if isinstance(node, exp.Func) else f"this construct ({name})"
        return place.unsupported(f"{what} is not supported: the language reference lists what there is (Functions)")


def _days(kind: type[exp.Expr], a: Expr, b: Expr) -> Expr | None:
    """``d + n``, ``n + d`` and ``d - n``: a date some days on, as DATE_ADD and DATE_SUB have it; None for others."""
    if kind is exp.Add and family(b.type) == "date":
        a, b = b, a
    if kind not in (exp.Add, exp.Sub) or family(a.type) != "date" or not pa.types.is_integer(b.type):
        return None
    return functions.build("date_add" if kind is exp.Add else "date_sub", [a, b])


def _literal(node: exp.Expr) -> Literal:
    match node:
        case exp.Boolean():
            return Literal(bool(node.this), BOOL)
        case exp.Null():
            return Literal(None, pa.null())
        case exp.Interval():
            return literals.interval(node)
        case exp.HexString():
            return Literal(bytes.fromhex(str(node.this)), pa.binary())
        case exp.Literal() if node.is_string:
            return Literal(str(node.this), pa.string())
        case _:
            return literals.number(str(node.this))


def _cast_text(value: str, to: pa.DataType, zone: str | None) -> Expr:
    """A cast of a string literal: dates, timestamps, decimals and the odd doubles become literals at once."""
    if family(to) == "timestamp":
        return literals.timestamp(value, to, zone)
    if family(to) == "date":
        return literals.date(value)
    text = Literal(value, pa.string())
    if pa.types.is_decimal(to):
        folded = _decimal_text(value.strip(), to) or text
        return folded if isinstance(folded, Literal) and folded.type == to else Call("cast", (text,), to)
    if pa.types.is_float64(to):
        odd = {"nan": math.nan, "infinity": math.inf, "-infinity": -math.inf}.get(value.strip().lower())
        return Literal(odd, to) if odd is not None else Call("cast", (text,), to)
    if not _castable(text.type, to):
        raise TypeClash(f"cannot cast {describe(text)} to {to_spark(to)}")
    return coerce(text, to)


def _decimal_text(value: str, to: pa.DataType) -> Expr | None:
    digits = value.lstrip("+-")
    if not digits.replace(".", "", 1).isdigit():
        return None
    exact = literals.number(digits)
    return coerce(negate(exact) if value.startswith("-") else exact, to)


def _castable(a: pa.DataType, b: pa.DataType) -> bool:
    plain = {"number", "string", "boolean"}
    timed = {"timestamp", "date", "string"}
    pair = {family(a), family(b)}
    return family(a) == "null" or pair <= plain or pair <= timed or (len(pair) == 1 and "nested" not in pair)


def _arguments(node: exp.Expr, parts: Sequence[str]) -> list[exp.Expr]:
    given: list[exp.Expr] = []
    for part in parts:
        value = node.args.get(part)
        given.extend(value if isinstance(value, list) else [value] if value is not None else [])
    return given


def _flat(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a chain of ``||``."""
    return [*_flat(node.this), *_flat(node.expression)] if isinstance(node, exp.DPipe) else [node]
