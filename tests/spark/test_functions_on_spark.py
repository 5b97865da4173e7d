"""Users' scalar functions on Spark: packers and levels run them, a restart goes on with them, errors name them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest_spark import Feed, events

import muntin
from muntin.core.errors import ConfigError
from muntin.session import Session

pytestmark = pytest.mark.spark


@muntin.function(returns="BIGINT", arguments=["BIGINT"])
def halved(x: pa.Array) -> pa.Array:
    if pc.any(pc.less(x, 10)).as_py():
        raise ValueError("too small for halves")
    return pc.divide(x, 2)


TEXT = (
    "SELECT halved(a.v) AS h, COUNT(*) AS n, MAX(halved(b.v + 10)) AS m FROM s a [RANGE 8 SECONDS SLIDE 2 SECONDS], "
    "s b [RANGE 3 SECONDS] WHERE a.v > 20 AND halved(a.v) > 12 AND b.v > 80 AND halved(a.v) = halved(b.v) - 20 "
    "GROUP BY halved(a.v)"
)


def _session(spark: Any, source: Any) -> Session:
    session = Session(spark, shards=3, partitions=2)
    session.stream("s", source, slack="2 seconds")
    session.function(halved)
    return session


@pytest.mark.slow
def test_a_live_run_with_a_restart_gives_what_one_process_does(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    source = feed("s").put(*(events(i, 20 * i, 20, 120, disorder_s=2) for i in range(2)))
    rows = source.replay().toArrow()
    before = muntin.query(TEXT, functions=[halved], s=(rows, "ts"))
    got: list[dict[str, Any]] = []
    for more in ([], [events(7, 40, 20, 120, disorder_s=2)]):
        source.put(*more)
        live = _session(spark, source.live())
        live.sql(TEXT, name="q").write(foreach_batch=lambda df, _: got.extend(df.toArrow().to_pylist()))
        live.start(str(tmp_path / "cp"), "available_now").await_termination()
    wanted = muntin.query(TEXT, functions=[halved], s=(source.replay().toArrow(), "ts"))
    assert {str(r) for r in got} <= {str(r) for r in wanted.to_pylist()} and len(got) > len(before)
    other = _session(spark, source.live())
    other.function("halved", lambda x: x, returns="BIGINT", arguments=["BIGINT"], version="2", replace=True)
    other.sql(TEXT, name="q").write()
    with pytest.raises(ConfigError, match="asks another question"):
        other.start(str(tmp_path / "cp"), "available_now")


@pytest.mark.any_spark
def test_a_replay_is_as_in_one_process_and_errors_name_the_function(spark: Any, feed: Callable[[str], Feed]) -> None:
    source = feed("s").put(*(events(i, 20 * i, 20, 120) for i in range(2)))
    session = _session(spark, source.replay())
    wanted = muntin.query(TEXT, functions=[halved], s=(source.replay().toArrow(), "ts"))
    whole = session.sql(TEXT, name="q").to_df().toArrow()
    assert sorted(map(str, whole.to_pylist())) == sorted(map(str, wanted.to_pylist())) and len(whole) > 20
    with pytest.raises(Exception, match=r"DataError: function halved failed, asked about \d+ rows of int64: V"):
        session.sql("SELECT halved(v) AS h FROM s [NOW]", name="q", replace=True).to_df().toArrow()
    with pytest.raises(ConfigError, match="query 'q' would no longer stand"):
        session.drop("halved")
    session.drop("q")
    session.drop("halved")
    with pytest.raises(muntin.UnsupportedError, match="there is no function halved"):
        session.sql("SELECT halved(v) AS h FROM s [NOW]")
