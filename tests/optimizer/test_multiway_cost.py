"""The cost model of multi-way joins: the documents' numbers, their factored forms, and what must always hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiway_cases import (
    EQUAL,
    ONE_FAST,
    TABLE_5,
    TABLE_5_5,
    TABLE_5_5_PRINTED,
    TABLE_6,
    TABLE_7,
    some_streams,
    streams,
)

from muntin.optimizer.multiway.cost import (
    eager,
    eager_naive,
    eager_naive_terms,
    eager_terms,
    general,
    lazy,
    lazy_naive,
    lazy_naive_terms,
    lazy_term,
    lazy_terms,
)
from muntin.optimizer.multiway.phi import distinct_of, phi, phi_hat
from muntin.optimizer.multiway.search import cheapest, cheapest_general, ranking
from muntin.optimizer.multiway.streams import JoinStream

FORWARD = (0, 1, 2, 3)


def test_result_sizes_of_the_first_example() -> None:
    """Tables 10 and 11 (thesis Table 5.4)."""
    pairs = [phi(TABLE_5, p) for p in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))]
    assert pairs == [200, 400, 600, 400, 600, 1500]
    assert phi(TABLE_5, (0, 1, 2)) == 800 and phi(TABLE_5, (0, 1, 3)) == 1200
    assert distinct_of(TABLE_5, (0, 1, 2)) == 40


def test_costs_of_the_first_example() -> None:
    """Appendix B, and section 5.1: 16000 the best, 19600 the fifth, worst nearly 90000."""
    assert eager_terms(TABLE_5, FORWARD) == (3800, 3800, 2400, 6000)
    ranked = ranking(4, lambda o: eager(TABLE_5, o))
    assert [cost for cost, _ in ranked[:5]] == [16000, 16400, 18200, 19100, 19600]
    assert ranked[0][1] == FORWARD and ranked[4][1] == (1, 0, 2, 3)
    assert ranked[-1] == (86850, (3, 2, 1, 0))
    assert sum(cost for cost, _ in ranked) / 24 == 45325


def test_costs_of_the_second_example() -> None:
    """Table 6: the best, the two orders by selectivity, the fast stream on top, the worst."""
    orders = ((1, 0, 2, 3), (1, 2, 0, 3), (1, 2, 3, 0), FORWARD)
    assert [eager(TABLE_6, o) for o in orders] == [80400, 123150, 248450, 120000]
    ranked = ranking(4, lambda o: eager(TABLE_6, o))
    assert ranked[0] == (80400, (1, 0, 2, 3)) and ranked[-1] == (646050, (3, 2, 0, 1))


def test_costs_of_the_third_example() -> None:
    """Table 7 (thesis 5.6): two fast streams."""
    orders = ((2, 3, 0, 1), (2, 0, 3, 1), (2, 0, 1, 3), FORWARD, (1, 0, 2, 3))
    assert [round(eager(TABLE_7, o), 1) for o in orders] == [49542.3, 47976.9, 51953.8, 68200, 79000]
    ranked = ranking(4, lambda o: eager(TABLE_7, o))
    assert round(ranked[0][0], 1) == 47976.9 and ranked[-1][0] == 79000
    assert round(sum(cost for cost, _ in ranked) / 24, 1) == 63361.5


def test_costs_of_thesis_table_5_5() -> None:
    """The stated costs belong to a rate of 10; the printed 100 gives others."""
    orders = ((1, 0, 2, 3), (1, 2, 3, 0), FORWARD)
    assert [eager(TABLE_5_5, o) for o in orders] == [16200, 42600, 21000]
    assert [eager(TABLE_5_5_PRINTED, o) for o in orders] == [160200, 420600, 210000]
    worst = [ranking(4, lambda o, t=t: eager(t, o))[-1][0] for t in (TABLE_5_5, TABLE_5_5_PRINTED)]
    assert worst == [135150, 1347900]


@pytest.mark.parametrize(
    ("n", "multiway", "naive"),
    [(2, 200, 200), (3, 900, 10800), (4, 2800, 42400), (5, 7500, 116400), (6, 18600, 276000), (7, 44100, 608400)],
)
def test_costs_by_number_of_windows(n: int, multiway: float, naive: float) -> None:
    """Figure 2's setting."""
    same = streams(*[(1, 100, 50)] * n)
    assert eager(same, range(n)) == multiway == n * 100 * (2 ** (n - 1) - 1)
    assert eager_naive(same, range(n)) == naive


@pytest.mark.parametrize(
    ("tau", "naive", "ours"),
    [(1, 43471, 2869), (5, 11764, 3154), (10, 8158, 3538), (20, 7037, 4397), (30, 7381, 5387), (50, 9300, 7800)],
)
def test_lazy_costs_of_equal_streams(tau: float, naive: float, ours: float) -> None:
    """Figure 3(a)'s setting."""
    assert round(lazy_naive(EQUAL, FORWARD, tau)) == naive
    assert round(lazy(EQUAL, FORWARD, tau)) == ours == round(cheapest_general(EQUAL, tau)[0])


@pytest.mark.parametrize(
    ("tau", "costs"),
    [
        (1, (58307, 20450, 20450)),
        (10, (27324, 25872, 25872)),
        (20, (31920, 32952, 31320)),
        (50, (57900, 61800, 57600)),
    ],
)
def test_lazy_costs_with_a_fast_stream(tau: float, costs: tuple[float, float, float]) -> None:
    """Figure 3(b)'s setting: best orders of NAIVE, LAZY, GENERAL."""
    naive, _ = cheapest(4, lambda o: lazy_naive(ONE_FAST, o, tau))
    ours, _ = cheapest(4, lambda o: lazy(ONE_FAST, o, tau))
    assert (round(naive), round(ours), round(cheapest_general(ONE_FAST, tau)[0])) == costs


@given(some_streams(4, 4))
@settings(deadline=None)
def test_factored_forms(s: tuple[JoinStream, ...]) -> None:
    """Appendix A writes C_i by phi; here as nested loops."""
    s = tuple(replace(x, buckets=1) for x in s)
    size = [x.size for x in s]
    c1 = s[0].rate * size[1] + (phi(s, (0, 1)) * size[2] + phi(s, (0, 1, 2)) * size[3]) / s[0].span
    c2 = s[1].rate * size[0] + (phi(s, (0, 1)) * size[2] + phi(s, (0, 1, 2)) * size[3]) / s[1].span
    c3 = s[2].rate * size[0] + (phi(s, (0, 2)) * size[1] + phi(s, (0, 1, 2)) * size[3]) / s[2].span
    c4 = s[3].rate * size[0] + (phi(s, (0, 3)) * size[1] + phi(s, (0, 1, 3)) * size[2]) / s[3].span
    assert eager_terms(s, FORWARD) == pytest.approx((c1, c2, c3, c4))


@given(some_streams(4, 4), st.integers(1, 60))
@settings(deadline=None)
def test_factored_lazy_forms(s: tuple[JoinStream, ...], tau: int) -> None:
    """L_i by phi-hat, H_3 and H_4 as printed."""
    s = tuple(replace(x, buckets=1) for x in s)
    held = [x.rate * (x.span + tau) for x in s]
    f12, f123 = phi_hat(s, (0, 1), tau), phi_hat(s, (0, 1, 2), tau)
    l1 = s[0].rate * held[1] + (f12 * held[2] + f123 * held[3]) / (s[0].span + tau)
    l4 = s[3].rate * held[0] + (phi_hat(s, (0, 3), tau) * held[1] + phi_hat(s, (0, 1, 3), tau) * held[2]) / (
        s[3].span + tau
    )
    terms = lazy_terms(s, FORWARD, tau)
    assert (terms[0], terms[3]) == pytest.approx((l1, l4))
    both = max(min(s[0].distinct, s[1].distinct), s[2].distinct)
    h3 = held[0] * held[1] / tau + f12 * s[2].rate + f12 * s[2].rate * held[3] / both
    h4 = held[0] * held[1] / tau + f12 * held[2] / tau + f123 * s[3].rate
    assert lazy_naive_terms(s, FORWARD, tau) == pytest.approx((terms[0], terms[1], h3, h4))


@given(some_streams(4, 4))
@settings(deadline=None)
def test_factored_eager_naive_forms(s: tuple[JoinStream, ...]) -> None:
    """G_i as printed: the new tuple alone stands for its window."""
    s = tuple(replace(x, buckets=1) for x in s)
    a, b, c, d = (x.size for x in s)
    f12, f123 = phi(s, (0, 1)), phi(s, (0, 1, 2))
    both = max(min(s[0].distinct, s[1].distinct), s[2].distinct)
    g3 = s[2].rate * (a * b + f12 + f12 * d / both)
    g4 = s[3].rate * (a * b + f12 * c + f123)
    assert eager_naive_terms(s, FORWARD) == pytest.approx((*eager_terms(s, FORWARD)[:2], g3, g4))


@given(some_streams(), st.integers(0, 30), st.data())
@settings(deadline=None)
def test_phi_does_not_depend_on_the_order(s: tuple[JoinStream, ...], tau: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(s))))
    expected = 1.0
    for x in s:
        expected *= x.rate * (x.span + tau)
    for v in sorted(x.distinct for x in s)[1:]:
        expected /= v
    assert phi_hat(s, order, tau) == pytest.approx(expected)


@given(some_streams(2, 4), st.integers(1, 40))
@settings(deadline=None)
def test_what_always_holds(s: tuple[JoinStream, ...], tau: int) -> None:
    n = len(s)
    best_general, orders = cheapest_general(s, tau)
    assert best_general == pytest.approx(general(s, orders, tau))
    for order in permutations(range(n)):
        assert lazy(s, order, tau) >= best_general * (1 - 1e-9)
        assert lazy_naive(s, order, tau) >= best_general * (1 - 1e-9)
        assert lazy(s, order, tau) > eager(s, order)
        assert eager(s, order, expiry=tau) > eager(s, order)
        assert lazy_naive_terms(s, order, tau)[order[0]] == pytest.approx(lazy_terms(s, order, tau)[order[0]])
        assert eager_naive_terms(s, order)[order[0]] == pytest.approx(eager_terms(s, order)[order[0]])
    small = 1e-7
    assert lazy(s, range(n), small) == pytest.approx(eager(s, range(n)), rel=1e-4)


@given(some_streams(2, 4), st.integers(1, 400), st.data())
@settings(deadline=None)
def test_what_timestamps_spare(s: tuple[JoinStream, ...], tau: int, data: st.DataObject) -> None:
    """With new tuples on top exactly what had not expired is compared, as in eager evaluation; and so never more."""
    n = len(s)
    order = tuple(data.draw(st.permutations(range(n))))
    assert lazy_terms(s, order, tau, "compared") == pytest.approx(eager_terms(s, order))
    orders = [data.draw(st.permutations(range(n))) for _ in s]
    held, looked, compared = (general(s, orders, tau, c) for c in ("held", "looked", "compared"))
    assert compared <= looked * (1 + 1e-9) and looked <= held * (1 + 1e-9)


def test_what_timestamps_spare_in_the_middle() -> None:
    """Third of three: what is above is compared in full, and is alive with a new tuple in (100 / 150)^2."""
    term = lazy_term(EQUAL[:3], (0, 1, 2), 2, 50, "compared")
    assert term == pytest.approx((150 * 150 + 150 * 150 / 50 * 50 * (100 / 150) ** 2) / 50)
    # below the new tuples, T + tau are looked at and T joins
    assert lazy_term(EQUAL[:3], (0, 1, 2), 0, 50, "looked") == pytest.approx(150 + 2 * 150)
    assert lazy_term(EQUAL[:3], (0, 1, 2), 2, 50, "looked") == pytest.approx((150 * 150 + 150 * 150 / 50 * 50) / 50)


@given(some_streams(), st.integers(2, 9))
@settings(deadline=None)
def test_equal_buckets_divide_the_cost(s: tuple[JoinStream, ...], b: int) -> None:
    """Golab & Ozsu 5.3: each loop saves the same."""
    plain, hashed = (tuple(replace(x, buckets=k) for x in s) for k in (1, b))
    assert eager(hashed, range(len(s))) == pytest.approx(eager(plain, range(len(s))) / b)


def test_a_count_window_is_a_time_window() -> None:
    assert JoinStream.of_rows(4, 100, 10) == JoinStream(4, 25, 10)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: JoinStream(0, 1, 1), "rate must be positive"),
        (lambda: JoinStream(1, float("inf"), 1), "span must be positive"),
        (lambda: JoinStream(1, 1, 0.5), "at least one value"),
        (lambda: JoinStream(1, 1, 1, 0), "counted from 1"),
        (lambda: JoinStream(1, 1, 1, 1, -1), "weight must be positive"),
        (lambda: JoinStream.of_rows(0, 1, 1), "rate must be positive"),
        (lambda: eager(EQUAL, (0, 1, 2)), "names each of 0..3 once"),
        (lambda: eager(EQUAL, (0, 1, 2, 2)), "names each of 0..3 once"),
        (lambda: eager(EQUAL[:1], (0,)), "at least two streams"),
        (lambda: eager(EQUAL, FORWARD, -1), "not negative"),
        (lambda: lazy(EQUAL, FORWARD, 0), "is positive"),
        (lambda: general(EQUAL, [FORWARD], 1), "one order for each"),
    ],
)
def test_what_is_refused(wrong: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong()  # type: ignore[operator]
