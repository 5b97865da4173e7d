"""Errors of the binder: class, place and token, also over several lines; nothing of sqlglot leaks out."""

from __future__ import annotations

import pytest
from cql_golden import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.core.errors import ConfigError, QueryError, UnsupportedError
from muntin.cql import bind
from muntin.cql.places import Place
from muntin.plan.windows import QueryOptions, Range, Rows, Unbounded


def test_place_of_an_error_in_a_long_text() -> None:
    text = "-- délais\nSELECT origin,\n\t  dealy\nFROM flights [RANGE 1 HOUR]"
    with pytest.raises(QueryError) as caught:
        bind(text, CATALOG)
    e = caught.value
    assert (e.line, e.column, e.token) == (3, 4, "dealy")
    assert str(e).startswith("line 3, column 4 near 'dealy': there is no column 'dealy'")


def test_unsupported_is_a_query_error_with_a_place() -> None:
    with pytest.raises(UnsupportedError) as caught:
        bind("SELECT origin\nFROM flights [PARTITION BY origin RANGE 1 HOUR]", CATALOG)
    assert caught.value.line == 2 and "PARTITION BY" in str(caught.value)


def test_window_on_a_table_is_wrong_rather_than_unsupported() -> None:
    with pytest.raises(QueryError) as caught:
        bind("SELECT name FROM airports [NOW]", CATALOG)
    assert not isinstance(caught.value, UnsupportedError)


def test_long_tokens_are_cut() -> None:
    token = Place("x" * 200, 0, 200).token
    assert token is not None and len(token) == 40 and token.endswith("...")


def test_closed_bounds_and_start_bounds_reach_the_windows() -> None:
    query = bind("SELECT origin FROM flights [RANGE 1 HOUR SLIDE 1 MINUTE]", CATALOG, QueryOptions(bounds="start"))
    assert query.scans[0].window == Range(3_600_000_000, 60_000_000)
    assert query.options.bounds == "start"
    assert bind("SELECT origin FROM flights", CATALOG).scans[0].window == Unbounded()


def test_nesting_beyond_reason_is_an_error() -> None:
    with pytest.raises(QueryError, match="nested too deeply"):
        bind(f"SELECT {'(' * 3000}1{')' * 3000} AS x FROM flights", CATALOG)


def test_many_conditions_are_no_nesting() -> None:
    many = " AND ".join(f"delay <> {i}" for i in range(150))
    assert bind(f"SELECT origin FROM flights [NOW] WHERE {many}", CATALOG).scans[0].alias == "flights"


WORDS = [
    "SELECT", "FROM", "flights", "[", "]", "RANGE", "5", "SECONDS", "SLIDE", "NOW", ",", "(", ")", "origin",
    "delay", "*", "WHERE", "=", "GROUP BY", "COUNT", "HAVING", "JOIN", "ON", "weather", "w", "AS", "Istream",
    "'x'", "AND", "NOT", "IN", "CASE", "WHEN", "END", "INTERVAL", "CAST", "ROWS", "PARTITION BY", ".", ";",
    "-", "'", "`", "NULL", "UNION", "ORDER BY", "LIMIT", "DISTINCT", "WITH", "/*", "--", "$", "{", "}", ":",
    "?", "@", "VALUES", "LATERAL", "TABLE", "\n", "é", "\\", "EXISTS", "INTERNAL", "Wstream", "restore", "LEFT JOIN",
    "ANTI JOIN", "EXCEPT ALL", "busy", "late", "rates", "fleet", "1", "(SELECT", "HAVING COUNT(*) > 1", "MEDIAN(delay)",
    "[ROWS 3]", "SLIDE 3", "ORDER BY 1 LIMIT 2", "ON TRUE", "Istream-restore(", "AS x",
]  # fmt: skip
STARTS = [
    "", "SELECT ", "SELECT origin FROM flights [", "SELECT origin FROM flights [NOW] WHERE ", "Istream(",
    "SELECT origin FROM flights [NOW] WHERE EXISTS (SELECT 1 FROM ", "SELECT * FROM (SELECT origin FROM ",
]  # fmt: skip


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from(STARTS), st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_words_give_a_plan_or_a_query_error(start: str, words: list[str]) -> None:
    text = start + " ".join(words)
    try:
        bind(text, CATALOG)
    except QueryError as e:
        assert "\x1b" not in str(e) and "<Token" not in str(e) and "<class" not in str(e)
        assert e.line is not None or "deeply" in e.message


def test_a_view_takes_a_free_name_and_is_bound_where_it_is_used() -> None:
    catalog = CATALOG.with_view("rough", "SELECT wind FROM weather [ROWS 3] WHERE wind > 50")
    assert bind("SELECT COUNT(*) AS n FROM ROUGH", catalog).scans[0].window == Rows(3)
    for taken in ("Flights", "rates", "busy"):
        with pytest.raises(ConfigError, match="already"):
            catalog.with_view(taken, "SELECT 1 FROM flights")


def test_an_error_in_a_view_points_at_its_name() -> None:
    with pytest.raises(QueryError) as caught:
        bind("SELECT *\nFROM broken", CATALOG)
    assert (caught.value.line, caught.value.token) == (2, "broken")


def test_a_bare_query_shows_changes_unless_its_own_windows_slide() -> None:
    inside = (
        "SELECT SUM(n) AS s FROM (Rstream(SELECT COUNT(*) AS n FROM flights [RANGE 6 sec SLIDE 6 sec])) [ROWS 10] q"
    )
    assert bind(inside, CATALOG).root.kind == "changes"
    assert bind("SELECT n FROM busy", CATALOG).root.kind == "rstream"
