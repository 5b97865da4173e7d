"""Reports about watermarks: equal times, silence, late rows, results that only come with the next row."""

from dataclasses import replace

import pytest
from case_runs import Rows, UserCase

from muntin.core.errors import DataError
from muntin.cql.binder import bind
from muntin.reference import run

COUNT = "SELECT COUNT(*) AS n FROM S [RANGE 10 SECONDS SLIDE 10 SECONDS]"


def test_rows_without_event_time_are_in_no_window_and_counted() -> None:
    rows = Rows("ts v", [(1, 1), (None, 2), (3, 3)])
    case = UserCase("Istream(SELECT v FROM S [RANGE 5 SECONDS])", {"S": rows})
    case.must_give((1, None, 1), (3, None, 3))
    fed = case.pipeline()
    fed.push(S=rows.rows[:1])
    assert fed.push(S=[(None, 9)]) == []
    assert fed.local.bad == 1
    assert fed.heartbeat(2) == [(1, None, 1)]


def test_equal_times_in_different_batches_are_not_late() -> None:
    """No slack, (k, 10) in two batches: the count is 2."""
    rows = Rows("ts k", [(10, 1), (10, 1)])
    case = UserCase("Istream(SELECT k, COUNT(*) AS n FROM S [UNBOUNDED] GROUP BY k)", {"S": rows})
    fed = case.pipeline()
    out = fed.push(S=rows.rows[:1]) + fed.push(S=rows.rows[1:]) + fed.finish()
    assert out == [(10, None, 1, 2)]
    assert fed.local.late == 0


def _silent(idle_after: int | None):
    first = Rows("ts v", [(t, 1) for t in range(1, 101)], idle_after=idle_after)
    second = Rows("ts v", [(50, 1)], idle_after=idle_after)
    window = "[RANGE 10 SECONDS SLIDE 10 SECONDS]"
    text = f"Rstream(SELECT v FROM P0 {window} UNION ALL SELECT v FROM P1 {window})"
    return UserCase(text, {"P0": first, "P1": second})


def test_a_silent_source_holds_everything_back_without_a_timeout() -> None:
    case = _silent(None)
    fed = case.pipeline()
    assert fed.push(P0=case.streams["P0"].rows, now=0) + fed.push(now=1000) == []


def test_with_a_timeout_windows_close_and_rows_that_come_back_are_late_and_counted() -> None:
    case = _silent(30)
    fed = case.pipeline()
    assert fed.push(P0=case.streams["P0"].rows[:50], now=0) == []
    out = fed.push(P0=case.streams["P0"].rows[50:], now=31)
    assert {ts for ts, *_ in out} == set(range(10, 100, 10))
    assert fed.push(P1=[(50, 1)], now=32) == []
    assert fed.local.late == 1


def test_the_watermark_never_moves_back() -> None:
    """10, 9, 11, 10, 12 with a slack of 2: complete before 10, with every row."""
    rows = Rows("ts v", [(10, 1), (9, 2), (11, 3), (10, 4), (12, 5)], slack=2)
    case = UserCase("Istream(SELECT v FROM S [RANGE 5 SECONDS])", {"S": rows})
    fed = case.pipeline()
    out = [fed.push(S=[r]) for r in rows.rows]
    assert out == [[], [], [], [], [(9, None, 2)]]
    assert fed.local.late == 0
    assert sorted(fed.finish()) == [(10, None, 1), (10, None, 4), (11, None, 3), (12, None, 5)]


def test_a_very_late_row_opens_no_window() -> None:
    """Windows of 10, slack 5, time at 100: a row of t = 3 gives nothing and is counted."""
    rows = Rows("ts v", [(100, 1), (3, 2), (120, 3)], slack=5)
    case = UserCase(COUNT, {"S": rows})
    fed = case.pipeline()
    fed.push(S=rows.rows[:1])
    assert fed.push(S=rows.rows[1:2]) == []
    assert fed.local.late == 1
    assert fed.push(S=rows.rows[2:]) == [(100, None, 1), (110, None, 0)]


def test_a_heartbeat_closes_windows_without_further_rows() -> None:
    """Rows at 1 and 2, then silence to 60: the window closes; COUNT over an empty window is 0, a group is absent."""
    rows = Rows("ts v", [(1, 1), (2, 1)])
    fed = UserCase(COUNT, {"S": rows}).pipeline()
    assert fed.push(S=rows.rows) == []
    assert fed.heartbeat(61) == [(10, None, 2), *[(t, None, 0) for t in range(20, 70, 10)]]
    grouped = UserCase("SELECT v, COUNT(*) AS n FROM S [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY v", {"S": rows})
    fed = grouped.pipeline()
    assert fed.push(S=rows.rows) + fed.heartbeat(61) == [(10, None, 1, 2)]


def test_windows_over_the_results_of_windows_lose_none_of_them() -> None:
    """A count per 5 s, then its maximum per 10 s: every closed window of the first reaches the second."""
    rows = Rows("ts v", [(t, 1) for t in (1, 2, 3, 6, 11, 12, 17, 18, 19, 20)])
    views = {"C": "Rstream(SELECT COUNT(*) AS n FROM S [RANGE 5 SECONDS SLIDE 5 SECONDS])"}
    text = "SELECT MAX(n) AS m, COUNT(*) AS windows FROM C [RANGE 10 SECONDS SLIDE 10 SECONDS]"
    case = UserCase(text, {"S": rows}, views)
    case.must_give((10, None, 3, 2), (20, None, 4, 2), until=20)


def test_a_stream_may_refuse_rows_without_event_time() -> None:
    case = UserCase("SELECT v FROM S", {"S": Rows("ts v", [(1, 1), (None, 2)])})
    (stream,) = case.catalog.streams
    query = bind(case.text, replace(case.catalog, streams=(replace(stream, on_bad_time="fail"),)))
    with pytest.raises(DataError, match="no event time"):
        run(query, {"S": case.streams["S"].dicts()})
