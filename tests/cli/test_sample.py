from __future__ import annotations

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from muntin.data import SAMPLES, sample


def test_the_sample_is_small_and_in_order_of_time() -> None:
    assert sum(sample(name).stat().st_size for name in SAMPLES) <= 3_000_000
    flights, weather = (pq.read_table(sample(name)) for name in SAMPLES)
    for column in (flights["dep"].drop_null(), weather["ts"]):
        assert pc.all(pc.less_equal(column[:-1], column[1:])).as_py()
    late = pc.subtract(flights["dep"], flights["sched_dep"]).cast("int64")
    assert late.equals(pc.multiply(flights["dep_delay"].cast("int64"), 60_000_000))


def test_unknown_sample() -> None:
    with pytest.raises(ValueError, match="there are flights, weather"):
        sample("trains")
