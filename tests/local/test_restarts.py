"""The pane store between any two batches changes nothing: every version is written, dropped from memory and read
back."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from generate import Case, draw_case
from generate_wide import draw_wide_case
from stored import Stored

from muntin.cql.binder import bind
from muntin.physical.planner import plan_query
from muntin.reference import run
from muntin.state.pane_store import PaneStore
from muntin.verify.arrow import from_table, to_table
from muntin.verify.compare import bag_difference


def tables(case: Case, batch: dict[str, list[dict[str, object]]]) -> dict[str, pa.Table]:
    return {s.name: to_table(s, batch[s.name]) for s in case.catalog.streams if s.name in batch}


@pytest.mark.parametrize("block", range(4))
def test_answers_survive_a_restart_after_every_batch(block: int, tmp_path: Path) -> None:
    for seed in range(5_000 + block * 15, 5_000 + block * 15 + 15):
        case = (draw_case if seed % 2 else draw_wide_case)(seed)
        if getattr(case, "tables", None):
            continue
        bound = bind(case.text, case.catalog, case.options)
        query = plan_query(bound)
        pipeline = Stored(query, shards=Random(seed).choice((1, 2, 5)))
        store = PaneStore.open(str(tmp_path / str(seed)), "q", 0)
        got = []
        for version, batch in enumerate(case.cuts(Random(seed), most=6)):
            got += from_table(pipeline.push(tables(case, batch)), query.schema, query.shows_op)
            pipeline.restart(store, version)
        got += from_table(pipeline.finish(), query.schema, query.shows_op)
        expected = run(bound, case.streams)
        for key in {(t, op) for t, op, _ in [*expected, *got]}:
            mine, theirs = ([r for t, op, r in rows if (t, op) == key] for rows in (got, expected))
            assert not bag_difference(theirs, mine), f"seed {seed} at {key}: {case.text}"
