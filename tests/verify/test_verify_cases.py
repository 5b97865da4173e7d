"""Reading cases, comparing outcomes and printing, on small cases of our own."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from muntin.core.errors import ConfigError, UnsupportedError
from muntin.verify import (
    CaseResult,
    Outcome,
    load_cases,
    print_results,
    render,
    run_on_local,
    verify_case,
    verify_files,
)
from muntin.verify.case import parse_case
from muntin.verify.runner import run_on_reference

RUNNERS = pytest.mark.parametrize("runner", [run_on_reference, run_on_local], ids=["reference", "local"])


def vector(**changes):
    base = {
        "id": "mine",
        "cql": "Istream(SELECT v FROM S [RANGE 2 SECONDS])",
        "time_unit": "s",
        "streams": {"S": [{"ts": 1, "v": 10}, {"ts": 2, "v": None}]},
        "relations": {},
        "expect": {"kind": "istream", "rows": [{"ts": 1, "row": {"v": 10}}, {"ts": 2, "row": {"v": None}}]},
    }
    return parse_case({**base, **changes}, Path())


def expecting(kind, *rows, **more):
    """An expectation from (ts, columns) or (ts, op, columns)."""
    listed = [{"ts": r[0], "row": r[-1], **({"op": r[1]} if len(r) == 3 else {})} for r in rows]
    return {"kind": kind, "rows": listed, **more}


@RUNNERS
def test_pass(runner):
    assert verify_case(vector(), runner) == CaseResult("mine", "PASS")


@RUNNERS
def test_fail_says_where_and_what(runner):
    wrong = vector(expect=expecting("istream", (1, {"v": 10}), (2, {"v": 3})))
    result = verify_case(wrong, runner)
    assert result.status == "FAIL"
    assert render(result) == "FAIL mine: at 2: missing (3); unexpected (None)"


@RUNNERS
def test_changelog_of_the_body_and_netting(runner):
    log = expecting("changelog", (1, "+", {"v": 10}), (2, "+", {"v": None}), (3, "-", {"v": 10}), (4, "-", {"v": None}))
    assert verify_case(vector(expect=log), runner).status == "PASS"
    log["rows"] += [{"ts": 1, "op": op, "row": {"v": 9}} for op in "-+"]
    assert verify_case(vector(expect=log), runner).status == "PASS"
    assert verify_case(vector(expect=expecting("changelog", (1, "+", {"v": 10}))), runner).status == "FAIL"


@RUNNERS
def test_changelog_with_slide_is_the_difference_of_answers(runner):
    log = expecting("changelog", (2, "+", {"v": 10}), (2, "+", {"v": None}), (4, "-", {"v": 10}), (4, "-", {"v": None}))
    case = vector(cql="SELECT v FROM S [RANGE 2 SECONDS SLIDE 2 SECONDS]", expect=log)
    assert verify_case(case, runner).status == "PASS"


@RUNNERS
def test_final_is_what_is_there_after_the_last_row(runner):
    case = vector(expect={"kind": "final", "rows": [{"row": {"v": 10}}, {"row": {"v": None}}]})
    assert verify_case(case, runner).status == "PASS"
    case = vector(expect={"kind": "final", "rows": [{"row": {"v": 10}}]})
    assert "unexpected (None)" in verify_case(case, runner).detail


@RUNNERS
def test_ticks_ask_for_empty_answers_too_and_time_moves_to_the_last(runner):
    cql = "Rstream(SELECT COUNT(*) AS n FROM S [RANGE 2 SECONDS SLIDE 2 SECONDS])"
    rows = [(2, {"n": 2}), (4, {"n": 0}), (6, {"n": 0}), (8, {"n": 0})]
    case = vector(cql=cql, expect=expecting("rstream", *rows, ticks=[0, 2, 4, 6, 8]))
    assert verify_case(case, runner).status == "PASS"
    case = vector(cql=cql, expect=expecting("rstream", *rows[:2], ticks=[2, 4, 6]))
    assert verify_case(case, runner).detail == "at 6: unexpected (0)"
    case = vector(cql=cql, expect=expecting("rstream", rows[0]))
    assert verify_case(case, runner).status == "PASS"


@RUNNERS
def test_observed_span_and_expect_cql(runner):
    late = expecting("istream", (2, {"v": None}))
    assert verify_case(vector(expect=late, observed_from=2), runner).status == "PASS"
    early = expecting("istream", (1, {"v": 10}))
    assert verify_case(vector(expect=early, observed_until=1), runner).status == "PASS"
    both = vector(expect=expecting("istream"), expect_cql=expecting("istream", (1, {"v": 10}), (2, {"v": None})))
    assert verify_case(both, runner).status == "PASS"


@RUNNERS
def test_ignore_ts_compares_the_bag_over_all_ticks(runner):
    cql = "Rstream(SELECT v FROM S [RANGE 2 SECONDS SLIDE 1 SECOND])"
    rows = [{"row": {"v": v}} for v in (10, 10, None, None)]
    case = vector(cql=cql, expect={"kind": "rstream", "rows": rows, "ticks": [1, 2, 3, 4]}, ignore_ts=True)
    assert verify_case(case, runner).status == "PASS"
    assert verify_case(replace(case, ignore_ts=False), runner).status == "FAIL"


@RUNNERS
def test_closed_boundary_shift_and_time_in_expressions(runner):
    case = vector(cql="Dstream(SELECT ts AS t FROM S [RANGE 2 SECONDS])", boundary="closed", ts_shift=5)
    expect = parse_case(_raw("dstream", [(9, {"t": 6}), (10, {"t": 7})]), Path()).expect
    assert verify_case(replace(case, expect=expect), runner).status == "PASS"


def _raw(kind, rows):
    return {"id": "x", "cql": "x", "time_unit": "s", "streams": {}, "expect": expecting(kind, *rows)}


@RUNNERS
def test_late_rows_change_nothing(runner):
    case = vector(late_rows={"S": [{"ts": 0, "v": 99}]})
    assert verify_case(case, runner).status == "PASS"


def test_ticks_between_changes_of_an_rstream_without_slide_are_looked_up():
    cql = "Rstream(SELECT v FROM S [RANGE 4 SECONDS])"
    rows = [(1, {"v": 10}), (3, {"v": 10}), (3, {"v": None}), (5, {"v": None})]
    case = vector(cql=cql, expect=expecting("rstream", *rows, ticks=[0, 1, 3, 5, 7]))
    assert verify_case(case, run_on_reference).status == "PASS"
    case = vector(cql=cql, expect=expecting("rstream", *rows[:2], rows[3], ticks=[1, 3, 5]))
    assert verify_case(case, run_on_reference).detail == "at 3: unexpected (None)"


def test_views_and_tables_are_given_to_the_query():
    cql = "Rstream(SELECT V.v AS v, R.n AS n FROM V, R WHERE V.v = R.v)"
    updates = [{"ts": 2, "op": "+", "row": {"v": 10, "n": "a"}}, {"ts": 3, "op": "-", "row": {"v": 10, "n": "a"}}]
    expect = expecting("rstream", (2, {"v": 10, "n": "a"}), ticks=[1, 2, 3])
    views = [["V", "SELECT v FROM S [RANGE 9 SECONDS] WHERE v > 5"]]
    case = vector(cql=cql, views=views, relations={"R": updates}, expect=expect)
    assert verify_case(case, run_on_reference) == CaseResult("mine", "PASS")
    always = [{"v": 10, "n": "a"}]
    expect = expecting("rstream", *[(t, {"v": 10, "n": "a"}) for t in (1, 2)], ticks=[1, 2])
    case = vector(cql=cql, views=views, relations={"R": always}, expect=expect)
    assert verify_case(case, run_on_reference) == CaseResult("mine", "PASS")


def test_arrays_are_compared_value_by_value():
    cql = "Rstream(SELECT COLLECT(v) AS a FROM S [UNBOUNDED])"
    case = vector(cql=cql, expect=expecting("rstream", (1, {"a": [10.0]}), (2, {"a": [10]})))
    assert verify_case(case, run_on_reference) == CaseResult("mine", "PASS")


def test_columns_match_by_name_else_by_position():
    case = vector(expect=expecting("istream", (1, {"b": 2, "a": 1})))
    same = verify_case(case, lambda job: Outcome(("a", "b"), [(1_000_000, None, (1, 2))]))
    assert same.status == "PASS"
    by_position = verify_case(case, lambda job: Outcome(("x", "y"), [(1_000_000, None, (2, 1))]))
    assert by_position.status == "PASS"
    other = verify_case(case, lambda job: Outcome(("x",), [(1_000_000, None, (2,))]))
    assert "columns" in other.detail


def test_unsupported_errors_and_informative_cases():
    def cannot(job):
        raise UnsupportedError("no such thing yet", line=1, column=8, token="X")

    def breaks(job):
        raise ZeroDivisionError("oops")

    assert verify_case(vector(), cannot).status == "UNSUPPORTED"
    assert render(verify_case(vector(), breaks)) == "FAIL mine: ZeroDivisionError: oops"
    assert verify_case(vector(cql=None, skip="differs"), breaks).status == "UNSUPPORTED"
    assert verify_case(vector(cql="SELECT FROM"), run_on_reference).status == "FAIL"


def test_slack_is_the_largest_back_step_and_types_are_inferred():
    rows = [{"ts": 5, "a": 1, "s": "x"}, {"ts": 2, "a": 1.5}, {"ts": 9, "b": None}]
    case = vector(streams={"S": rows}, time_unit="ms")
    (stream,) = case.catalog.streams
    assert (stream.slack, stream.ts_unit) == (3_000, 1_000)
    assert [(f.name, str(f.type)) for f in stream.schema] == [
        ("ts", "int64"), ("a", "double"), ("s", "string"), ("b", "int64")
    ]  # fmt: skip


def test_files_references_and_printing(tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps([{"ts": 1, "v": 10}]))
    good = {
        **_raw("istream", [(1, {"v": 10})]),
        "cql": "Istream(SELECT v FROM S)",
        "streams": {"S": {"$ref": "rows.json"}},
    }
    bad = {**good, "id": "bad", "expect": expecting("istream")}
    beyond = {**good, "id": "beyond", "cql": "Istream(SELECT v FROM S TABLESAMPLE (5 ROWS))"}
    (tmp_path / "cases.json").write_text(json.dumps([good, bad, beyond]))
    lines: list[str] = []
    status = print_results(verify_files([tmp_path / "cases.json"], run_on_reference), lines.append)
    assert status == 1
    assert lines[0] == "PASS x" and lines[1].startswith("FAIL bad: ") and lines[2].startswith("UNSUPPORTED beyond: ")
    assert lines[-1] == "1 passed, 1 failed, 1 unsupported"
    assert all("\n" not in line for line in lines)


def test_files_that_are_no_vectors(tmp_path):
    path = tmp_path / "x.json"
    with pytest.raises(ConfigError, match="cannot read"):
        list(load_cases(path))
    path.write_text("{}")
    with pytest.raises(ConfigError, match="not a list"):
        list(load_cases(path))
    path.write_text('[{"id": "odd"}]')
    with pytest.raises(ConfigError, match="case odd"):
        list(load_cases(path))
