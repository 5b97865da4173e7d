"""Queues of slices and the router: every policy, random interleavings, and the streams that queries have alone."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from muntin.research.shared_joins.pairs import FIGURE, FIGURE_WINDOWS, SharedJoin, Tuple, alone
from muntin.scheduling.policies import POLICIES
from muntin.scheduling.routing import Release, Router
from muntin.scheduling.slice_clock import play
from muntin.scheduling.slices import SliceQueues, Unit, sizes_of, slices_of


def order_of(policy: str, windows: tuple[float, ...], outers: int) -> list[tuple[int, int]]:
    queues, found = SliceQueues(POLICIES[policy], sizes_of(windows)), []
    for outer in range(outers):
        queues.arrived(outer)
    while (unit := queues.next()) is not None:
        queues.done(unit)
        found.append((unit.outer, unit.slice))
    return found


def test_slices_lie_between_distinct_windows() -> None:
    assert slices_of([5, 1, 5, 9]) == ((0, 1), (1, 5), (5, 9))
    assert sizes_of([5, 1, 5, 9]) == (1, 4, 4)


def test_each_policy_serves_its_queues_in_its_order() -> None:
    windows = (4.0, 6.0, 12.0)
    assert order_of("lwo", windows, 2) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert order_of("swf", windows, 2) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert order_of("greedy", windows, 2) == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)]
    assert POLICIES["greedy"].order((1, 59, 240, 120, 90, 60, 30)) == (0, 6, 1, 5, 4, 3, 2)
    assert POLICIES["greedy"].order((5, 5, 5)) == (0, 1, 2)


@pytest.mark.parametrize("policy", POLICIES)
def test_what_waits_is_taken_up_where_it_was(policy: str) -> None:
    """Queues made of what waited go on as the old ones would have."""
    rng = Random(policy)
    for _ in range(50):
        sizes = [rng.randint(1, 9) for _ in range(rng.randint(1, 5))]
        queues, arrived = SliceQueues(POLICIES[policy], sizes), 0
        for _ in range(rng.randint(1, 30)):
            if rng.random() < 0.4:
                queues.arrived(arrived)
                arrived += 1
            elif (unit := queues.next()) is not None:
                queues.done(unit)
        again = SliceQueues(POLICIES[policy], sizes, queues.waiting())
        assert len(again) == len(queues)
        while (unit := queues.next()) is not None:
            assert again.next() == unit
            queues.done(unit)
            again.done(unit)
        assert again.next() is None


def draw(rng: Random) -> tuple[list[Tuple], tuple[float, ...], SharedJoin]:
    times = sorted(rng.sample(range(100), rng.randint(4, 30)))
    rows = [Tuple(rng.randint(0, 1), float(t), rng.randint(1, 2)) for t in times]
    by = rng.choice(("time", "rows"))
    windows = tuple(map(float, sorted(rng.sample(range(1, 50 if by == "time" else 9), rng.randint(1, 5)))))
    join = SharedJoin(rng.choice(list(POLICIES.values())), windows, rng.choice(("hash", "nlj")), by)  # type: ignore[arg-type]
    return rows, windows, join


@pytest.mark.parametrize("block", range(3))
def test_every_stream_is_the_one_of_an_isolated_run(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        rng = Random(f"slices {seed}")
        rows, windows, join = draw(rng)
        own = alone(windows, rows, 0, join)
        pace = [rng.randint(0, 4) for _ in rows]
        trace = join.run(rows, 0, pace.__getitem__)
        assert {q: trace.streams[q] for q in own} == own, (seed, join.policy.name)
        assert len(trace.found) == len(set(trace.found))


def test_windows_hold_what_is_less_than_them_back_and_the_newest_rows() -> None:
    rows = [Tuple(0, t, 1) for t in (1.0, 3.0, 4.0)] + [Tuple(1, 6.0, 1)]
    by_time = SharedJoin(POLICIES["lwo"], (2.0, 3.0, 6.0)).run(rows).streams
    assert by_time == {0: [], 1: [("a4", "b6")], 2: [("a4", "b6"), ("a3", "b6"), ("a1", "b6")]}
    by_rows = SharedJoin(POLICIES["lwo"], (1.0, 2.0), by="rows").run(rows).streams
    assert by_rows == {0: [("a4", "b6")], 1: [("a4", "b6"), ("a3", "b6")]}


def test_nested_loops_look_at_more_for_the_same_pairs() -> None:
    loops, hashed = (SharedJoin(POLICIES["swf"], FIGURE_WINDOWS, a).run(FIGURE) for a in ("nlj", "hash"))  # type: ignore[arg-type]
    assert loops.streams == hashed.streams and loops.looked > hashed.looked


def test_greedy_lets_results_pass_that_swf_holds() -> None:
    """Outer 1 has done slice 0; when outer 0 is through, Greedy lets that go, SWF when outer 1 has done slice 1."""
    units = [Unit(0, 0), Unit(1, 0), Unit(0, 1), Unit(1, 1)]
    for name, left in (
        ("greedy", [Release(1, 0, 1, 1, True), Release(1, 1, 0, 0, False)]),
        ("swf", [Release(1, 0, 1, 1, False)]),
    ):
        router = Router(POLICIES[name], 2)
        steps = [router.done(u) for u in units[:3]]
        assert steps[2] == left
        assert router.held() == (0 if name == "greedy" else 1)
        last = router.done(units[3])
        assert last == ([Release(1, 1, 1, 1, True)] if name == "greedy" else [Release(1, 1, 0, 1, False)])
        assert router.held() == 0


def test_responses_by_hand() -> None:
    """Two rows at once, two slices of two results and one operation a result, on a machine of one a second."""
    work = np.full((2, 2), 2.0)
    found = play(POLICIES["lwo"], (1, 1), np.zeros(2), work, work.astype(np.int64), 1.0)
    assert found.results.tolist() == [4, 8]
    assert found.mean.tolist() == [(1 + 2 + 5 + 6) / 4, sum(range(1, 9)) / 8]
    assert found.most.tolist() == [6, 8]
    swf = play(POLICIES["swf"], (1, 1), np.zeros(2), work, work.astype(np.int64), 1.0)
    assert swf.mean.tolist() == [3.0, (2 * 2 + 2 * 6 + 4 * 8) / 8] and swf.most.tolist() == [4, 8]
    assert (swf.waiting, swf.held) == (2, 1)
