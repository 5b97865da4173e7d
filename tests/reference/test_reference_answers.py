"""The naive evaluator against answers worked out by hand."""

import math
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from muntin.core.errors import DataError
from muntin.core.schema import Schema
from muntin.plan.catalog import Stream
from muntin.plan.exprs import TRUE, Agg, Call, Column, Expr, Literal
from muntin.plan.nodes import Aggregate, BoundQuery, Filter, Join, Output, Project, Scan
from muntin.plan.windows import Now, QueryOptions, Range, Unbounded, Window
from muntin.reference import answers, run

I64, F64 = pa.int64(), pa.float64()
S = Stream("S", Schema.of(ts=I64, k=I64, x=F64), "ts")
R = Stream("R", Schema.of(ts=I64, k=I64, x=F64), "ts", order=1)


def rows(*triples):
    return [{"ts": ts, "k": k, "x": x} for ts, k, x in triples]


def select_k(window: Window, kind="changes", **options) -> BoundQuery:
    body = Project(Scan(S, "S", window), (("k", Column("S.k", I64)),))
    return BoundQuery("", Output(body, kind), QueryOptions(**options))


def grouped(window: Window, kind, groups, aggs, **options) -> BoundQuery:
    body = Aggregate(Scan(S, "S", window), groups, aggs)
    names = tuple((f.name, Column(f.name, f.type)) for f in body.schema)
    return BoundQuery("", Output(Project(body, names), kind), QueryOptions(**options))


COUNT = ("n", Agg("count", None, I64))
SUM_X = ("s", Agg("sum", Column("S.x", F64), F64))
SUM_K = ("s", Agg("sum", Column("S.k", I64), I64))
BY_X = (("x", Column("S.x", F64)),)


def test_half_open_row_is_gone_at_its_expiry():
    data = {"S": rows((10, 1, 0.0), (12, 2, 0.0))}
    assert answers(select_k(Range(5)), data) == [(10, [(1,)]), (12, [(1,), (2,)]), (15, [(2,)]), (17, [])]
    assert run(select_k(Range(5)), data) == [(10, "+", (1,)), (12, "+", (2,)), (15, "-", (1,)), (17, "-", (2,))]


def test_closed_row_stays_one_granule_longer():
    data = {"S": rows((10, 1, 0.0))}
    assert run(select_k(Range(5), bounds="closed"), data) == [(10, "+", (1,)), (16, "-", (1,))]
    assert run(select_k(Range(5), bounds="closed", granule=3), data) == [(10, "+", (1,)), (18, "-", (1,))]


def test_now_holds_one_granule_and_unbounded_forever():
    data = {"S": rows((10, 1, 0.0))}
    assert run(select_k(Now(), granule=4), data) == [(10, "+", (1,)), (14, "-", (1,))]
    assert run(select_k(Unbounded()), data) == [(10, "+", (1,))]


def test_slide_need_not_divide_range():
    data = {"S": rows((1, 1, 0.0), (4, 2, 0.0))}
    got = answers(select_k(Range(5, 3), "rstream"), data)
    assert got == [(3, [(1,)]), (6, [(2,)]), (9, [])]


def test_origin_moves_the_ticks():
    data = {"S": rows((1, 1, 0.0))}
    assert [t for t, _ in answers(select_k(Range(5, 3), "rstream", origin=2), data)] == [2, 5, 8]


def test_start_bounds_see_window_starts():
    """Windows [0, 10) and [10, 20), each answered at its end; a row at 10 belongs to the second."""
    data = {"S": rows((9, 1, 0.0), (10, 2, 0.0))}
    assert answers(select_k(Range(10, 10), "rstream", bounds="start"), data) == [(10, [(1,)]), (20, [(2,)]), (30, [])]


def test_start_equals_half_open_shifted():
    plain, shifted = rows((0, 1, 0.0), (4, 2, 0.0), (5, 3, 0.0)), rows((1, 1, 0.0), (5, 2, 0.0), (6, 3, 0.0))
    start = answers(select_k(Range(10, 5), "rstream", bounds="start"), {"S": plain})
    assert start == answers(select_k(Range(10, 5), "rstream"), {"S": shifted})


def test_windows_with_different_slides_show_their_own_last_tick():
    left = Scan(S, "a", Range(4, 4))
    right = Scan(R, "b", Range(6, 6))
    body = Project(Join((left, right), TRUE), (("a", Column("a.k", I64)), ("b", Column("b.k", I64))))
    query = BoundQuery("", Output(body, "rstream"))
    got = answers(query, {"S": rows((4, 1, 0.0)), "R": rows((5, 7, 0.0))})
    assert got == [(4, []), (6, [(1, 7)]), (8, []), (12, [])]


def test_ungrouped_aggregate_answers_over_an_empty_window_from_the_first_row_on():
    got = run(grouped(Range(5), "changes", (), (COUNT, SUM_X)), {"S": rows((10, 1, 2.5))})
    assert got == [(10, "+", (1, 2.5)), (15, "-", (1, 2.5)), (15, "+", (0, None))]


def test_groups_without_rows_are_absent_and_nan_null_and_zeros_are_keys():
    data = {"S": rows((1, 1, math.nan), (1, 2, math.nan), (1, 3, None), (1, 4, -0.0), (1, 5, 0.0))}
    (_, first), (_, last) = answers(grouped(Range(5), "rstream", BY_X, (COUNT,)), data)
    assert sorted((str(x), n) for x, n in first) == [("0.0", 2), ("None", 1), ("nan", 2)]
    assert last == []


def test_equal_rows_that_leave_and_enter_are_netted():
    data = {"S": rows((10, 1, 0.0), (15, 1, 0.0))}
    assert run(select_k(Range(5), "istream"), data) == [(10, None, (1,))]
    assert run(select_k(Range(5), "dstream"), data) == [(20, None, (1,))]


def test_join_keys_null_never_match_nan_does():
    parts = (Scan(S, "a", Unbounded()), Scan(R, "b", Unbounded()))
    on = Call("eq", (Column("a.x", F64), Column("b.x", F64)), pa.bool_())
    body = Project(Join(parts, on), (("a", Column("a.k", I64)), ("b", Column("b.k", I64))))
    query = BoundQuery("", Output(body, "istream"))
    data = {
        "S": rows((1, 1, None), (1, 2, math.nan), (1, 3, -0.0)),
        "R": rows((2, 7, None), (2, 8, math.nan), (2, 9, 0.0)),
    }
    assert run(query, data) == [(2, None, (2, 8)), (2, None, (3, 9))]


def test_filter_keeps_only_true():
    keep: Expr = Call("gt", (Column("S.x", F64), Literal(1.0, F64)), pa.bool_())
    body = Project(Filter(Scan(S, "S", Unbounded()), keep), (("k", Column("S.k", I64)),))
    query = BoundQuery("", Output(body, "rstream"))
    assert answers(query, {"S": rows((1, 1, None), (2, 2, 2.0))}) == [(1, []), (2, [(2,)])]


def test_until_stops_there_and_ticks_run_on_to_it():
    data = {"S": rows((1, 1, 0.0))}
    assert answers(select_k(Range(5)), data, until=3) == [(1, [(1,)])]
    assert [t for t, _ in answers(select_k(Range(5, 5), "rstream"), data, until=22)] == [5, 10, 15, 20]


def test_end_of_input_with_slide_is_the_first_tick_after_the_last_expiry():
    data = {"S": rows((1, 1, 0.0))}
    assert [t for t, _ in answers(select_k(Range(6, 5), "rstream"), data)] == [5, 10]
    assert [t for t, _ in answers(select_k(Range(4, 5), "rstream"), data)] == [5]


def test_event_time_units_datetimes_and_missing_times():
    seconds = Stream("S", S.schema, "ts", ts_unit=1_000_000)
    query = BoundQuery("", Output(Project(Scan(seconds, "S", Unbounded()), (("t", Column("S.ts", I64)),)), "istream"))
    assert run(query, {"S": rows((3, 1, 0.0), (None, 2, 0.0))}) == [(3_000_000, None, (3,))]
    instant = pa.timestamp("us", "UTC")
    clock = Stream("S", Schema.of(ts=instant), "ts")
    query = BoundQuery("", Output(Project(Scan(clock, "S", Unbounded()), (("t", Column("S.ts", instant)),)), "istream"))
    assert run(query, {"S": [{"ts": datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)}]}) == [(2_000_000, None, (2_000_000,))]


def test_no_rows_no_answers():
    assert answers(grouped(Range(5), "rstream", (), (COUNT,)), {}) == []


def test_integer_sum_overflow_is_an_error_and_float_sums_are_exact():
    big = 2**63 - 1
    with pytest.raises(DataError, match="overflow"):
        answers(grouped(Unbounded(), "rstream", (), (SUM_K,)), {"S": rows((1, big, 0.0), (2, 1, 0.0))})
    data = {"S": rows((1, 1, 1e16), (1, 1, 1.0), (1, 1, -1e16))}
    assert answers(grouped(Unbounded(), "rstream", (), (SUM_X,)), data) == [(1, [(1.0,)])]
