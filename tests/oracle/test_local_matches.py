"""The local runtime equals the naive evaluator at every instant, however rows are cut, sharded and disordered."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import pytest
from generate import Case, draw_case
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.cql.binder import bind
from muntin.local.runtime import LocalPipeline
from muntin.physical.planner import plan_query
from muntin.reference import ResultRow, run
from muntin.verify.arrow import from_table, to_table
from muntin.verify.compare import bag_difference


def run_in_pieces(case: Case, seed: int, until: int | None) -> list[ResultRow]:
    """The local runtime over random cuts and a random number of shards, with early heartbeats where they do no harm."""
    rng = Random(seed)
    query = plan_query(bind(case.text, case.catalog, case.options))
    pipeline = LocalPipeline(query, shards=rng.choice((1, 2, 3, 7)))
    streams = {s.name: s for s in case.catalog.streams}
    tables = [
        pipeline.push({name: to_table(streams[name], rows) for name, rows in batch.items()}) for batch in case.cuts(rng)
    ]
    if rng.random() < 0.3 or until is not None:
        beat = case.last_instant() if until is None else until + 1
        tables.append(pipeline.heartbeat(beat))
    if until is None:
        tables.append(pipeline.finish())
    assert pipeline.late == 0
    return [r for t in tables for r in from_table(t, query.schema, query.shows_op)]


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
    newest = [max((r["ts"] for r in rows), default=None) for rows in case.streams.values()]
    if None in newest:
        return until
    return max(until, min((t - case.slack[n]) * case.unit for n, t in zip(case.streams, newest, strict=True)) - 1)


def check(seed: int) -> None:
    case = draw_case(seed)
    rng = Random(seed)
    query = bind(case.text, case.catalog, case.options)
    until = None if rng.random() < 0.6 else case.last_instant() + rng.randint(-4, 6) * case.unit
    expected = run(query, case.streams, None if until is None else answered_until(case, until))
    for cut in range(2):
        problem = difference(expected, run_in_pieces(case, seed * 10 + cut, until))
        assert not problem, (
            f"seed {seed}, cut {cut}, until {until}: {problem}\n{case.text}\n{case.options}\nslack {case.slack}, "
            f"unit {case.unit}\n{case.streams}"
        )


@pytest.mark.parametrize("block", range(3))
def test_local_equals_reference(block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        check(seed)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(10_000, 10**9))
def test_local_equals_reference_on_drawn_seeds(seed: int) -> None:
    check(seed)
