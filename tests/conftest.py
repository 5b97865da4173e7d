"""What every test may use. Markers stand in pyproject.toml; long forms are marked slow and left out by default."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
ARCHIVE = Path(sys.prefix) / "spark.jsa"
"""Classes of Spark, ready to be mapped (``tools/jvm_archive.py``, which ``make pytest`` runs)."""


def _jvm_options() -> str:
    """For JVMs that live for seconds: compile quickly rather than well, collect with one thread, and load classes from
    the archive."""
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    if ARCHIVE.exists():
        options += [f"-XX:SharedArchiveFile={ARCHIVE}", "-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
    return " ".join(options)


os.environ.setdefault("SPARK_SUBMIT_OPTS", _jvm_options())
gc.set_threshold(100_000, 20, 20)  # modules, plans, thousands of tests: many objects, few of them garbage


def pytest_collection_finish() -> None:
    """What is there when the tests begin stays to the end: collections need not go through it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files run side by side (``--dist loadfile``), so what the tests of one share is made once. Those of the embedded
    Spark session come first, then those that start processes of their own, then the experiments, which are one long
    file: the short ones fill up the end."""

    def later(item: pytest.Item) -> tuple[bool, ...]:
        return not _shares_spark(item), not item.get_closest_marker("spark"), item.path.parent.name != "research"

    items.sort(key=later)


def _shares_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def shared() -> Path:
    """The directory of shared data and vectors beside the repository; the test is skipped where there is none."""
    found = ROOT.parent / "shared"
    if not found.is_dir():
        pytest.skip("there is no directory shared beside the repository")
    return found


@pytest.fixture(scope="module")
def spark() -> Any:
    """The embedded Spark session; it stays up for the tests that follow, and ends with the process."""
    from muntin.session import local_spark

    return local_spark(2, "1g", config=_quick())


@pytest.fixture
def command(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """``muntin WORDS...`` in this process, over the embedded session, which stays up: status, output and errors."""
    from typer.testing import CliRunner

    from muntin.cli.app import app

    monkeypatch.setattr("muntin.cli.wiring.embedded_spark", lambda part: spark)
    monkeypatch.setattr(type(spark), "stop", lambda self: None)

    def run(*words: str, text: str | None = None) -> tuple[int, str, str]:
        done = CliRunner().invoke(app, list(words), input=text)
        return done.exit_code, done.stdout, done.stderr

    return run


def _quick() -> dict[str, str]:
    """Settings for streams of a few small batches. Spark compiles each expression, not each stage; its JVM writes the
    files of its logs by itself in all streams, as ``session.start`` has it (``muntin.spark.checkpoint_files``). What
    starts a process of its own runs without them, as users do."""
    import pyspark

    streaming = "org.apache.spark.sql.execution.streaming"
    place = streaming if pyspark.__version__.startswith("4.0.") else f"{streaming}.checkpointing"
    return {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.streaming.checkpointFileManagerClass": f"{place}.FileSystemBasedCheckpointFileManager",
    }
