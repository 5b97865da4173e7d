"""Reports about window boundaries and their arithmetic, as users of other engines met them."""

import pytest
from case_runs import Rows, UserCase

from muntin.core.errors import QueryError
from muntin.core.time import MINUTE, SECOND
from muntin.cql.binder import bind
from muntin.plan.windows import QueryOptions

START = QueryOptions(bounds="start")
CLOSED = QueryOptions(bounds="closed", granule=SECOND)


def test_window_starts_before_1970_are_rounded_down() -> None:
    """Tumbling windows of 10 s, offset 5 s: a row two seconds after midnight belongs to [23:59:55, 00:00:05)."""
    day = -86_400
    rows = Rows("ts v", [(day + 2, 1), (day + 12, 2)])
    options = QueryOptions(bounds="start", origin=5 * SECOND)
    case = UserCase("SELECT SUM(v) AS s FROM S [RANGE 10 SECONDS SLIDE 10 SECONDS]", {"S": rows}, options=options)
    case.must_give((day + 5, None, 1), (day + 15, None, 2), (day + 25, None, None))


def test_a_slide_that_does_not_divide_the_range() -> None:
    """RANGE 20 SLIDE 15 (minutes), rows at 00:00 and 00:16: starts -15 and 0 have the first, 0 and 15 the second."""
    rows = Rows("ts m", [(0, 0), (16 * 60, 16)])
    text = "SELECT m FROM S [RANGE 20 MINUTES SLIDE 15 MINUTES]"
    ends = {start: (start + 20) * 60 for start in (-15, 0, 15)}
    expected = [(ends[-15], None, 0), (ends[0], None, 0), (ends[0], None, 16), (ends[15], None, 16)]
    UserCase(text, {"S": rows}, options=START).must_give(*expected)


def test_a_long_range_with_a_tiny_slide_holds_one_row_of_state() -> None:
    """RANGE 1 DAY SLIDE 1 MILLISECOND: a row is in 86.4 million windows and once in the state."""
    rows = Rows("ts v", [(10, 1)])
    case = UserCase("Istream(SELECT v FROM S [RANGE 1 DAY SLIDE 1 MILLISECOND])", {"S": rows})
    fed = case.pipeline()
    assert fed.push(S=rows.rows) + fed.heartbeat(12) == [(10, None, 1)]
    assert fed.held() <= 1
    assert fed.heartbeat(200_000) == []
    assert fed.held() == 0


def test_state_grows_with_rows_not_with_windows() -> None:
    rows = Rows("ts k v", [(i, i % 3, i) for i in range(1000)])
    case = UserCase("Istream(SELECT k, SUM(v) AS s FROM S [RANGE 1 DAY SLIDE 1 SECOND] GROUP BY k)", {"S": rows})
    fed = case.pipeline()
    fed.push(S=rows.rows)
    assert fed.held() <= 1010


def test_a_row_of_a_hopping_window_is_counted_in_each_of_its_windows() -> None:
    """Hop 10 s, size 60 s, a row at 00:16:05: six windows, the first starting at 00:15:10."""
    at = 16 * 60 + 5
    case = UserCase(
        "SELECT COUNT(*) AS n FROM S [RANGE 60 SECONDS SLIDE 10 SECONDS] HAVING COUNT(*) > 0",
        {"S": Rows("ts v", [(at, 1)])},
        options=START,
    )
    first = 15 * 60 + 10 + 60
    case.must_give(*[(first + 10 * i, None, 1) for i in range(6)])


@pytest.mark.parametrize(
    "window, token",
    [
        ("RANGE -10 SECONDS", "10"),
        ("RANGE 10 SECONDS SLIDE 0 SECONDS", "0"),
        ("RANGE 0 SECONDS", "0"),
        ("ROWS 0", "0"),
        ("ROWS 5 SLIDE 0", "0"),
        ("RANGE 10", "10"),
    ],
)
def test_wrong_durations_are_errors_of_the_text_that_name_the_value(window: str, token: str) -> None:
    case = UserCase("", {"S": Rows("ts v", [(1, 1)])})
    with pytest.raises(QueryError) as caught:
        bind(f"SELECT v FROM S [{window}]", case.catalog)
    assert token in str(caught.value)


def test_rows_n_is_the_latest_n_not_n_preceding() -> None:
    """v = 1, 2, 3: [ROWS 2] sums 1, 3, 5; SQL's ROWS 2 PRECEDING, which is three rows, is [ROWS 3]: 1, 3, 6."""
    rows = Rows("ts v", [(1, 1), (2, 2), (3, 3)])
    for n, sums in ((2, (1, 3, 5)), (3, (1, 3, 6))):
        text = f"Istream(SELECT SUM(v) AS s FROM S [ROWS {n}])"
        UserCase(text, {"S": rows}).must_give(*[(i, None, s) for i, s in enumerate(sums, 1)])


def test_rows_of_one_instant_are_all_in_before_its_answer() -> None:
    """(d1, 1), (d2, 9), (d2, 2), (d3, 4), AVG over one day: closed, the second day has 1, 9, 2; half open, 9 and 2."""
    day = 86_400
    rows = Rows("ts v", [(day, 1), (2 * day, 9), (2 * day, 2), (3 * day, 4)])
    text = "Istream(SELECT AVG(v) AS a FROM S [RANGE 1 DAY])"
    closed = UserCase(text, {"S": rows}, options=CLOSED)
    closed.must_give(
        (day, None, 1.0), (2 * day, None, 4.0), (2 * day + 1, None, 5.5), (3 * day, None, 5.0), until=3 * day
    )
    half_open = UserCase(text, {"S": rows})
    half_open.must_give((day, None, 1.0), (2 * day, None, 5.5), (3 * day, None, 4.0), until=3 * day)


def test_a_frame_before_every_row_gives_a_row_with_null() -> None:
    """A frame of the seconds [t - 3, t - 2] at t = 0 is empty: the aggregate is NULL, the row is there."""
    frame = "SELECT SUM(b.v) FROM S [UNBOUNDED] AS b WHERE b.ts BETWEEN a.ts - 3 AND a.ts - 2"
    text = f"Rstream(SELECT a.v AS v, ({frame}) AS s FROM S [NOW] AS a)"
    UserCase(text, {"S": Rows("ts v", [(0, 7)])}).must_give((0, None, 7, None))


def test_a_frame_that_empties_forgets_what_it_held() -> None:
    """(0,100), (10,90), (30,10), (40,20) over [t - 10, t - 5]: SUM NULL, 100, NULL, 10 and COUNT 0, 1, 0, 1."""
    frame = "FROM S [UNBOUNDED] AS b WHERE b.ts BETWEEN a.ts - 10 AND a.ts - 5"
    text = f"Rstream(SELECT (SELECT SUM(b.v) {frame}) AS s, (SELECT COUNT(*) {frame}) AS n FROM S [NOW] AS a)"
    rows = Rows("ts v", [(0, 100), (10, 90), (30, 10), (40, 20)])
    UserCase(text, {"S": rows}).must_give(
        (0, None, None, 0), (10, None, 100, 1), (30, None, None, 0), (40, None, 10, 1)
    )


def test_windows_of_an_hour_do_not_know_of_summer_time() -> None:
    """New York, 2026-03-08: 06:30Z and 07:30Z, an hour apart on the clock that jumps; 2026-11-01 likewise, back."""
    for first in (1_772_951_400, 1_793_511_000):
        rows = Rows("ts v", [(first, 1), (first + 3600, 2)])
        case = UserCase(
            "SELECT SUM(v) AS s, COUNT(*) AS n FROM S [RANGE 1 HOUR SLIDE 1 HOUR]", {"S": rows}, options=START
        )
        end = first + 1800
        case.must_give((end, None, 1, 1), (end + 3600, None, 2, 1), (end + 7200, None, None, 0))


def test_days_are_those_of_utc_unless_the_query_says_otherwise() -> None:
    """23:30Z on a summer day is the next day in Copenhagen; CAST(... AS DATE) and SLIDE 1 DAY count UTC days."""
    half_past_eleven = 1_782_862_200  # 2026-06-30 23:30 UTC
    rows = Rows("ts v", [(half_past_eleven, 1), (half_past_eleven + 3600, 2)])
    case = UserCase("SELECT SUM(v) AS s FROM S [RANGE 1 DAY SLIDE 1 DAY]", {"S": rows}, options=START)
    midnight = half_past_eleven + 1800
    case.must_give((midnight, None, 1), (midnight + 86_400, None, 2), (midnight + 2 * 86_400, None, None))


def test_days_of_a_named_zone_by_the_origin_of_the_ticks() -> None:
    """The same rows by days of Copenhagen in summer (two hours before UTC): both are of the first of July."""
    half_past_eleven = 1_782_862_200
    rows = Rows("ts v", [(half_past_eleven, 1), (half_past_eleven + 3600, 2)])
    options = QueryOptions(bounds="start", origin=-120 * MINUTE)
    case = UserCase("SELECT SUM(v) AS s FROM S [RANGE 1 DAY SLIDE 1 DAY]", {"S": rows}, options=options)
    midnight = half_past_eleven + 22 * 3600 + 1800
    case.must_give((midnight, None, 3), (midnight + 86_400, None, None))
