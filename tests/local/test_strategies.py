"""The three execution strategies give one answer: drawn queries of the whole language under each."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from generate import draw_case
from generate_wide import draw_wide_case
from test_local_matches import difference, push, rows_of

from muntin.cql.binder import bind
from muntin.local.runtime import LocalPipeline
from muntin.physical.planner import plan_query
from muntin.reference import run


@pytest.mark.parametrize("strategy", ["nt", "direct"])
@pytest.mark.parametrize("block", range(3))
def test_a_strategy_changes_no_answer(strategy: str, block: int) -> None:
    for seed in range(2_000 + block * 20, 2_000 + block * 20 + 20):
        case = (draw_case if seed % 2 else draw_wide_case)(seed)
        if getattr(case, "tables", None):
            continue
        bound = bind(case.text, case.catalog, replace(case.options, strategy=strategy))
        rng = Random(seed)
        pipeline = LocalPipeline(plan_query(bound), shards=rng.choice((1, 2, 3)))
        tables = [push(pipeline, case, batch) for batch in case.cuts(rng, 5)]
        tables.append(pipeline.finish())
        problem = difference(run(bound, case.streams), rows_of(pipeline, tables))
        assert not problem, f"{strategy}, seed {seed}: {problem}\n{case.text}\n{case.options}"
