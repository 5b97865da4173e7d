"""The cost model of plans, and the choices that it must make."""

from __future__ import annotations

from dataclasses import replace

import pytest
from optimizer_golden import CATALOG

from muntin.cql.binder import bind
from muntin.optimizer import Statistics, Strategy, choose_strategy, optimize, settled, total
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
    """DIRECT looks through what it holds in every batch; NT sends and keeps twice the rows."""
    by_window = {t: {s: total(query(Q1.format(t)).root, SLOW, s) for s in Strategy} for t in (2, 200)}
    small, large = by_window[2], by_window[200]
    assert small[Strategy.UPA] < small[Strategy.DIRECT] and large[Strategy.UPA] < large[Strategy.NT]
    assert large[Strategy.DIRECT] / small[Strategy.DIRECT] > large[Strategy.NT] / small[Strategy.NT]
    rare = replace(SLOW, step=100.0)
    assert total(query(Q1.format(200)).root, rare, Strategy.DIRECT) < large[Strategy.DIRECT]


DISTINCT = "SELECT DISTINCT k FROM A [RANGE 1000 SECONDS]"


def test_the_strategy_is_chosen_by_what_is_known() -> None:
    """DISTINCT over few values in long batches shows one row a value; over many, counters with negative tuples do less
    (as the meter counts it: test_product_costs)."""
    few = Statistics({"a": 10}, distinct={("a", "k"): 20}, step=50.0)
    many = Statistics({"a": 10}, distinct={("a", "k"): 9_000}, step=50.0)
    assert choose_strategy(query(DISTINCT), few) == "upa"
    assert choose_strategy(query(DISTINCT), many) == "nt"
    assert choose_strategy(query("SELECT a.k FROM A a [RANGE 5 SECONDS]")) == "upa"
    assert settled(query(DISTINCT, "auto"), many).options.strategy == "nt"


def test_statistics_go_through_json() -> None:
    known = Statistics({"a": 1.5}, distinct={("a", "k"): 500.0}, step=3.0)
    assert Statistics.from_json(known.to_json()) == known
    assert Statistics.from_json({}) == Statistics() and Statistics().to_json() == {}


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


def test_an_expected_rate_of_a_stream_counts_unless_a_measured_one_is_given() -> None:
    plain = query("SELECT * FROM A a [RANGE 10 SECONDS]")
    scan = next(n for n in walk(plain.root) if isinstance(n, Scan))
    slow = replace(scan, stream=replace(scan.stream, rate=2.0))
    assert flow_of(slow, Statistics()).size == 20 and flow_of(slow, Statistics({"a": 5})).size == 50
    assert slow == scan, "what is expected is no part of what a query is"
