"""Kernels that find more than they were given room for go on where they stood: against the definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from muntin.kernels.index import bucket_order
from muntin.kernels.ordered import DENSE, NUMBER, RANK, first_places
from muntin.kernels.runs import by_key, by_rank
from muntin.kernels.schedule import at_changes, at_instants
from muntin.kernels.spans import probe_spans


def _events(rng: np.random.Generator, n: int, groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.sort(rng.integers(0, 60, n)), rng.integers(0, groups, n), rng.choice(np.array([1, 1, -1], np.int8), n)


def _live_at(before: np.ndarray, events: tuple[np.ndarray, ...], upto: int) -> np.ndarray:
    time, group, sign = events
    live = before.copy()
    np.add.at(live, group[time <= upto], sign[time <= upto])
    return live


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_instants_show_every_group_that_is_there(seed: int, always: bool) -> None:
    rng = np.random.default_rng(seed)
    groups = int(rng.integers(1, 300))
    events, before = _events(rng, 2000, groups), rng.integers(0, 3, groups)
    instants = np.unique(rng.integers(0, 50, 30))
    live = before.copy()
    plan, cut = at_instants(*events, live, instants, always)
    assert cut is None and plan.time[: len(instants)].tolist() == instants.tolist()
    assert live.tolist() == _live_at(before, events, 60).tolist()
    start = 0
    for k, now in enumerate(instants):
        there = _live_at(before, events, now)
        shown, start = slice(start, plan.em_end[k]), plan.em_end[k]
        assert sorted(plan.group[shown]) == (list(range(groups)) if always else np.flatnonzero(there > 0).tolist())
        assert plan.live[shown].tolist() == there[plan.group[shown]].tolist()
        assert plan.ev_end[k] == (events[0] <= now).sum()


@pytest.mark.parametrize("copies", [False, True])
def test_instants_end_before_one_that_would_pass_what_is_allowed(copies: bool) -> None:
    rng = np.random.default_rng(1)
    events, before = _events(rng, 500, 700), np.full(700, 5)
    instants = np.arange(0, 60, 4)
    sizes = [int(np.maximum(_live_at(before, events, t), 0).sum()) if copies else 700 for t in instants]
    most = sum(sizes[:6])
    plan, cut = at_instants(*events, before.copy(), instants, copies=copies, most=most)
    assert (cut, len(plan.time)) == (instants[6], 6)
    assert at_instants(*events, before.copy(), instants, copies=copies, most=1)[1] == instants[1]


@pytest.mark.parametrize("seed", range(4))
def test_changes_show_each_group_that_an_event_touches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    events, before = _events(rng, 800, 90), rng.integers(0, 3, 90)
    forced = sorted({(int(t), int(g)) for t, g in zip(rng.integers(0, 60, 20), rng.integers(0, 90, 20), strict=True)})
    plan = at_changes(*events, before.copy(), forced)
    moments = sorted({*events[0].tolist(), *(t for t, _ in forced)})
    assert plan.time[1:].tolist() == moments
    start = int(plan.em_end[0])
    assert sorted(plan.group[:start]) == sorted({*events[1].tolist(), *(g for _, g in forced)})
    assert plan.live[:start].tolist() == before[plan.group[:start]].tolist()
    for k, now in enumerate(moments, 1):
        shown, start = slice(start, plan.em_end[k]), plan.em_end[k]
        touched = {*events[1][events[0] == now].tolist(), *(g for t, g in forced if t == now)}
        assert sorted(plan.group[shown]) == sorted(touched)
        assert plan.live[shown].tolist() == _live_at(before, events, now)[plan.group[shown]].tolist()


def _chunk(rng: np.random.Generator, n: int, keys: int, fifo: bool) -> tuple[np.ndarray, ...]:
    h, start = rng.integers(0, keys, n) * 7, np.sort(rng.integers(0, 300, n))
    order, directory = bucket_order(h)
    exp = start + (40 if fifo else rng.integers(1, 80, n))
    return h[order], start[order], exp[order], directory


@pytest.mark.parametrize("fifo", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_spans_are_the_pairs_of_equal_hashes_whose_intervals_meet(seed: int, fifo: bool) -> None:
    rng = np.random.default_rng(seed)
    *new, _ = _chunk(rng, 200, 6, fifo)
    *chunk, directory = _chunk(rng, 900, 6, fifo)
    found = probe_spans(tuple(new), tuple(chunk), directory, 290, fifo)
    meet = (new[0][:, None] == chunk[0]) & (chunk[1] < np.minimum(new[2], 290)[:, None]) & (chunk[2] > new[1][:, None])
    assert len(found.rows) > 200 or fifo  # more than there was room for at first
    assert list(zip(found.pair_rows(), found.pair_partners(), strict=True)) == list(zip(*np.nonzero(meet), strict=True))
    some = probe_spans(tuple(new), tuple(chunk), directory, 290, fifo, most=50)
    assert 50 < some.pairs <= found.pairs and some.pairs == some.count.sum()


def test_no_runs_hold_nothing() -> None:
    number = np.array([3, 5])
    assert [part.tolist() for part in by_key([], [], number, number, number, 0)] == [[], [], []]
    rows, (least, greatest, below, size) = by_rank([], [], [], number, (number, number), 0.5)
    assert [part.tolist() for part in rows] == [[], [], []] and (below.tolist(), size.tolist()) == ([0, 0], [0, 0])
    assert (least < -(2**62)).all() and (greatest > 2**62).all()


Wanted = tuple[int, int, bool, int]


def _leading(live: np.ndarray, tie: np.ndarray, first: int, wanted: Wanted) -> list[tuple[int, ...]]:
    """The rows shown of a group, one after another: place, row number, rank, dense rank."""
    offset, count, ties, show = wanted
    rows = [first + p for p, n in enumerate(live) for _ in range(n)]
    keys = [tie[p] for p in rows]
    shown = []
    for n, place in enumerate(rows):
        tied = ties and n >= offset + count and keys[n] == keys[offset + count - 1]
        if n >= offset and (n < offset + count or tied):
            ranks = n + 1, keys.index(keys[n]) + 1, len(set(keys[: n + 1]))
            bits = zip(ranks, (NUMBER, RANK, DENSE), strict=True)
            shown.append((place, *(rank if show & bit else 0 for rank, bit in bits)))
    return shown


@pytest.mark.parametrize("wanted", [(0, 3, False, 0), (1, 2, True, RANK | DENSE), (0, 4, True, 1), (2, 3, False, 7)])
@pytest.mark.parametrize("seed", range(3))
def test_first_places_are_the_changes_of_the_rows_shown(seed: int, wanted: Wanted) -> None:
    rng = np.random.default_rng(seed)
    begin = np.append(0, np.cumsum(rng.integers(1, 9, 40)))
    count, tie = rng.integers(0, 3, begin[-1]), np.cumsum(rng.integers(0, 2, begin[-1]))
    live, changes, ends, events = count.copy(), Counter(), [0], []
    for g in range(40):
        place = slice(begin[g], begin[g + 1])
        for instant in np.flatnonzero(rng.random(60) < 0.5).tolist():
            before = Counter(_leading(live[place], tie, begin[g], wanted))
            for p in rng.integers(begin[g], begin[g + 1], 2).tolist():
                sign = -1 if live[p] and rng.random() < 0.5 else 1
                live[p] += sign
                events.append((p, sign, instant))
            after = Counter(_leading(live[place], tie, begin[g], wanted))
            changes.update({(instant, *row, 1): n for row, n in (after - before).items()})
            changes.update({(instant, *row, -1): n for row, n in (before - after).items()})
        ends.append(len(events))
    place, sign, instant = (np.array(c) for c in zip(*events, strict=True))
    found = first_places((np.array(ends), place, sign, instant), (begin, count, tie), wanted)
    assert len(found) > 256 and Counter(map(tuple, found.tolist())) == changes
