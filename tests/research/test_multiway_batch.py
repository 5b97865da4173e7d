"""Algorithms 4 and 5 of the thesis, all inputs' patterns, and negative tuples under Algorithm 2."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiway_reference import Combination, combinations, expected, inputs, orders

from muntin.core.time import FOREVER
from muntin.research.joins.engine import Merged, merged, run
from muntin.research.joins.setting import Join, Pattern, Strategy, Window, by_origin

CASES = settings(max_examples=60, deadline=None)


def joined(pattern: Pattern, buckets: tuple[int, ...], parts: int = 1) -> Join:
    return Join.on_one([Window(buckets=b, pattern=pattern, parts=parts, reach=30) for b in buckets])


@st.composite
def cases(draw: st.DrawFn, weak: bool) -> tuple[tuple[int, ...], Merged, tuple[int, ...]]:
    """Buckets, rows (with ``weak`` a lifetime each), order."""
    n = draw(st.integers(2, 4))
    rows = draw(inputs(n))
    if weak:
        lives = draw(st.lists(st.integers(0, 25), min_size=len(rows), max_size=len(rows)))
        rows = merged(rows.ts, rows.stream, rows.values, rows.ts + np.array(lives, np.int64))
    return tuple(draw(st.sampled_from([1, 2, 3])) for _ in range(n)), rows, draw(orders(n))


@st.composite
def strict(draw: st.DrawFn, premature: bool = False) -> tuple[tuple[int, ...], Merged, tuple[int, ...], Merged]:
    """As ``cases``, with some rows undone by negative tuples, and the rows alone with the exp that these give them.

    ``premature``: the rows have lifetimes too, and may be undone before or after their end.
    """
    buckets, rows, order = draw(cases(premature))
    undone = [i for i in range(len(rows)) if draw(st.booleans())]
    late = [(int(rows.ts[i]) + draw(st.integers(0, 25)), 1, int(rows.stream[i]), i) for i in undone]
    events = sorted([(int(rows.ts[i]), 0, int(rows.stream[i]), i) for i in range(len(rows))] + late)
    place = {i: p for p, (_, negative, _, i) in enumerate(events) if not negative}
    which = [i for _, _, _, i in events]
    partner = np.array([place[i] if negative else -1 for _, negative, _, i in events], np.int64)
    ts, stream = np.array([e[0] for e in events], np.int64), np.array([e[2] for e in events], np.int64)
    values = rows.values[:, which]
    exp = rows.exp[which] if premature else np.full(len(events), FOREVER, np.int64)
    given = merged(ts, stream, values, exp.copy(), partner)
    until = exp.copy()
    for p, match in enumerate(partner):
        if match >= 0:
            until[match] = min(until[match], ts[p])
    return buckets, given, order, merged(ts, stream, values, until, partner)


def span(known: Merged, rows: Combination) -> tuple[int, int]:
    return int(known.ts[list(rows)].max()), int(known.exp[list(rows)].min())


@CASES
@given(cases(True), st.integers(1, 12), st.sampled_from([1, 4]))
@pytest.mark.slow
def test_weak_inputs(case: tuple[tuple[int, ...], Merged, tuple[int, ...]], delta: int, parts: int) -> None:
    buckets, rows, order = case
    join, chosen = joined("WK", buckets, parts), by_origin(order)
    every = expected(join, rows)
    assert run(join, rows, Strategy("eager", chosen), keep=True).found() == every
    assert run(join, rows, Strategy("eager", chosen, 0, 5), keep=True).found() == every
    assert run(join, rows, Strategy("lazy", chosen, delta), keep=True).found() == every
    assert run(join, rows, Strategy("restore", chosen, delta), keep=True).found() == every
    found = run(join, rows, Strategy("no-restore", chosen, delta), keep=True)
    assert found.found() == [r for r in every if -(-span(rows, r)[0] // delta) * delta <= span(rows, r)[1]]


@CASES
@given(cases(False), st.integers(1, 12))
def test_weakest_inputs(case: tuple[tuple[int, ...], Merged, tuple[int, ...]], delta: int) -> None:
    buckets, rows, order = case
    join, chosen = joined("WKS", buckets), by_origin(order)
    every = expected(join, rows)
    restored = run(join, rows, Strategy("restore", chosen, delta), keep=True)
    assert restored.found() == every
    assert (restored.when == -(-rows.ts[restored.rows].max(axis=1) // delta) * delta).all() if every else True
    kept = Counter(run(join, rows, Strategy("no-restore", chosen, delta), keep=True).found())
    assert not kept - Counter(every)


@CASES
@given(strict(), st.integers(1, 12))
def test_strict_inputs_lazily(case: tuple[tuple[int, ...], Merged, tuple[int, ...], Merged], delta: int) -> None:
    buckets, rows, order, known = case
    join, chosen = joined("STR", buckets), by_origin(order)
    every = [r for r in combinations(join, known) if span(known, r)[0] <= span(known, r)[1]]
    assert run(join, rows, Strategy("restore", chosen, delta), keep=True).found() == every
    # a row that is undone at an execution has left before it
    kept = [r for r in every if -(-span(known, r)[0] // delta) * delta < span(known, r)[1]]
    assert run(join, rows, Strategy("no-restore", chosen, delta), keep=True).found() == kept


@CASES
@given(strict(), strict(premature=True))
def test_negative_tuples_take_results_back(
    case: tuple[tuple[int, ...], Merged, tuple[int, ...], Merged],
    early: tuple[tuple[int, ...], Merged, tuple[int, ...], Merged],
) -> None:
    for pattern, (buckets, rows, order, _) in (("STR", case), ("WK", early)):
        join = joined(pattern, buckets)  # type: ignore[arg-type]
        found = run(join, rows, Strategy("eager", by_origin(order)), keep=True)
        ends = rows.exp[found.rows].min(axis=1, initial=FOREVER)
        assert (found.when <= ends).all()  # nothing is taken back that has left by itself
        for now in range(0, 70, 3):
            shown: Counter[Combination] = Counter()
            for r, sign, when in zip(found.rows.tolist(), found.sign.tolist(), found.when.tolist(), strict=True):
                if when <= now:
                    shown[tuple(r)] += sign
            # what is shown of rows that expire by time leaves at its own exp
            live = sorted(r for r, c in shown.items() if c and int(rows.exp[list(r)].min()) >= now)
            undone = {int(m) for p, m in enumerate(rows.partner) if m >= 0 and rows.ts[p] <= now}
            assert set(shown.values()) <= {0, 1}
            assert live == [
                r
                for r in combinations(join, rows)
                if span(rows, r)[0] <= now <= span(rows, r)[1] and not undone & set(r)
            ]


def test_a_group_probes_once_and_restoring_keeps_more() -> None:
    ts = np.arange(200, dtype=np.int64)
    rows = merged(ts, np.where(ts % 10 < 2, 1, 0), np.zeros(200, np.int64)).with_windows((50, 50))
    join, chosen = joined("WKS", (1, 1)), by_origin((0, 1))
    eager = run(join, rows, Strategy("eager", chosen)).counts
    restored = run(join, rows, Strategy("restore", chosen, 10)).counts
    dropped = run(join, rows, Strategy("no-restore", chosen, 10)).counts
    assert 2 * restored.looked < eager.looked and dropped.looked < restored.looked
    assert dropped.results < restored.results == eager.results
    assert dropped.times == 0 and dropped.peak < restored.peak


def test_rows_of_a_result_were_alive_together() -> None:
    """The row of stream 0 leaves before that of stream 1 comes, the new one of stream 2 meets both."""
    ts, exp = np.array([1, 11, 15]), np.array([12, 30, 30])
    rows = merged(ts, np.array([0, 2, 1]), np.zeros(3, np.int64), exp)
    restore = Strategy("restore", by_origin((0, 1, 2)), 10)
    assert run(joined("WK", (1, 1, 1)), rows, restore, keep=True).found() == []
    longer = merged(ts, rows.stream, rows.values, np.array([15, 30, 30]))
    assert run(joined("WK", (1, 1, 1)), longer, restore, keep=True).found() == [(0, 2, 1)]


def test_executions_without_new_rows_expire_no_more_than_their_own_time() -> None:
    rows = merged(np.array([1, 12]), np.array([0, 1]), np.zeros(2, np.int64)).with_windows((12, 12))
    join = joined("WKS", (1, 1))
    assert run(join, rows, Strategy("restore", by_origin((0, 1)), 5), keep=True).found() == [(0, 1)]
    dropped = run(join, rows, Strategy("no-restore", by_origin((0, 1)), 5), keep=True)
    assert dropped.found() == [] and dropped.counts.peak == 1 and dropped.counts.held == 1
