from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from muntin.cli.failures import CONTEXT, describe, innermost, reported
from muntin.core.errors import ConfigError, DataError, QueryError, UnsupportedError

TEXT = "SELECT *\n\tFROM fligths f [RANGE 1 HOUR]\nWHERE x = 1"


def test_describe_names_the_origin() -> None:
    CONTEXT.reading(TEXT, "a.cql")
    text = describe(QueryError("there is no such stream", line=2, column=7, token="fligths"))
    assert text.startswith("a.cql: line 2, column 7 near 'fligths': there is no such stream\n   2 | ")
    CONTEXT.reading("", "")


def test_an_error_that_is_not_ours_is_told_by_class_and_first_line() -> None:
    assert innermost(DataError("stream 'f': row 3 has no event time")) == "stream 'f': row 3 has no event time"
    assert innermost(RuntimeError("one\ntwo")) == "RuntimeError: one"
    assert innermost(RuntimeError()) == "RuntimeError"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (QueryError("q"), 2),
        (UnsupportedError("u"), 2),
        (ConfigError("c"), 2),
        (DataError("d"), 1),
        (ZeroDivisionError("z"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_statuses(error: BaseException, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as caught, reported():
        raise error
    assert caught.value.exit_code == status
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.startswith("muntin: ") and "Traceback" not in out.err


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CONTEXT, "debug", True)
    with pytest.raises(typer.Exit), reported():
        raise DataError("d")
    assert "Traceback" in capsys.readouterr().err


def test_without_java_the_message_says_what_spark_needs(tmp_path: Path) -> None:
    """A process of its own, as a session of this one may have its JVM already."""
    program = (
        "from muntin.core.errors import ConfigError\nfrom muntin.session import local_spark\n"
        "try:\n    local_spark(1)\nexcept ConfigError as e:\n    print(e)"
    )
    given = {**os.environ, "JAVA_HOME": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True, timeout=60).stdout
    assert f"needs Java 17 or newer (JAVA_HOME is {tmp_path})" in said and "muntin.query(...)" in said
