"""Bound expressions as Spark SQL that means the same in every session.

Neither the session's time zone nor ``spark.sql.ansi.enabled`` changes what the text computes: clocks are asked with
their zone's name, and what can fail (``plan.failing``) is computed by functions that give NULL, which is then looked
at. A failure ends the query with a DataError that names the expression and the values; ``RAISED`` says how the runtime
knows it.

Two texts of an expression ``e``: ``lenient`` is NULL where ``e`` fails, ``strict`` raises. Of a call that may fail the
strict text is ``coalesce(lenient, CASE WHEN the arguments are there THEN raise_error(...) END)``, so rows that do not
fail are computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from muntin.core.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from muntin.cql.failures import advice, subject
from muntin.cql.types import family, to_spark
from muntin.cql.unparse import call_text, literal, quote, text_literal
from muntin.plan.exprs import Call, Column, Expr, Literal
from muntin.plan.failing import MOST_DAYS, NOT_STRICT, any_may_fail, may_fail

RAISED = ("muntin.core.errors.", "DataError: ")
"""Where a message of ``raise_error`` begins: one after the other. Apart they do not look like an error in the text of a
plan."""

_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
_STEP = "INTERVAL '0.000001' SECOND"
_SHOWN = (f"({_EPOCH} + {_STEP} * unix_micros(", "))")
_OF_DATE = ("CAST(", " AS TIMESTAMP_NTZ)")
_TRY = {"add": "try_add", "sub": "try_subtract", "mul": "try_multiply", "div": "try_divide", "mod": "try_mod"}
_UNITS = {"MILLISECOND": MILLISECOND, "SECOND": SECOND, "MINUTE": MINUTE, "HOUR": HOUR, "DAY": DAY}
_HAS_ZONE = text_literal(r":[0-9]+:[0-9]+(\.[0-9]*)?[ ]*[^\x00-\x20.0-9]")
"""A text of date and time goes on behind the seconds."""


def to_spark_sql(expr: Expr, name_of: Callable[[str], str] = lambda name: name) -> str:
    """Spark SQL text of a bound expression.

    ``name_of`` gives the DataFrame's column for a column of the plan (``f.origin``); it is backquoted here.
    """
    return SparkText(lambda name: quote(name_of(name))).strict(expr)


@dataclass(frozen=True)
class SparkText:
    """Renders expressions; ``column`` gives the text of a column."""

    column: Callable[[str], str]

    def strict(self, e: Expr) -> str:
        """Text that raises where the expression fails."""
        if not (isinstance(e, Call) and any_may_fail(e)):
            return self.lenient(e)
        if e.fn == "try":
            return self._try(e)
        args = [self.strict(a) for a in e.args]
        if not may_fail(e):
            return self._call(e, args)
        there = " AND ".join(f"{a} IS NOT NULL" for a, x in zip(args, e.args, strict=True) if not _given(x))
        if e.fn == "cast" and pa.types.is_floating(e.args[0].type) and pa.types.is_decimal(e.type):
            there = f"abs({args[0]}) < CAST('Infinity' AS DOUBLE)"  # NaN and Infinity are NULL as decimals
        raised = f"raise_error({self._message(e)})"
        return f"coalesce({self.lenient(e)}, {f'CASE WHEN {there} THEN {raised} END' if there else raised})"

    def lenient(self, e: Expr) -> str:
        """Text that is NULL where the expression fails."""
        match e:
            case Column(name, _):
                return self.column(name)
            case Literal(value, t):
                return literal(value, t)
            case Call("try"):
                return self._try(e)
            case Call(fn, args) if fn in NOT_STRICT:
                return self._call(e, [self.strict(a) for a in args])
            case Call(fn, args):
                return self._call(e, [self.lenient(a) for a in args])
            case _:
                raise TypeError(f"not an expression: {e!r}")

    def _try(self, e: Call) -> str:
        inner = e.args[0]
        if not isinstance(inner, Call):
            return self.lenient(inner)
        if any(any_may_fail(a) for a in inner.args):
            return self._call(inner, [self.strict(a) for a in inner.args])
        return self.lenient(inner)

    def _message(self, e: Call) -> str:
        """``DataError: (v + 1) has no value for 2147483647, 1: ...``"""
        shown = ", ', ', ".join(_shown(self.lenient(a), a.type) for a in e.args if not _is_zone(e, a))
        before, after = subject(e), advice(e)
        return f"concat({', '.join(map(text_literal, RAISED))}, {text_literal(before)}, {shown}, {text_literal(after)})"

    def _call(self, e: Call, x: list[str]) -> str:
        """The call over the texts of its arguments; NULL where it fails."""
        kinds = [a.type for a in e.args]
        match e.fn:
            case "add" | "sub" if any(map(_timed, kinds)):
                return _moved(e, x)
            case "add" | "sub" | "mul" | "div" | "mod" if may_fail(e):
                return f"{_TRY[e.fn]}({x[0]}, {x[1]})"
            case "intdiv" if may_fail(e):
                return _whole_quotient(e, x)
            case "neg" if may_fail(e):
                return f"try_subtract({literal(0, e.type)}, {x[0]})"
            case "abs" if may_fail(e):
                return _narrowed(f"abs({_wide(x[0])})", e.type)
            case "round" if may_fail(e):
                return _narrowed(f"round({_wide(x[0])}, {x[1]})", e.type)
            case "floor" | "ceil" if may_fail(e):
                return _whole(e.fn, x[0])
            case "cast":
                return _cast(e, x)
            case "field" if isinstance(e.args[1], Literal):
                return f"{x[0]}.{quote(str(e.args[1].value))}"
            case "element":
                return f"{'try_element_at' if pa.types.is_map(kinds[0]) else 'get'}({x[0]}, {x[1]})"
            case "size":
                return f"CASE WHEN {x[0]} IS NOT NULL THEN cardinality({x[0]}) END"
            case "hour" | "minute" | "second" if kinds[0].tz is not None:
                return f"{e.fn}({_shown_by_clock(x[0], None)})"
            case "add_days" if may_fail(e):
                near = f"{x[1]} BETWEEN -{MOST_DAYS} AND {MOST_DAYS}"
                return f"CASE WHEN {near} THEN date_add({x[0]}, {x[1]}) END"
            case "date_trunc":
                return _truncated(e, x)
            case "add_months":
                return _months_later(e, x)
            case "at_time_zone":
                zone = _zone(e.args[1])
                return _shown_by_clock(x[0], zone) if kinds[0].tz is not None else _instant(x[0], zone)
            case _:
                return call_text(e.fn, x, e.type)


def _given(e: Expr) -> bool:
    return isinstance(e, Literal) and e.value is not None


def _is_zone(call: Call, arg: Expr) -> bool:
    return call.fn == "cast" and arg is not call.args[0]


def _timed(kind: pa.DataType) -> bool:
    return family(kind) in ("timestamp", "duration")


def _shown(text: str, kind: pa.DataType) -> str:
    """A value in a message, 'NULL' too."""
    if family(kind) == "timestamp" and kind.tz is not None:
        text = _shown_by_clock(text, None)
    return f"coalesce(try_cast({text} AS STRING), 'NULL')" if family(kind) != "binary" else "'binary'"


# --- numbers ----------------------------------------------------------------------------------------------------------


def _wide(text: str) -> str:
    return f"CAST({text} AS DECIMAL(20, 0))"


def _narrowed(text: str, kind: pa.DataType) -> str:
    return f"try_cast({text} AS {to_spark(kind)})"


def _whole_quotient(e: Call, x: list[str]) -> str:
    """a DIV b: with decimals Spark would wrap a quotient of more than 64 bits, with integers -2^63 DIV -1."""
    a, b = x
    if pa.types.is_decimal(e.args[0].type):
        quotient = f"try_divide({a}, {b})"
        fits = f"{quotient} < 9223372036854775808BD AND {quotient} > -9223372036854775809BD"
        return f"CASE WHEN {fits} THEN ({a} DIV {b}) END"
    return f"CASE WHEN {b} = -1L THEN try_subtract(0L, {a}) ELSE ({a} DIV nullif({b}, 0L)) END"


def _whole(fn: str, text: str) -> str:
    """FLOOR or CEIL of a double: what does not fit has no value, NaN gives 0 (Spark's ANSI rules)."""
    fits = f"{text} >= -9.223372036854775808E18D AND {text} < 9.223372036854775808E18D"
    return f"{fn}(CASE WHEN isnan({text}) THEN 0.0D WHEN {fits} THEN {text} END)"


# --- time -------------------------------------------------------------------------------------------------------------


def _zone(e: Expr) -> str:
    assert isinstance(e, Literal)
    return str(e.value)


def _shown_by_clock(text: str, zone: str | None) -> str:
    """TIMESTAMP to TIMESTAMP_NTZ: what the clock of a zone (None: UTC) shows."""
    at = text if zone in (None, "UTC") else f"from_utc_timestamp({text}, {text_literal(str(zone))})"
    return f"{_SHOWN[0]}{at}{_SHOWN[1]}"


def _instant(text: str, zone: str | None) -> str:
    """TIMESTAMP_NTZ to TIMESTAMP: the instant at which the clock of a zone shows it."""
    for before, after, at in (*_SHOWN, "{}"), (*_OF_DATE, f"timestamp_micros(unix_date({{}}) * {DAY}L)"):
        if text.startswith(before) and text.endswith(after):
            reading = at.format(text[len(before) : -len(after)])
            return reading if zone in (None, "UTC") else f"to_utc_timestamp({reading}, {text_literal(str(zone))})"
    named = f"concat(CAST({text} AS STRING), {text_literal(' ' + (zone or 'UTC'))})"
    return f"try_cast({named} AS TIMESTAMP_LTZ)"


def _micros(e: Expr, text: str) -> str:
    """A timestamp or a duration as a number of microseconds (BIGINT)."""
    if isinstance(e, Literal) and e.value is not None:
        return literal(e.value, pa.int64())
    match family(e.type):
        case "timestamp" if e.type.tz is not None:
            return f"unix_micros({text})"
        case "timestamp":
            return f"unix_micros({_instant(text, None)})"
        case _:
            return f"unix_micros({_instant(f'({_EPOCH} + {text})', None)})"


def _moved(e: Call, x: list[str]) -> str:
    """Sums and differences with durations, which are elapsed time: Spark's own + would take days by the session's
    clock."""
    parts = [_micros(a, t) for a, t in zip(e.args, x, strict=True)]
    total = f"{_TRY[e.fn]}({parts[0]}, {parts[1]})"
    if family(e.type) == "duration":
        return f"({_STEP} * {total})"
    return f"timestamp_micros({total})" if e.type.tz is not None else f"({_EPOCH} + {_STEP} * {total})"


def _truncated(e: Call, x: list[str]) -> str:
    """DATE_TRUNC on the clock of a zone; where the result comes twice it has the offset of the argument if it can
    (``java.time.ZonedDateTime.truncatedTo``, and so Spark)."""
    assert isinstance(e.args[0], Literal)
    unit, at = str(e.args[0].value), x[1]
    zone = _zone(e.args[2]) if len(e.args) > 2 else None
    if unit == "MICROSECOND":
        return at
    micros = f"unix_micros({at})"
    if unit not in _UNITS:
        days = f"trunc(CAST({_shown_by_clock(at, zone)} AS DATE), '{unit}')"
        return _instant(f"{_OF_DATE[0]}{days}{_OF_DATE[1]}", zone)
    if zone is None or unit in ("MILLISECOND", "SECOND"):
        return f"timestamp_micros({micros} - pmod({micros}, {_UNITS[unit]}L))"
    shown = f"unix_micros(from_utc_timestamp({at}, {text_literal(zone)}))"
    rest = f"pmod({shown}, {_UNITS[unit]}L)"
    return _beside(f"timestamp_micros({micros} - {rest})", f"timestamp_micros({shown} - {rest})", zone)


def _beside(same: str, reading: str, zone: str) -> str:
    """The instant of a reading: ``same``, which has the offset of the argument, where the clock shows it there."""
    name = text_literal(zone)
    return (
        f"CASE WHEN from_utc_timestamp({same}, {name}) = {reading} THEN {same} "
        f"ELSE to_utc_timestamp({reading}, {name}) END"
    )


def _months_later(e: Call, x: list[str]) -> str:
    """Months on the clock of a zone, by date and time of day; where the result comes twice as ``_truncated``."""
    kind, at, months = e.type, x[0], x[1]
    if family(kind) == "date":
        return f"add_months({at}, {months})"
    if kind.tz is None:
        return f"({at} + INTERVAL '1' MONTH * {months})"
    zone = _zone(e.args[2]) if len(e.args) > 2 else None
    shown = f"unix_micros({at if zone is None else f'from_utc_timestamp({at}, {text_literal(zone)})'})"
    days = f"unix_date(add_months(CAST({_shown_by_clock(at, zone)} AS DATE), {months}))"
    reading = f"({days} * {DAY}L + pmod({shown}, {DAY}L))"
    if zone is None:
        return f"timestamp_micros({reading})"
    return _beside(f"timestamp_micros(unix_micros({at}) + ({reading} - {shown}))", f"timestamp_micros({reading})", zone)


# --- casts ------------------------------------------------------------------------------------------------------------


def _cast(e: Call, x: list[str]) -> str:
    source, kind, text = e.args[0].type, e.type, x[0]
    zone = _zone(e.args[1]) if len(e.args) > 1 else None
    match family(source), family(kind):
        case "string", "timestamp" if kind.tz is not None:
            return _timestamp_of(text, zone)
        case "timestamp", "timestamp" if source.tz is not None and kind.tz is None:
            return _shown_by_clock(text, zone)
        case "timestamp", "timestamp" if source.tz is None and kind.tz is not None:
            return _instant(text, zone)
        case "timestamp", "date" | "string" if source.tz is not None:
            return f"CAST({_shown_by_clock(text, zone)} AS {to_spark(kind)})"
        case "date", "timestamp" if kind.tz is not None:
            return _instant(f"{_OF_DATE[0]}{text}{_OF_DATE[1]}", zone)
    # to a string as well: without ANSI small decimals would be written with an exponent
    trying = may_fail(e) or (pa.types.is_decimal(source) and family(kind) == "string")
    return f"{'try_cast' if trying else 'CAST'}({text} AS {to_spark(kind)})"


def _timestamp_of(text: str, zone: str | None) -> str:
    """A text that names no zone is in ``zone``; one without a date has no value (Spark would take today's)."""
    shown = f"try_cast({text} AS TIMESTAMP_NTZ)"
    named = f"try_cast({text} AS TIMESTAMP_LTZ)"
    other = _instant(shown, zone)
    return f"CASE WHEN {shown} IS NULL THEN NULL WHEN {text} RLIKE {_HAS_ZONE} THEN {named} ELSE {other} END"
