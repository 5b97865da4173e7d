"""Finite live input answered to its end: as a replay of it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import SECOND, Feed, bag, events
from typer.testing import CliRunner

from muntin.cli.app import app
from muntin.session import Session

pytestmark = pytest.mark.spark

TEXT = "SELECT k, COUNT(*) AS n, MAX(v) AS top FROM a [RANGE 20 SECONDS SLIDE 3 SECONDS] GROUP BY k"


def session_over(spark: Any, source: Feed, live: bool) -> Session:
    session = Session(spark, shards=2)
    session.stream("a", source.live() if live else source.replay(), slack="5 seconds")
    return session


def test_the_command_and_the_method_answer_to_the_end(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    source, checkpoint = feed("a").put(events(1, 0, 60, 80, disorder_s=3)), str(tmp_path / "cp")
    wanted = session_over(spark, source, live=False).sql(TEXT).to_df().toArrow()
    session = session_over(spark, source, live=True)
    query = session.sql(TEXT, name="q").write()
    session.start(checkpoint, "available_now").await_termination()
    assert len(query.rows()) < len(wanted)
    command = CliRunner().invoke(app, ["heartbeat", checkpoint, "1970-01-01 00:00:40", "--stream", "a"])
    assert command.exit_code == 0 and "complete before 1970-01-01 00:00:40 UTC" in command.output
    run = session.start(checkpoint, "available_now")
    run.await_termination()
    end = run.finish()
    session.start(checkpoint, "available_now").await_termination()
    assert bag(query.rows()) == bag(wanted)
    assert end == max(int(r["ts"].timestamp() * SECOND) for r in wanted.to_pylist()) + 3 * SECOND + 1
    for arguments, words in (
        ([checkpoint, "noon"], "'noon' is not a timestamp: write '2024-01-31 12:00:00'"),
        ([checkpoint, "--stream", "b"], "no stream 'b' in its run; it has a"),
        ([str(tmp_path / "none")], "is no checkpoint of Muntin that a run has begun"),
    ):
        refused = CliRunner().invoke(app, ["heartbeat", *arguments])
        assert refused.exit_code == 2 and words in " ".join(refused.output.split()), refused.output
