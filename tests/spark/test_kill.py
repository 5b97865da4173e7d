"""SIGKILL of driver, JVM and workers at random moments, then restart: exactly the rows of an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from conftest_spark import SECOND, Feed, bag, events, until
from kill_job import QUERIES

from muntin.cql.binder import bind
from muntin.core.schema import Field, Schema
from muntin.local.runtime import run_local
from muntin.physical.planner import plan_query
from muntin.plan.catalog import Catalog, Stream
from muntin.state.faults import POINTS

HERE = Path(__file__).parent
pytestmark = [pytest.mark.spark, pytest.mark.kill]


@pytest.mark.parametrize(
    ("kills", "files"), [(2, 5), pytest.param(20, 60, marks=pytest.mark.slow)], ids=["short", "twenty"]
)
def test_killed_and_restarted_gives_the_undisturbed_rows(tmp_path: Path, kills: int, files: int) -> None:
    inputs = {name: Feed(None, tmp_path / "in" / name) for name in ("a", "b")}
    for i, feed in enumerate(inputs.values()):
        feed.put(*(events(100 * i + n, 10 * n, 10, 60, disorder_s=2) for n in range(files)))
    rng = random.Random(7)
    done = 0
    for number in range(kills):
        point = POINTS[(number // 2 + 2) % len(POINTS)] if number % 2 == 0 else None
        done += live_and_die(tmp_path, point, rng, tmp_path / f"passes{number}")
    assert done == kills, "some lives ended before they could be killed: put more files"
    job = start(tmp_path, {})
    assert job.wait(timeout=600) == 0, (tmp_path / "log").read_text()[-3000:]
    for name, text in QUERIES.items():
        got = ds.dataset(tmp_path / "out" / name, format="parquet", ignore_prefixes=["_", "."]).to_table()
        wanted = undisturbed(inputs, text)
        assert len(wanted) > 30 * files / 5
        assert bag(got.select(wanted.column_names).cast(wanted.schema)) == bag(wanted), name


def live_and_die(where: Path, point: str | None, rng: random.Random, passes: Path) -> bool:
    """One life: killed at the n-th pass of a fault point, or a random while after a batch was planned."""
    count = rng.randint(1, 4)
    job = start(where, {"MUNTIN_FAULT": f"{point}:{count}:{passes}"} if point else {})
    planned = batches(where)
    deadline = time.monotonic() + 300
    while job.poll() is None and not fired(passes, count) and time.monotonic() < deadline:
        if not point and batches(where) > planned:
            time.sleep(rng.uniform(0, 2))
            break
        time.sleep(0.02)
    killed = job.poll() is None or fired(passes, count)
    slaughter(job.pid)
    job.wait()
    return killed


def fired(passes: Path, count: int) -> bool:
    return passes.exists() and passes.stat().st_size >= count


def batches(where: Path) -> int:
    return len(list((where / "cp" / "offsets").glob("[0-9]*")))


def start(where: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE)])
    with open(where / "log", "ab") as log:
        return subprocess.Popen(
            [sys.executable, str(HERE / "kill_job.py"), str(where)],
            env={**os.environ, "PYTHONPATH": path, **env}, stdout=log, stderr=log,
        )  # fmt: skip


def slaughter(pid: int) -> None:
    """SIGKILL a process and everything below it, top first."""
    below: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        below.setdefault(parent, []).append(int(stat.parent.name))
    doomed = [pid]
    for each in doomed:
        doomed += below.get(each, [])
    for each in doomed:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            continue


def undisturbed(inputs: dict[str, Feed], text: str) -> pa.Table:
    """The local runtime's answer at the instants that all input has completed."""
    tables = {name: feed.table() for name, feed in inputs.items()}
    schema = Schema(tuple(Field(f.name, f.type) for f in tables["a"].schema))
    catalog = Catalog(tuple(Stream(n, schema, "ts", slack=2 * SECOND, order=i) for i, n in enumerate(inputs)))
    query = plan_query(bind(text, catalog))
    mine = {s.name: tables[s.name] for s in query.streams}
    highest = min(pc.max(t["ts"].cast(pa.int64())).as_py() for t in mine.values())
    return until(run_local(query, [mine]), highest - 2 * SECOND)
