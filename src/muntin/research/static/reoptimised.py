"""The random queries of Ayad & Naughton, section 6: five streams, each query planned anew as resources shrink."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from muntin.optimizer.capacity.model import JoinCost, Source
from muntin.optimizer.capacity.search import JoinQuery, best_plan, boxed, cheapest_plan, heuristic_plan

WINDOWS = {"A": 100, "B": 300, "C": 500, "D": 400, "E": 1000}
PREDICATES = {(0, 1): 0.2, (0, 2): 0.5, (1, 3): 0.1, (3, 4): 0.001}
"""Table 2."""

LEVELS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.01)
"""Resources, as shares of those at which the best plan just saturates."""


def drawn(rng: random.Random) -> JoinQuery:
    """Rates uniform over 10 ... 1000; each tuple that a join takes in costs 1, and capacity is what varies."""
    sources = tuple(Source(n, rng.uniform(10, 1000), rows=w) for n, w in WINDOWS.items())
    return JoinQuery(sources, PREDICATES, JoinCost.constant(1.0))


@dataclass(frozen=True)
class Found:
    """One query at one level: output of the lowest-utilisation plan with boxes, of the best, of the heuristic's."""

    lowest: float
    best: float
    heuristic: float

    @property
    def gain(self) -> float:
        """Of planning anew."""
        return self.best / self.lowest - 1

    @property
    def better(self) -> bool:
        """Whether another plan is the better one."""
        return self.gain > 1e-9

    @property
    def error(self) -> float:
        """Of the heuristic, relative to the best."""
        return max(0.0, 1 - self.heuristic / self.best)


@lru_cache(maxsize=2)
def study(queries: int, seed: int = 2004) -> dict[float, list[Found]]:
    """By level, each query's outputs."""
    rng = random.Random(seed)
    found: dict[float, list[Found]] = {level: [] for level in LEVELS}
    for _ in range(queries):
        query = drawn(rng)
        cheapest = cheapest_plan(query)
        for level in LEVELS:
            capacity = level * cheapest.boxes.work
            outputs = (
                boxed(query, cheapest.order, (1.0,) * 5, capacity).output,
                best_plan(query, capacity).boxes.output,
                heuristic_plan(query, capacity).boxes.output,
            )
            found[level].append(Found(*outputs))
    return found


def size(smoke: bool) -> int:
    """Queries."""
    return 60 if smoke else 1000


def mean(values: list[float]) -> float:
    """0 of none."""
    return sum(values) / len(values) if values else 0.0
