"""Probes and scans equal a brute-force filter after every update, under random lifetimes, rates and layouts."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from archives import FLOATS, KEYS, SCHEMA, Feed, check, on_disk

from muntin.archive import Archive, Layout, create, open_archive, snapshot
from muntin.archive.layout import Order, Update, wave

LAYOUTS = [
    Layout(2, 2), Layout(2, 2, "chronological"), Layout(2, 2, update="norebuild"), Layout(3, 3, "random", "norebuild"),
    Layout(4, 2, "chronological", "norebuild"), wave("R-ins", 4), wave("R-exp", 4), wave("D-ins", 4), wave("D-exp", 4),
    Layout(1, 1),
]  # fmt: skip


def add_up(made: Archive) -> None:
    """Every row that came is there, or counted as expired, once."""
    told = made.snapshot().stats()
    gone = sum(made.manifest.counters.get(c, 0) for c in ("expired on arrival", "expired"))
    assert told["counters"]["rows"] == gone + told["rows"] == gone + sum(c["live"] for c in told["cells"])


def run(path: str, layout: Layout, seed: int, steps: int, filesystem: pafs.FileSystem | None = None) -> None:
    rng = random.Random(seed)
    floats = rng.random() < 0.5
    keys = FLOATS if floats else KEYS
    schema = SCHEMA.set(0, pa.field("k", pa.float64())) if floats else SCHEMA
    feed = Feed(rng, keys, span=40)
    made = create(
        path, schema, key="k", every=5, span=40, layout=layout, block_rows=rng.choice([1, 3, 50]), keep=3,
        filesystem=filesystem,
    )  # fmt: skip
    ranges = [(-1.0, 1.5), (1.5, 1e300)] if floats else [("a", "b"), ("", "zz"), ("\u00e9", "\U0001f40d")]
    for number in range(steps):
        rows = feed.batch(rng.choice([1, 1, 2, 7, 30]), rng.choice([0, 3, 20]), schema)
        made.write(rows, now=feed.model.now, batch=("b", number))
        check(snapshot(path, filesystem), feed.model, keys, ranges)
        add_up(made)
        if rng.random() < 0.1:
            made.migrate(rng.choice(LAYOUTS), rng.choice(["rebuild", "roll_over"]))
            check(made.snapshot(), feed.model, keys, ranges)
            add_up(made)
        if rng.random() < 0.1:
            made = open_archive(path, filesystem)
            assert not made.write(rows, batch=("b", number))
    assert on_disk(made) == set().union(*made._named.values())
    assert len(made.files.names("manifest")) <= 4


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_answers_equal_a_filter(layout: Layout, tmp_path: Path) -> None:
    run(str(tmp_path / "a"), layout, LAYOUTS.index(layout), 12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_answers_equal_a_filter_long(seed: int, tmp_path: Path) -> None:
    orders: list[Order] = ["round_robin", "chronological", "random"]
    updates: list[Update] = ["rebuild", "norebuild"]
    rng = random.Random(seed)
    layout = Layout(rng.randrange(1, 6), rng.randrange(1, 6), rng.choice(orders), rng.choice(updates))
    run(str(tmp_path / "a"), layout, seed + 1000, 120)


def test_any_file_system(tmp_path: Path) -> None:
    system = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    run("inside", Layout(2, 2, update="norebuild"), 5, 15, system)
