"""The three execution strategies give one answer: drawn queries of the whole language under each."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from draws import blocks
from generate import draw_case
from generate_further import draw_further_case, draw_repeating_case
from generate_wide import draw_wide_case
from test_local_matches import difference, rows_of
from test_local_matches_wide import batches_of
from user_aggregates import PLAIN, with_code

from muntin.core.errors import UnsupportedError
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.reference import run

DRAWS = (draw_case, draw_wide_case, draw_further_case, draw_repeating_case)


@pytest.mark.parametrize("strategy", ["nt", "direct"])
@blocks(1, 3)
def test_a_strategy_changes_no_answer(strategy: str, block: int) -> None:
    for seed in range(2_000 + block * 20, 2_000 + block * 20 + 20):
        case = DRAWS[seed % 4](seed)
        bound = bind(case.text, case.catalog, replace(case.options, strategy=strategy))
        try:
            query = with_code(plan_query(bound))
        except UnsupportedError:
            continue
        rng = Random(seed)
        pipeline = LocalPipeline(query, shards=rng.choice((1, 2, 3)))
        tables = [pipeline.push(batch) for batch in batches_of(case, query, rng, 5)]
        tables.append(pipeline.finish())
        expected = run(bound, case.streams, tables=getattr(case, "tables", {}), functions=PLAIN)
        problem = difference(expected, rows_of(pipeline, tables))
        assert not problem, f"{strategy}, seed {seed}: {problem}\n{case.text}\n{case.options}"
