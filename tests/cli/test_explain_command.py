"""``muntin explain``: forms, EXPLAIN before the text, and --analyze over Parquet files, all without a JVM."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from muntin.cli.app import app
from muntin.data import sample

FLIGHTS = ("--stream", f"flights={sample('flights')}:dep")
QUERY = "SELECT carrier, COUNT(*) AS n FROM flights [RANGE 1 DAY SLIDE 1 DAY] GROUP BY carrier"


def call(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muntin.cli.wiring.open_session", lambda *_: pytest.fail("a JVM was asked for"))


def test_forms() -> None:
    for form in ("text", "json", "dot", "svg"):
        status, out, err = call("explain", QUERY, *FLIGHTS, "--format", form)
        assert (status, err) == (0, "")
        match form:
            case "json":
                assert json.loads(out)["stages"]
            case "svg":
                assert ET.fromstring(out).tag.endswith("svg")
            case "dot":
                assert out.startswith("digraph")
            case _:
                assert out.startswith("Logical plan")


def test_analyze_counts() -> None:
    status, out, err = call("explain", QUERY, *FLIGHTS, "--analyze")
    assert (status, err) == (0, "")
    assert "rows in, " in out and "measured: 50 batches" in out
    found = json.loads(call("explain", f"EXPLAIN ANALYZE {QUERY}", *FLIGHTS, "--format", "json")[1])
    operators = [v for s in found["stages"] for v in s["values"] if v["kind"] == "operator"]
    assert operators[-1]["measured"]["rows_out"] == found["measured"]["results"] > 100


def test_sql_with_explain_before_the_text() -> None:
    status, out, err = call("sql", f"EXPLAIN {QUERY}", *FLIGHTS)
    assert (status, err) == (0, "")
    assert out == call("explain", QUERY, *FLIGHTS)[1]


def test_places_in_errors_stay_right_behind_explain() -> None:
    status, _, err = call("explain", "EXPLAIN SELECT carier FROM flights [NOW]", *FLIGHTS)
    assert status == 2
    assert "line 1, column 16" in err


def test_analyze_of_other_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("ts,k\n1,2\n")
    status, _, err = call("explain", "SELECT k FROM r [NOW]", "--stream", f"r={path}:ts", "--analyze")
    assert status == 2
    assert "ANALYZE" in err


def test_a_table_that_changes_is_explained_but_not_analyzed_as_if_it_were_static(tmp_path: Path) -> None:
    rows = pa.table({"at": pa.array([1], pa.timestamp("us")), "op": ["-"], "k": [1]})
    pq.write_table(rows, tmp_path / "t.parquet")
    job = tmp_path / "job.toml"
    text = '[[table]]\nname = "t"\npath = "t.parquet"\nkind = "relation"\nts = "at"\nop = "op"\nkey = "k"\n'
    job.write_text(text)
    status, out, err = call("explain", "SELECT COUNT(*) AS n FROM t", "--job", str(job))
    assert (status, err) == (0, "") and "updates that change the table, by k" in out
    status, _, err = call("explain", "SELECT COUNT(*) AS n FROM t", "--job", str(job), "--analyze")
    assert status == 2 and "t: --analyze takes static tables alone, this one changes" in err
