"""Notes about what a query's author may not have meant."""

from __future__ import annotations

import pytest
from cql_golden import CATALOG

from muntin.cql import bind

ALL = "stream {} has no window, so all its rows so far are in the query"


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("SELECT origin, COUNT(*) AS n FROM flights GROUP BY origin", [ALL.format("flights")]),
        ("SELECT origin FROM flights WHERE delay > 3", []),  # rows only pass
        ("SELECT f.origin FROM flights f [UNBOUNDED], weather w WHERE f.origin = w.origin", [ALL.format("weather")]),
        ("SELECT f.origin FROM flights f [NOW], airports a WHERE f.origin = a.code", []),
        ("SELECT COUNT(*) AS n FROM flights [RANGE 1 MINUTE SLIDE 5 MINUTES]", ["[RANGE 1 MINUTE SLIDE 5 MINUTES] "]),
        ("SELECT COUNT(*) AS n FROM flights [RANGE 1 MONTH SLIDE 1 YEAR]", ["[RANGE 1 MONTH SLIDE 1 YEAR] slides"]),
        ("SELECT COUNT(*) AS n FROM flights [RANGE 5 MINUTES SLIDE 5 MINUTES]", []),
        ('SELECT COUNT(*) AS n FROM flights [NOW] GROUP BY "origin"', ['"origin" is a text, as in Spark SQL: ']),
        ("SELECT origin FROM flights [NOW] WHERE origin <> 'dest'", []),
        ("SELECT COUNT(*) AS n FROM TUMBLE(flights, ts, INTERVAL 5 MINUTES)", []),
    ],
)  # fmt: skip
def test_notes(text: str, notes: list[str]) -> None:
    found = [n.text for n in bind(text, CATALOG).notes]
    assert len(found) == len(notes)
    assert all(f.startswith(n) for f, n in zip(found, notes, strict=True))
