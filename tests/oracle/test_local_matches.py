"""The local runtime equals the naive evaluator at every instant, however rows are cut, sharded and disordered."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pyarrow as pa
from draws import blocks
from generate import Case, draw_case
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.core.time import NEVER
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.nodes import Aggregate, walk
from muntin.reference import ResultRow, run
from muntin.verify.arrow import from_table, to_table
from muntin.verify.compare import bag_difference


def start(case: Case, rng: Random) -> LocalPipeline:
    query = plan_query(bind(case.text, case.catalog, case.options))
    return LocalPipeline(query, shards=rng.choice((1, 2, 3, 7)))


def push(pipeline: LocalPipeline, case: Case, batch: dict[str, list[dict[str, Any]]]) -> pa.Table:
    return pipeline.push({s.name: to_table(s, batch[s.name]) for s in case.catalog.streams if s.name in batch})


def rows_of(pipeline: LocalPipeline, tables: list[pa.Table]) -> list[ResultRow]:
    query = pipeline.query
    return [r for t in tables for r in from_table(t, query.schema, query.shows_op)]


def run_in_pieces(case: Case, seed: int, until: int | None, most: int) -> list[ResultRow]:
    """The local runtime over random cuts and a random number of shards, with early heartbeats where they do no harm."""
    rng = Random(seed)
    pipeline = start(case, rng)
    tables = [push(pipeline, case, batch) for batch in case.cuts(rng, most)]
    if rng.random() < 0.3 or until is not None:
        tables.append(pipeline.heartbeat(case.last_instant() if until is None else until + 1))
    if until is None:
        tables.append(pipeline.finish())
    assert pipeline.late == 0
    return rows_of(pipeline, tables)


def difference(expected: list[ResultRow], got: list[ResultRow]) -> str:
    """Bags of (op, row) per instant; order inside an instant apart, results must come in the order of time."""
    problems = [] if [r[0] for r in got] == sorted(r[0] for r in got) else ["results are not in the order of time"]
    bags: tuple[dict, dict] = defaultdict(list), defaultdict(list)
    for bag, rows in zip(bags, (expected, got), strict=True):
        for t, op, row in rows:
            bag[t].append((op, *row))
    for t in sorted({*bags[0], *bags[1]}):
        if found := bag_difference(bags[0].get(t, []), bags[1].get(t, [])):
            problems.append(f"at {t}: {found}")
    return "\n".join(problems[:4])


def answered_until(case: Case, until: int) -> int:
    """The last instant that is complete when ``until`` is declared so: rows may have carried the watermark further."""
    reached = [max(case.moments(n), default=None) for n in case.streams]
    if None in reached:
        return until
    return max(until, min(t - case.slack[n] * case.unit for n, t in zip(case.streams, reached, strict=True)) - 1)


def check(seed: int, size: int = 1, cuts: int = 2) -> None:
    case = draw_case(seed, size)
    rng = Random(seed)
    query = bind(case.text, case.catalog, case.options)
    until = None if rng.random() < 0.6 else case.last_instant() + rng.randint(-4, 6) * case.unit
    expected = run(query, case.streams, None if until is None else answered_until(case, until))
    for cut in range(cuts):
        problem = difference(expected, run_in_pieces(case, seed * 10 + cut, until, most=4 * size))
        assert not problem, f"seed {seed}, cut {cut}, until {until}: {problem}\n{shown(case)}"


def shown(case: Case) -> str:
    return f"{case.text}\n{case.options}\nslack {case.slack}, unit {case.unit}\n{case.streams}"


@blocks(1, 6)
def test_local_equals_reference(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        check(seed)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(10_000, 10**9))
def test_local_equals_reference_on_drawn_seeds(seed: int) -> None:
    check(seed)


def test_local_equals_reference_over_many_batches() -> None:
    for seed in range(12):
        check(seed, size=8, cuts=1)


def kept_rows(
    case: Case, batches: list[dict[str, list[dict[str, Any]]]], complete: int
) -> tuple[dict[str, list[Any]], int]:
    """The rows that are not late, and how many are: late is what lies before the watermark of the batches before.

    ``complete``: what a heartbeat before the first batch declares.
    """
    newest: dict[str, int] = {}
    watermark, late = complete, 0
    kept: dict[str, list[Any]] = defaultdict(list)
    for batch in batches:
        for name, rows in batch.items():
            for row in rows:
                moment = case.moment(row)
                if moment is not None and moment < watermark:
                    late += 1
                else:
                    kept[name].append(row)
            newest[name] = max([newest.get(name, NEVER), *(m for m in map(case.moment, rows) if m is not None)])
        if len(newest) == len(case.streams) and NEVER not in newest.values():
            watermark = max(watermark, min(newest[n] - case.slack[n] * case.unit for n in newest))
    return kept, late


def check_late(seed: int) -> int:
    """How many late rows were counted (those that WHERE drops need not be), after checking that they change nothing."""
    case = draw_case(seed, disorder=8)
    query = bind(case.text, case.catalog, case.options)
    if any(isinstance(n, Aggregate) and not n.groups for n in walk(query.root)):
        return 0  # a row so late that it is the query's first still starts the answers of an ungrouped aggregate
    rng = Random(seed)
    batches = case.cuts(rng)
    complete = case.last_instant() - rng.randint(0, 16) * case.unit if rng.random() < 0.3 else NEVER
    kept, late = kept_rows(case, batches, complete)
    pipeline = start(case, rng)
    tables = [pipeline.heartbeat(complete)] if complete != NEVER else []
    tables += [*(push(pipeline, case, batch) for batch in batches), pipeline.finish()]
    problem = difference(run(query, kept), rows_of(pipeline, tables))
    assert not problem, f"seed {seed}: {problem}\nlate {late}\n{batches}\n{shown(case)}"
    assert late or not pipeline.late
    return pipeline.late


def test_late_rows_are_dropped_and_change_nothing() -> None:
    assert sum(check_late(seed) > 0 for seed in range(60)) > 10
