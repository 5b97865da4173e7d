"""``muntin archive`` and advice."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from archives import SCHEMA
from typer.testing import CliRunner

from muntin.archive import Layout, create, open_archive, snapshot
from muntin.archive.advice import Workload, advise
from muntin.cli.app import app

ROWS = pa.table([["a", "b", None, "b"], [1, 2, 3, 4], [1, 2, 3, 8], [11, 12, 13, 9]], schema=SCHEMA)


def call(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["archive", *arguments])
    return result.exit_code, result.stdout, result.stderr


def filled(tmp_path: Path) -> str:
    path = str(tmp_path / "a")
    create(path, SCHEMA, key="k", every=5, span=10, layout=Layout(2, 2)).write(ROWS)
    return path


def test_probe_and_scan(tmp_path: Path) -> None:
    path = filled(tmp_path)
    status, out, err = call("probe", path, "b", "--format", "json")
    assert status == 0 and [json.loads(line)["v"] for line in out.splitlines()] == [2, 4]
    assert "2 rows as of 8, version 1" in err
    assert [json.loads(x)["v"] for x in call("probe", path, "--null", "--format", "json")[1].splitlines()] == [3]
    assert len(call("probe", path, "--low", "a", "--high", "b", "--format", "json")[1].splitlines()) == 3
    assert len(call("scan", path, "--as-of", "11", "--format", "json")[1].splitlines()) == 2
    assert len(call("scan", path, "--since", "3", "--format", "json")[1].splitlines()) == 2
    assert call("probe", path)[0] == 2
    out_file = tmp_path / "out.parquet"
    assert call("scan", path, "--output", str(out_file))[0] == 0 and pq.read_table(out_file).num_rows == 4
    status, _, err = call("scan", str(tmp_path))
    assert status == 1 and "is no archive" in err


def test_stats_advise_migrate(tmp_path: Path) -> None:
    path = filled(tmp_path)
    told = json.loads(call("stats", path, "--format", "json")[1])
    assert told["rows"] == 4 and told["layouts"] == ["2x2 round_robin rebuild"]
    assert "Sub-indices" in call("stats", path)[1]
    status, out, err = call("advise", path, "--probes", "1000", "--format", "json")
    assert status == 0 and json.loads(out.splitlines()[0])["layout"] == "2x2" and "cheapest" in err
    assert call("migrate", path, "3x3", "--update", "norebuild")[0] == 0
    assert str(open_archive(path).design.layout) == "3x3 round_robin norebuild"
    assert snapshot(path).scan().num_rows == 4
    assert call("migrate", path, "3")[0] == 2


def test_other_readers_of_parquet(tmp_path: Path) -> None:
    path = filled(tmp_path)
    files = call("stats", path, "--files")[1].split()
    rows = duckdb.sql(f"SELECT k, v FROM read_parquet({files}) WHERE exp > 8 ORDER BY v").fetchall()
    assert rows == [("a", 1), ("b", 2), (None, 3), ("b", 4)]


def test_advice_follows_the_requests() -> None:
    small, large = (Workload(size, size / 1000, 36, 8192, 0) for size in (5e8, 5e9))
    for work in (small, large):
        few, many = (advise(Workload(work.bytes, work.rows, 36, 8192, q))[0].layout for q in (0, 1e5))
        assert few.update == "norebuild" and few.size > 4
        assert (many.size, many.update) == (4, "rebuild")
