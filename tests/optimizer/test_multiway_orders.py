"""The ordering heuristics: the documents' examples, what is optimal by proof, and how near the rest comes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiway_cases import EQUAL, ONE_FAST, TABLE_5, TABLE_5_5, TABLE_6, TABLE_7, some_streams, streams

from muntin.optimizer.multiway.climb import eager_climbed
from muntin.optimizer.multiway.cost import eager, general, lazy, lazy_term
from muntin.optimizer.multiway.graph import graph_cost, graph_orders
from muntin.optimizer.multiway.heuristics import (
    by_rank,
    by_size,
    eager_order,
    expensive,
    fast,
    fluctuating_on_top,
    indexed_innermost,
    moved_up,
    selectivity_orders,
)
from muntin.optimizer.multiway.lazy_orders import general_orders, lazy_order
from muntin.optimizer.multiway.orders import by_origin, loops, tree
from muntin.optimizer.multiway.search import cheapest, cheapest_general
from muntin.optimizer.multiway.streams import JoinStream


def test_orders_by_origin() -> None:
    """Table 4."""
    assert by_origin((0, 1, 2)) == ((0, 1, 2), (1, 0, 2), (2, 0, 1))


def test_order_in_words() -> None:
    """Figure 1."""
    assert tree((0, 1, 2, 3)) == "S1 x (S2 x (S3 x S4))"
    assert tree((2, 0)) == "S3 x S1"
    text = loops((1, 0, 2)).splitlines()
    assert [len(line) - len(line.lstrip()) for line in text] == [0, 2, 4, 6]
    assert text[0] == "for t2 in S2" and text[2].endswith("for t3 in S3 if t3 matches t2")
    assert text[-1].strip() == "result (t2, t1, t3)"


def test_the_first_example_ties_between_two_orders() -> None:
    assert selectivity_orders(TABLE_5) == ((0, 1, 2, 3), (1, 0, 2, 3))
    assert fast(TABLE_5) == (0,)
    assert eager_order(TABLE_5).order == (0, 1, 2, 3)


def test_the_second_example_moves_the_fast_stream_up() -> None:
    found = eager_order(TABLE_6)
    assert selectivity_orders(TABLE_6) == ((1, 2, 3, 0),)
    assert set(found.tried) == {(1, 2, 3, 0), (1, 2, 0, 3), (1, 0, 2, 3)}
    assert (found.order, found.cost) == ((1, 0, 2, 3), 80400)


def test_the_third_example_moves_two() -> None:
    found = eager_order(TABLE_7)
    assert fast(TABLE_7) == (0, 1)
    assert found.order == (2, 0, 3, 1)
    assert set(found.tried) == {o for a, b in ((2, 3), (3, 2)) for o in ((a, b, 0, 1), (a, 0, b, 1), (a, 0, 1, b))}


def test_the_thesis_tries_the_top_third() -> None:
    """Section 5.4.2: these three orders are considered."""
    found = eager_order(TABLE_5_5, "top_third")
    assert set(found.tried) == {(1, 2, 3, 0), (1, 0, 2, 3), (0, 1, 2, 3)}
    assert (found.order, found.cost) == ((1, 0, 2, 3), 16200)


def test_moves_keep_the_chosen_in_order_and_never_go_down() -> None:
    base = (4, 2, 0, 1, 3)
    found = list(moved_up(base, (1, 3), range(1, 5)))
    assert found[0] == base and len(set(found)) == len(found)
    assert all(o.index(1) < o.index(3) and o.index(1) <= 3 and o[0] == 4 for o in found)
    assert len(found) <= 5**2
    assert list(moved_up(base, (), range(5))) == [base]
    assert list(moved_up((0, 1, 2, 3), (1,), range(4))) == [(0, 1, 2, 3), (1, 0, 2, 3)]


@given(some_streams(2, 5, equal=True), st.integers(1, 20))
@settings(deadline=None)
def test_equal_values_by_size_is_optimal_for_equal_buckets(s: tuple[JoinStream, ...], b: int) -> None:
    s = tuple(replace(x, buckets=b) for x in s)
    best, _ = cheapest(len(s), lambda o: eager(s, o))
    assert eager(s, by_size(s)) == pytest.approx(best)


@given(some_streams(2, 5, equal=True))
@settings(deadline=None)
def test_equal_values_by_rank_is_optimal_for_any_buckets(s: tuple[JoinStream, ...]) -> None:
    best, _ = cheapest(len(s), lambda o: eager(s, o))
    assert eager(s, by_rank(s)) == pytest.approx(best)


def test_by_size_is_not_optimal_for_unequal_buckets() -> None:
    """A large window behind many buckets looks small, but lets as much through."""
    s = (JoinStream(1, 100, 10, 10), JoinStream(1, 20, 10, 1), JoinStream(1, 1000, 10, 1))
    assert by_size(s) == (0, 1, 2) and by_rank(s) == (1, 2, 0)
    assert eager(s, (0, 1, 2)) > eager(s, (1, 0, 2))


@given(some_streams(2, 4, equal=True), st.integers(1, 400))
@settings(deadline=None)
def test_equal_values_general_orders_are_optimal(s: tuple[JoinStream, ...], tau: int) -> None:
    """Golab & Ozsu 5.2: tau in place of T for the new tuples' window."""
    found = general_orders(s, tau)
    assert found.cost == pytest.approx(cheapest_general(s, tau)[0])
    assert found.cost == pytest.approx(general(s, found.orders, tau))


@given(some_streams(2, 4), st.integers(1, 200))
@settings(deadline=None)
def test_general_is_never_worse_than_lazy(s: tuple[JoinStream, ...], tau: int) -> None:
    shared = lazy_order(s, tau)
    assert shared.cost == pytest.approx(lazy(s, shared.order, tau))
    assert general_orders(s, tau).cost <= shared.cost * (1 + 1e-9)


def test_lazy_orders_with_a_fast_stream() -> None:
    """Figure 3(b): new tuples on top up to tau = 11; from 12 those of the fast stream are last."""
    assert general_orders(ONE_FAST, 11).on_top and general_orders(EQUAL, 50).on_top
    late = general_orders(ONE_FAST, 12)
    assert not late.on_top and late.orders[3] == (0, 1, 2, 3)
    assert late.cost < sum(lazy_term(ONE_FAST, (3, 0, 1, 2) if i == 3 else late.orders[i], i, 12) for i in range(4))


def random_streams(rng: random.Random, n: int) -> tuple[JoinStream, ...]:
    return streams(*((rng.choice((1, 2, 3, 20)), 100, rng.choice((5, 20, 50, 100, 300))) for _ in range(n)))


def without(order: tuple[int, ...], k: int) -> list[int]:
    return [x for x in order if x != k]


def test_how_near_proposals_are_to_the_best() -> None:
    """The documents' heuristic is at most 10 % above the optimum in half of such instances, but not always near; the
    climb from it ends there."""
    rng = random.Random(5)
    given, then, tried = [], [], []
    for _ in range(150):
        s = random_streams(rng, 5)
        best, _ = cheapest(5, lambda o, s=s: eager(s, o))
        first, last = eager_order(s), eager_climbed(s)
        assert last.cost <= first.cost and set(first.tried) <= set(last.tried)
        moved = {tuple(m) for k in range(5) for p in range(5) if (m := without(last.order, k)).insert(p, k) is None}
        assert moved <= set(last.tried)
        given.append(first.cost / best)
        then.append(last.cost / best)
        tried.append((len(first.tried), len(last.tried)))
    assert sorted(given)[75] < 1.1 and max(given) > 2
    assert max(then) < 1.01
    assert sum(a for a, _ in tried) / 150 < 6 and sum(b for _, b in tried) / 150 < 40


def test_expensive_predicates_go_up() -> None:
    cheap = streams((1, 100, 20), (1, 90, 30), (1, 80, 40), (1, 120, 50))
    dear = tuple(replace(s, weight=50.0 if i == 3 else 1.0) for i, s in enumerate(cheap))
    assert expensive(dear) == (3,) and expensive(cheap) == ()
    assert eager_order(cheap).order[0] != 3
    assert eager_order(dear).order[0] == 3
    assert eager_order(dear).cost == pytest.approx(cheapest(4, lambda o: eager(dear, o))[0])


def test_indexed_windows_go_in() -> None:
    s = tuple(replace(x, buckets=5 if i in (1, 2) else 1) for i, x in enumerate(TABLE_7))
    assert indexed_innermost(s, (2, 0, 3, 1)) == (0, 3, 2, 1)
    assert any(set(o[:2]) == {0, 3} for o in eager_order(s).tried)


def test_joins_on_different_attributes() -> None:
    """A chain S1 - S2 - S3 - S4: only what the graph allows follows; S1 x S3 has no predicate."""
    s = streams((1, 10, 1), (1, 100, 1), (1, 50, 1), (1, 20, 1))
    chain = {(0, 1): 0.01, (2, 1): 0.1, (2, 3): 0.05}
    orders = graph_orders(s, chain)
    assert orders == ((0, 1, 2, 3), (1, 0, 2, 3), (2, 3, 1, 0), (3, 2, 1, 0))
    cost = graph_cost(s, chain, orders)
    # origin 1: 100, then 1 match x 50, then 5 x 20; and so for each
    assert cost == pytest.approx(
        (100 + 50 + 5 * 20) + (10 + 0.1 * 50 + 0.5 * 20) + (20 + 100 + 10 * 10) + (50 + 250 + 250)
    )
    assert cost < graph_cost(s, chain, ((0, 3, 2, 1), *orders[1:]))
    assert graph_orders(s, {(0, 1): 0.5})[0] == (0, 1, 3, 2)
    # ten buckets on S3 help where a predicate leads to it, not in a product
    hashed = tuple(replace(x, buckets=10 if i == 2 else 1) for i, x in enumerate(s))
    assert cost - graph_cost(hashed, chain, orders) == pytest.approx(0.9 * (50 + 0.1 * 50 + 50))
    through, product = ((0, 1, 2, 3), *orders[1:]), ((0, 2, 1, 3), *orders[1:])
    longer = graph_cost(hashed, chain, product) - graph_cost(hashed, chain, through)
    assert longer == pytest.approx((50 + 50 * 100 + 5 * 20) - (100 + 5 + 5 * 20))
    with pytest.raises(ValueError, match="starts with it"):
        graph_cost(s, chain, ((1, 0, 2, 3), *orders[1:]))
    with pytest.raises(ValueError, match="between two of the streams"):
        graph_orders(s, {(0, 4): 0.5})


@given(some_streams(3, 4, equal=True))
@settings(deadline=None)
def test_a_complete_graph_costs_as_one_attribute(s: tuple[JoinStream, ...]) -> None:
    """Equal v: two predicates to the same value leave 1/v, the others add nothing, so only a chain counts."""
    n, v = len(s), s[0].distinct
    star = {(0, k): 1 / v for k in range(1, n)}
    order = tuple(range(n))
    orders = [(i, *(k for k in order if k != i)) for i in order]
    assert graph_cost(s, star, orders) == pytest.approx(eager(s, order))


def test_streams_that_fluctuate_go_up() -> None:
    assert fluctuating_on_top((0, 1, 2, 3), [2, 3]) == (2, 3, 0, 1)
    assert fluctuating_on_top((3, 1, 2, 0), []) == (3, 1, 2, 0)
