"""Literals of the syntax tree as bound literals: numbers, strings, booleans, dates, timestamps, intervals."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
from sqlglot import exp

from muntin.core.calendar import Months
from muntin.core.zones import zone as clock
from muntin.cql.durations import parse_duration, parse_span
from muntin.cql.types import DURATION, TIMESTAMP, TIMESTAMP_NTZ
from muntin.plan.exprs import Literal

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICRO = dt.timedelta(microseconds=1)


def number(text: str) -> Literal:
    """A number as Spark reads it, minus included: INT, BIGINT or DECIMAL; a point gives DECIMAL, an exponent DOUBLE.

    Raises:
        ValueError: more than 38 digits.
    """
    if "e" in text.lower():
        return Literal(float(text), pa.float64())
    if "." not in text:
        value = int(text)
        if -(2**31) <= value < 2**31:
            return Literal(value, pa.int32())
        if -(2**63) <= value < 2**63:
            return Literal(value, pa.int64())
    exact = Decimal(text)
    _, digits, exponent = exact.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale, 1)
    if precision > 38:
        raise ValueError(f"{text} has more than 38 digits")
    return Literal(exact, pa.decimal128(precision, scale))


def instant(text: str, zone: str | None) -> int:
    """Microseconds since the epoch of a timestamp text; without an offset in it, local time of ``zone`` (None: UTC).

    Raises:
        ValueError: not a timestamp.
    """
    body = text.strip()
    try:
        value = dt.datetime.fromisoformat(body)
    except ValueError:
        how = "write '2024-01-31 12:00:00' or '2024-01-31T12:00:00+01:00'"
        raise ValueError(f"{text!r} is not a timestamp: {how}") from None
    if value.tzinfo is None:
        shown = (value.replace(tzinfo=dt.UTC) - _EPOCH) // _MICRO
        return int(clock(zone).instant(np.array([shown]))[0])
    return (value - _EPOCH) // _MICRO


def timestamp(text: str, to: pa.DataType, zone: str | None) -> Literal:
    """A timestamp literal of type ``to``; a zone-less type reads the clock in the text as it stands."""
    if to.tz is None:
        return Literal(instant(text, None), TIMESTAMP_NTZ)
    return Literal(instant(text, zone), TIMESTAMP)


def date(text: str) -> Literal:
    """A DATE literal; its value is days since the epoch.

    Raises:
        ValueError: not a date.
    """
    try:
        day = dt.date.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not a date: write '2024-01-31'") from None
    return Literal((day - dt.date(1970, 1, 1)).days, pa.date32())


def months(node: exp.Expr) -> int | None:
    """The months of an INTERVAL of months or years; None of anything else."""
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal):
        return None
    unit = node.args.get("unit")
    if unit is not None and not isinstance(unit, exp.Var):
        return None
    span = parse_span(f"{node.this.this} {unit.name if unit is not None else ''}")
    return span.count if isinstance(span, Months) else None


def interval(node: exp.Interval) -> Literal:
    """An INTERVAL of fixed length as a duration in microseconds.

    Raises:
        ValueError: months, years or an unreadable text.
    """
    amount, unit = node.this, node.args.get("unit")
    if not isinstance(amount, exp.Literal):
        raise ValueError("an INTERVAL takes a plain number, as in INTERVAL 5 SECONDS")
    if unit is not None and not isinstance(unit, exp.Var):
        raise ValueError("an INTERVAL takes one unit, as in INTERVAL 5 SECONDS")
    return Literal(parse_duration(f"{amount.this} {unit.name if unit is not None else ''}"), DURATION)
