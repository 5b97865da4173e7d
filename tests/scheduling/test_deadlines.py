"""Earliest deadline first against the algorithms as they are printed, which count d down at every update."""

from __future__ import annotations

import numpy as np
import pytest

from muntin.scheduling.deadlines import Sharing, agenda, chosen, ran
from muntin.scheduling.tasks import PeriodicQuery, Task
from muntin.scheduling.virtual import schedule


def task(group: str, period: int, priority: int = 0) -> Task:
    return Task((PeriodicQuery(f"{group}{period}", group, 10, period, priority),), period)


def printed(d: dict[int, int], fresh: set[int], tasks: list[Task], sharing: Sharing) -> set[int]:
    """Lines 6 to 14 of Algorithms 9 to 11, over tasks that were not run since the last update."""
    left = {i: v for i, v in d.items() if i not in fresh}
    if not left:
        return set()
    lowest = min(left.values())
    first = min((i for i in left if left[i] == lowest), key=lambda i: (-tasks[i].priority, i))
    if sharing == "none":
        return {first}
    together = {i for i, v in left.items() if v == lowest}
    if lowest < 0 and sharing == "late":
        together = {i for i, v in left.items() if v < 0}
    if lowest < 0 and sharing == "late_pending":
        together = {i for i, v in left.items() if v <= 0}
    return {i for i in together if tasks[i].group == tasks[first].group}


@pytest.mark.parametrize("sharing", ["none", "equal", "late", "late_pending"])
@pytest.mark.parametrize("seed", range(5))
def test_chooses_what_the_printed_algorithms_choose(sharing: Sharing, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = [task("ABC"[rng.integers(3)], int(rng.integers(1, 9)), int(rng.integers(3))) for _ in range(12)]
    d = {i: t.period for i, t in enumerate(tasks)}
    known, fresh, now = agenda(tasks), set(range(12)), 0
    for _ in range(300):
        if rng.random() < 0.5:
            now, d, fresh = now + 1, {i: v - 1 for i, v in d.items()}, set()
        assert known.until(now).tolist() == list(d.values())
        found = chosen(known, now, sharing)
        assert set(found.tolist()) == printed(d, fresh, tasks, sharing)
        known = ran(known, found, now)
        d |= {i: tasks[i].period for i in found.tolist()}
        fresh |= set(found.tolist())


def test_nothing_runs_twice_on_one_state_nor_early_where_that_is_not_wanted() -> None:
    known = agenda([task("A", 2)])
    assert not len(chosen(known, 0)), "nothing was updated"
    assert not len(chosen(known, 1, early=False)) and chosen(known, 1).tolist() == [0]
    known = ran(known, chosen(known, 2, early=False), 2)
    assert not len(chosen(known, 2)) and known.until(2).tolist() == [2]


def test_the_greatest_priority_goes_first_among_equals_alone() -> None:
    tasks = [task("A", 3), task("B", 3, priority=2), task("C", 2)]
    known = agenda(tasks)
    assert chosen(known, 3).tolist() == [2], "it is late, whatever the priorities"
    assert chosen(ran(known, np.array([2]), 3), 3).tolist() == [1]


def test_on_a_machine_that_keeps_up_every_run_is_on_time() -> None:
    tasks = [task("A", 2), task("A", 3), task("B", 5)]
    runs = list(schedule(agenda(tasks), "late_pending", lambda t, u: 1.0, 60, 10.0, early=False))
    by_task = {i: [r.update for r in runs if i in r.tasks] for i in range(3)}
    assert by_task == {0: list(range(2, 61, 2)), 1: list(range(3, 61, 3)), 2: list(range(5, 61, 5))}
    assert [r.update for r in runs if set(r.tasks.tolist()) >= {0, 1}] == list(range(6, 61, 6))


def test_overload_lengthens_all_periods_and_starves_nobody() -> None:
    tasks = [task("A", 1), task("B", 1), task("C", 4)]
    runs = list(schedule(agenda(tasks), "late_pending", lambda t, u: 2.0, 400, 1.0))
    gaps = {i: np.diff([r.update for r in runs if i in r.tasks]) for i in range(3)}
    assert all(g.mean() < 10 for g in gaps.values()) and gaps[0].mean() > 3
    assert [r.began for r in runs] == sorted(r.began for r in runs)
    assert all(r.began >= r.update for r in runs), "no run shows what has not come yet"


def test_sharing_what_is_late_runs_more_in_the_same_time() -> None:
    tasks = [task("A", p) for p in (2, 3, 5, 7)]

    def run(sharing: Sharing) -> int:
        return sum(len(r.tasks) for r in schedule(agenda(tasks), sharing, lambda t, u: 2.5, 300, 1.0))

    assert run("none") <= run("equal") < run("late") <= run("late_pending")
