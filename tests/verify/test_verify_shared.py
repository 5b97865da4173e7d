"""The shared vectors: what the language covers passes, on the evaluator and on the local runtime."""

from pathlib import Path

import pytest

from muntin.plan.windows import Range
from muntin.verify import load_cases, render, run_on_local, run_on_reference, verify_case
from muntin.verify.verify import job_of

VECTORS = Path(__file__).resolve().parents[2] / "../shared/vectors"
RUNNERS = pytest.mark.parametrize("runner", [run_on_reference, run_on_local], ids=["reference", "local"])

pytestmark = pytest.mark.skipif(not VECTORS.is_dir(), reason="the shared vectors are not here")


def cases():
    return [case for path in sorted(VECTORS.glob("*.json")) for case in load_cases(path)]


@RUNNERS
def test_nothing_fails_and_what_is_covered_passes(runner):
    results = [verify_case(case, runner) for case in cases()]
    assert [render(r) for r in results if r.status == "FAIL"] == []
    assert sum(r.status == "PASS" for r in results) >= 80


@RUNNERS
def test_start_bounds_replace_a_shift_of_one(runner):
    """Where the shift is 1 and every window slides, the same rows come from ``bounds="start"`` without it."""
    checked = 0
    for case in cases():
        if case.shift != 1 or verify_case(case, run_on_reference).status != "PASS":
            continue
        windows = [scan.window for scan in job_of(case).bind().scans]
        if all(isinstance(w, Range) and w.slide is not None for w in windows):
            assert render(verify_case(case.as_start(), runner)) == f"PASS {case.id}"
            checked += 1
    assert checked >= 15


@RUNNERS
def test_the_other_reading_of_the_boundary_fails_where_it_matters(runner):
    """Guards the comparison itself: most cases that are sensitive to the boundary must not pass under the other one."""
    from dataclasses import replace

    passing = [c for c in cases() if c.boundary_sensitive and verify_case(c, run_on_reference).status == "PASS"]
    other = {"closed": "half_open", "half_open": "closed"}
    wrong = [verify_case(replace(c, bounds=other[c.bounds]), runner) for c in passing]
    assert sum(r.status == "FAIL" for r in wrong) == len(passing) > 30
