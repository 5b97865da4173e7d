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
                assert json.loads(out)["graph"]["vertices"]
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
    (result,) = found["results"]
    root = found["graph"]["vertices"][result["vertex"]]
    assert root["measured"]["rows_out"] == found["measured"]["results"] > 100


def test_sql_with_explain_before_the_text() -> None:
    status, out, err = call("sql", f"EXPLAIN {QUERY}", *FLIGHTS)
    assert (status, err) == (0, "")
    assert out == call("explain", QUERY, *FLIGHTS)[1]


def test_places_in_errors_stay_right_behind_explain() -> None:
    status, _, err = call("explain", "EXPLAIN SELECT carier FROM flights [NOW]", *FLIGHTS)
    assert status == 2
    assert "line 1, column 16" in err


def test_files_of_text_are_explained_and_analyzed_in_this_process(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("ts,k\n2024-01-01T00:00:00Z,2\n2024-01-01T00:01:00Z,3\n")
    given = ("explain", "SELECT k FROM r [NOW] WHERE k > 2", "--stream", f"r={path}:ts")
    status, out, err = call(*given)
    assert (status, err) == (0, "") and "Filter (r.k > 2L)" in out
    status, out, err = call(*given, "--analyze")
    assert (status, err) == (0, "") and "r where (k > 2L)" in out


def test_analyze_of_what_needs_spark_is_refused(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text('[[stream]]\nname = "r"\nformat = "rate"\nts = "timestamp"\n')
    status, _, err = call("explain", "SELECT value FROM r [NOW]", "--job", str(job), "--analyze")
    assert status == 2
    assert "ANALYZE runs in this process and reads local files" in err


def job_of(tmp_path: Path, *texts: str) -> str:
    queries = "".join(f'[[query]]\nname = "q{i}"\ncql = """{t}"""\n' for i, t in enumerate(texts))
    path = tmp_path / "job.toml"
    path.write_text(f'[[stream]]\nname = "flights"\npath = "{sample("flights")}"\nts = "dep"\n{queries}')
    return str(path)


def test_the_graph_of_a_job_shows_what_its_queries_share(tmp_path: Path) -> None:
    job = job_of(tmp_path, QUERY, QUERY.replace("COUNT(*)", "COUNT(*) + 1"), "SELECT origin FROM flights [NOW]")
    status, out, err = call("explain", job)
    assert (status, err) == (0, "")
    assert "for: q0, q1\n" in out and "for: q2\n" in out and "result of q1: carrier, n, ts <- #" in out
    found = json.loads(call("explain", job, "--format", "json")[1])
    assert [r["query"] for r in found["results"]] == ["q0", "q1", "q2"]


def test_a_job_with_nothing_to_explain_says_so(tmp_path: Path) -> None:
    status, _, err = call("explain", job_of(tmp_path))
    assert status == 2 and "no [[query]] to explain" in err
    status, _, err = call("explain", job_of(tmp_path, QUERY), "--analyze")
    assert status == 2 and "takes none of --analyze" in err


def test_errors_in_a_job_name_the_query(tmp_path: Path) -> None:
    status, _, err = call("explain", job_of(tmp_path, QUERY, "SELECT carier FROM flights [NOW]"))
    assert status == 2 and "query 'q1'" in err and "line 1, column 8" in err


def test_a_table_that_changes_is_explained_but_not_analyzed_as_if_it_were_static(tmp_path: Path) -> None:
    rows = pa.table({"at": pa.array([1], pa.timestamp("us")), "op": ["-"], "k": [1]})
    pq.write_table(rows, tmp_path / "t.parquet")
    job = tmp_path / "job.toml"
    text = '[[table]]\nname = "t"\npath = "t.parquet"\nkind = "relation"\nts = "at"\nop = "op"\nkey = "k"\n'
    job.write_text(text)
    status, out, err = call("explain", "SELECT COUNT(*) AS n FROM t", "--job", str(job))
    assert (status, err) == (0, "") and "updates that change table t, by k" in out
    status, _, err = call("explain", "SELECT COUNT(*) AS n FROM t", "--job", str(job), "--analyze")
    assert status == 2 and "t: --analyze takes static tables alone, this one changes" in err
