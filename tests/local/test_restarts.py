"""The pane store between any two batches changes nothing: every version is written, dropped from memory and read
back."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from muntin.cql.binder import bind
from muntin.local.runtime import LocalPipeline
from muntin.physical.planner import plan_query
from muntin.physical.stage import PhysicalQuery
from muntin.reference import run
from muntin.state.pane_store import PaneStore
from muntin.verify.compare import bag_difference

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
from generate import Case, draw_case


class Stored(LocalPipeline):
    """A local pipeline whose state goes through the store after every batch."""

    def restart(self, store: PaneStore, version: int) -> None:
        names = {f"q/{i}/{s}": (i, s) for i, states in enumerate(self.states) for s in range(len(states))}
        store.commit(version, "t", {n: self.states[i][s] for n, (i, s) in names.items()}, {"shards": self.shards})
        for name, state in store.load(version, list(names)).items():
            i, s = names[name]
            self.states[i][s] = state


def tables(case: Case, batch: dict[str, list[dict[str, object]]]) -> dict[str, pa.Table]:
    found = {}
    for name, rows in batch.items():
        stream = case.catalog.stream(name)
        assert stream is not None
        found[name] = pa.table({f.name: pa.array([r[f.name] for r in rows], f.type) for f in stream.schema})
    return found


def shown(query: PhysicalQuery, table: pa.Table) -> list[tuple[int, str | None, tuple[object, ...]]]:
    n = len(query.schema)
    values = [table.column(i).to_pylist() for i in range(n)]
    times = table.column(n).cast(pa.int64()).to_pylist()
    ops = table.column(n + 1).to_pylist() if query.shows_op else [None] * len(times)
    return [(t, op, tuple(v[i] for v in values)) for i, (t, op) in enumerate(zip(times, ops, strict=True))]


@pytest.mark.parametrize("block", range(4))
def test_answers_survive_a_restart_after_every_batch(block: int, tmp_path: Path) -> None:
    for seed in range(5_000 + block * 15, 5_000 + block * 15 + 15):
        case = draw_case(seed)
        bound = bind(case.text, case.catalog, case.options)
        query = plan_query(bound)
        pipeline = Stored(query, shards=2)
        store = PaneStore.open(str(tmp_path / str(seed)), "q", 0)
        got = []
        for version, batch in enumerate(case.cuts(Random(seed), most=6)):
            got += shown(query, pipeline.push(tables(case, batch)))
            pipeline.restart(store, version)
        got += shown(query, pipeline.finish())
        expected = run(bound, case.streams)
        for key in {(t, op) for t, op, _ in [*expected, *got]}:
            mine, theirs = ([r for t, op, r in rows if (t, op) == key] for rows in (got, expected))
            assert not bag_difference(theirs, mine), f"seed {seed} at {key}: {case.text}"
