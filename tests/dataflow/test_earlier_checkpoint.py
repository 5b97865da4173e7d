"""A checkpoint that an earlier commit wrote: this one goes on from it, state and all.

``checkpoint/`` has a durable plan and a pane store after half of the batches. ``MUNTIN_FIXTURE=write`` writes it anew;
do that only where a format changes on purpose, and say so in the changelog: users' checkpoints end with it too.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from test_durable import EXISTS, GROUPED, JOIN3, answer, asked, catalog, data

from muntin.cql.binder import bind
from muntin.dataflow.builder import Places
from muntin.dataflow.durable import Asked, take_up
from muntin.local.runtime import LocalPipeline
from muntin.optimizer.statistics import Statistics
from muntin.spark.durable_file import read_plans, write_plans
from muntin.state.pane_store import PaneStore

WHERE = Path(__file__).parent / "checkpoint"
SHARDS, HALF = 2, 3
TEXTS = {
    "join": JOIN3,
    "grouped": GROUPED,
    "negation": EXISTS,
    "distinct": "SELECT DISTINCT k FROM A [RANGE 25 SECONDS]",
    "order statistics": "SELECT k, MEDIAN(v) AS m, MIN(v) AS low FROM A [RANGE 25 SECONDS SLIDE 3 SECONDS] GROUP BY k",
    "rows": "SELECT k, v FROM B [PARTITION BY k ROWS 3]",
    "first": "SELECT k, v FROM C [RANGE 25 SECONDS] ORDER BY v LIMIT 4",
}


def queries() -> dict[str, Asked]:
    return {name: asked(bind(text, catalog())) for name, text in TEXTS.items()}


def run(pipeline: LocalPipeline, batches: list[dict[str, pa.Table]]) -> list[list[pa.Table]]:
    return [pipeline.push_all(b) for b in batches]


def write() -> None:
    shutil.rmtree(WHERE, ignore_errors=True)
    begun = take_up(None, queries(), 0, "0.1.0")
    pipeline = LocalPipeline(list(begun.plans.values()), SHARDS)
    run(pipeline, data(1)[:HALF])
    write_plans(str(WHERE), [], begun.durable)
    PaneStore.open(str(WHERE / "panes"), "fixture", 0).commit(HALF - 1, "all", pipeline.cells(), {})


def restored() -> tuple[LocalPipeline, Mapping[str, str]]:
    (plan,) = read_plans(str(WHERE))
    taken = take_up(plan, queries(), HALF, "0.1.0")
    pipeline = LocalPipeline(list(taken.plans.values()), SHARDS)
    store = PaneStore.open(str(WHERE / "panes"), "fixture", 0)
    kept = store.load(HALF - 1, list(pipeline.cells()))
    pipeline.restore(kept)
    return pipeline, taken.notes


if os.environ.get("MUNTIN_FIXTURE") == "write":
    write()


def test_every_operator_of_it_is_known() -> None:
    """No query of it begins anew, and what is kept is more than nothing."""
    pipeline, notes = restored()
    assert not [n for n in notes.values() if "anew" in n and "stored" not in n]
    held = {n.partition("/")[0] for n, state in pipeline.cells().items() if state.rows()}
    assert len(held) >= len(TEXTS)


def test_its_queries_give_what_they_would_have_given_undisturbed() -> None:
    before = LocalPipeline([q.plan(Places(), Statistics()) for q in queries().values()], SHARDS)
    first = run(before, data(1)[:HALF])
    rest = [*run(before, data(1)[HALF:]), before.finish_all()]
    after, _ = restored()
    found = [*run(after, data(1)[HALF:]), after.finish_all()]
    for number, name in enumerate(TEXTS):
        expected = answer([t[number] for t in rest])
        assert expected and any(len(t[number]) for t in first), name
        assert answer([t[number] for t in found]) == expected, name
