"""The whole language, read twice: the naive evaluator and DuckDB give the same answers at every instant."""

import re
from collections.abc import Callable
from random import Random

from draws import blocks
from duckdb_wide import wide_answers, wide_rows
from generate_further import draw_further_case, draw_repeating_case
from generate_internal import draw_internal_case
from generate_wide import WideCase, draw_wide_case
from hypothesis import given, settings
from hypothesis import strategies as st
from test_local_matches import difference
from test_oracles_agree import explain_difference
from user_aggregates import PLAIN

from muntin.cql.binder import bind
from muntin.reference import answers, run

FORMS = (
    r"FIRST\(", r"LAST\(", r"squares\(", r"joined\(", r"runner_up\(", r"HAVING (FIRST|LAST)\(",
    r"HAVING (squares|joined|runner_up)\(", r"\(SELECT (FIRST|LAST)\([^)]*\) FROM",
    r"\(SELECT (squares|joined|runner_up)\([^)]*\) FROM", r"(FIRST|LAST)\(.* JOIN", r"(FIRST|LAST)\(.* LIMIT",
    r"INTERNAL\] AS a, . \[RANGE [^]]*INTERNAL", r"INTERNAL\] AS a WHERE EXISTS", r"SLIDE \d+ \w+ INTERNAL",
    r"INTERNAL\] AS a, [TN] AS r", r"SUM\(.\.v\).* INTERNAL", r"INTERNAL\].* HAVING", r"INTERNAL\].*UNION ALL",
    r"FROM \(SELECT .* INTERNAL\].*\) AS q", r"\) \[RANGE [^]]*INTERNAL\] AS a", r"\nWstream\(", r"stream\(Wstream\(",
    r"SELECT Wstream\(", r"FROM Wstream\(", r"INTERNAL\][^\[]*\) \[ROWS", r"\(Wstream\([^[]*\) \[ROWS",
    r"\(Wstream\([^[]*\) \[RANGE", r"\[ROWS \d+ SLIDE \d+ \w+\]", r"\[RANGE \d+ \w+ SLIDE \d+\]",
    r"\[PARTITION BY k ROWS \d+ SLIDE \d+\]", r"\[PARTITION BY k ROWS \d+ SLIDE \d+ \w+\]", "-restore",
)  # fmt: skip
"""What the further draw is there for."""


def check(seed: int, draw: Callable[[int], WideCase] = draw_wide_case) -> None:
    case = draw(seed)
    query = bind(case.text, case.catalog, case.options)
    for until in (None, Random(seed).randint(0, 6) * case.unit + case.last_instant()):
        expected = wide_answers(case, until)
        got = answers(query, case.streams, until, case.tables, PLAIN)
        problem = explain_difference(case, expected, got)
        assert not problem, f"seed {seed}, until {until}: {problem}\n{case.tables}"
        problem = difference(wide_rows(case, expected, until), run(query, case.streams, until, case.tables, PLAIN))
        assert not problem, f"seed {seed}, until {until}: {problem}\n{case.text}\n{case.streams}"


@blocks(1, 8)
def test_reference_equals_duckdb(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        check(seed)


@blocks(1, 8)
def test_reference_equals_duckdb_on_what_the_wide_draw_leaves_out(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        check(seed, draw_further_case)


@blocks(1, 4)
def test_reference_equals_duckdb_with_internal_windows_of_every_kind(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        check(seed, draw_internal_case)


@blocks(1, 3)
def test_reference_equals_duckdb_where_tables_repeat_themselves(block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        check(seed, draw_repeating_case)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(10_000, 10**9))
def test_reference_equals_duckdb_on_drawn_seeds(seed: int) -> None:
    check(seed)


def test_the_draw_is_not_trivial() -> None:
    """Most cases have rows in their answers, and every form of the language is drawn."""
    cases = [draw_wide_case(seed) for seed in range(150)]
    assert sum(any(rows for _, rows in wide_answers(c)) for c in cases[:60]) > 40
    text = " ".join(c.text for c in cases)
    forms = (
        "ROWS|PARTITION BY|SLIDE|NOT EXISTS|NOT IN|SEMI JOIN|ANTI JOIN|LEFT JOIN|RIGHT JOIN|FULL JOIN|UNION|EXCEPT ALL|"
        "INTERSECT|DISTINCT|LIMIT|MEDIAN|QUANTILE|STDDEV|COLLECT|(SELECT MAX|FROM (SELECT|FROM (Istream|FROM (Rstream|"
        "Istream-restore|Rstream-restore"
    )
    for form in forms.split("|"):
        assert form in text, form
    assert {name for c in cases for name in c.tables} == {"T", "R", "N"}


def test_the_further_draw_is_not_trivial() -> None:
    """Most cases have rows in their answers, and every form that the wide draw leaves out is drawn."""
    cases = [draw_further_case(seed) for seed in range(300)]
    assert sum(any(rows for _, rows in wide_answers(c)) for c in cases[:60]) > 40
    text = "\n".join(c.text for c in cases)
    assert [form for form in FORMS if not re.search(form, text)] == []
    assert {name for c in cases for name in c.tables} == {"T", "R", "N"}
