"""A5, Ayad & Naughton observation 2: a chain of selections needs one drop box, at the source of the cheapest order."""

from __future__ import annotations

import random
from itertools import permutations, product
from math import prod

from muntin.optimizer.capacity.boxes import selections_box
from muntin.optimizer.capacity.model import Leaf, Plan, Select, Source, works
from muntin.research.harness import Check, Entry, Outcome, Setting

Filters = tuple[tuple[float, float], ...]
"""(share, seconds a tuple) of each, in the order that they run."""


def chain_works(filters: Filters, rate: float) -> list[float]:
    """c(i) of each filter."""
    plan: Plan = Leaf(0)
    for share, cost in filters:
        plan = Select(plan, share, cost)
    return works(plan, (Source("S", rate, rows=1),))


def with_boxes(costs: list[float], boxes: tuple[float, ...]) -> tuple[float, float]:
    """(share of the output, utilisation) with a box before each filter and one after the last (11, 12)."""
    return prod(boxes), sum(c * prod(boxes[: i + 1]) for i, c in enumerate(costs))


def best_on_grid(costs: list[float], steps: int) -> float:
    """The largest share of the output over all n + 1 boxes on a grid."""
    grid = [k / steps for k in range(1, steps + 1)]
    tried = (with_boxes(costs, x) for x in product(grid, repeat=len(costs) + 1))
    return max((output for output, work in tried if work <= 1 + 1e-12), default=0.0)


def drawn(rng: random.Random) -> tuple[Filters, float]:
    """An infeasible chain of two or three filters and its rate."""
    filters = tuple((rng.uniform(0.1, 0.9), rng.uniform(0.001, 0.004)) for _ in range(rng.randint(2, 3)))
    return filters, rng.uniform(600, 1500)


def judge(beaten: int, cheapest: int, filled: float, n: int) -> tuple[Check, ...]:
    """Of ``n`` chains, how often a grid beat the one box, and an order other than the cheapest had the best."""
    return (
        Check("a grid over all n + 1 boxes never beats it", f"beaten {beaten} of {n} times", beaten == 0),
        Check("the best order is the cheapest", f"{n - cheapest} of {n} differ", cheapest == n),
        Check("the plan then uses all of the machine", f"utilisation off by {filled:.1e}", filled < 1e-9),
    )


def run(setting: Setting) -> Outcome:
    """Random chains."""
    rng, beaten, cheapest, filled = random.Random(5), 0, 0, 0.0
    n = 20 if setting.smoke else 200
    for _ in range(n):
        filters, rate = drawn(rng)
        orders = list(permutations(filters))
        costs = [chain_works(o, rate) for o in orders]
        share = [selections_box(c) for c in costs]
        best = share.index(max(share))
        cheapest += min(map(sum, costs)) == sum(costs[best])
        beaten += any(best_on_grid(c, 8) > share[best] + 1e-12 for c in costs)
        if share[best] < 1:
            filled = max(filled, abs(with_boxes(costs[best], (share[best],) + (1.0,) * len(filters))[1] - 1))
    return Outcome(judge(beaten, cheapest, filled, n))


ENTRY = Entry(
    "A5",
    "observation 2: one drop box at the source, on the least-cost plan, x1 = 1/sum c(i)",
    "random instances: a grid over all n+1 box positions never beats it",
    run,
)
