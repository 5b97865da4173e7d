"""Restarts of a live pipeline after something changed: what is asked goes on, what is new says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import SECOND, Feed, bag, events, until
from typer.testing import CliRunner

from muntin.cli.app import app
from muntin.core.errors import ConfigError
from muntin.session import Session

pytestmark = pytest.mark.spark

JOIN3 = (
    "SELECT x.v AS a, y.v AS b, z.v AS c FROM a x [RANGE 8 SECONDS], b y [RANGE 8 SECONDS], a z [RANGE 5 SECONDS] "
    "WHERE x.k = y.k AND y.j = z.j"
)
END = 100 * SECOND


def session_over(spark: Any, inputs: dict[str, Feed], rates: dict[str, float]) -> Session:
    session = Session(spark, shards=4)
    for name, source in inputs.items():
        session.stream(name, source.live(), slack="2 seconds", rate=rates.get(name))
    return session


def run(session: Session, checkpoint: Path, beat: int | None = None, **options: Any) -> None:
    started = session.start(str(checkpoint), "available_now", **options)
    started.await_termination()
    if beat is not None:
        started.heartbeat(beat)
        session.start(str(checkpoint), "available_now", **options).await_termination()


def held(checkpoint: Path) -> dict[str, Any]:
    """What ``muntin state`` says of a checkpoint."""
    found: dict[str, Any] = json.loads(
        CliRunner().invoke(app, ["state", str(checkpoint), "--format", "json"]).stdout
    )
    return found


def test_a_rate_given_at_a_restart_leaves_the_windows(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    inputs = {n: feed(n).put(events(i, 0, 30, 60, disorder_s=2)) for i, n in enumerate("ab")}
    before = session_over(spark, inputs, {"a": 1000.0, "b": 1.0})
    before.sql(JOIN3, name="q").write("parquet", str(tmp_path / "out"))
    run(before, tmp_path / "cp")
    assert sum(v["bytes"] for v in held(tmp_path / "cp")["vertices"]) > 0
    for i, source in enumerate(inputs.values()):
        source.put(events(10 + i, 30, 30, 60, disorder_s=2))

    edited = session_over(spark, inputs, {})
    edited.sql(JOIN3.replace("RANGE 5", "RANGE 6"), name="q").write("parquet", str(tmp_path / "out"))
    with pytest.raises(ConfigError, match="asks another question than at the checkpoint"):
        run(edited, tmp_path / "cp")

    after = session_over(spark, inputs, {"a": 1.0, "b": 1000.0})
    after.sql(JOIN3, name="q").write("parquet", str(tmp_path / "out"))
    run(after, tmp_path / "cp", END)
    replayed = Session(spark, shards=4)
    for name, source in inputs.items():
        replayed.stream(name, source.replay(), slack="2 seconds")
    wanted = until(replayed.sql(JOIN3).to_df().toArrow(), END)
    assert bag(spark.read.parquet(str(tmp_path / "out")).drop("batch").toArrow()) == bag(wanted) and len(wanted) > 50

    found = held(tmp_path / "cp")
    assert found["queries"]["q"]["since"] == 0 and {v["since"] for v in found["vertices"]} == {0}
    assert all(v["queries"] == ["q"] for v in found["vertices"])
    assert "Vertices with state" in CliRunner().invoke(app, ["state", str(tmp_path / "cp")]).stdout
