"""EAGER, LAZY, GENERAL and NAIVE multi-way joins, with hash buckets, bands and count windows, against the
definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiway_reference import expected, graphs, inputs, orders

from muntin.core.errors import ConfigError
from muntin.research.joins.engine import Merged, merged, run
from muntin.research.joins.setting import Edge, Join, Strategy, Window, by_origin, fixed
from muntin.research.kernels import multiway as k

STREAMS = st.integers(2, 4)
CASES = settings(max_examples=60, deadline=None)


@st.composite
def cases(draw: st.DrawFn, counted: bool = True) -> tuple[Join, Merged, tuple[int, ...]]:
    n = draw(STREAMS)
    return draw(graphs(n, counted)), draw(inputs(n, 2)), draw(orders(n))


@CASES
@given(cases(), st.sampled_from([0, 0, 1, 4, 100]))
def test_eager_is_the_definition(case: tuple[Join, Merged, tuple[int, ...]], expire: int) -> None:
    join, rows, order = case
    for chosen in (by_origin(order), fixed(order)):
        assert run(join, rows, Strategy("eager", chosen, 0, expire), keep=True).found() == expected(join, rows)


@CASES
@given(cases(), st.integers(1, 12), st.integers(1, 3))
def test_lazy_is_the_definition(case: tuple[Join, Merged, tuple[int, ...]], tau: int, times: int) -> None:
    join, rows, order = case
    for chosen in (by_origin(order), fixed(order)):
        found = run(join, rows, Strategy("lazy", chosen, tau, tau * times), keep=True)
        assert found.found() == expected(join, rows)
        newest = rows.ts[found.rows].max(axis=1) if len(found.rows) else np.zeros(0, np.int64)
        assert ((found.when >= newest) & (found.when < newest + tau)).all()


@CASES
@given(st.data())
def test_general_is_the_definition(data: st.DataObject) -> None:
    join, rows, _ = data.draw(cases())
    chosen = tuple(data.draw(orders(join.width)) for _ in range(join.width))
    tau = data.draw(st.integers(1, 12))
    assert run(join, rows, Strategy("lazy", chosen, tau), keep=True).found() == expected(join, rows)


@settings(max_examples=60, deadline=None)
@given(cases(), st.integers(0, 26), st.sampled_from(["eager", "lazy"]))
def test_going_on_after_the_warm_up(case: tuple[Join, Merged, tuple[int, ...]], warm: int, algorithm: str) -> None:
    join, rows, order = case
    strategy = Strategy(algorithm, by_origin(order), 0 if algorithm == "eager" else 5)  # type: ignore[arg-type]
    whole, rest = run(join, rows, strategy), run(join, rows, strategy, warm=min(warm, len(rows)))
    assert rest.counts.results <= whole.counts.results and rest.counts.held == whole.counts.held
    assert rest.counts.peak == whole.counts.peak and rest.tuples == len(rows) - min(warm, len(rows))


def test_state_holds_no_more_than_the_windows() -> None:
    ts = np.arange(400, dtype=np.int64)
    rows = merged(ts, ts % 2, np.zeros(400, np.int64))
    counted = Join.on_one([Window(rows=7), Window(rows=3)])
    assert run(counted, rows, Strategy("eager", by_origin((0, 1)))).counts.peak == 11
    assert run(counted, rows, Strategy("lazy", by_origin((0, 1)), 20)).counts.peak == 7 + 3 + 20
    timed = Join.on_one([Window(), Window()])
    eager = run(timed, rows.with_windows((40, 40)), Strategy("eager", by_origin((0, 1)))).counts
    assert eager.peak == 42 and eager.times == 0 and eager.deletions == 400 - eager.held


def test_the_careless_variant_is_wrong() -> None:
    ts, stream = np.array([90, 100, 150, 180, 195, 205]), np.array([0, 0, 1, 1, 2, 2])
    rows = merged(ts, stream, np.ones(6, np.int64)).with_windows((100, 100, 100))
    join = Join.on_one([Window()] * 3)
    careless = Strategy("lazy", fixed((0, 1, 2)), 30, careless=True)
    assert len(run(join, rows, careless, keep=True).found()) == 8
    assert run(join, rows, replace(careless, careless=False), keep=True).found() == [(1, 2, 4), (1, 3, 4)]


def test_a_bucket_is_looked_at_only_for_equality() -> None:
    ts = np.arange(60, dtype=np.int64)
    rows = merged(ts, ts % 2, ts // 2 % 10).with_windows((59, 59))
    hashed = (Window(buckets=5), Window(buckets=5))
    equal = run(Join.on_one(hashed), rows, Strategy("eager", by_origin((0, 1)))).counts
    band = run(Join(hashed, (Edge(0, 1, 1),)), rows, Strategy("eager", by_origin((0, 1)))).counts
    scanned = run(Join.on_one([Window()] * 2), rows, Strategy("eager", by_origin((0, 1)))).counts
    assert band.looked == scanned.looked and 4 * equal.looked < scanned.looked
    assert equal.results == scanned.results < band.results


@pytest.mark.parametrize(
    ("strategy", "windows"),
    [
        (Strategy("eager", ((0, 1),)), (Window(), Window())),
        (Strategy("eager", fixed((0, 0))), (Window(), Window())),
        (Strategy("eager", fixed((0, 1)), 5), (Window(), Window())),
        (Strategy("lazy", fixed((0, 1))), (Window(), Window())),
        (Strategy("lazy", fixed((0, 1)), 5, 7), (Window(), Window())),
        (Strategy("lazy", fixed((0, 1)), 5), (Window(pattern="STR"), Window())),
        (Strategy("lazy", fixed((0, 1)), 5), (Window(pattern="WK", parts=3), Window())),
        (Strategy("eager", fixed((0, 1)), 0, 5), (Window(), Window(pattern="STR"))),
        (Strategy("restore", fixed((0, 1)), 5), (Window(), Window())),
        (Strategy("restore", by_origin((0, 1)), 5), (Window(rows=5), Window())),
        (Strategy("eager", fixed((0, 1)), careless=True), (Window(), Window())),
        (Strategy("eager", fixed((0, 1))), (Window(parts=2), Window())),
    ],
)
def test_what_the_algorithms_do_not_allow(strategy: Strategy, windows: tuple[Window, ...]) -> None:
    with pytest.raises(ConfigError):
        strategy.check(Join.on_one(windows))


def test_algorithms_4_and_5_want_one_attribute_a_stream() -> None:
    join = Join((Window(),) * 3, (Edge(0, 1), Edge(1, 2, 0, 1, 0)))
    rows = merged(np.arange(3), np.arange(3), np.zeros((2, 3), np.int64))
    with pytest.raises(ConfigError):
        run(join, rows, Strategy("restore", by_origin((0, 1, 2)), 2))


def test_counters_have_their_places() -> None:
    """Three rows by hand: the third looks at one row of each other window."""
    rows = merged(np.array([1, 2, 3]), np.array([0, 1, 2]), np.array([4, 4, 4])).with_windows((9, 9, 9))
    counts = run(Join.on_one([Window()] * 3), rows, Strategy("eager", by_origin((0, 1, 2)))).counts
    # row 2 finds row 1, and then nothing in the empty third window; row 3 finds both
    assert (counts.looked, counts.comparisons, counts.scanned, counts.results) == (3, 3, 3, 1)
    assert (counts.chains, counts.ages, counts.inserts, counts.peak) == (6, 3, 3, 3)
    assert counts.spent == (0, 1, 2) and len(counts.__dataclass_fields__) == k.COUNTERS + 1
