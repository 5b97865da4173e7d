"""The shared vectors on Spark: a few by default, every one of them in the long form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muntin.verify import VectorCase, load_cases, render, verify_case
from muntin.verify.on_spark import SparkRunner

VECTORS = Path(__file__).resolve().parents[2] / "../shared/vectors"

pytestmark = [pytest.mark.spark, pytest.mark.skipif(not VECTORS.is_dir(), reason="the shared vectors are not here")]


def cases() -> list[VectorCase]:
    return [c for p in sorted(VECTORS.glob("*.json")) for c in load_cases(p) if c.skip is None]


@pytest.mark.parametrize(
    "every",
    [54, pytest.param(5, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)],
    ids=["four", "forty", "all"],
)
def test_vectors_pass_on_spark(spark: Any, tmp_path: Path, every: int) -> None:
    chosen = cases()[::every]
    assert len(chosen) >= 4
    runner = SparkRunner(spark, tmp_path, shards=2)
    found = [render(verify_case(case, runner)) for case in chosen]
    assert found == [f"PASS {case.id}" for case in chosen]
