"""The local runtime equals the naive evaluator on the whole language, however rows are cut, sharded and disordered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from draws import seeds
from generate import Case
from generate_further import draw_further_case, draw_repeating_case
from generate_internal import draw_beside_case, draw_internal_case
from generate_wide import WideCase, draw_wide_case
from test_local_matches import answered_until, difference, rows_of
from user_aggregates import PLAIN, with_code

from muntin.core.errors import UnsupportedError
from muntin.cql.binder import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.nodes import BoundQuery, TableScan, walk
from muntin.reference import ResultRow, run
from muntin.verify.arrow import to_table

DRAWS = [draw_wide_case, draw_further_case, draw_repeating_case, draw_internal_case, draw_beside_case]

MOST_UNSUPPORTED = 0.02
"""Share of the drawn cases that the planner may refuse."""


def feeds(case: WideCase) -> dict[str, list[dict[str, Any]]]:
    """The tables as the runtime takes them: streams of updates, in the order of time."""
    found = {}
    for name, updates in case.tables.items():
        entries = [u if isinstance(u, tuple) else (0, "+", u) for u in updates]
        found[name] = [{**row, "__at": ts, "__add": op == "+"} for ts, op, row in entries]
    return found


def batches_of(case: Case, query: QueryPlan, rng: Random, most: int) -> list[dict[str, pa.Table]]:
    """The rows of the streams and tables that the query reads, cut at random; static tables come first."""
    known = {s.name: s for s in query.streams}
    every = case.streams | (feeds(case) if isinstance(case, WideCase) else {})
    given = {name: rows for name, rows in every.items() if name in known}
    fixed = {name: rows for name, rows in given.items() if known[name].static}
    batches = replace(case, streams={n: r for n, r in given.items() if n not in fixed}).cuts(rng, most)
    batches[0] |= fixed
    return [{n: to_table(known[n], rows) for n, rows in batch.items()} for batch in batches]


def run_in_pieces(case: WideCase, query: BoundQuery, seed: int, until: int | None) -> list[ResultRow]:
    """Over random cuts and a random number of shards. Raises UnsupportedError for what the planner refuses."""
    rng = Random(seed)
    pipeline = LocalPipeline(with_code(plan_query(query)), shards=rng.choice((1, 2, 3, 7)))
    tables = [pipeline.push(batch) for batch in batches_of(case, pipeline.query, rng, 4)]
    if rng.random() < 0.3 or until is not None:
        tables.append(pipeline.heartbeat(case.last_instant() if until is None else until + 1))
    if until is None:
        tables.append(pipeline.finish())
    assert pipeline.late == 0
    return rows_of(pipeline, tables)


def answered(case: WideCase, query: BoundQuery, until: int) -> int:
    """The last instant that is complete: a relation holds time back as a stream does."""
    read = {t.table.name for t in walk(query.root) if isinstance(t, TableScan) and t.table.kind != "static"}
    moved = [max((u[0] for u in case.tables[name]), default=None) for name in sorted(read)]
    if None in moved:
        return until
    streams = [answered_until(case, until)] if case.streams else []
    return max(until, min([*streams, *(at - 1 for at in moved)]))


def check(seed: int, draw: Callable[[int], WideCase] = draw_wide_case) -> str:
    """PASS or UNSUPPORTED."""
    case = draw(seed)
    query = bind(case.text, case.catalog, case.options)
    rng = Random(seed)
    until = None if rng.random() < 0.6 else case.last_instant() + rng.randint(-4, 6) * case.unit
    end = None if until is None else answered(case, query, until)
    expected = run(query, case.streams, end, case.tables, PLAIN)
    try:
        got = run_in_pieces(case, query, seed, until)
    except UnsupportedError:
        return "UNSUPPORTED"
    problem = difference(expected, got)
    assert not problem, (
        f"seed {seed}, until {until}: {problem}\n{case.text}\n{case.options}\n{case.streams}\n{case.tables}"
    )
    return "PASS"


@pytest.mark.parametrize("seed", [30035])
def test_cases_that_once_differed(seed: int) -> None:
    """30035: the relation's last update, not the stream's last row, is what answers wait for."""
    assert check(seed) == "PASS"


@pytest.mark.parametrize("seed", [15, 31, 46, 74, 99, 100, 137, 143, 150, 325, 362, 585, 877, 1125, 1231])
def test_further_cases_that_once_differed(seed: int) -> None:
    """15, 100: EXISTS over INTERNAL windows asks whether both rows were in their windows together. 31, 46: results of
    one instant come into a window of rows in the order of their values, on however many shards. 74, 137: INTERNAL on
    a window on results. 99: rows that leave an INTERNAL window mark instants. 143: a change of a value that is not
    shown is one result more. 362: updates of a non-retroactive table alone start no answers. 585: rows come into a
    window of rows that slides in time at its own ticks, also at the end of input. 877: rows of two batches that start
    at one tick leave a join at different ones. 1125: with bounds="start"
    time ends a microsecond earlier for a window on results. 1231: a query whose results are windowed has its first
    answer at its own first row. 150, 325: FIRST and LAST in a scalar
    sub-query."""
    assert check(seed, draw_further_case) == "PASS"


def test_first_and_last_are_not_by_the_time_of_another_window() -> None:
    """2129: one window on results beside one on a stream."""
    assert check(2129, draw_further_case) == "UNSUPPORTED"


@seeds(25, 300)
def test_local_equals_reference_on_what_the_wide_draw_leaves_out(seeds: range) -> None:
    found = Counter(check(seed, draw_further_case) for seed in seeds)
    assert found["UNSUPPORTED"] <= 0.06 * len(seeds), (
        "FIRST and LAST over windows on results"
    )


@pytest.mark.parametrize("draw", [draw_internal_case, draw_beside_case])
@seeds(15, 60)
def test_local_equals_reference_with_internal_windows_of_every_kind(
    draw: Callable[[int], WideCase], seeds: range
) -> None:
    found = Counter(check(seed, draw) for seed in seeds)
    assert found["UNSUPPORTED"] == 0


@seeds(25, 200)
def test_local_equals_reference_where_tables_repeat_themselves(seeds: range) -> None:
    found = Counter(check(seed, draw_repeating_case) for seed in seeds)
    assert found["UNSUPPORTED"] <= MOST_UNSUPPORTED * len(seeds)


@seeds(25, 200)
def test_local_equals_reference(seeds: range) -> None:
    found = Counter(check(seed) for seed in seeds)
    assert found["UNSUPPORTED"] <= MOST_UNSUPPORTED * len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("block", range(8))
def test_local_equals_reference_on_many(block: int, draw: Callable[[int], WideCase]) -> None:
    for seed in range(300 + block * 125, 300 + block * 125 + 125):
        check(seed, draw)
