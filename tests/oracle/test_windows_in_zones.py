"""Windows on the clock of a zone: the local runtime against the evaluator, and the answers of days that change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from draws import blocks
from generate import Case
from generate_zoned import draw_monthly, draw_zoned
from test_local_matches import answered_until, difference, run_in_pieces, shown

from muntin.core.errors import ConfigError, QueryError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.plan.windows import QueryOptions, Ticks
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table

ZERO = datetime(1970, 1, 1, tzinfo=UTC)
STREAM = Stream("S", Schema.of(ts=pa.timestamp("us", "UTC"), v=pa.int64()), "ts")


def check(seed: int, draw: Callable[[int], Case] = draw_zoned) -> None:
    case, rng = draw(seed), Random(seed)
    query = bind(case.text, case.catalog, case.options)
    until = None if rng.random() < 0.6 else case.last_instant() + rng.randint(-4, 6) * case.unit
    expected = run(query, case.streams, None if until is None else answered_until(case, until))
    problem = difference(expected, run_in_pieces(case, seed, until, most=4))
    assert not problem, f"seed {seed}, until {until}: {problem}\n{shown(case)}"


@blocks(1, 3)
def test_local_equals_reference(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        check(seed)


@blocks(1, 3)
def test_local_equals_reference_with_months(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        check(seed, draw_monthly)


def local(instant: int, zone: str) -> str:
    return (ZERO + timedelta(microseconds=instant)).astimezone(ZoneInfo(zone)).strftime("%m-%d %H:%M%z")


def counts(window: str, zone: str | None, first: str, rows: int, every: timedelta, **options: Any) -> dict[str, Any]:
    """COUNT(*) over a row at each step from ``first`` (UTC), by the clock at each instant; runtime and evaluator."""
    at = [datetime.fromisoformat(first).replace(tzinfo=UTC) + i * every for i in range(rows)]
    given = {"S": [{"ts": t, "v": 1} for t in at]}
    bound = bind(f"SELECT COUNT(*) AS n FROM S [{window}]", Catalog((STREAM,)), QueryOptions(zone=zone, **options))
    pipeline = LocalPipeline(plan_query(bound), shards=3)
    table = pa.concat_tables([pipeline.push({"S": to_table(STREAM, given["S"])}), pipeline.finish()])
    got = from_table(table, pipeline.query.schema, pipeline.query.shows_op)
    assert not (problem := difference(run(bound, given), got)), problem
    return {local(t, zone or "UTC"): row[0] for t, _, row in got}


HOUR = timedelta(hours=1)


def test_days_end_at_the_zone_s_midnight_and_have_23_or_25_hours() -> None:
    day = "RANGE 1 DAY SLIDE 1 DAY"
    spring = counts(day, "America/New_York", "2024-03-09T05:30", 71, HOUR)
    assert spring == {"03-10 00:00-0500": 24, "03-11 00:00-0400": 23, "03-12 00:00-0400": 24, "03-13 00:00-0400": 0}
    autumn = counts(day, "America/New_York", "2024-11-02T04:30", 73, HOUR)
    assert autumn == {"11-03 00:00-0400": 24, "11-04 00:00-0500": 25, "11-05 00:00-0500": 24, "11-06 00:00-0500": 0}
    half = counts(day, "Australia/Lord_Howe", "2024-04-05T13:15", 97, HOUR / 2)
    assert half == {"04-07 00:00+1100": 48, "04-08 00:00+1030": 49, "04-09 00:00+1030": 0}


def test_without_a_zone_instants_are_multiples_in_utc() -> None:
    got = counts("RANGE 1 DAY SLIDE 1 DAY", None, "2024-03-09T05:30", 48, HOUR)
    assert list(got) == ["03-10 00:00+0000", "03-11 00:00+0000", "03-12 00:00+0000", "03-13 00:00+0000"]


def test_a_midnight_that_does_not_come_is_no_instant() -> None:
    got = counts("RANGE 1 DAY SLIDE 1 DAY", "America/Havana", "2024-03-09T05:30", 47, HOUR)
    assert got == {"03-11 00:00-0400": 47, "03-12 00:00-0400": 0}


def test_an_hour_that_comes_twice_counts_at_its_first() -> None:
    hours = counts("RANGE 1 HOUR SLIDE 1 HOUR", "America/New_York", "2024-11-03T04:10", 16, HOUR / 4)
    assert hours == {"11-03 01:00-0400": 4, "11-03 02:00-0500": 8, "11-03 03:00-0500": 4, "11-03 04:00-0500": 0}
    elapsed = counts("RANGE 2 HOURS SLIDE 1 HOUR", "America/New_York", "2024-11-03T04:10", 16, HOUR / 4)
    assert list(elapsed.values()) == [4, 8, 8, 4, 0]


MONTHS = "RANGE 1 MONTH SLIDE 1 MONTH"


def test_months_are_those_of_the_calendar() -> None:
    """Every six hours through January and February: 31 days and 29."""
    utc = counts(MONTHS, None, "2024-01-01T03:00", 240, 6 * HOUR)
    assert utc == {"02-01 00:00+0000": 124, "03-01 00:00+0000": 116, "04-01 00:00+0000": 0}
    tumbling = counts(MONTHS, None, "2024-01-01T03:00", 240, 6 * HOUR, bounds="start")
    assert tumbling == utc
    spring = counts(MONTHS, "America/New_York", "2024-03-01T05:30", 31 * 24 - 1, HOUR)
    assert spring == {"04-01 00:00-0400": 31 * 24 - 1, "05-01 00:00-0400": 0}
    year = counts("RANGE 1 YEAR SLIDE 5 MONTHS", None, "2023-12-05T12:00", 20, 24 * HOUR)
    assert year == {"03-01 00:00+0000": 20, "08-01 00:00+0000": 20, "01-01 00:00+0000": 0}


def test_a_row_leaves_on_the_same_day_of_a_later_month() -> None:
    """Rows of January 29, 30 and 31 leave on February 29, at their time of day: not in the order they came in."""
    got = counts("RANGE 1 MONTH", None, "2024-01-29T12:00", 3, 22 * HOUR)
    assert list(got) == ["01-29 12:00+0000", "01-30 10:00+0000", "01-31 08:00+0000", "02-29 08:00+0000",
                         "02-29 10:00+0000", "02-29 12:00+0000"]  # fmt: skip


def test_multiples_of_months_count_from_the_origin() -> None:
    origin = 27 * 24 * 3_600_000_000 + 6 * 3_600_000_000  # January 28, 06:00
    got = counts("RANGE 2 MONTHS SLIDE 1 MONTH", None, "2024-01-29T00:00", 40, 24 * HOUR, origin=origin)
    assert got == {"02-28 06:00+0000": 31, "03-28 06:00+0000": 40, "04-28 06:00+0000": 9, "05-28 06:00+0000": 0}


@pytest.mark.parametrize(("zone", "hour"), [(None, 12), ("America/New_York", 16), ("+05:30", 6)])
def test_texts_without_an_offset_are_read_on_the_query_s_clock(zone: str | None, hour: int) -> None:
    stream = Stream("S", Schema.of(ts=pa.timestamp("us"), s=pa.string()), "ts")
    rows = [{"ts": datetime(2024, 7, 1, 10), "s": s} for s in ("2024-07-01 12:00:00", "2024-07-01 12:00:00Z")]
    text = "SELECT HOUR(CAST(s AS TIMESTAMP) AT TIME ZONE 'UTC') AS h FROM S [NOW]"
    bound = bind(text, Catalog((stream,)), QueryOptions(zone=zone))
    pipeline = LocalPipeline(plan_query(bound))
    table = pa.concat_tables([pipeline.push({"S": to_table(stream, rows)}), pipeline.finish()])
    got = from_table(table, pipeline.query.schema, pipeline.query.shows_op)
    assert not difference(run(bound, {"S": rows}), got)
    came = [r for t, op, r in got if op == "+"]
    assert sorted(h for (h,) in came) == sorted([hour, 12])
    assert {t for t, _, _ in got} == {1_719_828_000_000_000, 1_719_828_000_000_001}, "without zone: UTC"


@pytest.mark.parametrize(
    ("window", "options", "says"),
    [
        ("RANGE 1 MONTH 2 DAYS", {}, "months beside a length"),
        ("RANGE 1 MONTH SLIDE 1 DAY", {"bounds": "start"}, "both are months"),
        (MONTHS, {"origin": 30 * 86_400_000_000}, "day 31 of its month"),
        ("RANGE 0 MONTHS", {}, "RANGE must be positive"),
        ("RANGE 200000 YEARS", {}, "longest accepted"),
    ],
)
def test_what_months_cannot_be(window: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(QueryError, match=says):
        bind(f"SELECT v FROM S [{window}]", Catalog((STREAM,)), QueryOptions(**options))


@pytest.mark.parametrize("bounds", ["half_open", "closed", "start"])
@pytest.mark.parametrize(
    "window", ["RANGE 1 HOUR SLIDE 1 HOUR", "RANGE 1 DAY SLIDE 6 HOURS", "RANGE 3 HOURS SLIDE 2 HOURS"]
)
def test_rows_that_read_a_table_at_their_own_time(window: str, bounds: Any) -> None:
    table = Table("N", Schema.of(v=pa.int64(), name=pa.string()), "nrr")
    text = f"SELECT S.v AS v, N.name AS name, COUNT(*) AS n FROM S [{window}], N WHERE S.v = N.v GROUP BY S.v, N.name"
    options = QueryOptions(zone="America/New_York", bounds=bounds)
    query = bind(text, Catalog((STREAM,), (table,)), options)
    start = datetime(2024, 11, 3, 4, 10, tzinfo=UTC)
    rows = [{"ts": start + i * timedelta(minutes=20), "v": i % 2} for i in range(24)]
    updates = [(0, "+", {"v": v, "name": f"old {v}"}) for v in (0, 1)]
    expected = run(query, {"S": rows}, tables={"N": updates})
    physical = plan_query(query)
    feed = next(s for s in physical.streams if s.name == "N")
    entries = [{**row, "__at": at, "__add": op == "+"} for at, op, row in updates]
    pipeline = LocalPipeline(physical, shards=2)
    tables = [
        pipeline.push({"S": to_table(STREAM, rows[:11]), "N": to_table(feed, entries)}),
        pipeline.push({"S": to_table(STREAM, rows[11:])}),
        pipeline.finish(),
    ]
    got = [r for t in tables for r in from_table(t, physical.schema, physical.shows_op)]
    assert not (problem := difference(expected, got)), problem


def test_ticks_and_plans_without_a_zone_are_what_they_were() -> None:
    assert Ticks((5,), (0,)) == Ticks((5,), (0,), None)
    plain = plan_query(bind("SELECT COUNT(*) AS n FROM S [RANGE 1 DAY SLIDE 1 DAY]", Catalog((STREAM,))))
    utc = plan_query(
        bind("SELECT COUNT(*) AS n FROM S [RANGE 1 DAY SLIDE 1 DAY]", Catalog((STREAM,)), QueryOptions(zone="UTC"))
    )
    assert plain.signature == utc.signature


@pytest.mark.parametrize("options", [{"zone": "Mars/Olympus"}, {"session_zone": "Mars/Olympus"}])
def test_a_zone_that_there_is_not(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="there is no time zone 'Mars/Olympus'"):
        bind("SELECT v FROM S [NOW]", Catalog((STREAM,)), QueryOptions(**options))
