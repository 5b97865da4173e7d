"""The shared vectors: what the language covers passes, on the evaluator and on the local runtime."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from muntin.plan.windows import Bounds, Range
from muntin.verify import load_cases, render, run_on_local, run_on_reference, verify_case
from muntin.verify.verify import job_of

VECTORS = Path(__file__).resolve().parents[2] / "../shared/vectors"
RUNNERS = pytest.mark.parametrize("runner", [run_on_reference, run_on_local], ids=["reference", "local"])

MOST_UNSUPPORTED = {run_on_reference: 1, run_on_local: 18}
"""One case is only informative; the local runtime reads no tables yet."""

pytestmark = pytest.mark.skipif(not VECTORS.is_dir(), reason="the shared vectors are not here")


@cache
def cases():
    return [case for path in sorted(VECTORS.glob("*.json")) for case in load_cases(path)]


@cache
def results(runner):
    return {case.id: verify_case(case, runner) for case in cases()}


def passing():
    return [case for case in cases() if results(run_on_reference)[case.id].status == "PASS"]


@RUNNERS
def test_nothing_fails_and_what_is_covered_passes(runner):
    found = results(runner).values()
    assert [render(r) for r in found if r.status == "FAIL"] == []
    refused = [render(r) for r in found if r.status == "UNSUPPORTED"]
    assert len(refused) <= MOST_UNSUPPORTED[runner], refused


@RUNNERS
def test_start_bounds_replace_a_shift_of_one(runner):
    """Where the shift is 1 and every window slides, the same rows come from ``bounds="start"`` without it."""
    checked = 0
    for case in passing():
        if case.shift != 1 or re.search(r"\bts\b", case.cql):
            continue  # not shifted, or event time is among the values
        windows = [scan.window for scan in job_of(case).bind().scans]
        if all(isinstance(w, Range) and w.slide is not None for w in windows):
            assert render(verify_case(case.as_start(), runner)) == f"PASS {case.id}"
            checked += 1
    assert checked >= 15


def test_the_other_reading_of_the_boundary_fails_where_it_matters():
    """Guards the comparison itself: a case that is sensitive to the boundary must not pass under the other one."""
    sensitive = [case for case in passing() if case.boundary_sensitive]
    other: dict[Bounds, Bounds] = {"closed": "half_open", "half_open": "closed"}
    for case in sensitive:
        assert verify_case(replace(case, bounds=other[case.bounds]), run_on_reference).status == "FAIL", case.id
    assert len(sensitive) > 30
