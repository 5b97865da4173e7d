"""The costs of the thesis' structures, by which the engines of its figures are chosen."""

from __future__ import annotations

from dataclasses import replace

from muntin.cql.binder import bind
from muntin.optimizer import Strategy
from muntin.optimizer.estimate import flow_of
from muntin.optimizer.flow import Flow
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions
from muntin.research.engines.structure_costs import cheapest, structure_of, total
from muntin.research.engines.structures import Structure, StructureStatistics
from muntin.research.product import catalog

CATALOG = catalog(a="k v", b="k v")


def query(text: str) -> BoundQuery:
    return bind(text, CATALOG, QueryOptions())


def edge(text: str, statistics: StructureStatistics) -> Flow:
    return flow_of(query(text).root, statistics)


SLOW = StructureStatistics({"a": 10, "b": 10}, distinct={("a", "k"): 10, ("b", "k"): 10})
Q1 = "Rstream(SELECT a.k FROM A a [RANGE {0} SECONDS], B b [RANGE {0} SECONDS] WHERE a.k = b.k)"


def test_strategies_of_query_1() -> None:
    """Figures 3.8 and 3.9: DIRECT degrades with the result, UPA with the days of its calendar, NT hardly at all."""
    by_window = {t: {s: total(query(Q1.format(t)).root, SLOW, s) for s in Strategy} for t in (2, 20, 200)}
    small, large = by_window[2], by_window[200]
    assert small[Strategy.UPA] < small[Strategy.DIRECT]
    assert large[Strategy.DIRECT] / small[Strategy.DIRECT] > large[Strategy.NT] / small[Strategy.NT]
    more_days = StructureStatistics(SLOW.rates, distinct=SLOW.distinct, partitions=50)
    assert total(query(Q1.format(200)).root, more_days) < large[Strategy.UPA]


def test_the_strategy_is_chosen_by_cost() -> None:
    rare = StructureStatistics({"a": 1, "b": 1}, distinct={("a", "k"): 1000, ("b", "k"): 1000})
    assert cheapest(query(Q1.format(10)).root, rare) == "upa"
    assert cheapest(query(Q1.format(100_000)).root, SLOW) == "nt"


Q3 = "SELECT a.k FROM A a [RANGE {0} SECONDS] EXCEPT ALL SELECT b.k FROM B b [RANGE {0} SECONDS]"


def structure(text: str, known: StructureStatistics, strategy: Strategy) -> Structure:
    return structure_of(query(text).root.input, known, strategy)


def test_structures_follow_the_pattern_and_the_strategy() -> None:
    join = Q1.format(20)
    found = [structure(join, SLOW, s) for s in (Strategy.NT, Strategy.DIRECT, Strategy.UPA)]
    assert found == [Structure.HASH, Structure.LIST, Structure.CALENDAR]
    assert structure("SELECT k FROM A [RANGE 20 SECONDS]", SLOW, Strategy.UPA) is Structure.FIFO
    assert structure("SELECT k FROM A", SLOW, Strategy.UPA) is Structure.LOG


def test_premature_expirations_end_the_calendar_queue() -> None:
    """Figure 3.14: few in a small window, where values hardly meet; in a large one each searches the whole queue."""
    known = StructureStatistics(
        {"a": 1, "b": 1}, distinct={("a", "k"): 1000, ("b", "k"): 1000}, instants=1.0, chains=10
    )
    assert structure(Q3.format(25), known, Strategy.UPA) is Structure.CALENDAR
    assert structure(Q3.format(1600), known, Strategy.UPA) is Structure.HASH
    edges = [edge(Q3.format(t), known) for t in (25, 1600)]
    assert edges[0].early / edges[0].rate < 0.05 < 0.25 < edges[1].early / edges[1].rate


def test_a_calendar_queue_does_not_pay_for_next_to_no_results() -> None:
    """Query 1 with a handful of results: looking at a day at every instant costs more than looking at the rows."""
    known = StructureStatistics({"a": 1, "b": 1}, distinct={(s, "k"): 1000 for s in "ab"}, instants=2.0, chains=10)
    join = "SELECT a.k FROM A a [RANGE {0} SECONDS], B b [RANGE {0} SECONDS] WHERE a.k = b.k"
    sparse = replace(known, selectivities={"(a.k = b.k)": 1e-6})
    assert cheapest(query(join.format(100)).root, sparse) == "direct"
    assert cheapest(query(join.format(5000)).root, known) == "upa"


def test_long_chains_are_walked() -> None:
    plain = StructureStatistics({"a": 10})
    text = "SELECT DISTINCT k FROM A [RANGE 1000 SECONDS]"
    walked = StructureStatistics({"a": 10}, chains=10)
    assert total(query(text).root, walked, Strategy.NT) > 10 * total(query(text).root, plain, Strategy.NT)
    assert total(query(text).root, walked) == total(query(text).root, plain)
