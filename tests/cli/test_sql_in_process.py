"""``muntin sql`` in this process: what it prints, writes and refuses."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from muntin.cli import in_process
from muntin.cli.app import app
from muntin.data import sample
from muntin.engine.answer import ordered

QUERY = "SELECT k, SUM(v) AS total FROM e [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k"
ROWS = [("a", 6, 5), ("b", 4, 5), ("a", 6, 10), ("b", 4, 10), ("b", 13, 15), ("b", 13, 20)]


@pytest.fixture(autouse=True)
def no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muntin.cli.wiring.open_session", lambda *_: pytest.fail("a JVM was asked for"))


def call(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["sql", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def events(tmp_path: Path) -> str:
    seconds = [13, 2, 1, 4, 3]
    ts = pa.array([s * 1_000_000 for s in seconds], pa.timestamp("us", "UTC"))
    table = pa.table({"ts": ts, "k": ["ab"[s % 2] for s in seconds], "v": pa.array(seconds, pa.int64())})
    pq.write_table(table.set_column(1, "k", pa.array(["a" if s % 2 == 0 else "b" for s in seconds])), tmp_path / "e.pq")
    return f"e={tmp_path / 'e.pq'}:ts"


def test_rows_are_printed_in_order_of_time(events: str) -> None:
    status, out, err = call(QUERY, "--stream", events, "--format", "json")
    rows = [(r["k"], r["total"], int(r["ts"][17:19])) for r in map(json.loads, out.splitlines())]
    assert (status, err, rows) == (0, "", ROWS)
    status, out, err = call(QUERY, "--stream", events, "--format", "csv", "--limit", "2")
    assert (status, len(out.splitlines()), err) == (0, 3, "muntin: the first 2 rows; --limit 0 prints all\n")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_rows_go_to_a_file_by_its_extension(suffix: str, events: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{suffix}"
    status, out, err = call(QUERY, "--stream", events, "--output", str(target))
    assert (status, out, err) == (0, "", f"muntin: 6 rows in {target}\n")
    match suffix:
        case "parquet":
            found = pq.read_table(target).to_pylist()
        case "csv":
            found = pyarrow.csv.read_csv(target).to_pylist()
        case _:
            found = [json.loads(line) for line in target.read_text().splitlines()]
    assert [(r["k"], r["total"]) for r in found] == [row[:2] for row in ROWS]
    call(QUERY, "--stream", events, "--output", str(target), "--limit", "0")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_file_that_cannot_be_written_is_told_before_the_query_runs(events: str, tmp_path: Path) -> None:
    for target, message in (("out.xlsx", "names end in .parquet"), ("no/out.csv", "there is no directory no")):
        status, _, err = call("SELECT nonsense", "--stream", events, "--output", target)
        assert status == 2 and message in err
    nested = "SELECT COLLECT(v) AS vs FROM e [RANGE 10 SECONDS SLIDE 5 SECONDS]"
    status, _, err = call(nested, "--stream", events, "--output", str(tmp_path / "out.csv"))
    assert status == 2 and "out.csv" in err and not list(tmp_path.glob("*out.csv*"))


def test_parameters_are_literals(events: str) -> None:
    text = f"{QUERY.replace('GROUP', 'WHERE k = :k AND v < :most GROUP')}"
    status, out, _ = call(text, "--stream", events, "--set", "k=b", "--set", "most=10", "--format", "csv")
    assert (status, [line.split(",")[1] for line in out.splitlines()[1:]]) == (0, ["4", "4"])
    status, out, _ = call(text, "--stream", events, "--set", "k=b' OR 'a' = 'a", "--set", "most=10", "--format", "csv")
    assert (status, out.splitlines()[1:]) == (0, [])
    for given, message in (
        (["k=b"], "parameter :most has no value; given are k"),
        ([], "parameter :k has no value; give it one: parameters="),
        (["k"], "write NAME=VALUE"),
        (["k=a", "most=1", "x=1"], "the text has no parameter :x"),
        (["k=a", "k=b"], "--set k is given twice"),
    ):
        status, _, err = call(text, "--stream", events, *(a for g in given for a in ("--set", g)))
        assert status == 2 and message in err


def test_static_tables(events: str, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text('k,name\na,Anna\nb,\nc,""\n')
    text = "SELECT n.name, COUNT(*) AS c FROM e [RANGE 10 SECONDS SLIDE 5 SECONDS], n WHERE e.k = n.k GROUP BY n.name"
    table = ["--table", f"n={tmp_path / 'names.csv'}"]
    status, out, err = call(text, "--stream", events, *table, "--format", "csv", "--limit", "2")
    assert (status, [line.split(",")[:2] for line in out.splitlines()[1:]]) == (0, [["", "2"], ['"Anna"', "2"]]), err
    assert call(text, "--stream", events, "--table", "n")[0] == 2
    both = call(text, "--stream", events, "--table", events.partition(":")[0])
    assert both[0] == 2 and "two inputs are named 'e'" in both[2]


def test_what_was_dropped_is_said(tmp_path: Path) -> None:
    lines = [{"ts": "2020-01-01T00:00:01Z", "k": 1}, {"ts": None, "k": 1}]
    (tmp_path / "e.json").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "f.json").write_text("\n".join(json.dumps({"ts": t, "k": 1}) for t in ("yesterday", "today")))
    pq.write_table(pa.table({"ts": pa.nulls(3, pa.timestamp("us", "UTC")), "k": [1, 2, 3]}), tmp_path / "g.parquet")
    text = "SELECT k FROM s [RANGE 1 SECOND]"
    files = ("e.json", "f.json", "g.parquet")
    e, f, g = (call(text, "--stream", f"s={tmp_path / n}:ts", "--format", "csv") for n in files)
    assert (e[0], len(e[1].splitlines()), e[2]) == (0, 3, "muntin: 1 of 2 rows have no usable event time: dropped\n")
    assert f[0] == 2 and "column 'ts' is text, which is no time yet" in f[2]
    assert g[0] == 0 and "every row of s was dropped: 3 without a usable event time" in g[2]


def test_what_needs_spark_says_so(events: str, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text('[[stream]]\nname = "s"\nformat = "kafka"\nts = "timestamp"\n'
        'options = { "kafka.bootstrap.servers" = "a:1", subscribe = "s" }\n')
    for arguments, message in (
        (["--job", str(job)], "--runtime local: 's' has format kafka; leave it out, or give --runtime spark"),
        (["--stream", events, "--shards", "3"], "--runtime local: --shards is Spark's"),
        (["--stream", "e=s3://bucket/e.parquet:ts"], "--runtime local: 'e' is no local file"),
    ):
        status, _, err = call(QUERY, *arguments, "--runtime", "local")
        assert status == 2 and message in err


def test_rows_of_one_instant_have_one_order() -> None:
    """'-' before '+', NULLs before values, NaN after them, as Spark orders them."""

    class Plan:
        order, time_column, op_column = (), "ts", "op"

    rows = pa.table(
        {
            "x": pa.array([float("nan"), None, 2.0, 1.0, 1.0, 1.0]),
            "flag": pa.array([True, True, True, True, False, None]),
            "list": pa.array([[1]] * 6),
            "ts": pa.array([1] * 6, pa.timestamp("us")),
            "op": ["+", "+", "+", "+", "+", "-"],
        }
    )
    found = ordered(rows, Plan())  # type: ignore[arg-type]
    assert list(map(str, found.column("x").to_pylist())) == ["1.0", "None", "1.0", "1.0", "2.0", "nan"]
    assert found.column("flag").to_pylist() == [None, True, False, True, True, True]


def test_progress_shows_on_a_terminal_alone() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with in_process.progress(io.StringIO(), "x") as told:
        assert told is None
    out = Terminal()
    with in_process.progress(out, "muntin") as told:
        assert told is not None
        told(500, 1000)
    assert "500 of 1,000 rows" in out.getvalue()


def test_the_sample_over_two_streams() -> None:
    text = """SELECT f.origin, COUNT(*) AS n, AVG(w.wind_speed) AS wind
        FROM flights f [RANGE 2 HOURS SLIDE 1 HOUR], weather w [RANGE 1 HOUR]
        WHERE f.origin = w.origin GROUP BY f.origin"""
    flights, weather = f"flights={sample('flights')}:dep", f"weather={sample('weather')}:ts"
    status, out, err = call(text, "--stream", flights, "--stream", weather, "--limit", "3")
    assert status == 0 and "EWR" in out and "1,782 of" in err


def test_what_the_author_may_not_have_meant_is_said(events: str, tmp_path: Path) -> None:
    sparse = "SELECT COUNT(*) AS n FROM e [RANGE 1 SECOND SLIDE 1 MINUTE]"
    status, _, err = call(sparse, "--stream", events)
    assert status == 0 and "fall between" in err and err.count("muntin: ") == err.count("\n")
    ts = pa.array([0, 10**15], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": ts}), tmp_path / "gap.parquet")
    gap = ["SELECT COUNT(*) AS n FROM g [RANGE 2 HOURS SLIDE 1 HOUR]", "--stream", f"g={tmp_path / 'gap.parquet'}:ts"]
    status, _, err = call(*gap, "--limit", "1")
    assert status == 0 and "there is no row of g between" in err and "UserWarning" not in err
    assert "there is no row of g between" in call(*gap, "--output", str(tmp_path / "out.parquet"))[2]
