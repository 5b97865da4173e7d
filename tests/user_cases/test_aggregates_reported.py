"""Reports about aggregates that were kept by subtracting, and about NULL, NaN and zeros as keys."""

import math

import pytest
from case_runs import Rows, UserCase

NAN = math.nan


def test_a_large_value_leaves_no_rounding_behind() -> None:
    """2^54, 1, 1 over two rows: the third average is 1, not 0.5."""
    rows = Rows("ts v", [(1, 2.0**54), (2, 1.0), (3, 1.0)])
    UserCase("Istream(SELECT AVG(v) AS a FROM S [ROWS 2])", {"S": rows}).must_give(
        (1, None, 2.0**54), (2, None, 2.0**53), (3, None, 1.0)
    )
    text = "Istream(SELECT SUM(v) AS s FROM S [RANGE 2 SECONDS])"
    UserCase(text, {"S": rows}).must_give((1, None, 2.0**54), (3, None, 2.0), (4, None, 1.0), (5, None, None))


def test_the_average_of_large_integers_does_not_overflow() -> None:
    """9223372036854775807, 1, 1, 1, 1 over four rows: the last average is 1."""
    rows = Rows("ts v", [(1, 2**63 - 1), (2, 1), (3, 1), (4, 1), (5, 1)])
    case = UserCase("Istream(SELECT AVG(v) AS a FROM S [ROWS 4])", {"S": rows})
    case.must_give(*[(n, None, (2**63 - 2 + n) / n) for n in (1, 2, 3, 4)], (5, None, 1.0))


@pytest.mark.parametrize("odd", [NAN, math.inf, -math.inf])
def test_nan_and_infinity_leave_with_their_row(odd: float) -> None:
    """1, 2, 3, x, 4, ..., 9, sums of four rows: x only while it is inside, then 22, 26, 30."""
    values = [1.0, 2.0, 3.0, odd, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    rows = Rows("ts v", list(enumerate(values, 1)))
    sums = {i: sum(values[max(0, i - 4) : i]) for i in range(1, 11)}
    assert [sums[i] for i in (8, 9, 10)] == [22.0, 26.0, 30.0]
    case = UserCase("Istream(SELECT SUM(v) AS s FROM S [ROWS 4])", {"S": rows})
    case.must_give(*[(i, None, s) for i, s in sums.items() if i not in (5, 6, 7)])


def test_a_late_row_is_in_no_later_window() -> None:
    """Size 3, slide 1: a row of t = 1 that comes when [0, 3) has been answered is in no window, added or subtracted."""
    rows = Rows("ts v", [(0, 1), (2, 10), (4, 100), (1, 1000), (5, 10_000)])
    case = UserCase("SELECT SUM(v) AS s FROM S [RANGE 3 SECONDS SLIDE 1 SECOND]", {"S": rows})
    fed = case.pipeline()
    out = fed.push(S=rows.rows[:3]) + fed.push(S=rows.rows[3:4]) + fed.push(S=rows.rows[4:]) + fed.finish()
    assert fed.local.late == 1
    expected = [1, 1, 11, 10, 110, 10_100, 10_100, 10_000, None]
    assert out == [(t, None, s) for t, s in enumerate(expected)]


def test_nan_is_one_key_and_zero_another() -> None:
    rows = Rows("ts v", [(1, NAN), (1, -NAN), (1, 0.0), (1, -0.0)])
    UserCase("Istream(SELECT DISTINCT v FROM S [UNBOUNDED])", {"S": rows}).must_give((1, None, NAN), (1, None, 0.0))
    text = "Istream(SELECT v, COUNT(*) AS n FROM S [UNBOUNDED] GROUP BY v)"
    UserCase(text, {"S": rows}).must_give((1, None, NAN, 2), (1, None, 0.0, 2))


def test_nan_joins_nan_and_the_zeros_join() -> None:
    streams = {"L": Rows("ts v", [(1, NAN), (1, 0.0)]), "R": Rows("ts v", [(2, NAN), (2, -0.0), (2, 1.0)])}
    text = "Istream(SELECT L.v AS l, R.v AS r FROM L [UNBOUNDED], R [UNBOUNDED] WHERE L.v = R.v)"
    UserCase(text, streams).must_give((2, None, NAN, NAN), (2, None, 0.0, 0.0))


def test_a_replacement_that_equals_what_it_replaces_is_no_change() -> None:
    """An equal row leaves and comes in one instant: nothing is shown, and what remains is right."""
    rows = Rows("ts v", [(1, 7), (1, 7), (3, 7)])
    case = UserCase("SELECT v FROM S [RANGE 2 SECONDS]", {"S": rows})
    case.must_give((1, "+", 7), (1, "+", 7), (3, "-", 7), (5, "-", 7))
    top = UserCase("SELECT v FROM S [RANGE 2 SECONDS] ORDER BY v LIMIT 1", {"S": rows})
    top.must_give((1, "+", 7), (5, "-", 7))
