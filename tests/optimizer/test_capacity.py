"""Rates, windows, utilisation, drop boxes and plans, with the worked numbers of Ayad & Naughton (2004)."""

from __future__ import annotations

import random
from itertools import permutations, product

import pytest

from muntin.optimizer.capacity.boxes import best_boxes, knapsack, ratios, selections_box
from muntin.optimizer.capacity.model import Join, JoinCost, Leaf, Plan, Select, Source, alone, flow, works
from muntin.optimizer.capacity.search import JoinQuery, best_plan, cheapest_plan, heuristic_plan, left_deep, orders

ABC = (Source("A", 10, rows=10), Source("B", 70, rows=10), Source("C", 20, rows=10))


def example(milliseconds: float) -> JoinQuery:
    return JoinQuery(ABC, {(0, 1): 0.5, (1, 2): 0.2}, JoinCost.constant(milliseconds / 1000))


PLANS = {"a": (0, 1, 2), "b": (1, 2, 0), "c": (0, 2, 1)}


def test_two_selections() -> None:
    source = (Source("S", 1000, rows=1),)
    first, second = (0.25, 0.0005), (0.5, 0.001)

    def chain(*steps: tuple[float, float]) -> Plan:
        plan: Plan = Leaf(0)
        for share, cost in steps:
            plan = Select(plan, share, cost)
        return plan

    a, b = (flow(chain(*steps), source) for steps in ((first, second), (second, first)))
    assert works(chain(first, second), source) == pytest.approx([0.5, 0.25])
    assert (a.work, a.feasible, b.work, b.feasible) == pytest.approx((0.75, True, 1.25, False))
    assert a.rate == b.rate == 125
    assert selections_box((1.0, 0.25)) == 0.8 and selections_box((0.5, 0.25)) == 1
    assert best_boxes(chain(second, first), source).shares == pytest.approx((0.8,))


@pytest.mark.parametrize(("milliseconds", "used"), [(0.5, (0.25, 0.14, 0.2)), (3, (1.5, 0.84, 1.2))])
def test_three_plans(milliseconds: float, used: tuple[float, ...]) -> None:
    query = example(milliseconds)
    flows = [flow(left_deep(query, o), ABC) for o in PLANS.values()]
    assert [f.work for f in flows] == pytest.approx(used)
    assert [f.rate for f in flows] == pytest.approx([1000] * 3)
    assert best_plan(query).order == heuristic_plan(query).order == cheapest_plan(query).order == (1, 2, 0)


def test_ratios_of_the_example() -> None:
    query = example(1)
    found = {name: ratios(left_deep(query, o), ABC) for name, o in PLANS.items()}
    # Ratios of the document leave out selectivities (0.1 in all) and take seconds a tuple as 1 (here 1 ms).
    per = {name: [round(r * 1e-3 / 0.1, 2) for r in rs] for name, rs in found.items()}
    assert per == {"a": [16.67, 16.67, 100], "b": [100, 33.33, 33.33], "c": [9.09, 100, 9.09]}


@pytest.mark.parametrize(
    ("milliseconds", "best"),
    [
        (5, (500, 733.3, 818.2)),
        (10, (333.3, 400, 727.3)),
        (20, (250, 233.3, 500)),
        (50, (200, 133.3, 200)),
        (100, (100, 100, 100)),
        (1, (1000, 1000, 1000)),
    ],
)
def test_most_output_of_the_three_plans(milliseconds: float, best: tuple[float, ...]) -> None:
    query = example(milliseconds)
    assert [best_boxes(left_deep(query, o), ABC).output for o in PLANS.values()] == pytest.approx(best, abs=0.05)
    assert best_plan(query).boxes.output == pytest.approx(max(best), abs=0.05)


def test_where_plans_change() -> None:
    def output(name: str, milliseconds: float) -> float:
        return best_boxes(left_deep(example(milliseconds), PLANS[name]), ABC).output

    for name, saturated in (("a", 2.0), ("c", 2.5), ("b", 3.571)):
        assert output(name, saturated) == pytest.approx(1000, abs=0.1) and output(name, saturated + 0.01) < 999.7
    assert output("b", 1000 / 235) == pytest.approx(output("c", 1000 / 235))  # 4.255 ms
    assert output("c", 14.2857) - output("b", 14.2857) == pytest.approx(400, abs=0.1)
    assert output("c", 14.2857) / output("b", 14.2857) == pytest.approx(2.333, abs=1e-3)


def test_active_window_under_a_selection() -> None:
    sources = (Source("A", 10, rows=100), Source("B", 5, rows=50))
    join = Join(Select(Leaf(0), 0.2), Leaf(1), 0.5, JoinCost())
    assert flow(join.left, sources).window == pytest.approx(20)
    above = Select(Join(Leaf(0), Leaf(1), 0.5, JoinCost()), 0.2)
    assert flow(join, sources).rate == pytest.approx(flow(above, sources).rate) == pytest.approx(100)
    assert flow(join, sources).window == pytest.approx(flow(above, sources).window) == pytest.approx(500)


def test_asymmetric_costs() -> None:
    sources = (Source("L", 3, rows=7), Source("R", 5, rows=11))
    left, right = JoinCost(insert=1, invalidate=2, probe=4, scan=0.5), JoinCost(insert=8, invalidate=16, probe=32)
    found = flow(Join(Leaf(0), Leaf(1), 0.1, left, right), sources).work
    assert found == pytest.approx(5 * (4 + 0.5 * 7) + 3 * (1 + 2) + 3 * 32 + 5 * (8 + 16))
    assert left.dilated(0.1) == JoinCost(10, 20, 40, 5)


def random_query(rng: random.Random, n: int, by_time: bool = False) -> JoinQuery:
    sources = tuple(
        Source(
            f"S{i}", rng.uniform(1, 100), **({"span": rng.uniform(1, 3)} if by_time else {"rows": rng.uniform(5, 50)})
        )
        for i in range(n)
    )
    pairs = {(i, i + 1): rng.uniform(0.001, 0.5) for i in range(n - 1)}
    return JoinQuery(sources, pairs, JoinCost(probe=rng.uniform(0.001, 0.01), scan=rng.choice((0, 1e-4))))


def test_output_does_not_depend_on_the_plan() -> None:
    rng = random.Random(1)
    for _ in range(30):
        query = random_query(rng, rng.randint(2, 5))
        flows = [flow(left_deep(query, o), query.sources) for o in permutations(range(len(query.sources)))]
        assert all(f.rate == pytest.approx(flows[0].rate, rel=1e-9) for f in flows)
        assert all(f.window == pytest.approx(flows[0].window, rel=1e-9) for f in flows)


def test_work_is_linear_with_windows_of_rows() -> None:
    rng = random.Random(2)
    for _ in range(20):
        query = random_query(rng, 4)
        plan = left_deep(query, (2, 0, 3, 1))
        x = [rng.random() for _ in range(4)]
        parts = [alone(plan, query.sources, i) for i in range(4)]
        assert flow(plan, query.sources, x).work == pytest.approx(
            sum(p.work * y for p, y in zip(parts, x, strict=True))
        )
        assert flow(plan, query.sources, x).rate == pytest.approx(
            sum(p.rate * y for p, y in zip(parts, x, strict=True))
        )


def test_knapsack_is_the_best_at_any_corner() -> None:
    rng = random.Random(3)
    for _ in range(200):
        n = rng.randint(1, 4)
        gains, costs = ([rng.uniform(0.1, 5) for _ in range(n)] for _ in range(2))
        x = knapsack(gains, costs, 1.0)
        got = sum(g * y for g, y in zip(gains, x, strict=True))
        assert all(0 <= y <= 1 for y in x) and sum(c * y for c, y in zip(costs, x, strict=True)) <= 1 + 1e-12
        for part in range(n):  # the best is at a corner: all but one share are 0 or 1
            for others in product((0.0, 1.0), repeat=n):
                left = 1 - sum(c * o for i, (c, o) in enumerate(zip(costs, others, strict=True)) if i != part)
                if left >= 0:
                    tried = [*others[:part], min(1.0, left / costs[part]), *others[part + 1 :]]
                    assert got >= sum(g * y for g, y in zip(gains, tried, strict=True)) - 1e-9


def test_boxes_over_windows_of_time_are_not_beaten_by_a_grid() -> None:
    rng = random.Random(4)
    for _ in range(6):
        query = random_query(rng, 3, by_time=True)
        plan = left_deep(query, (0, 1, 2))
        capacity = 0.3 * flow(plan, query.sources).work
        found = best_boxes(plan, query.sources, capacity)
        assert found.work == pytest.approx(capacity, rel=1e-6)
        steps = [k / 24 for k in range(1, 25)]
        for x in product(steps, repeat=3):
            f = flow(plan, query.sources, x)
            assert f.work > capacity or f.rate <= found.output * (1 + 1e-6)


def test_the_heuristic_finds_the_best_feasible_plan() -> None:
    rng = random.Random(5)
    for _ in range(25):
        query = random_query(rng, 4)
        enough = 1.001 * cheapest_plan(query).boxes.work
        assert heuristic_plan(query, enough).boxes.work == pytest.approx(best_plan(query, enough).boxes.work)
        short = heuristic_plan(query, enough / 3).boxes
        assert short.work <= enough / 3 * (1 + 1e-9) and short.output <= best_plan(query, enough / 3).boxes.output * (
            1 + 1e-9
        )


def test_plans_and_refusals() -> None:
    assert len(list(orders(5))) == 60 and list(orders(1)) == [(0,)]
    with pytest.raises(ValueError, match="either of rows or of a span"):
        Source("S", 1)
    with pytest.raises(ValueError, match="not negative"):
        Source("S", -1, rows=1)
    query = JoinQuery(ABC, {}, JoinCost.constant(0), (((0.5, 0.01),), (), ()))
    assert flow(left_deep(query, (0, 1)), ABC).work == pytest.approx(0.1)
    assert flow(left_deep(query, (0, 1)), ABC).rate == pytest.approx(0.5 * 10 * 10 + 70 * 5)
