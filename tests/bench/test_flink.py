"""Flink beside the engines: its SQL makes the generated rows, its child process is spoken to, its absence is told."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from muntin.bench import flink_env, flink_sql
from muntin.bench.cases import contests
from muntin.bench.data import EPOCH_US, RATE, joined, rows
from muntin.bench.flink import Child, FlinkError, FlinkSide, FlinkTurns
from muntin.bench.flink_sql import Job
from muntin.bench.load import Load
from muntin.bench.run import chosen
from muntin.core.errors import ConfigError

CHILD = """#!{python}
import runpy, sys
sys.path.insert(0, {folder!r})
import flink_job
flink_job.version = lambda name: "0"
def run(job):
    print("chatter of Flink")
    if job["insert"] == "die":
        print("last words", flush=True)
        sys.exit(3)
    if job["insert"] == "fail":
        raise ValueError("no such table")
    return len(job["statements"]) / 2
flink_job.run = run
flink_job.main()
"""


@pytest.fixture
def child(tmp_path: Path) -> Child:
    """A child with Flink's protocol and without Flink."""
    script = tmp_path / "python"
    folder = str(Path(flink_sql.__file__).parent)
    script.write_text(CHILD.format(python=sys.executable, folder=folder))
    script.chmod(0o755)
    return Child.start(script, tmp_path / "log", "1g")


def _tuples(table: pa.Table) -> list[tuple[int, ...]]:
    columns = (table["ts"].cast(pa.int64()), table["k"], table["v"])
    return list(zip(*(c.to_pylist() for c in columns), strict=True))


@pytest.mark.parametrize(("number", "first"), [(0, 0), (1, 0), (1, 3_000_000_000)])
def test_the_sql_makes_the_generated_rows(number: int, first: int) -> None:
    count = 3_000
    source, view = flink_sql.stream("s", number, first, count, "1")
    assert f"'fields.n.start' = '{first}'" in source and f"'fields.n.end' = '{first + count - 1}'" in source
    assert f"TO_TIMESTAMP_LTZ({EPOCH_US // 1000} + n * {1000 // RATE}, 3)" in source
    with duckdb.connect(config={"integer_division": "true"}) as db:
        db.execute(
            f"CREATE TABLE s_numbers AS SELECT n, {EPOCH_US} + n * {1_000_000 // RATE} AS ts "
            f"FROM range({first}, {first + count}) r(n)"
        )
        db.execute(view)
        found = db.execute("SELECT ts, k, v FROM s ORDER BY ts").fetchall()
    assert found == _tuples(rows(first, count, number))


def test_the_interval_is_open_at_both_ends_and_the_sink_is_the_one_given(tmp_path: Path) -> None:
    job = flink_sql.window_join(10, 20, flink_sql.csv(tmp_path / "out"), "2")
    assert "a.ts > b.ts - INTERVAL '10' SECOND AND b.ts > a.ts - INTERVAL '10' SECOND" in job.insert
    assert sum("ts - INTERVAL '2' SECOND" in s for s in job.statements) == 2
    assert (tmp_path / "out").as_uri() in job.statements[-1]
    assert "blackhole" in flink_sql.window_join(10, 20, flink_sql.blackhole()).statements[-1]


@pytest.mark.parametrize(
    ("first", "count", "span", "keys"), [(0, 900, 50_000, 7), (777, 900, 400_000, 7), (5, 100, 10_000, 1)]
)
def test_joined_counts_the_pairs(first: int, count: int, span: int, keys: int) -> None:
    a, b = (_tuples(rows(first, count, stream, keys=keys)) for stream in (0, 1))
    near = sum(k == j and abs(t - u) < span for t, k, _ in a for u, j, _ in b)
    assert joined(first, count, span, keys=keys) == near > 0


def test_a_child_answers_each_job_and_tells_errors(child: Child) -> None:
    assert child.run(Job(("a", "b", "c"), "go")) == 1.5
    with pytest.raises(FlinkError, match="no such table"):
        child.run(Job((), "fail"))
    assert child.run(Job(("a",), "go")) == 0.5
    child.stop()
    assert child.process.returncode == 0


def test_a_child_that_ends_is_told_with_what_it_printed(child: Child) -> None:
    with pytest.raises(FlinkError, match="last words"):
        child.run(Job((), "die"))
    with pytest.raises(FlinkError, match="ended"):
        child.run(Job((), "go"))
    child.stop()


def test_turns_take_successive_rows_and_count_results(child: Child) -> None:
    asked: list[tuple[int, int]] = []

    def make(first: int, count: int, out: Path | None) -> Job:
        assert out is None
        asked.append((first, count))
        return Job(("a", "b"), "go")

    side = FlinkSide(make, lambda first, count: first + count, "", (), Load(100, 2), 2)
    turns = FlinkTurns(side, child)
    turns.job(timed=False)
    turns.turn()
    child.stop()
    assert asked == [(0, 100), (100, 100), (200, 100)]
    assert (turns.rows, turns.results, turns.seconds) == (400, 200 + 300, 2.0)


def test_a_failed_installation_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(flink_env, "interpreter", lambda: "/bin/false")
    said: list[str] = []
    with pytest.raises(flink_env.FlinkMissingError, match=r"-m pip install apache-flink==") as error:
        flink_env.make(said.append)
    assert str(flink_env.folder()) in str(error.value) and "--engines muntin,spark" in str(error.value)
    assert len(said) == 1 and "installing apache-flink" in said[0]
    assert not flink_env.installed(flink_env.folder())


def test_without_flink_the_others_run_unless_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(say: object) -> None:
        raise flink_env.FlinkMissingError("type this")

    monkeypatch.setattr(flink_env, "make", fail)
    said: list[str] = []
    found = chosen(contests("window-join"), None, said.append)
    assert [set(c.engines) for c in found] == [{"muntin", "muntin-df", "spark"}] * 2
    assert said == ["without Flink: type this"]
    with pytest.raises(flink_env.FlinkMissingError):
        chosen(contests("window-join"), ["muntin", "flink"], said.append)
    monkeypatch.setattr(flink_env, "make", lambda say: None)
    assert [c.engines for c in chosen(contests("window-join"), None, print)] == [
        ("spark", "muntin", "muntin-df", "flink"), ("spark", "muntin", "muntin-df")
    ]  # fmt: skip
    assert [c.case for c in chosen(contests("window-join"), ["flink", "muntin"], print)] == ["join10"]


@pytest.mark.parametrize(
    ("bench", "engines"),
    [("window-join", ["spark", "flink"]), ("window-join", ["muntin"]), ("window-join", ["muntin", "storm"]),
     ("sliding-sum", ["muntin", "flink"])],
)  # fmt: skip
def test_engines_that_cannot_meet_are_refused(bench: str, engines: list[str]) -> None:
    with pytest.raises(ConfigError, match=f"--engines {','.join(engines)}: muntin and at least one other"):
        chosen(contests(bench), engines, print)
