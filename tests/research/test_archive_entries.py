"""The archive's entries can fail, and the paged index holds what a filter holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from muntin.archive import Layout
from muntin.archive.layout import wave
from muntin.research.archive import t08, t22, t23, t24, t25, t26, t27, t28, t29
from muntin.research.archive.pages import KEYS, UPDATES, PagedIndex
from muntin.research.archive.workload import Run, arrivals
from muntin.research.harness import Check


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


LAYOUTS = [Layout(2, 2), Layout(3, 3, "chronological", "norebuild"), Layout(2, 2, update="norebuild"), wave("D-ins", 4)]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_paged_index_against_a_filter(layout: Layout) -> None:
    given = arrivals(2_000)
    index = PagedIndex(layout, 2_000, given.every)
    now, seen = UPDATES * given.every, [given.parts[0]]
    key, time, exp = given.parts[0]
    index.build(key[exp > now], time[exp > now], exp[exp > now], now)
    for part in given.parts[1:12]:
        now += given.every
        seen.append(part)
        cost = index.update(*part, now)
        keys, exps = (np.concatenate([p[i] for p in seen]) for i in (0, 2))
        held = sorted((int(k), int(e)) for r in index.cells.values() for k, e in zip(r.key, r.exp, strict=True))
        assert held == sorted((int(k), int(e)) for k, e in zip(keys, exps, strict=True) if e > now)
        assert cost.cells <= layout.touched and cost.read > 0
        for cell in index.cells.values():  # a bucket holds one key, and no more than it has room for
            of_bucket = {(int(b), int(k)) for b, k in zip(cell.bucket, cell.key, strict=True)}
            assert len({b for b, _ in of_bucket}) == len(of_bucket)
            if layout.update == "norebuild":
                assert max(np.unique(cell.bucket, return_counts=True)[1], default=0) <= index.room
    assert (
        sum(index.probe(k).read - index.probe(k).cells for k in range(KEYS)) == index.scan().read - index.scan().cells
    )


def test_the_archive_entries_can_fail() -> None:
    assert oks(t08.judge(t08.FIGURE, {18: ("I1", "I2", "I3", "I4")})) == [True, True, True]
    assert oks(t08.judge({**t08.FIGURE, 18: ("I1", "I2")}, {18: ("I1",)})) == [False, False, False]
    right = t22.ROUND_ROBIN
    assert oks(t22.judge("", right, right, {18: ("I1", "I2", "I3"), 20: ("I2", "I3", "I4")})) == [True, True]
    assert oks(t22.judge("", right, {**right, 18: right[20]}, {18: ("I1",), 20: ("I2",)})) == [False, False]
    assert t22.judge_empty(("I1", "I3", "I4")).ok and not t22.judge_empty(("I1", "I2", "I3", "I4")).ok
    good = {k: {v} for k, v in t23.STATED.items()}
    assert oks(t23.judge(good)) == [True, True]
    assert oks(t23.judge({**good, (4, 4): {7, 9}})) == [False, False]
    assert oks(t24.judge({(4, 8): ([12.0], [12.0])})) == [False, False, True, False]


def of(update: float, probe: float = 1.0, scan: float = 100.0, worst: int = 1) -> Run:
    return Run(update, probe, scan, 1.0, worst)


def test_the_page_entries_can_fail() -> None:
    assert oks(t25.judge({"4x4": of(7), "2x8": of(9), "8x2": of(8.9)})) == [True, True, True]
    assert oks(t25.judge({"4x4": of(9), "2x8": of(9, 2), "8x2": of(9.1)})) == [False, False, False]
    names = ("Rebuild 4", "NoRebuild 4", "Rebuild chr 4", "R-ins 4", "D-ins 4", "NoRebuild chr 4")
    fine = dict(zip(names, map(of, (9.0, 8.0, 10.0, 20.0, 19.0, 9.0)), strict=True))
    assert all(oks(t26.judge(fine, (2,))))
    flat = {name: of(9.0, 50.0 if name == "Rebuild 4" else 1.0) for name in names}
    assert oks(t26.judge(flat, (2,))) == [False, False, False, False, True, False, True, False]
    moved = {"Rebuild 2x2": 2.0, "Rebuild 4x4": 1.0, "NoRebuild 4x4": 0.5, "R-ins 4": 3.0}
    assert oks(t26.judge_product(moved)) == [True, True]
    assert oks(t26.judge_product({**moved, "R-ins 4": 1.5, "NoRebuild 4x4": 2.0})) == [False, False]
    steady = {name: of(100) for name in t27.INDICES}
    rises = {"Rebuild 4": 1, "NoRebuild 4": 2, "Rebuild 25": 3, "NoRebuild 25": 4, "R-ins 4": 5, "D-ins 4": 6}
    varying = {name: of(100 + rises.get(name, 0)) for name in t27.INDICES}
    assert all(oks(t27.judge(steady, varying)))
    assert oks(t27.judge(steady, steady)) == [True, False, False, False, True]
    slower = {name: replace(r, probe=2.0) for name, r in varying.items()}
    assert not t27.judge(steady, slower)[0].ok
    small = {"Rebuild 4": of(10), "NoRebuild 4": of(10), "R-ins 4": of(20)}
    large = {"Rebuild 4": of(100), "NoRebuild 4": of(90), "R-ins 4": of(250)}
    assert all(oks(t28.judge(small, large, (2,))))
    assert oks(t28.judge(large, small, (2,))) == [False, True, True, False]


def test_the_advice_entry_can_fail() -> None:
    found = {"NoRebuild 2x2": of(10, 3), "NoRebuild 4x4": of(1, 5), "Rebuild 2x2": of(12, 1), "Rebuild 4x4": of(3, 4)}
    assert all(oks(t29.judge(found, found)))
    assert t29.judge_sides(found).ok
    turned = {**found, "Rebuild 4x4": of(20, 0.5)}
    assert oks(t29.judge(turned, found)) == [False, True] and not t29.judge_sides(turned).ok
    assert t29.judge_advice([(4, "norebuild"), (2, "rebuild")]).ok
    assert not t29.judge_advice([(2, "rebuild"), (4, "norebuild")]).ok
