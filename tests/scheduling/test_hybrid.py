"""Costs of schedules against counting them instant by instant; partitions against all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from muntin.scheduling.costs import HORIZON, INTERVALS, CostModel, cost_per_update, horizon_of
from muntin.scheduling.hybrid import by_ranges, cheapest, climb, cost_of, hybrid, partitions
from muntin.scheduling.tasks import PeriodicQuery, Task, aggressive, conservative, early, merged, separate


def queries(rng: np.random.Generator, periods: int, longest: int = 12) -> list[PeriodicQuery]:
    chosen = rng.choice(np.arange(1, longest + 1), periods, replace=False)
    return [
        PeriodicQuery(f"Q{i}", "G", int(rng.integers(2, 60)), int(p))
        for i, p in enumerate([*chosen, *rng.choice(chosen, 4)])
    ]


def model(rng: np.random.Generator) -> CostModel:
    own = float(rng.uniform(0, 5))
    return CostModel(lambda n: 2.0 * n, lambda q: own * q.window**0.5)


def counted(tasks: tuple[Task, ...], costs: CostModel) -> float:
    """Every instant until the schedule repeats: what is due runs together."""
    span = math.lcm(*(t.period for t in tasks))
    due = ([t for t in tasks if at % t.period == 0] for at in range(1, span + 1))
    return sum(costs.run(d) for d in due if d) / span


@pytest.mark.parametrize("seed", range(8))
def test_cost_per_update_is_what_counting_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks, costs = conservative(queries(rng, 4, 10)), model(rng)
    assert cost_per_update(tasks, costs) == pytest.approx(counted(tasks, costs))


def test_a_long_schedule_is_cut() -> None:
    tasks = conservative([PeriodicQuery(str(p), "G", 10, p) for p in (11, 13, 17, 19)])
    assert horizon_of(tasks) == HORIZON
    assert cost_per_update(tasks, INTERVALS) == pytest.approx(counted(tasks, INTERVALS), rel=0.05)


def test_all_partitions() -> None:
    groups = conservative([PeriodicQuery(str(p), "G", 10, p) for p in range(1, 6)])
    found = [frozenset(frozenset(t.period for t in b) for b in blocks) for blocks in partitions(groups)]
    assert len(found) == len(set(found)) == 52, "the fifth Bell number"


@pytest.mark.parametrize("seed", range(12))
def test_the_way_for_many_finds_nearly_what_all_partitions_have(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, costs = conservative(queries(rng, 6)), model(rng)
    best = cost_per_update(cheapest(groups, costs), costs)
    assert best == pytest.approx(min(cost_of(b, costs) for b in partitions(groups)))
    start = by_ranges(groups, costs)
    assert sorted(t.period for b in start for t in b) == sorted(t.period for t in groups)
    assert best <= cost_of(climb(start, costs), costs) * (1 + 1e-9) <= best * 1.15


@pytest.mark.parametrize("seed", range(3))
def test_many_subgroups_cost_at_most_what_they_cost_apart_or_as_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked, costs = queries(rng, 16, 40), model(rng)
    found = cost_per_update(hybrid(asked, costs), costs)
    assert found <= cost_per_update(conservative(asked), costs) + 1e-9
    assert found <= cost_per_update(aggressive(asked), costs) + 1e-9


def test_queries_as_tasks() -> None:
    a = [PeriodicQuery("a", "G", 5, 2), PeriodicQuery("b", "G", 9, 3, 4), PeriodicQuery("c", "G", 7, 2)]
    other = PeriodicQuery("d", "H", 3, 2)
    assert separate([*a, other]) == tuple(Task((q,), q.period) for q in [*a, other])
    assert conservative([*a, other]) == (Task((a[0], a[2]), 2), Task((a[1],), 3), Task((other,), 2))
    (whole, alone) = aggressive([*a, other])
    assert (whole.period, whole.window, whole.priority, early([whole, alone])) == (2, 9, 4, 1)
    assert merged(conservative(a)).queries == (a[0], a[2], a[1])
    with pytest.raises(ValueError, match="one group"):
        Task((a[0], other), 2)
    with pytest.raises(ValueError, match="at least one update"):
        PeriodicQuery("e", "G", 5, 0)
