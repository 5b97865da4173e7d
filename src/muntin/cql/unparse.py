"""Bound expressions back to text of CQL. Whole queries: ``unparse_query``; text for Spark: ``spark_sql``."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from muntin.aggregates.registry import spark_name
from muntin.core.spans import exact_words
from muntin.cql.types import family, to_spark
from muntin.plan.exprs import USER, Agg, Call, Column, Expr, Literal

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "intdiv": "DIV", "mod": "%", "eq": "=", "ne": "<>", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=", "eq_null_safe": "<=>", "and": "AND", "or": "OR", "like": "LIKE",
    "bit_and": "&", "bit_or": "|", "bit_xor": "^",
}  # fmt: skip
_PARTS = ("field", "element", "map_keys", "map_values")
_TRYING = {"add": "try_add", "sub": "try_subtract", "mul": "try_multiply", "div": "try_divide", "mod": "try_mod",
           "url_decode": "try_url_decode", "parse_url": "try_parse_url", "parse_time": "try_to_timestamp",
           "make_timestamp": "try_make_timestamp_ntz", "to_number": "try_to_number"}  # fmt: skip
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def quote(name: str) -> str:
    """A name between backquotes."""
    return "`" + name.replace("`", "``") + "`"


def plain_text(expr: Expr) -> str:
    """The expression for people to read, with bare names."""
    return Renderer(lambda name: name).expr(expr)


def shown_text(expr: Expr) -> str:
    """As ``plain_text``, with durations in words and instants as times in UTC: no text that a parser would take."""
    return Renderer(lambda name: name, _shown).expr(expr)


def _shown(value: Any, t: pa.DataType) -> str:
    if value is not None and pa.types.is_duration(t):
        return exact_words(value)
    if value is not None and pa.types.is_timestamp(t):
        return f"TIMESTAMP '{_clock(value).removesuffix('.000000')}{' UTC' if t.tz else ''}'"
    return literal(value, t)


@dataclass(frozen=True)
class Renderer:
    """Renders expressions as CQL; ``column`` gives the text of a column, ``constant`` that of a value of a type."""

    column: Callable[[str], str]
    constant: Callable[[Any, pa.DataType], str] | None = None

    def expr(self, e: Expr) -> str:
        """Text of an expression, in parentheses where it is an operator."""
        match e:
            case Column(name, _):
                return self.column(name)
            case Literal(value, t):
                return literal(value, t) if self.constant is None else self.constant(value, t)
            case Call("try", (Call() as inner,)):
                return self._trying(inner)
            case Call("field", (struct, Literal(str(name)))):
                return f"{self._whole(struct)}.{quote(name)}"
            case Call("element", (whole, at)):
                return f"{self._whole(whole)}[{self.expr(at)}]"
            case Call(fn, args, t):
                return call_text(fn, [self.expr(a) for a in args], t)
            case _:
                raise TypeError(f"not an expression: {e!r}")

    def _whole(self, e: Expr) -> str:
        """A value of which a part follows."""
        part = isinstance(e, Column) or (isinstance(e, Call) and e.fn in _PARTS)
        return self.expr(e) if part else f"({self.expr(e)})"

    def _trying(self, inner: Call) -> str:
        texts = [self.expr(a) for a in inner.args]
        if inner.fn == "cast":
            return f"TRY_CAST({texts[0]} AS {to_spark(inner.type)})"
        return f"{_TRYING[inner.fn]}({', '.join(texts)})" if inner.fn in _TRYING else self.expr(inner)

    def agg(self, a: Agg) -> str:
        """Text of an aggregate call."""
        match a.arg:
            case None:
                return "COUNT(*)"
            case Call("only", (condition, value)):
                return f"{self._call_of(a, value)} FILTER (WHERE {self.expr(condition)})"
            case _:
                return self._call_of(a, a.arg)

    def _call_of(self, a: Agg, arg: Expr) -> str:
        match arg:
            case Call("row", parts):
                pass
            case Call("pair", (key, value)):
                parts = (value, key)
            case _:
                parts = (arg,)
        inner = f"{'DISTINCT ' if a.distinct else ''}{', '.join(map(self.expr, parts))}"
        name = spark_name(a)
        if not name:
            return inner
        constants = "".join(f", {_double(c)}" for c in (a.param, a.share) if c is not None)
        return f"{name}({inner}{constants})"


def call_text(fn: str, texts: Sequence[str], t: pa.DataType) -> str:
    """Text of a call over the texts of its arguments."""
    if fn in _INFIX:
        return f"({texts[0]} {_INFIX[fn]} {texts[1]})"
    match fn:
        case "neg":
            return f"(- {texts[0]})"
        case "not":
            return f"(NOT {texts[0]})"
        case "is_null":
            return f"({texts[0]} IS NULL)"
        case "is_not_null":
            return f"({texts[0]} IS NOT NULL)"
        case "in":
            return f"({texts[0]} IN ({', '.join(texts[1:])}))"
        case "case":
            return _case(texts)
        case "only":
            return f"CASE WHEN {texts[0]} THEN {texts[1]} END"
        case "pair":
            return f"named_struct('at', {texts[0]}, 'value', {texts[1]})"
        case "row":
            there = " AND ".join(f"{x} IS NOT NULL" for x in texts)
            fields = ", ".join(f"'{f.name}', {x}" for f, x in zip(t, texts, strict=True))
            return f"CASE WHEN {there} THEN named_struct({fields}) END"
        case "struct":
            return f"named_struct({', '.join(f'{text_literal(f.name)}, {x}' for f, x in zip(t, texts, strict=True))})"
        case "from_json":
            return f"from_json({texts[0]}, {text_literal(to_spark(t))})"
        case "to_json":
            return f"to_json({texts[0]})"
        case "array_concat" | "array_reverse":
            return f"{fn.removeprefix('array_')}({', '.join(texts)})"
        case "array_insert":
            return f"array_insert({texts[0]}, {texts[1]}, {texts[2].removeprefix('array(').removesuffix(')')})"
        case "sort_array":
            name = "sort_array" if texts[1] == texts[2] else "array_sort"
            return f"{name}({texts[0]}{', FALSE' if texts[1] == 'FALSE' else ''})"
        case "parse_time":
            return f"{'to_timestamp_ntz' if t.tz is None else 'to_timestamp'}({', '.join(texts[:2])})"
        case "make_timestamp":
            return f"make_timestamp_ntz({', '.join(texts)})"
        case "encode" | "decode":
            return f"{fn}({texts[0]}, 'UTF-8')"
        case "cast":
            return f"CAST({texts[0]} AS {to_spark(t)})"
        case "at_time_zone":
            return f"({texts[0]} AT TIME ZONE {texts[1]})"
        case "add_months":
            return f"({texts[0]} + INTERVAL '{texts[1].strip('()')}' MONTH)"
        case "add_days":
            return f"date_add({', '.join(texts)})"
        case "date_trunc":
            return f"date_trunc({texts[0]}, {texts[1]})"
        case _:
            return f"{fn.removeprefix(USER)}({', '.join(texts)})"


def _case(texts: Sequence[str]) -> str:
    branches = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(texts[:-1:2], texts[1:-1:2], strict=True))
    return f"CASE {branches} ELSE {texts[-1]} END"


def literal(value: Any, t: pa.DataType) -> str:
    """Spark SQL text of a constant of type ``t``; ``value`` as in ``plan.exprs.Literal``."""
    if value is None:
        return "NULL" if pa.types.is_null(t) else f"CAST(NULL AS {to_spark(t)})"
    match family(t):
        case "boolean":
            return "TRUE" if value else "FALSE"
        case "string":
            return text_literal(value)
        case "number":
            return _number(value, t)
        case "timestamp" if t.tz is None:
            return f"TIMESTAMP_NTZ '{_clock(value)}'"
        case "timestamp":
            return f"timestamp_micros({_number(value, pa.int64())})"
        case "date":
            return f"DATE '{dt.date(1970, 1, 1) + dt.timedelta(days=value)}'"
        case "duration":
            return f"INTERVAL '{value}' MICROSECOND"
        case "binary":
            return f"X'{value.hex()}'"
        case _:
            raise ValueError(f"no literal of type {t}")


def text_literal(value: str) -> str:
    """A string between quotes, escaped as Spark reads it."""
    return "'" + "".join(_ESCAPES.get(c, c) for c in value) + "'"


def _clock(micros: int) -> str:
    at = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)
    return at.isoformat(sep=" ", timespec="microseconds")


def _number(value: Any, t: pa.DataType) -> str:
    if pa.types.is_decimal(t):
        return f"CAST('{value:f}' AS {to_spark(t)})"
    if pa.types.is_float64(t):
        return _double(float(value))
    if pa.types.is_floating(t):
        return f"CAST({_double(float(value))} AS FLOAT)"
    suffix = {"TINYINT": "Y", "SMALLINT": "S", "INT": "", "BIGINT": "L"}.get(to_spark(t))
    if suffix is None or value == -(2 ** (t.bit_width - 1)):
        return f"CAST({value} AS {to_spark(t)})"
    return f"{value}{suffix}" if value >= 0 else f"(-{-value}{suffix})"


def _double(value: float) -> str:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{name}' AS DOUBLE)"
    text = repr(abs(value)).upper().replace("E+", "E") + "D"
    return f"(-{text})" if math.copysign(1, value) < 0 else text
