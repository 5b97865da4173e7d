"""The cost model of plans, and the choices that it must make."""

from __future__ import annotations

from dataclasses import replace

import pytest
from optimizer_golden import CATALOG

from muntin.cql.binder import bind
from muntin.optimizer import Statistics, Structure, choose_strategy, optimize, settled, structure_of, total
from muntin.optimizer.cost import Strategy
from muntin.optimizer.estimate import flow_of
from muntin.optimizer.flow import Flow
from muntin.plan.nodes import BoundQuery, Join, Scan, SemiJoin, walk
from muntin.plan.windows import QueryOptions


def query(text: str, strategy: str = "upa") -> BoundQuery:
    return bind(text, CATALOG, QueryOptions(strategy=strategy))


def edge(text: str, statistics: Statistics) -> Flow:
    return flow_of(query(text).root, statistics)


def test_traffic_of_windows_and_joins() -> None:
    """|A join B| = l1 T1 l2 T2 / max(v1, v2); each row takes part in its share of the results."""
    known = Statistics({"a": 10, "b": 1}, distinct={("a", "k"): 500, ("b", "k"): 50})
    one = edge("SELECT * FROM A a [RANGE 100 SECONDS]", known)
    assert (one.rate, one.size, one.expiring, one.early) == (10, 1000, 10, 0)
    rows = edge("SELECT * FROM A a [ROWS 7]", known)
    assert (rows.size, rows.expiring, rows.early) == (7, 0, 10)
    both = edge("SELECT a.k FROM A a [RANGE 100 SECONDS], B b [RANGE 100 SECONDS] WHERE a.k = b.k", known)
    assert both.size == pytest.approx(200)
    assert both.rate == pytest.approx(200 / 1000 * 10 + 200 / 100 * 1)
    assert both.early == 0


def test_negation_is_estimated_by_the_values() -> None:
    """Different sets of values never meet, so nothing leaves early; many equal rows hardly ever leave for good."""
    inner = "SELECT 1 FROM B b [RANGE 100 SECONDS] WHERE b.k = a.k"
    text = f"SELECT a.k FROM A a [RANGE 100 SECONDS] WHERE NOT EXISTS ({inner})"
    few = edge(text, Statistics({"a": 10, "b": 0.5}, distinct={("a", "k"): 100, ("b", "k"): 100}))
    many = edge(text, Statistics({"a": 10, "b": 50}, distinct={("a", "k"): 100, ("b", "k"): 100}))
    assert few.early > 10 * many.early
    assert few.size > 10 * many.size


SLOW = Statistics({"a": 10, "b": 10}, distinct={("a", "k"): 10, ("b", "k"): 10})
Q1 = "Rstream(SELECT a.k FROM A a [RANGE {0} SECONDS], B b [RANGE {0} SECONDS] WHERE a.k = b.k)"


def test_strategies_of_query_1() -> None:
    """Figures 3.8 and 3.9: DIRECT degrades with the result, UPA with the days of its calendar, NT hardly at all."""
    by_window = {t: {s: total(query(Q1.format(t)).root, SLOW, s) for s in Strategy} for t in (2, 20, 200)}
    small, large = by_window[2], by_window[200]
    assert small[Strategy.UPA] < small[Strategy.DIRECT]
    assert large[Strategy.DIRECT] / small[Strategy.DIRECT] > large[Strategy.NT] / small[Strategy.NT]
    more_days = Statistics(SLOW.rates, distinct=SLOW.distinct, partitions=50)
    assert total(query(Q1.format(200)).root, more_days) < large[Strategy.UPA]


def test_the_strategy_is_chosen_by_cost() -> None:
    rare = Statistics({"a": 1, "b": 1}, distinct={("a", "k"): 1000, ("b", "k"): 1000})
    assert choose_strategy(query(Q1.format(10)), rare) == "upa"
    assert choose_strategy(query(Q1.format(100_000)), SLOW) == "nt"
    assert choose_strategy(query("SELECT a.k FROM A a [RANGE 5 SECONDS]")) == "upa"


Q4 = (
    "SELECT a.k, c.v FROM A a [RANGE 100 SECONDS], C c [RANGE 100 SECONDS] "
    "WHERE a.k = c.k AND NOT EXISTS (SELECT 1 FROM B b [RANGE 100 SECONDS] WHERE b.k = a.k)"
)


def negation_on_top(statistics: Statistics, strategy: str = "upa") -> bool:
    found = optimize(query(Q4, strategy), statistics).query.root
    semi = next(n for n in walk(found) if isinstance(n, SemiJoin))
    return any(isinstance(n, Join) for n in walk(semi))


def test_negation_is_pulled_up_or_pushed_down_by_cost() -> None:
    """Query 4 (Figure 3.15): negation above a join that gives few results, below one that gives many."""
    few = Statistics(
        {"a": 10, "b": 20, "c": 0.1}, distinct={(s, "k"): v for s, v in (("a", 500), ("b", 500), ("c", 5000))}
    )
    many = Statistics({"a": 10, "b": 0.1, "c": 10}, distinct={(s, "k"): 3 for s in "abc"})
    assert negation_on_top(few)
    assert not negation_on_top(many)


def test_costs_are_finite_for_every_node_and_strategy() -> None:
    texts = (
        "SELECT DISTINCT a.k FROM A a [ROWS 5]", "SELECT a.k FROM A a [NOW] LEFT JOIN B b [NOW] ON a.k = b.k",
        "SELECT a.k FROM A a [NOW] EXCEPT SELECT b.k FROM B b [NOW]", "SELECT a.k FROM A a ORDER BY k LIMIT 3",
        "SELECT a.k, (SELECT MAX(b.v) FROM B b [NOW] WHERE b.k = a.k) AS m FROM A a [NOW]",
        "SELECT q.k FROM (Istream(SELECT a.k FROM A a [NOW])) [ROWS 3] AS q",
        "SELECT r.k FROM R r, A a WHERE a.k = r.k",
    )  # fmt: skip
    for text in texts:
        for strategy in Strategy:
            assert 0 <= total(query(text).root, Statistics(), strategy) < 1e15


def test_auto_stands_for_the_cheapest_strategy() -> None:
    open_choice = query("SELECT a.k FROM A a [RANGE 5 SECONDS]", "auto")
    assert settled(open_choice).options.strategy == choose_strategy(open_choice) == "upa"


Q3 = "SELECT a.k FROM A a [RANGE {0} SECONDS] EXCEPT ALL SELECT b.k FROM B b [RANGE {0} SECONDS]"


def structure(text: str, known: Statistics, strategy: Strategy) -> Structure:
    return structure_of(query(text).root.input, known, strategy)


def test_structures_follow_the_pattern_and_the_strategy() -> None:
    join = Q1.format(20)
    found = [structure(join, SLOW, s) for s in (Strategy.NT, Strategy.DIRECT, Strategy.UPA)]
    assert found == [Structure.HASH, Structure.LIST, Structure.CALENDAR]
    assert structure("SELECT k FROM A [RANGE 20 SECONDS]", SLOW, Strategy.UPA) is Structure.FIFO
    assert structure("SELECT k FROM A", SLOW, Strategy.UPA) is Structure.LOG


def test_premature_expirations_end_the_calendar_queue() -> None:
    """Figure 3.14: few in a small window, where values hardly meet; in a large one each searches the whole queue."""
    known = Statistics({"a": 1, "b": 1}, distinct={("a", "k"): 1000, ("b", "k"): 1000}, instants=1.0, chains=10)
    assert structure(Q3.format(25), known, Strategy.UPA) is Structure.CALENDAR
    assert structure(Q3.format(1600), known, Strategy.UPA) is Structure.HASH
    edges = [edge(Q3.format(t), known) for t in (25, 1600)]
    assert edges[0].early / edges[0].rate < 0.05 < 0.25 < edges[1].early / edges[1].rate


def test_a_calendar_queue_does_not_pay_for_next_to_no_results() -> None:
    """Query 1 with a handful of results: looking at a day at every instant costs more than looking at the rows."""
    known = Statistics({"a": 1, "b": 1}, distinct={(s, "k"): 1000 for s in "ab"}, instants=2.0, chains=10)
    join = "SELECT a.k FROM A a [RANGE {0} SECONDS], B b [RANGE {0} SECONDS] WHERE a.k = b.k"
    sparse = replace(known, selectivities={"(a.k = b.k)": 1e-6})
    assert choose_strategy(query(join.format(100)), sparse) == "direct"
    assert choose_strategy(query(join.format(5000)), known) == "upa"


def test_long_chains_are_walked() -> None:
    plain = Statistics({"a": 10})
    text = "SELECT DISTINCT k FROM A [RANGE 1000 SECONDS]"
    walked = Statistics({"a": 10}, chains=10)
    assert total(query(text).root, walked, Strategy.NT) > 10 * total(query(text).root, plain, Strategy.NT)
    assert total(query(text).root, walked) == total(query(text).root, plain)


def test_an_expected_rate_of_a_stream_counts_unless_a_measured_one_is_given() -> None:
    plain = query("SELECT * FROM A a [RANGE 10 SECONDS]")
    scan = next(n for n in walk(plain.root) if isinstance(n, Scan))
    slow = replace(scan, stream=replace(scan.stream, rate=2.0))
    assert flow_of(slow, Statistics()).size == 20 and flow_of(slow, Statistics({"a": 5})).size == 50
    assert slow == scan, "what is expected is no part of what a query is"
