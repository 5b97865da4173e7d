"""The demo's answers over the bundled sample, against DuckDB and the windows written out as conditions."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pytest

from muntin.data import sample
from muntin.demo import QUESTIONS
from muntin.session import Session
from muntin.spark.sources import read_batch

TICKS = """
WITH f AS (SELECT *, epoch_us(dep) AS t FROM '{flights}' WHERE dep IS NOT NULL),
     w AS (SELECT *, epoch_us(ts) AS t FROM '{weather}'),
     ticks AS (SELECT unnest(range(1356998400000000, 1362125400000000, {step})) AS tick)
"""

BY_CARRIER = """
SELECT f.carrier, count(*), avg(f.dep_delay), avg(w.wind_speed), tick
FROM ticks JOIN f ON f.t > tick - 7200000000 AND f.t <= tick JOIN w ON w.t > tick - 3600000000 AND w.t <= tick
WHERE f.origin = w.origin AND w.wind_speed < 200 GROUP BY f.carrier, tick
"""

BY_ORIGIN = """
SELECT f.origin, count(*), avg(f.dep_delay), tick FROM ticks JOIN f ON f.t > tick - 3600000000 AND f.t <= tick
GROUP BY f.origin, tick
"""


@pytest.fixture(scope="module")
def session(spark: Any) -> Session:
    session = Session(spark, shards=8)
    for name, ts in (("flights", "dep"), ("weather", "ts")):
        session.stream(name, read_batch(spark, "parquet", str(sample(name))), ts=ts)
    return session


BY_MINUTE = pytest.param(1, 60_000_000, BY_ORIGIN, marks=pytest.mark.slow)


@pytest.mark.spark
@pytest.mark.parametrize(("number", "step", "oracle"), [(0, 3_600_000_000, BY_CARRIER), BY_MINUTE])
def test_answers_equal_duckdb(session: Session, number: int, step: int, oracle: str) -> None:
    text = TICKS.format(flights=sample("flights"), weather=sample("weather"), step=step) + oracle
    expected = sorted(duckdb.sql(text).fetchall(), key=lambda r: (r[-1], r[0]))
    table = session.sql(QUESTIONS[number].cql).to_df().toArrow()
    time = table.schema.get_field_index("ts")
    columns = [c.cast("int64").to_pylist() if i == time else c.to_pylist() for i, c in enumerate(table.columns)]
    found = sorted(zip(*columns, strict=True), key=lambda r: (r[-1], r[0]))
    assert len(found) > 10_000
    assert len(found) == len(expected)
    wrong = [(a, b) for a, b in zip(found, expected, strict=True) if not _same(a, b)]
    assert wrong[:3] == []


def _same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    pairs = zip(a, b, strict=True)
    return all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9) if isinstance(x, float) else x == y for x, y in pairs)
