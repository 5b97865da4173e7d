"""Reports about joins of windows: NULL keys, evictions, outer rows that should not be, bands, growing state."""

from case_runs import Rows, UserCase

OUTER = "SELECT L.v AS l, R.v AS r FROM L [RANGE {l} SECONDS] LEFT JOIN R [RANGE {r} SECONDS] ON L.k = R.k"


def test_null_keys_match_nothing_and_do_no_harm_when_rows_leave() -> None:
    """Keys 1, NULL, 1, and the first leaves: the other still joins, the NULL never does."""
    left = Rows("ts k v", [(1, 1, 10), (2, None, 20), (3, 1, 30)])
    right = Rows("ts k v", [(4, 1, 1), (7, 1, 2), (7, None, 3)])
    text = "Istream(SELECT L.v AS l, R.v AS r FROM L [RANGE 5 SECONDS], R [RANGE 5 SECONDS] WHERE L.k = R.k)"
    UserCase(text, {"L": left, "R": right}).must_give((4, None, 10, 1), (4, None, 30, 1), (7, None, 30, 2))


def test_a_null_key_of_an_outer_join_shows_once_without_partner() -> None:
    streams = {"L": Rows("ts k v", [(1, None, 10)]), "R": Rows("ts k v", [(2, None, 1)])}
    UserCase(OUTER.format(l=5, r=5), streams).must_give((1, "+", 10, None), (6, "-", 10, None))
    inner = "SELECT L.v AS l FROM L [RANGE 5 SECONDS] JOIN R [RANGE 5 SECONDS] ON L.k = R.k"
    UserCase(inner, streams).must_give()


def test_a_matched_row_shows_no_null_while_its_partner_is_there() -> None:
    """Both rows in one instant: the pair, once; no row with NULL beside it."""
    streams = {"L": Rows("ts k v", [(1, 1, 10)]), "R": Rows("ts k v", [(1, 1, 5)])}
    UserCase(OUTER.format(l=5, r=5), streams).must_give((1, "+", 10, 5), (6, "-", 10, 5))
    # the partner leaves first: SQL's answer over the windows then has the row with NULL again
    UserCase(OUTER.format(l=5, r=3), streams).must_give(
        (1, "+", 10, 5), (4, "-", 10, 5), (4, "+", 10, None), (6, "-", 10, None)
    )


def test_a_row_with_null_is_taken_back_when_the_partner_comes() -> None:
    """Left at 0, right at 5, windows of 10: +(L, NULL), then -(L, NULL) and +(L, R) in one instant."""
    streams = {"L": Rows("ts k v", [(0, 1, 10)]), "R": Rows("ts k v", [(5, 1, 7)])}
    UserCase(OUTER.format(l=10, r=10), streams).must_give(
        (0, "+", 10, None), (5, "-", 10, None), (5, "+", 10, 7), (10, "-", 10, 7)
    )
    # answers only at ticks: the left row is never seen alone
    window = "[RANGE 10 SECONDS SLIDE 5 SECONDS]"
    text = f"Istream(SELECT L.v AS l, R.v AS r FROM L {window} LEFT JOIN R {window} ON L.k = R.k)"
    late = {"L": Rows("ts k v", [(1, 1, 10)]), "R": Rows("ts k v", [(4, 1, 7)])}
    UserCase(text, late).must_give((5, None, 10, 7), until=10)


def test_windows_of_different_length_show_each_unmatched_row_once() -> None:
    """S [NOW], T of 100 s: rows of S without partner in the last 100 s show once, rows of T as long as no S comes."""
    streams = {"S": Rows("ts k v", [(10, 1, 1), (200, 1, 2)]), "T": Rows("ts k v", [(50, 1, 5), (150, 2, 6)])}
    text = "Rstream(SELECT S.v AS s, T.v AS t FROM S [NOW] LEFT JOIN T [RANGE 100 SECONDS] ON S.k = T.k WHERE S.v > 0)"
    UserCase(text, streams).must_give((10, None, 1, None), (200, None, 2, None))


def test_late_rows_of_an_outer_join_emit_nothing() -> None:
    left, right = Rows("ts k v", [(100, 1, 10)]), Rows("ts k v", [(100, 2, 5)])
    fed = UserCase(OUTER.format(l=10, r=10), {"L": left, "R": right}).pipeline()
    fed.push(L=left.rows, R=right.rows)
    fed.heartbeat(105)
    out = fed.push(L=[(20, 3, 11)], R=[(30, 1, 12)]) + fed.finish()
    assert out == [(110, "-", 10, None)]
    assert fed.local.late == 2


def test_a_join_of_three_holds_its_rows_not_its_intermediate_results() -> None:
    """A and B match 100 x 100 times, C is empty: the state is 200 rows and there are no results."""
    many = [(1, 1, i) for i in range(100)]
    streams = {"A": Rows("ts k v", many), "B": Rows("ts k v", many), "C": Rows("ts k v", [(500, 9, 0)])}
    windows = ", ".join(f"{name} [RANGE 60 SECONDS]" for name in streams)
    text = f"Istream(SELECT A.v AS a FROM {windows} WHERE A.k = B.k AND B.k = C.k)"
    fed = UserCase(text, streams).pipeline()
    assert fed.push(A=many, B=many) + fed.heartbeat(5) == []
    assert fed.held() <= 200


def test_a_window_of_which_nothing_expires_is_not_rewritten() -> None:
    """An advance of time with nothing to evict leaves the chunks of the state as they are."""
    rows = [(i, i % 7, i) for i in range(400)]
    streams = {"L": Rows("ts k v", rows), "R": Rows("ts k v", [(0, 1, 1)])}
    text = "Istream(SELECT L.v AS l FROM L [RANGE 1 HOUR], R [RANGE 1 HOUR] WHERE L.k = R.k AND R.v < 0)"
    fed = UserCase(text, streams).pipeline()
    fed.push(L=rows, R=streams["R"].rows)
    fed.heartbeat(450)
    before = {id(c) for states in fed.local.states for s in states.values() for cs in s.chunks.values() for c in cs}
    fed.heartbeat(460)
    after = {id(c) for states in fed.local.states for s in states.values() for cs in s.chunks.values() for c in cs}
    assert after == before


def test_a_band_join_needs_no_equality() -> None:
    """Rows of S at 0 and 20, of T at 10 and 40 (minutes), at most 15 apart: (0, 10), (20, 10)."""
    streams = {"S": Rows("ts m", [(0, 0), (1200, 20)]), "T": Rows("ts m", [(600, 10), (2400, 40)])}
    for band in ("ABS(S.m - T.m) <= 15", "T.m BETWEEN S.m - 15 AND S.m + 15"):
        text = f"Istream(SELECT S.m AS s, T.m AS t FROM S [RANGE 1 HOUR], T [RANGE 1 HOUR] WHERE {band})"
        UserCase(text, streams).must_give((600, None, 0, 10), (1200, None, 20, 10))


def test_top_k_survives_what_leaves_outside_of_it() -> None:
    """k = 2 of 10, 9, 8: 9 leaves, then 8, then 10."""
    rows = Rows("ts v", [(1, 9), (2, 8), (3, 10)])
    case = UserCase("Rstream(SELECT v FROM S [RANGE 3 SECONDS] ORDER BY v DESC LIMIT 2)", {"S": rows})
    case.must_give(
        (1, None, 9),
        (2, None, 9),
        (2, None, 8),
        (3, None, 10),
        (3, None, 9),
        (4, None, 10),
        (4, None, 8),
        (5, None, 10),
    )
