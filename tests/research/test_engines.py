"""The engines of the comparison: right answers, right counts, and checks that notice a wrong engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.optimizer import Strategy
from muntin.research.engines import choose as engines_choice
from muntin.research.engines import naive, product_runs
from muntin.research.engines.choose import (
    NEGATION,
    NEGATION_AND_JOIN,
    choose,
    distinct_question,
    join_question,
    statistics_of,
)
from muntin.research.engines.compare import equal_answers, equal_naive, run_point
from muntin.research.engines.deltas import CountingDelta, DeltaStar, NaiveDelta, replay
from muntin.research.engines.engine import (
    DIRECT,
    NT,
    UPA,
    UPA50,
    counters_run,
    distinct_of,
    distinct_run,
    join_of,
    measure,
    negation,
    negation_and_join,
)
from muntin.research.engines.workload import Trace, sessions, synthetic
from muntin.research.kernels import strategies as k
from muntin.research.kernels.strategies import mix

JOIN_UP = replace(NT, name="NT(join up)", down=True)
LOCATED = replace(UPA, name="located", kind=k.LOCATED, parts=7)
CASES = {
    "join": (join_of(2), naive.join_of(2), (NT, DIRECT, UPA, UPA50)),
    "distinct": (distinct_of("source"), naive.distinct_of("source"), (NT, DIRECT, UPA)),
    "negation": (negation, naive.negation, (NT, DIRECT, UPA, LOCATED)),
    "negation and join": (negation_and_join, naive.negation_and_join, (NT, JOIN_UP, UPA)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("window", [7, *(pytest.param(w, marks=pytest.mark.slow) for w in (1, 40))])
def test_engines_equal_a_naive_recomputation(case: str, window: int) -> None:
    query, expected, engines = CASES[case]
    links = 1 if case == "distinct" else 3 if "join" in case and "neg" in case else 2
    trace = synthetic(90, links, sources=12)
    check = equal_naive(query, trace, window, engines, expected, len(trace))
    assert check.ok, check.measured


@pytest.mark.parametrize("case", CASES)
def test_several_tuples_at_an_instant_and_gaps(case: str) -> None:
    query, expected, engines = CASES[case]
    rng = np.random.default_rng(3)
    ts = np.sort(rng.integers(0, 90, 160)).astype(np.int64)
    link = rng.integers(0, 1 if case == "distinct" else 3 if case == "negation and join" else 2, 160).astype(np.int64)
    source = rng.integers(0, 9, 160).astype(np.int64)
    trace = Trace(ts, link, source, source, rng.integers(1, 3, 160).astype(np.int64))
    check = equal_naive(query, trace, 25, engines, expected, 160)
    assert check.ok, check.measured


def test_the_naive_check_notices_wrong_answers() -> None:
    trace = synthetic(60, 2, sources=8)
    wrong = equal_naive(join_of(2), trace, 10, (NT, UPA), naive.join_of(1), len(trace))
    assert not wrong.ok and wrong.measured == "wrong: NT, UPA"


def test_equal_answers_notices_one_wrong_instant() -> None:
    point = run_point(join_of(2), synthetic(200, 2, sources=8), 20, (NT, UPA))
    assert equal_answers([point]).ok
    log = point.measures["UPA"].log.copy()
    log[17, 1] += 1
    point.measures["UPA"] = replace(point.measures["UPA"], log=log)
    assert not equal_answers([point]).ok


def counted(work: int, rows: list[int]) -> product_runs.Counted:
    changes = pa.table({"n": rows})
    totals = product_runs.Totals(work, 0, 0, 0, 0, 0.0)
    return product_runs.Counted(totals, changes, np.array(rows))


def test_the_product_s_own_choice_is_held_against_the_better_rival() -> None:
    """It is the project's promise: what it takes when told what was measured either holds or fails."""
    runs = {"upa": counted(12, [1, 2]), "nt": counted(10, [2, 1]), "direct": counted(20, [1, 2])}
    near = product_runs.ProductPoint(10, runs, {"upa": 9.0, "nt": 7.0, "direct": 8.0}, {"upa": 1.0, "nt": 2.0})
    far = replace(near, window=20, estimates={"upa": 6.0, "nt": 7.0, "direct": 8.0})
    check = product_runs.own_choice([near])
    assert check.ok and not check.reason and "at most 1.00 of the best of all" in check.measured
    check = product_runs.own_choice([near, far])
    assert not check.ok and not check.reason and "1.20 (window 20: upa)" in check.measured
    assert "1.20 of the better of its nt and direct (window 10: upa)" in product_runs.unmeasured_note([near])
    assert product_runs.equal_strategies([near]).ok  # the order inside an instant does not matter
    assert not product_runs.equal_strategies([near], [np.array([1, 2])]).ok
    wrong = replace(near, runs={**near.runs, "nt": counted(10, [2, 2])})
    assert not product_runs.equal_strategies([wrong]).ok


def test_strategies_change_what_the_meter_counts() -> None:
    text = distinct_question("source").text
    point = product_runs.run_point(text, synthetic(400, 1, sources=30), 200)
    upa, nt, direct = (point.runs[s].totals for s in ("upa", "nt", "direct"))
    assert upa.negative < nt.negative and upa.rows_in < nt.rows_in
    assert direct.looked > upa.looked and direct.rows_in == upa.rows_in  # direct looks through what upa bisects
    assert point.runs["upa"].rows.max() <= 30


def test_work_is_what_the_structures_touch() -> None:
    view, w, answer = k.new_store(k.LIST, 1, 10), np.zeros(10, np.int64), np.zeros(2, np.int64)
    for i in range(5):
        k.show(view, answer, i, 10 + i, i, -1, w)
    k.expire(view, answer, 11, w)
    assert (w[k.INSERTS], w[k.EXPIRIES], answer[0]) == (5, 5, 3)  # the whole list is looked at, two leave
    k.retract(view, answer, 4, 14, 4, -1, w)
    assert w[k.PROBES] == 3 and w[k.NEGATIVES] == 1  # from the front to the last
    with pytest.raises(ValueError, match="without its result"):
        k.retract(view, answer, 4, 14, 4, -1, w)


def test_a_calendar_queue_looks_at_the_current_partition_only() -> None:
    queue, w, answer = k.new_store(k.CALENDAR, 5, 100, 50), np.zeros(10, np.int64), np.zeros(2, np.int64)
    for exp in range(51, 101):
        k.show(queue, answer, exp, exp, exp, -1, w)
    assert w[k.PROBES] == 0  # in order of expiry nothing is searched
    k.expire(queue, answer, 50, w)  # time has reached the end of an earlier round
    w[:] = 0
    k.expire(queue, answer, 53, w)
    assert answer[0] == 47
    assert (w[k.EXPIRIES], w[k.VISITS]) == (5, 5)  # each of three finds one; before, the old partition; after, the next
    with pytest.raises(OverflowError, match="full"):
        for exp in range(60, 120):
            k.show(queue, answer, exp, exp, exp, -1, w)


def test_premature_share_is_none_where_links_share_no_source() -> None:
    shared, apart = (measure(negation, synthetic(2000, 2, 50, shared=s), 200, UPA) for s in (1.0, 0.0))
    assert shared.premature > 0.3 and apart.premature == 0


def test_choices() -> None:
    """The optimizer's decisions on the four queries, by the statistics of their windows."""
    small, large = synthetic(3000, 2), synthetic(9000, 2)
    assert choose(join_question(1), small, 100).kind == k.LIST  # next to no results
    many = choose(join_question(2), large, 4000)
    assert many.kind == k.CALENDAR and many.parts > 10
    assert choose(distinct_question("source"), synthetic(9000, 1), 4000).star
    negated = synthetic(6000, 2)
    assert choose(NEGATION, negated, 50).kind == k.CALENDAR
    assert choose(NEGATION, negated, 1500) == replace(NT, name="own")  # nothing that is searched for early leavers
    plan = choose(NEGATION_AND_JOIN, sessions(4000, 8, 32), 64)
    assert plan.name == "own" and plan.down


def test_the_choice_follows_the_optimizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever strategy is the cheapest is the engine that is run."""
    trace = synthetic(3000, 2)
    for strategy, kind in ((Strategy.NT, k.HASH), (Strategy.DIRECT, k.LIST), (Strategy.UPA, k.CALENDAR)):
        monkeypatch.setattr(engines_choice, "cheapest", lambda root, known, s=strategy: s)
        assert choose(join_question(2), trace, 500).kind == kind


def test_statistics_are_those_of_the_windows() -> None:
    found = statistics_of(synthetic(6000, 2, sources=100, skew=0.0), 1000, join_question(1))
    assert found.rates == pytest.approx({"s0": 1.0, "s1": 1.0}) and found.instants == pytest.approx(1.0)
    assert found.values("s1", "source") == pytest.approx(100, rel=0.05)
    assert found.values("s0", "protocol") == pytest.approx(10, rel=0.1)
    assert found.selectivities["(a.source = b.source)"] == pytest.approx(0.01, rel=0.05)


ITEMS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 12), st.integers(0, 4)), min_size=1, max_size=60)


@given(ITEMS)
@settings(max_examples=60, deadline=None)
def test_forms_of_distinct_with_lifetimes_that_vary(steps: list[tuple[int, int, int]]) -> None:
    """delta, delta* (latest exp) and counters give the distinct live values at every instant; delta* in 2 x output."""
    ts, items = 0, []
    for gap, life, value in steps:
        ts += gap
        items.append((ts, ts + life, value))
    until = ts + 15
    star = replay(DeltaStar(), items, until)
    assert star.wrong == 0 and star.worst <= 2
    assert replay(NaiveDelta(), items, until).wrong == 0
    assert replay(CountingDelta(), items, until).wrong == 0
    events = np.array(items, np.int64).T.copy()
    run = distinct_run(events, 15, UPA, 200)
    run.step(0, len(items))
    run.logs[run.clock[1]] = run.answer
    assert run.worst <= 200
    assert run.logs[: run.clock[1] + 1].tolist() == log_of(items)


def log_of(items: list[tuple[int, int, int]]) -> list[list[int]]:
    found = []
    for now in sorted({ts for ts, _, _ in items}):
        rows = [mix(v, 1) for v in {v for ts, exp, v in items if ts <= now < exp}]
        total = sum(rows) & (2**64 - 1)
        found.append([len(rows), total - 2**64 if total >= 2**63 else total])
    return found


def test_the_printed_delta_star_loses_values_when_lifetimes_vary() -> None:
    items = [(0, 3, 1), (1, 20, 1), (2, 4, 1)]  # the youngest duplicate expires first
    assert replay(DeltaStar(youngest=True), items, 25).wrong > 0
    assert replay(DeltaStar(), items, 25).wrong == 0


def test_counters_equal_delta_over_a_window() -> None:
    trace = synthetic(400, 1, sources=20)
    events = np.stack([trace.ts, trace.ts + 15, trace.source])
    run = counters_run(events)
    run.step(0, len(trace))
    run.logs[run.clock[1]] = run.answer
    assert np.array_equal(run.logs[: run.clock[1] + 1], measure(distinct_of("source"), trace, 15, NT).log)
