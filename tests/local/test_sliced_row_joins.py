"""Shared joins of windows of rows that are done slice by slice: queries that wait answer later what they would have."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from stored import Stored
from test_history import continued, relation, snapshot, undisturbed
from test_shared_row_joins import BY, PAIRS, answers, bound, draw_group
from test_shared_window_joins import SCHEMA, asking, draw_batches, in_order
from test_sliced_joins import run_waiting, sliced_joins

import muntin.engine.substeps as substeps
from muntin.dataflow.durable import from_json, take_up, to_json
from muntin.dataflow.explain import explain_graph
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.sharing.slices import last_slices
from muntin.engine.meter import Meter
from muntin.local.history import fill
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.slices import DONE
from muntin.scheduling.policies import POLICIES


@pytest.mark.parametrize("schedule", POLICIES)
@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 60))])
def test_queries_that_wait_answer_what_they_would_have(
    seed: int, schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State goes through the store after every batch with slices that are behind, steps are cut anywhere, and some are
    killed and done again; what each query answers in the end is what it answers alone, in order of time."""
    rng = Random(f"slices of rows {seed} {schedule}")
    loops = seed % 2 == 1
    queries = draw_group(rng, 6, loops)
    batches = draw_batches(rng, SCHEMA, 7, rng.choice((3, 7, 11 if loops else 20)))
    alone = [answers(LocalPipeline(plan_query(q)), batches)[0] for q in queries]
    monkeypatch.setattr(substeps, "MOST", rng.choice((9, 60, 1 << 19)))
    together = Stored(plan_queries(queries, schedule), rng.choice((1, 3)))
    parts = run_waiting(together, batches, rng, tmp_path)
    for query, expected, tables in zip(queries, alone, zip(*parts, strict=True), strict=True):
        found = pa.concat_tables(tables)
        times = found["ts"].cast(pa.int64()).to_pylist()
        assert times == sorted(times)
        assert sorted(in_order(found), key=repr) == sorted(expected, key=repr), query.text


def dense(count: int) -> list[dict[str, pa.Table]]:
    """Ten seconds of forty rows of each stream a batch, in order of time."""
    rng, found = Random(5), []
    for low in range(0, 10 * count, 10):
        batch = {}
        for name in "AB":
            ts = sorted(rng.randint(low, low + 9) for _ in range(40))
            columns = {c: [rng.randint(1, 4) for _ in ts] for c in ("k", "j", "v")}
            batch[name] = pa.table({"ts": ts, **columns, "s": ["x"] * len(ts)}, SCHEMA.to_arrow())
        found.append(batch)
    return found


@pytest.mark.parametrize("by", ["", BY])
def test_small_windows_are_served_first_and_nothing_is_looked_at_twice(by: str) -> None:
    """While the wide query waits the narrow one answers, for less than a fifth of what the whole join looks at, and
    rows stay that the wide slice needs. In the end both have answered as alone, and no more has been looked at than
    when both are done together, but the log of what came meanwhile and ends that were not known at once."""
    queries, batches = bound(*(PAIRS.format(by=by, a=n, b=n) for n in (3, 60))), dense(7)
    plans = plan_queries(queries, "swf")
    meters = [Meter(), Meter()]
    whole, pipeline = (LocalPipeline(plans, 1, m) for m in meters)
    ((join, slices),) = sliced_joins(pipeline.graph)
    assert slices.ends == (3, 60) and last_slices(pipeline.graph, join) == {0: 0, 1: 1}
    text = explain_graph("text", pipeline.graph, ["narrow", "wide"])
    assert "in 2 slices (swf)" in text and "one join in place of 2, for narrow, wide" in text
    results: list[list[list[pa.Table]]] = [[], []]
    looked = [0, 0]
    for number, batch in enumerate(batches):
        waits, before = 2 < number < 6, list(looked)
        results[0].append(whole.push_all(batch))
        results[1].append(pipeline.push_all(batch, deferred=[1] if waits else []))
        looked = [m.of(join).looked for m in meters]
        state = pipeline.states[0][join]
        done, kept = state.heads[DONE], [state.list(f"{n}{i}") for i in (0, 1) for n in ("came", "in")]
        if waits:
            assert in_order(results[1][-1][0]) == in_order(results[0][-1][0]) and len(results[1][-1][1]) == 0
            assert done[0] > done[1] and all(kept)
            assert 5 * (looked[1] - before[1]) < looked[0] - before[0]
    assert done[0] == done[1] and not kept[0] and not kept[2]
    assert looked[1] <= 1.05 * looked[0]
    for found, p in zip(results, (whole, pipeline), strict=True):
        found.append(p.finish_all())
    for number, query in enumerate(queries):
        tables = [pa.concat_tables([step[number] for step in found]) for found in results]
        assert in_order(tables[0]) == in_order(tables[1]) and len(tables[1]) > 50
        assert in_order(tables[1]) == sorted(answers(LocalPipeline(plan_query(query)), batches)[0], key=repr)


def test_new_queries_go_on_from_what_a_join_has_numbered_whose_slices_are_behind() -> None:
    """The wide query still waits when they come: it answers all of it in the next batch, and they what they would have,
    had they always been there."""
    text = {w: PAIRS.format(by="", a=w, b=w) for w in (2, 7, 9, 12)}
    first, second = (asking({f"q{w}": text[w] for w in own}) for own in ((2, 12), (7, 9)))
    batches, cut = draw_batches(Random("x"), SCHEMA, 10, 8), 5
    begun = take_up(None, first, 0, "1", schedule="swf")
    old = LocalPipeline(list(begun.plans.values()), 2)
    given = [old.push_all(b, deferred=[1] if n > 1 else []) for n, b in enumerate(batches[:cut])]
    ((join, _),) = sliced_joins(old.graph)
    done = old.states[0][join].heads[DONE]
    assert done[0] > done[1]
    stored = from_json(to_json(begun.durable))
    taken = take_up(stored, {**first, **second}, cut, "1", "refill", schedule="swf")
    found = fill(taken, second | first, stored, lambda ids: snapshot(old, cut - 1), 2)
    new = continued(old, found, cut)
    at = max([*found.watermarks.values(), *new.clocks[0].heads["watermarks"].values()])
    results = [*(new.push_all(b) for b in batches[cut:]), new.finish_all()]
    for n, (name, query) in enumerate((first | second).items()):
        expected = undisturbed(query, {}, batches)
        if name in first:
            tables = [pa.concat_tables([r[n] for r in own]) for own in (given, results)]
            assert in_order(pa.concat_tables(tables)) == in_order(pa.concat_tables(expected))
        else:
            assert "its windows are full" in found.taken.notes[name]
            tables = [r[n] for r in results]
            assert {at: {}, **relation(tables, at)} == {at: {}, **relation(expected, at)} and len(tables[0]) > 3
