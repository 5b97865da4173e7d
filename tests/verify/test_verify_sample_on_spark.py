"""A sample of the shared vectors, spread over the files, passes on Spark."""

from pathlib import Path

import pytest

from muntin.verify import VectorCase, load_cases, render, verify_case
from muntin.verify.on_spark import SparkRunner

VECTORS = Path(__file__).resolve().parents[2] / "../shared/vectors"
SAMPLE = 40

pytestmark = [
    pytest.mark.skipif(not VECTORS.is_dir(), reason="the shared vectors are not here"),
    pytest.mark.spark,
    pytest.mark.slow,
]


def sample() -> list[VectorCase]:
    """Cases at equal distances in the order of the files, every file with some."""
    if not VECTORS.is_dir():
        return []
    files = [[c for c in load_cases(p) if c.skip is None] for p in sorted(VECTORS.glob("*.json"))]
    total = sum(map(len, files))
    chosen = []
    for cases in files:
        count = max(1, round(SAMPLE * len(cases) / total))
        chosen += [cases[i * len(cases) // count] for i in range(count)]
    return chosen


@pytest.mark.parametrize("case", sample(), ids=lambda case: case.id)
def test_a_vector_passes_on_spark(case: VectorCase, spark, tmp_path) -> None:
    result = verify_case(case, SparkRunner(spark, tmp_path, shards=2))
    assert render(result) == f"PASS {case.id}"
