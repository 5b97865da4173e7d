from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.verify import Job, run_on_reference
from muntin.verify.on_spark import SparkRunner

STREAM = Stream("s", Schema.of(ts=pa.int64(), x=pa.int64()), "ts", ts_unit=SECOND)
ROWS = [{"ts": 1, "x": 5}, {"ts": 2, "x": 7}, {"ts": 4, "x": 1}]
TEXT = "SELECT SUM(x) AS total FROM s [RANGE 2 SECONDS SLIDE 1 SECOND]"


@pytest.mark.spark
@pytest.mark.parametrize("until", [None, 9 * SECOND])
def test_spark_answers_as_the_reference(spark: Any, tmp_path: Path, until: int | None) -> None:
    job = Job(TEXT, Catalog((STREAM,)), QueryOptions(), {"s": ROWS}, until=until)
    found = SparkRunner(spark, tmp_path, shards=2)(job)
    assert found.columns == ("total",)
    expected = sorted(run_on_reference(job).rows)
    assert len(expected) >= 5
    assert sorted(found.rows, key=lambda r: r[0]) == sorted(expected, key=lambda r: r[0])


@pytest.mark.spark
def test_late_rows_are_dropped(spark: Any, tmp_path: Path) -> None:
    late = {"s": [{"ts": 2, "x": 100}]}
    job = Job(
        TEXT, Catalog((STREAM,)), QueryOptions(), {"s": ROWS}, until=6 * SECOND, late=late, complete=3 * SECOND
    )  # fmt: skip
    found = SparkRunner(spark, tmp_path, shards=2)(job)
    assert {t // SECOND: v for t, _, (v,) in found.rows}[3] == 7
