"""Lengths of time: what is read, what is refused, and that printing them loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.core.calendar import Months
from muntin.core.time import DAY, HOUR, MAX_SPAN, MINUTE, SECOND, WEEK
from muntin.cql.durations import format_duration, parse_duration, parse_span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("10 MINUTES", 10 * MINUTE),
        ("1 minute", MINUTE),
        ("90secs", 90 * SECOND),
        ("5ms", 5_000),
        ("1 us", 1),
        ("2.5 SECONDS", 2_500_000),
        (".5 sec", 500_000),
        ("1 week", WEEK),
        ("-5 hours", -5 * HOUR),
        ("'-5' hours", -5 * HOUR),
        ("'PT10M'", 10 * MINUTE),
        ("P1DT2H3M4.5S", DAY + 2 * HOUR + 3 * MINUTE + 4_500_000),
        ("P2W", 2 * WEEK),
        ("-PT1S", -SECOND),
        ("'10 minutes'", 10 * MINUTE),
        ("'INTERVAL 1 HOUR 30 MINUTES'", 90 * MINUTE),
        ("1 hour 30 minutes", 90 * MINUTE),
        ("INTERVAL '5' MINUTE", 5 * MINUTE),
        ("0 SECONDS", 0),
    ],
)
def test_reads(text: str, span: int) -> None:
    assert parse_duration(text) == span


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("10", "10 has no unit"),
        ("10 parsecs", "'parsecs' is not a unit"),
        ("1 month", "no fixed length"),
        ("P1M", "not an ISO 8601 duration of fixed length"),
        ("PT", "not an ISO 8601 duration"),
        ("0.1 us", "not a whole number of microseconds"),
        ("soon", "not a length of time"),
        ("", "missing"),
        ("10 minutes and", "not a length of time"),
    ],
)
def test_refuses(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "months"),
    [("1 month", 1), ("'3' MONTHS", 3), ("2 years", 24), ("1 YEAR 6 MONTHS", 18), ("1 quarter", 3), ("0.5 years", 6),
     ("P1Y2M", 14), ("INTERVAL '1' MONTH", 1), ("-2 months", -2)],
)  # fmt: skip
def test_reads_months(text: str, months: int) -> None:
    assert parse_span(text) == Months(months)


@pytest.mark.parametrize(
    ("text", "says"),
    [("1 month 3 days", "months beside a length"), ("0.5 months", "not a whole number of months"),
     ("1 fortnight", "not a unit"), ("P1M2D", "not an ISO 8601 duration")],
)  # fmt: skip
def test_refuses_of_months(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_span(text)


@given(st.integers(1, 100_000))
def test_printing_months_loses_nothing(count: int) -> None:
    assert parse_span(format_duration(Months(count))) == Months(count)
    assert parse_span(format_duration(count)) == count


@given(st.integers(1, MAX_SPAN))
def test_printing_loses_nothing(span: int) -> None:
    assert parse_duration(format_duration(span)) == span


@given(st.integers(1, 10**6), st.sampled_from([SECOND, MINUTE, HOUR, DAY]))
def test_prints_a_large_unit(count: int, unit: int) -> None:
    assert "MICRO" not in format_duration(count * unit)
