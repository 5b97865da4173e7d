"""What a session is set to does not change what an expression means: its zone, and ANSI mode.

One part of each query is computed by the JVM (what is filtered, grouped, aggregated), another by Python (what stands
above an aggregate).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from muntin.core.errors import ConfigError
from muntin.session import Session

pytestmark = pytest.mark.spark
NEW_YORK = "America/New_York"


@pytest.fixture
def session(spark: Any) -> Iterator[Session]:
    settings = {"spark.sql.session.timeZone": NEW_YORK, "spark.sql.ansi.enabled": "false"}
    before = {k: spark.conf.get(k) for k in settings}
    rows = pa.table(
        {
            "ts": pa.array([datetime(2024, 7, 1, 14, 30, tzinfo=UTC), datetime(2024, 7, 2, 2, 0, tzinfo=UTC)]),
            "v": pa.array([2**31 - 1, 5], pa.int32()),
            "x": [1e18, 2.5],
            "s": ["1.9", "2024-07-01 10:30:00"],
        }
    )
    frame = spark.createDataFrame(rows)
    for k, v in settings.items():
        spark.conf.set(k, v)
    found = Session(spark, shards=2)
    found.stream("a", frame)
    yield found
    for k, v in before.items():
        spark.conf.set(k, v)


def answer(session: Session, text: str, **options: Any) -> list[tuple[Any, ...]]:
    """Of the first instant."""
    return [tuple(r)[:-1] for r in session.sql(text, **options).to_df().sort("ts").collect()][:1]


BOTH = (
    "Istream(SELECT hour(MAX(ts)) AS above, MAX(hour(ts)) AS below, CAST(MIN(ts) AS DATE) AS d, MIN(CAST(ts AS DATE)) "
    "AS e, CAST(MIN(ts) AS STRING) AS t, MIN(CAST(ts AS STRING)) AS u FROM a [RANGE 30 DAYS SLIDE 30 DAYS])"
)
TRUNCATED = (
    "Istream(SELECT DATE_TRUNC('DAY', MIN(ts)) = MIN(DATE_TRUNC('DAY', ts)) AS same, "
    "CAST(DATE_TRUNC('DAY', MIN(ts)) AS STRING) AS above FROM a [RANGE 30 DAYS SLIDE 30 DAYS])"
)


def test_the_session_s_zone_holds_above_and_below_an_aggregate(session: Session) -> None:
    (row,) = answer(session, BOTH)
    assert row[:2] == (22, 22)
    assert row[2:] == (date(2024, 7, 1), date(2024, 7, 1), "2024-07-01 10:30:00", "2024-07-01 10:30:00")
    assert answer(session, TRUNCATED) == [(True, "2024-07-01 00:00:00")]


def test_what_is_filtered_is_what_is_shown(session: Session) -> None:
    text = "Istream(SELECT hour(MAX(ts)) AS h FROM a [RANGE 30 DAYS SLIDE 30 DAYS] WHERE hour(ts) = {})"
    assert answer(session, text.format(10)) == [(10,)]
    assert answer(session, text.format(14)) == [(None,)]
    assert answer(session, text.format(14), zone="UTC") == [(14,)]


def test_a_zone_of_its_own_wins_and_a_registered_query_keeps_what_it_has(session: Session) -> None:
    text = "Istream(SELECT hour(MIN(ts)) AS h, MIN(hour(ts)) AS i FROM a [RANGE 30 DAYS SLIDE 30 DAYS])"
    kept = session.sql(text)
    assert answer(session, text, zone="Asia/Kolkata") == [(20, 7)]
    session.spark.conf.set("spark.sql.session.timeZone", "Australia/Lord_Howe")
    assert [tuple(r)[:2] for r in kept.to_df().sort("ts").collect()][:1] == [(10, 10)]
    assert answer(session, text, zone="Asia/Kolkata") == [(20, 7)]
    assert answer(session, text) == [(1, 1)]


def test_texts_are_read_in_the_query_s_zone(session: Session) -> None:
    text = (
        "Istream(SELECT CAST(MAX(s) AS TIMESTAMP) = MAX(CAST(s AS TIMESTAMP)) AS same, "
        "hour(CAST(MAX(s) AS TIMESTAMP) AT TIME ZONE 'UTC') AS h FROM a [RANGE 30 DAYS SLIDE 30 DAYS] "
        "WHERE s LIKE '2%')"
    )
    assert answer(session, text) == [(True, 14)]
    assert answer(session, text, zone="UTC") == [(True, 10)]


@pytest.mark.parametrize(
    ("below", "above", "values"),
    [
        pytest.param("MAX(CAST(x AS INT))", "CAST(MAX(x) AS INT)", "1.0E18", marks=pytest.mark.slow),
        ("MAX(v + 1)", "MAX(v) + 1", "2147483647, 1"),
        pytest.param("MIN(CAST(s AS INT))", "CAST(MIN(s) AS INT)", "1.9", marks=pytest.mark.slow),
        pytest.param("MAX(x / (v - v))", "MAX(x) / (MAX(v) - MAX(v))", "0.0", marks=pytest.mark.slow),
        pytest.param("MAX(FLOOR(x * x))", "FLOOR(MAX(x) * MAX(x))", "1.0E36", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_has_no_value_is_an_error_wherever_it_is(
    session: Session, below: str, above: str, values: str, ansi: str
) -> None:
    session.spark.conf.set("spark.sql.ansi.enabled", ansi)
    for part in (below, above):
        with pytest.raises(Exception, match=r"DataError: .* has no value for ") as e:
            answer(session, f"Istream(SELECT {part} AS c FROM a [RANGE 30 DAYS SLIDE 30 DAYS])")
        assert values in str(e.value)


def test_a_row_that_is_filtered_out_is_no_error(session: Session) -> None:
    window = "FROM a [RANGE 30 DAYS SLIDE 30 DAYS]"
    plain = f"Istream(SELECT MAX(v + 1) AS a, MAX(100 / (v - 5)) AS b {window} WHERE v < 10 AND v <> 5)"
    assert answer(session, plain) == [(None, None)]
    assert answer(session, f"Istream(SELECT MAX(v + 1) AS a {window} WHERE v < 10 AND 10 / v > 1)") == [(6,)]


def test_a_zone_that_there_is_not(session: Session) -> None:
    with pytest.raises(ConfigError, match="no time zone 'Mars/Olympus'"):
        session.sql("SELECT v FROM a [NOW]", zone="Mars/Olympus")
