"""The command on Spark: in this process over the session that tests share, and with a JVM of its own, as a shell user
has it."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import muntin

pytestmark = pytest.mark.spark

SRC = str(Path(muntin.__file__).parents[1])
MUNTIN = [sys.executable, "-m", "muntin.cli.start"]
ENV = {**os.environ, "PYTHONPATH": SRC, "SPARK_LOCAL_IP": "127.0.0.1"}
SECOND = 1_000_000
Command = Callable[..., tuple[int, str, str]]


def events(path: Path, seconds: list[int]) -> None:
    """Rows (ts, k, v) at these seconds; k alternates between a and b."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(
        {
            "ts": pa.array([s * SECOND for s in seconds], pa.timestamp("us", "UTC")),
            "k": ["ab"[s % 2] for s in seconds],
            "v": pa.array(seconds, pa.int64()),
        }
    )
    scratch = path.with_name(f".{path.name}")
    pq.write_table(table, scratch)
    scratch.rename(path)


def test_sql_over_a_file(command: Command, tmp_path: Path) -> None:
    """JSON of which the time is text, and once is none: that row is dropped, as is said."""
    times = [(1, "b"), (2, "a"), (None, "a"), (3, "b"), (4, "a"), (13, "b")]
    rows = [{"ts": t and f"1970-01-01T00:00:{t:02}Z", "k": k, "v": t or 9} for t, k in times]
    (tmp_path / "e.json").write_text("\n".join(map(json.dumps, rows)))
    text = "SELECT k, SUM(v) AS total FROM e [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k"
    arguments = ["sql", "-", "--stream", f"e={tmp_path / 'e.json'}:ts", "--format", "csv"]
    status, out, err = command(*arguments, "--runtime", "spark", "--shards", "3", text=text)
    messages = [line for line in err.splitlines() if line.startswith("muntin: ")]
    assert status == 0 and messages == [DROPPED], err
    assert command(*arguments, text=text) == (0, out, f"{DROPPED}\n")
    found = [(r["k"], r["total"], r["ts"][17:19]) for r in csv.DictReader(io.StringIO(out))]
    assert found[:4] == [("a", "6", "05"), ("b", "4", "05"), ("a", "6", "10"), ("b", "4", "10")]
    assert found[4:] == [("b", "13", "15"), ("b", "13", "20")]


DROPPED = "muntin: 1 of 6 rows have no usable event time: dropped"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, status, lines, words",
    [
        ("f.json", 2, None, "column 'ts' is text, which is no time yet"),
        ("g.parquet", 0, 1, "every row of s was dropped: 3 without a usable"),
    ],
)
def test_sql_says_what_it_dropped(tmp_path: Path, name: str, status: int, lines: int | None, words: str) -> None:
    """JSON of which the time is text that is none is refused."""
    if name == "f.json":
        (tmp_path / name).write_text("\n".join(json.dumps({"ts": t, "k": 1}) for t in ("yesterday", "today")))
    else:
        pq.write_table(pa.table({"ts": pa.nulls(3, pa.timestamp("us", "UTC")), "k": [1, 2, 3]}), tmp_path / name)
    arguments = ["SELECT k FROM s [RANGE 1 SECOND]", "--stream", f"s={tmp_path / name}:ts", "--format", "csv"]
    on_spark = [*MUNTIN, "sql", *arguments, "--runtime", "spark"]
    done = subprocess.run(on_spark, env=ENV, capture_output=True, text=True, timeout=300)
    messages = [line for line in done.stderr.splitlines() if line.startswith("muntin: ")]
    assert done.returncode == status and any(words in line for line in messages), done.stderr
    assert lines is None or len(done.stdout.splitlines()) == lines


JOB = """
[session]
shards = 2
checkpoint = "state"
trigger = "1 second"
[[stream]]
name = "e"
path = "in"
ts = "ts"
schema = "ts TIMESTAMP, k STRING, v BIGINT"
[[query]]
name = "totals"
cql = "SELECT k, SUM(v) AS total FROM e [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k"
sink = { format = "json", path = "out" }
"""


def results(out: Path) -> list[tuple[str, str, int]]:
    """What is committed: a file under `_temporary` may vanish while it is being looked at."""
    lines = [json.loads(line) for path in sorted(out.glob("batch=*/part-*")) for line in path.read_text().splitlines()]
    return sorted((row["ts"][17:19], row["k"], row["total"]) for row in lines)


def test_run_resumes_and_stops_on_ctrl_c(command: Command, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    events(tmp_path / "in" / "0.parquet", [1, 2, 3, 4, 6])
    status, _, said = command("run", str(tmp_path / "job.toml"), "--once")
    assert status == 0, said
    assert results(tmp_path / "out") == [("05", "a", 6), ("05", "b", 4)]

    events(tmp_path / "in" / "1.parquet", [7, 12])
    shown = {**ENV, "MUNTIN_UI_TOKEN": "secret"}
    job = [*MUNTIN, "run", str(tmp_path / "job.toml"), "--ui", "--ui-port", "0"]
    second = subprocess.Popen(job, env=shown, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert second.stderr is not None
        at = next(line.split()[-1] for line in second.stderr if line.startswith("muntin: console at"))
        assert at.startswith("http://127.0.0.1:") and at.endswith("/?token=secret")
        deadline = time.monotonic() + 200
        while len(results(tmp_path / "out")) < 4 and time.monotonic() < deadline and second.poll() is None:
            time.sleep(0.2)
        bearer = {"Authorization": "Bearer secret"}
        metrics = urllib.request.Request(at.replace("?token=secret", "metrics"), headers=bearer)
        assert b"muntin_active 1.0" in urllib.request.urlopen(metrics, timeout=30).read()
        second.send_signal(signal.SIGINT)
        out, err = second.communicate(timeout=100)
    finally:
        second.kill()
    assert second.returncode == 130, err
    assert out == "" and "muntin: stopped;" in err and "Traceback" not in err
    assert results(tmp_path / "out") == [("05", "a", 6), ("05", "b", 4), ("10", "a", 12), ("10", "b", 11)]


@pytest.mark.slow
def test_finite_input_is_answered_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    events(tmp_path / "in" / "0.parquet", [1, 2, 3, 4, 6])
    job = [*MUNTIN, "run", str(tmp_path / "job.toml"), "--finish"]
    done = subprocess.run(job, env=ENV, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [("05", "a", 6), ("05", "b", 4), ("10", "a", 12), ("10", "b", 4), ("15", "a", 6)]
    assert results(tmp_path / "out") == rows


def test_a_query_that_fails_while_running_is_status_1(command: Command, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.replace('ts = "ts"', 'ts = "ts"\non_bad_time = "fail"'))
    (tmp_path / "in").mkdir()
    bad = pa.table({"ts": pa.array([1, None], pa.timestamp("us", "UTC")), "k": ["a", "b"], "v": [1, 2]})
    pq.write_table(bad, tmp_path / "in" / "0.parquet")
    status, _, err = command("run", str(tmp_path / "job.toml"), "--once")
    assert status == 1
    (message,) = [line for line in err.splitlines() if line.startswith("muntin: ")]
    assert message.startswith("muntin: the pipeline failed: ") and "'e'" in message
    assert "Traceback" not in err
