"""A6, Ayad & Naughton observation 3 and equations (18) to (20): boxes at the inputs alone, set by a knapsack.

The ratio, an image in the text, is (prod W_k, k other than i) lambda_i / a_i. The linear program is solved by its
corners: with one constraint beside the bounds, all shares but one are 0 or 1 at one of them.
"""

from __future__ import annotations

import random
from itertools import product

from muntin.optimizer.capacity.boxes import best_boxes, ratios
from muntin.optimizer.capacity.model import Join, JoinCost, Leaf, Select, Source, alone, flow
from muntin.optimizer.capacity.search import JoinQuery, left_deep
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.static import example

RATIOS = {"a": [16.67, 16.67, 100], "b": [100, 33.33, 33.33], "c": [9.09, 100, 9.09]}


def example_ratios() -> dict[str, list[float]]:
    """As the document has them: without the selectivities, a join's tuple costing 1."""
    found = {p: ratios(left_deep(example.query(1000), o), example.SOURCES) for p, o in example.PLANS.items()}
    return {p: [round(r / 0.1, 2) for r in rs] for p, rs in found.items()}


def drawn(rng: random.Random) -> JoinQuery:
    """A chain of three or four streams."""
    n = rng.randint(3, 4)
    sources = tuple(Source(f"S{i}", rng.uniform(10, 1000), rows=rng.uniform(5, 100)) for i in range(n))
    return JoinQuery(sources, {(i, i + 1): rng.uniform(0.005, 0.2) for i in range(n - 1)}, JoinCost.constant(1.0))


def by_corners(gains: list[float], works: list[float], capacity: float) -> float:
    """The linear program's value."""
    best, n = 0.0, len(gains)
    for part, corner in product(range(n), product((0.0, 1.0), repeat=n)):
        left = capacity - sum(w * x for i, (w, x) in enumerate(zip(works, corner, strict=True)) if i != part)
        if left >= 0:
            x = [min(1.0, left / works[part]) if i == part else x for i, x in enumerate(corner)]
            best = max(best, sum(g * y for g, y in zip(gains, x, strict=True)))
    return best


def above_a_join(query: JoinQuery, capacity: float, kept: float) -> float:
    """The most output where a box of share ``kept`` stands above the first join, and the rest at the inputs."""
    order = tuple(range(len(query.sources)))
    plan = Select(left_deep(query, order[:2]), kept)
    # A drop box, unlike a selection, leaves the active window as it is: the joins above see it in full.
    rate = Source("joined", 0, rows=flow(plan.input, query.sources).window)
    whole: Join | Leaf = Leaf(0)
    for k in order[2:]:
        whole = Join(whole, Leaf(k - 1), query.selectivity(order[:k], k), query.cost)
    gains, works = [], []
    for i in order:
        below = alone(plan.input, query.sources, i) if i < 2 else None
        first = Source("joined", kept * below.rate if below else 0.0, rows=rate.rows)
        rest = [
            first,
            *(Source(s.name, s.rate if k == i else 0.0, rows=s.rows) for k, s in enumerate(query.sources) if k > 1),
        ]
        above = flow(whole, rest)
        gains.append(above.rate)
        works.append(above.work + (below.work if below else 0.0))
    return by_corners(gains, works, capacity)


def judge(found: dict[str, list[float]], off: float, helped: int, n: int) -> tuple[Check, ...]:
    """Ratios of the example; the worst gap to the linear program; how often a box above a join helped."""
    told = "; ".join(f"{p} {', '.join(f'{r:g}' for r in rs)}" for p, rs in found.items())
    return (
        Check("ratios 16.67 16.67 100; 100 33.33 33.33; 9.09 100 9.09", told, found == RATIOS),
        Check("greedy equals the linear program's optimum", f"off by {off:.1e} in {n} instances", off < 1e-9),
        Check("a box above a join never increases output", f"it did {helped} times", helped == 0),
    )


def run(setting: Setting) -> Outcome:
    """The example, then random chains at random capacities."""
    rng, off, helped, n = random.Random(6), 0.0, 0, 50 if setting.smoke else 1000
    for _ in range(n):
        query = drawn(rng)
        plan = left_deep(query, tuple(range(len(query.sources))))
        capacity = rng.uniform(0.05, 0.95) * flow(plan, query.sources).work
        best = best_boxes(plan, query.sources, capacity).output
        flows = [alone(plan, query.sources, i) for i in range(len(query.sources))]
        off = max(off, abs(best / by_corners([f.rate for f in flows], [f.work for f in flows], capacity) - 1))
        helped += any(above_a_join(query, capacity, x) > best * (1 + 1e-9) for x in (0.3, 0.6, 0.9))
    return Outcome(judge(example_ratios(), off, helped, n))


ENTRY = Entry(
    "A6",
    "observation 3: drop at the inputs only, greedily by ratio; ratios of the example",
    "greedy equals the linear program; a box above a join never increases output at equal cost",
    run,
)
