"""An archive whose files are written elsewhere, in parts, holds what one that writes them itself would hold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from archives import FLOATS, KEYS, SCHEMA, Feed, check, on_disk
from test_archive_random import LAYOUTS, add_up

from muntin.archive import Archive, Layout, create, open_archive, snapshot
from muntin.archive.manifest import BUFFER, Design, Manifest
from muntin.archive.parts import Part, do_part, merging
from muntin.archive.segments import Files
from muntin.archive.update import SEGMENTS, Changes
from muntin.archive.wanted import numbers
from muntin.archive.writer import Segment, segment
from muntin.core.errors import StoreError


def here(files: Files, design: Design, parts: Sequence[Part]) -> list[Changes]:
    """In any order."""
    return [do_part(files, design, p) for p in random.Random(len(parts)).sample(parts, len(parts))]


def segments(made: Archive, rows: pa.Table, rng: random.Random) -> list[Segment]:
    """The rows in several files, as workers write them."""
    cuts = sorted({0, rows.num_rows, *(rng.randint(0, rows.num_rows) for _ in range(3))})
    parts = [rows.slice(a, b - a) for a, b in pairwise(cuts)]
    return [segment(made.files, made.design, p, made.manifest.now) for p in parts or [rows]]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_answers_equal_a_filter(layout: Layout, tmp_path: Path) -> None:
    path, rng = str(tmp_path / "a"), random.Random(LAYOUTS.index(layout))
    floats = rng.random() < 0.5
    keys = FLOATS if floats else KEYS
    schema = SCHEMA.set(0, pa.field("k", pa.float64())) if floats else SCHEMA
    feed = Feed(rng, keys, span=40)
    made = create(path, schema, key="k", every=5, span=40, layout=layout, block_rows=rng.choice([1, 3, 50]), keep=3)
    ranges = [(-1.0, 1.5), (1.5, 1e300)] if floats else [("a", "b"), ("", "zz")]
    for number in range(20):
        rows = feed.batch(rng.choice([1, 1, 2, 7, 30]), rng.choice([0, 3, 20]), schema)
        assert made.take(segments(made, rows, rng), here, feed.model.now, ("b", number))
        check(snapshot(path), feed.model, keys, ranges)
        add_up(made)
        if rng.random() < 0.1:
            made.migrate(rng.choice(LAYOUTS), rng.choice(["rebuild", "roll_over"]))
            check(made.snapshot(), feed.model, keys, ranges)
        if rng.random() < 0.2:
            made.take(segments(made, rows, rng), here, batch=("b", number))  # a batch again: its files are not named
            made = open_archive(path)
            assert made.has(("b", number)) and not made.take([], here, batch=("b", number))
            check(made.snapshot(), feed.model, keys, ranges)
    open_archive(path)
    assert on_disk(made) == set().union(*made._named.values())


def test_the_same_sub_indices_are_touched(tmp_path: Path) -> None:
    """However many processes do it, an update changes what it has to, and the same rows are where they were."""
    feed, rng = Feed(random.Random(3), KEYS, span=40), random.Random(4)
    one, many = (create(str(tmp_path / n), SCHEMA, key="k", every=5, span=40, layout=Layout(3, 3)) for n in "ab")
    for _ in range(25):
        rows = feed.batch(2, 12)
        one.write(rows, feed.model.now)
        many.take(segments(many, rows, rng), here, feed.model.now)
        a, b = one.manifest, many.manifest
        for told in ("at", "touched", "rebuilt", "inserted"):
            assert a.last.get(told) == b.last.get(told)
        assert a.counters["rows"] == b.counters["rows"] and a.boundary == b.boundary
        assert live_rows(a) == live_rows(b)


def live_rows(version: Manifest) -> Counter[int]:
    """By sub-index, the buffer apart, the live rows."""
    found: Counter[int] = Counter()
    for cell, live in zip(version.blocks["cell"].to_pylist(), version.blocks["live"].to_pylist(), strict=True):
        found[cell] += live if cell != BUFFER else 0
    return found


def test_small_files_become_one(tmp_path: Path) -> None:
    """Rows that wait for long are written again a logarithmic number of times."""
    made = create(str(tmp_path / "a"), SCHEMA, key="k", every=1_000_000, span=2_000_000)
    written, batches = 0, 200

    def counting(files: Files, design: Design, parts: Sequence[Part]) -> list[Changes]:
        nonlocal written
        done = here(files, design, parts)
        written += sum(int(numbers(d.directory(), "rows").sum()) for d in done)
        return done

    for number in range(batches):
        rows = pa.table([["k"] * 10, [number] * 10, [1] * 10, [1_500_000] * 10], schema=SCHEMA)
        made.take([segment(made.files, made.design, rows, None)], counting)
        assert len(made.manifest.files) <= SEGMENTS + 8 and made.snapshot().stats()["rows"] == 10 * (number + 1)
    assert batches * 10 < written < batches * 10 * 8
    assert merging(made.manifest.blocks.slice(0, 0)) is None


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """A worker that writes where nobody else looks is an error, and nothing is committed."""
    made = create(str(tmp_path / "a"), SCHEMA, key="k", every=5, span=10)
    found = segment(made.files, made.design, pa.table([["k"], [1], [1], [9]], schema=SCHEMA), None)
    (tmp_path / "a" / "data" / found.directory["file"][0].as_py()).unlink()
    with pytest.raises(StoreError, match=r"has no .* all workers and the driver see"):
        made.take([found], here)
    assert made.manifest.version == 0 and snapshot(str(tmp_path / "a")).stats()["rows"] == 0
