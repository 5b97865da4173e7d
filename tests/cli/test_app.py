"""The command without a JVM: arguments, messages, exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

import muntin
from muntin.cli.app import app
from muntin.data import sample

SRC = str(Path(muntin.__file__).parents[1])
FLIGHTS = f"flights={sample('flights')}:dep"


def call(*arguments: str, text: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), input=text)
    return result.exit_code, result.stdout, result.stderr


def test_version() -> None:
    assert call("--version") == (0, f"muntin {muntin.__version__}\n", "")


def test_a_shell_completes_commands_options_and_cases() -> None:
    written = CliRunner().invoke(app, [], prog_name="muntin", env={"_MUNTIN_COMPLETE": "source_bash"}).stdout
    assert "complete -o default" in written
    typed = {"muntin s": "state sql shell", "muntin sql --o": "--output", "muntin bench win": "window-"}
    for words, wanted in typed.items():
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_MUNTIN_COMPLETE": "complete_bash"}
        found = CliRunner().invoke(app, [], prog_name="muntin", env=asked).stdout.split()
        assert found and all(any(f.startswith(w) for w in wanted.split()) for f in found), (words, found)


def test_importing_the_command_loads_no_spark() -> None:
    code = "import sys, muntin.cli.app; sys.exit(any(m.split('.')[0] in ('pyspark', 'numba') for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": SRC}, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nonsense",), "No such command 'nonsense'"),
        (("run",), "Missing argument"),
        (("run", "nowhere.toml"), "cannot read the job file nowhere.toml: No such file"),
        (("sql", "SELECT 1", "--stream", "f"), "write NAME=FILE:TIMECOLUMN"),
        (("sql", "nowhere.cql"), "cannot read nowhere.cql: No such file"),
        (("sql", "SELECT 1", "--format", "xml"), "xml"),
        (("explain", "SELECT 1", "--stream", FLIGHTS, "--bounds", "open"), "--bounds 'open': it is half_open, closed"),
        (("verify", "nowhere.json"), "there is no file nowhere.json"),
        (("verify", __file__, "--runtime", "moon"), "--runtime 'moon': it is local, spark"),
        (("bench", "joins"), "no benchmark 'joins'; there are sliding-sum, window-join, state-bytes, window"),
    ],
)
def test_wrong_use_is_status_2_on_standard_error(arguments: tuple[str, ...], message: str) -> None:
    status, out, err = call(*arguments)
    assert status == 2
    assert out == ""
    assert message in " ".join(err.split()) and "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "place", "token"),
    [
        ("SELECT origin\nFROM fligths [RANGE 1 HOUR]", "line 2, column 6", "fligths"),
        ("SELECT f.orign FROM flights f [RANGE 1 HOUR]", "line 1, column", "orign"),
        ("SELECT COUNT(*) FROM flights [RANGE 1 HOUR SLIDE 0 MINUTES]", "line 1, column", "0"),
        ("SELECT FROM WHERE", "line 1", ""),
    ],
)
def test_query_errors_show_the_place(text: str, place: str, token: str) -> None:
    status, out, err = call("explain", "-", "--stream", FLIGHTS, text=text)
    assert (status, out) == (2, "")
    lines = err.splitlines()
    assert lines[0].startswith(f"muntin: standard input: {place}")
    shown, marks = next((a, b) for a, b in pairwise(lines) if b.strip().startswith("| ") and "^" in b)
    under = "".join(c for c, m in zip(shown, marks, strict=False) if m == "^")
    assert token in under and len(under) == marks.count("^")


def test_explain_needs_no_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muntin.cli.wiring.open_session", lambda *_: pytest.fail("a JVM was asked for"))
    query = tmp_path / "q.cql"
    query.write_text("SELECT origin, COUNT(*) AS n FROM flights [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY origin")
    status, out, err = call("explain", str(query), "--stream", FLIGHTS)
    assert (status, err) == (0, "")
    assert "flights" in out


def job_with(tmp_path: Path, query: str, session: str = 'checkpoint = "state"') -> str:
    path = tmp_path / "job.toml"
    path.write_text(
        f'[session]\n{session}\n[[stream]]\nname = "flights"\npath = "{sample("flights")}"\nts = "dep"\n{query}'
    )
    return str(path)


def test_run_wants_a_checkpoint_a_query_and_its_text(tmp_path: Path) -> None:
    query = '[[query]]\nname = "q"\nfile = "gone.cql"\n'
    for text, session, message in (
        ("", 'checkpoint = "state"', "there is no [[query]] to run"),
        (query, "", "key checkpoint is missing"),
        (query, 'checkpoint = "state"', "query 'q': cannot read"),
    ):
        status, _, err = call("run", job_with(tmp_path, text, session))
        assert status == 2 and message in err


def test_verify_prints_a_line_a_case_and_the_counts(shared: Path) -> None:
    status, out, err = call("verify", str(shared / "vectors" / "secret_eth.json"))
    lines = out.splitlines()
    cases = json.loads((shared / "vectors" / "secret_eth.json").read_text())
    assert [line.split()[1].rstrip(":") for line in lines if line.split()[0] in ("PASS", "FAIL", "UNSUPPORTED")] == [
        c["id"] for c in cases
    ]
    assert (status == 0) == (not any(line.startswith("FAIL") for line in lines))
    assert err == ""
