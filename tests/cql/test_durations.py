"""Lengths of time: what is read, what is refused, and that printing them loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.core.time import DAY, HOUR, MAX_SPAN, MINUTE, SECOND, WEEK
from muntin.cql.durations import format_duration, parse_duration


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


@given(st.integers(1, MAX_SPAN))
def test_printing_loses_nothing(span: int) -> None:
    assert parse_duration(format_duration(span)) == span


@given(st.integers(1, 10**6), st.sampled_from([SECOND, MINUTE, HOUR, DAY]))
def test_prints_a_large_unit(count: int, unit: int) -> None:
    assert "MICRO" not in format_duration(count * unit)
