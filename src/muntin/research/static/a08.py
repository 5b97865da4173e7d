"""A8, Ayad & Naughton equation (21): R(p) = lambda / C is one objective for both modes."""

from __future__ import annotations

import random

from muntin.optimizer.capacity.boxes import best_boxes
from muntin.optimizer.capacity.search import best_plan, cheapest_plan, left_deep, orders
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.static.reoptimised import drawn


def judge(feasible: int, infeasible: int, wrong: int) -> tuple[Check, ...]:
    """How many queries of each kind, and how often the greatest R was not what it should be."""
    told = f"{feasible} feasible, {infeasible} infeasible, {wrong} wrong"
    met = feasible > 0 and infeasible > 0
    return (Check("argmax R is the cheapest feasible plan, else that of most output", told, wrong == 0 and met),)


def run(setting: Setting) -> Outcome:
    """Random queries at random capacities."""
    rng, counts, wrong = random.Random(8), [0, 0], 0
    for _ in range(20 if setting.smoke else 300):
        query = drawn(rng)
        cheapest = cheapest_plan(query).boxes
        capacity = cheapest.work * rng.choice((0.2, 0.7, 1.3, 3))
        chosen = best_plan(query, capacity).boxes
        every = [best_boxes(left_deep(query, o), query.sources, capacity) for o in orders(5)]
        feasible = cheapest.work <= capacity
        counts[not feasible] += 1
        if feasible:
            wrong += abs(chosen.work / cheapest.work - 1) > 1e-9 or min(chosen.shares) < 1
        else:
            most = max(b.output for b in every)
            wrong += abs(chosen.output / most - 1) > 1e-9 or any(abs(b.work / capacity - 1) > 1e-9 for b in every)
    return Outcome(judge(counts[0], counts[1], wrong))


ENTRY = Entry(
    "A8",
    "equation (21): maximise R(p) = lambda/C",
    "argmax R = least-cost feasible plan if there is one, otherwise the plan of most output (all C = 1)",
    run,
)
