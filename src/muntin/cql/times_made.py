"""Times made of texts by a pattern and of numbers, and months between them: functions under Spark's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.core.zones import zone_name
from muntin.cql import literals, zones
from muntin.cql.coerce import coerce
from muntin.cql.operators import TypeClash, arithmetic, choose, compare, describe, logic
from muntin.cql.takes import number, plain_text, string, whole
from muntin.cql.time_functions import date_of, date_trunc, part, time_of
from muntin.cql.time_patterns import time_pattern
from muntin.cql.types import TIMESTAMP, TIMESTAMP_NTZ, family
from muntin.plan.exprs import Call, Expr, Literal

Builder = Callable[[Sequence[Expr]], Expr]
_STRING, _INT, _BIGINT, _DATE, _DOUBLE = pa.string(), pa.int32(), pa.int64(), pa.date32(), pa.float64()


def parsed(name: str, e: Expr, pattern: Expr, kind: pa.DataType, trying: bool = False) -> Expr:
    """A text by a pattern as a time of ``kind``; without an offset in the text it is what the clock of the query shows.
    ``trying``: NULL for what is none."""
    text = plain_text(name, pattern, "a plain pattern, as 'yyyy-MM-dd HH:mm',")
    made = TIMESTAMP_NTZ if kind == TIMESTAMP_NTZ else TIMESTAMP
    if time_pattern(name, text).zoned and made == TIMESTAMP_NTZ:
        raise TypeClash(f"{name} takes no offset of a zone: write TO_TIMESTAMP")
    call: Expr = Call("parse_time", (string(name, e), Literal(text, _STRING)), made)
    return coerce(Call("try", (call,), made) if trying else call, kind)


def _to(name: str, kind: pa.DataType, trying: bool = False) -> Builder:
    """to_timestamp(x[, pattern]): a time as it is, whatever the pattern."""

    def build(args: Sequence[Expr]) -> Expr:
        e = args[0]
        if family(e.type) != "string":
            return coerce(date_of(e, name) if kind == _DATE else time_of(e, name), kind)
        if len(args) > 1:
            return parsed(name.upper(), e, args[1], kind, trying)
        if kind == _DATE and isinstance(e, Literal) and isinstance(e.value, str) and not trying:
            return literals.date(e.value)
        cast = coerce(e, kind)
        return Call("try", (cast,), kind) if trying and isinstance(cast, Call) else cast

    return build


def _make_date(args: Sequence[Expr]) -> Expr:
    return Call("make_date", tuple(whole("MAKE_DATE", a, _INT) for a in args), _DATE)


def _make(name: str, kind: pa.DataType, trying: bool = False) -> Builder:
    """make_timestamp(year, month, day, hour, minute, second[, zone])."""

    def build(args: Sequence[Expr]) -> Expr:
        parts = [whole(name, a, _INT) for a in args[:5]]
        seconds = coerce(number(name, args[5]), pa.decimal128(16, 6))
        made: Expr = Call("make_timestamp", (*parts, seconds), TIMESTAMP_NTZ)
        if trying:
            made = Call("try", (made,), TIMESTAMP_NTZ)
        if len(args) < 7:
            return coerce(made, kind)
        zone = zone_name(plain_text(name, args[6], "the plain name of a zone")) or "UTC"
        return zones.at_time_zone(made, Literal(zone, _STRING))

    return build


def _months_between(args: Sequence[Expr]) -> Expr:
    """Whole months where both are the same day of the month or the last one, else with 31sts of a month.

    Of the seconds since midnight only whole ones count. Without a third argument, or TRUE, rounded to 8 digits.
    """
    rounds = args[2] if len(args) > 2 else Literal(True, pa.bool_())
    if not (isinstance(rounds, Literal) and isinstance(rounds.value, bool)):
        raise TypeClash(f"MONTHS_BETWEEN takes TRUE or FALSE third, not {describe(rounds)}")
    at = [coerce(e if family(e.type) == "string" else time_of(e, "months_between"), TIMESTAMP) for e in args[:2]]
    days = [coerce(t, _DATE) for t in at]
    day = [part("day")([d]) for d in days]
    months = _difference(
        [arithmetic("add", arithmetic("mul", part("year")([d]), Literal(12, _INT)), part("month")([d])) for d in days]
    )
    clocks = [_seconds(t) for t in at]
    seconds = arithmetic("add", arithmetic("mul", _difference(day), Literal(86_400, _BIGINT)), _difference(clocks))
    exact = arithmetic("add", coerce(months, _DOUBLE), arithmetic("div", seconds, Literal(31 * 86_400, _BIGINT)))
    if rounds.value:
        scaled = arithmetic("add", arithmetic("mul", exact, Literal(1e8, _DOUBLE)), Literal(0.5, _DOUBLE))
        exact = arithmetic("div", coerce(Call("floor", (scaled,), _BIGINT), _DOUBLE), Literal(1e8, _DOUBLE))
    one = Literal(1, _INT)
    last = [compare("eq", part("day")([Call("add_days", (d, one), _DATE)]), one) for d in days]
    same = logic("or", compare("eq", *day), logic("and", *last))
    return choose([(same, coerce(months, _DOUBLE))], exact)


def _difference(pair: Sequence[Expr]) -> Expr:
    return arithmetic("sub", *pair)


def _seconds(t: Expr) -> Expr:
    """Whole seconds since midnight."""
    instants = [Call("unix_micros", (e,), _BIGINT) for e in (t, date_trunc("DAY", t))]
    return arithmetic("intdiv", arithmetic("sub", *instants), Literal(1_000_000, _BIGINT))


TABLE: dict[str, tuple[int, int, Builder]] = {
    "to_date": (1, 2, _to("to_date", _DATE)),
    "try_to_date": (1, 2, _to("try_to_date", _DATE, trying=True)),
    "to_timestamp": (1, 2, _to("to_timestamp", TIMESTAMP)),
    "to_timestamp_ltz": (1, 2, _to("to_timestamp_ltz", TIMESTAMP)),
    "to_timestamp_ntz": (1, 2, _to("to_timestamp_ntz", TIMESTAMP_NTZ)),
    "try_to_timestamp": (1, 2, _to("try_to_timestamp", TIMESTAMP, trying=True)),
    "make_date": (3, 3, _make_date),
    "make_timestamp": (6, 7, _make("MAKE_TIMESTAMP", TIMESTAMP)),
    "make_timestamp_ltz": (6, 7, _make("MAKE_TIMESTAMP_LTZ", TIMESTAMP)),
    "make_timestamp_ntz": (6, 6, _make("MAKE_TIMESTAMP_NTZ", TIMESTAMP_NTZ)),
    "try_make_timestamp": (6, 7, _make("TRY_MAKE_TIMESTAMP", TIMESTAMP, trying=True)),
    "try_make_timestamp_ltz": (6, 7, _make("TRY_MAKE_TIMESTAMP_LTZ", TIMESTAMP, trying=True)),
    "try_make_timestamp_ntz": (6, 6, _make("TRY_MAKE_TIMESTAMP_NTZ", TIMESTAMP_NTZ, trying=True)),
    "months_between": (2, 3, _months_between),
}
"""By name: the least and the most arguments, and the builder."""
