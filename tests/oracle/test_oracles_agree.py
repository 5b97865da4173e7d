"""Two independent readings of the definition give the same answers: the naive evaluator and DuckDB."""

from random import Random

from draws import blocks
from duckdb_oracle import duckdb_answers
from generate import Case, draw_case
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.cql.binder import bind
from muntin.reference import answers
from muntin.verify.compare import bag_difference


def explain_difference(case: Case, expected, got) -> str:
    """Empty when two lists of answers are equal; else the first instants at which they differ, and the case."""
    problems = []
    if [t for t, _ in expected] != [t for t, _ in got]:
        problems.append(f"instants {[t for t, _ in expected]} / {[t for t, _ in got]}")
    for (t, rows), (_, other) in zip(expected, got, strict=False):
        if difference := bag_difference(rows, other):
            problems.append(f"at {t}: {difference}")
    return "\n".join([*problems[:3], case.text, repr(case.options), repr(case.streams)]) if problems else ""


def check(seed: int) -> None:
    case = draw_case(seed)
    query = bind(case.text, case.catalog, case.options)
    for until in (None, Random(seed).randint(0, 6) * case.unit + case.last_instant()):
        problem = explain_difference(case, duckdb_answers(case, until), answers(query, case.streams, until))
        assert not problem, f"seed {seed}, until {until}: {problem}"


@blocks(1, 6)
def test_reference_equals_duckdb(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        check(seed)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(10_000, 10**9))
def test_reference_equals_duckdb_on_drawn_seeds(seed: int) -> None:
    check(seed)


def test_the_draw_is_not_trivial() -> None:
    """Most cases have rows in their answers, and every form of the language is drawn."""
    cases = [draw_case(seed) for seed in range(60)]
    full = sum(any(rows for _, rows in duckdb_answers(c)) for c in cases)
    assert full > 36
    text = " ".join(c.text for c in cases)
    for form in ("Istream", "Dstream", "Rstream", "SLIDE", "WINDOW", "NOW", "UNBOUNDED", "JOIN", "HAVING", "DISTINCT"):
        assert form in text
    assert {c.options.bounds for c in cases} == {"half_open", "closed", "start"}
