"""A pipeline in a process of its own, and how to kill parts of it, for the tests that need that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from conftest_spark import SECOND, Feed, bag, events, until
from kill_job import QUERIES

from muntin.core.schema import Field, Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import run_local
from muntin.plan.catalog import Catalog, Stream

HERE = Path(__file__).parent


def put_input(where: Path, files: int) -> dict[str, Feed]:
    """Two streams of ``files`` micro-batches, out of order by up to two seconds."""
    inputs = {name: Feed(None, where / "in" / name) for name in ("a", "b")}
    for i, feed in enumerate(inputs.values()):
        feed.put(*(events(100 * i + n, 10 * n, 10, 60, disorder_s=2) for n in range(files)))
    return inputs


def start(where: Path, env: dict[str, str] | None = None, master: str = "local[2]") -> subprocess.Popen[bytes]:
    """``kill_job.py`` over the input in ``where``."""
    path = os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE)])
    with open(where / "log", "ab") as log:
        return subprocess.Popen(
            [sys.executable, str(HERE / "kill_job.py"), str(where), master],
            env={**os.environ, "PYTHONPATH": path, **(env or {})}, stdout=log, stderr=log,
        )  # fmt: skip


def finish(job: subprocess.Popen[bytes], where: Path) -> None:
    """Wait for a good end."""
    assert job.wait(timeout=600) == 0, (where / "log").read_text()[-3000:]


def numbers(where: Path, log: str) -> int:
    """How many batches are in Spark's log ``offsets`` (planned) or ``commits``."""
    return len(list((where / "cp" / log).glob("[0-9]*")))


def tree(pid: int) -> list[int]:
    """A process and everything below it, top first."""
    below: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        below.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for each in found:
        found += below.get(each, [])
    return found


def kill(pids: list[int]) -> None:
    """SIGKILL; processes that are gone already do not mind."""
    for each in pids:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            continue


def assert_undisturbed(where: Path, inputs: dict[str, Feed]) -> None:
    """Every query's files hold exactly the local runtime's rows at the instants that all input has completed."""
    for name, text in QUERIES.items():
        got = ds.dataset(where / "out" / name, format="parquet", ignore_prefixes=["_", "."]).to_table()
        wanted = undisturbed(inputs, text)
        assert len(wanted) > 50
        assert bag(got.select(wanted.column_names).cast(wanted.schema)) == bag(wanted), name


def undisturbed(inputs: dict[str, Feed], text: str) -> pa.Table:
    """The local runtime's answer at the instants that all input has completed."""
    tables = {name: feed.table() for name, feed in inputs.items()}
    schema = Schema(tuple(Field(f.name, f.type) for f in tables["a"].schema))
    catalog = Catalog(tuple(Stream(n, schema, "ts", slack=2 * SECOND, order=i) for i, n in enumerate(inputs)))
    query = plan_query(bind(text, catalog))
    mine = {s.name: tables[s.name] for s in query.streams}
    highest = min(pc.max(t["ts"].cast(pa.int64())).as_py() for t in mine.values())
    return until(run_local(query, [mine]), highest - 2 * SECOND)
