"""Tasks within a budget: the most urgent first, nobody for ever, what is shared with them for nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from muntin.scheduling.budget import affordable
from muntin.scheduling.deadlines import SCHEDULING, Agenda, agenda, ran
from muntin.scheduling.tasks import PeriodicQuery, Task


def tasks(*asked: tuple[str, int, int]) -> list[Task]:
    """(group, period, priority)."""
    return [Task((PeriodicQuery(str(i), g, 1, p, pr),), p) for i, (g, p, pr) in enumerate(asked)]


def at(d: list[int], *asked: tuple[str, int, int]) -> Agenda:
    """Tasks with these times until their deadlines, after ten updates."""
    return replace(agenda(tasks(*asked)), due=np.array(d) + 10)


def additive(*costs: float):  # type: ignore[no-untyped-def]
    return lambda chosen: sum(costs[i] for i in chosen)


def test_the_most_urgent_run_first_as_far_as_there_is_time() -> None:
    known = at([0, -2, -1, 0], ("A", 1, 0), ("B", 1, 0), ("C", 1, 0), ("D", 1, 5))
    cost = additive(1, 1, 1, 1)
    assert affordable(known, 10, cost, 1) == {1}
    assert affordable(known, 10, cost, 2) == {1, 2}
    assert affordable(known, 10, cost, 3) == {1, 2, 3}, "of those that are due the one with the greater priority"
    assert affordable(known, 10, cost, 4) == {0, 1, 2, 3}
    assert affordable(known, 10, cost, 0) == {1}, "one runs in any case"


def test_what_does_not_fit_leaves_room_for_others() -> None:
    known = at([0, -1, 0], ("A", 1, 0), ("B", 1, 0), ("C", 1, 0))
    assert affordable(known, 10, additive(9, 1, 2), 3) == {1, 2}
    assert affordable(known, 10, additive(1, 50, 2), 3) == {1}, "the most urgent, though it is too much"


def test_what_is_late_runs_with_its_group_and_for_nothing_where_work_is_shared() -> None:
    known = at([-1, 0, 0, 0], ("A", 1, 0), ("A", 1, 0), ("A", 1, 0), ("B", 1, 0))
    shared = {0: "x", 1: "x", 2: "y", 3: "z"}
    work = {"x": 3.0, "y": 5.0, "z": 1.0}

    def cost(chosen: frozenset[int]) -> float:
        return sum(work[w] for w in {shared[i] for i in chosen})

    assert affordable(known, 10, cost, 9) == {0, 1, 2, 3}
    assert affordable(known, 10, cost, 4) == {0, 1, 3}
    assert affordable(known, 10, cost, 3) == {0, 1}


def test_schedulers_differ_in_who_runs_with_the_one_that_is_latest() -> None:
    """Two of a group and one of another, for two of which there is time."""
    two_late = at([-2, -1, -1], ("A", 1, 0), ("A", 1, 0), ("B", 1, 9))
    one_late = at([-2, 0, -1], ("A", 1, 0), ("A", 1, 0), ("B", 1, 9))

    def runs(known: Agenda) -> dict[str, frozenset[int]]:
        return {n: affordable(known, 10, additive(1, 3, 3), 4, s) for n, s in SCHEDULING.items()}

    assert runs(two_late) == {"edf": {0, 2}, "conservative": {0, 2}, "late": {0, 1}, "late_pending": {0, 1}}
    assert runs(one_late) == {"edf": {0, 2}, "conservative": {0, 2}, "late": {0, 2}, "late_pending": {0, 1}}
    alike = at([-1, -1, -1], ("A", 1, 9), ("A", 1, 0), ("B", 1, 5))
    assert runs(alike) == {"edf": {0, 2}, "conservative": {0, 1}, "late": {0, 1}, "late_pending": {0, 1}}


@pytest.mark.parametrize("seed", range(10))
def test_within_the_budget_and_nobody_waits_for_ever(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 8
    groups = [("ABC"[rng.integers(3)], 1, int(rng.integers(3))) for _ in range(n)]
    parts = [frozenset(rng.choice(12, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
    weight = rng.uniform(0.1, 2, 12)

    def cost(chosen: frozenset[int]) -> float:
        return float(sum(weight[p] for p in frozenset().union(*(parts[i] for i in chosen))))

    budget, known, last = float(rng.uniform(0, 6)), agenda(tasks(*groups)), np.zeros(n, int)
    for now in range(1, 200):
        found = affordable(known, now, cost, budget)
        assert found and (cost(found) <= budget + 1e-9 or cost(found) <= max(cost(frozenset({i})) for i in found))
        known = ran(known, np.array(sorted(found)), now)
        last[list(found)] = now
        assert (now - last).max() <= 3 * n
