"""Random queries in the places where answers went wrong before: windows that slide finely, so that every row is seen at
many instants; columns named like our own; other aliases, hints and neighbours after a restart; sinks that fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from draws import blocks
from generate import Case, draw_case
from generate_further import draw_further_case
from generate_wide import WideCase, draw_wide_case
from stored import Stored
from test_local_matches import difference, rows_of
from test_local_matches_wide import batches_of
from user_aggregates import PLAIN, with_code

from muntin.core.errors import UnsupportedError
from muntin.core.schema import Field, Schema
from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, from_json, take_up, to_json
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog
from muntin.plan.nodes import BoundQuery
from muntin.reference import ResultRow, run
from muntin.state.pane_store import PaneStore

MANY = 25
"""How many times longer windows are than drawn."""


def answers_of(bound: BoundQuery, case: Case, rng: Random) -> list[ResultRow]:
    """The local runtime over random cuts and shards. Raises UnsupportedError for what the planner refuses."""
    pipeline = LocalPipeline(with_code(plan_query(bound)), shards=rng.choice((1, 2, 5)))
    tables = [pipeline.push(batch) for batch in batches_of(case, pipeline.query, rng, 4)]
    return rows_of(pipeline, [*tables, pipeline.finish()])


def expected_of(bound: BoundQuery, case: Case) -> list[ResultRow]:
    return run(bound, case.streams, tables=getattr(case, "tables", {}), functions=PLAIN)


# --- many instants ----------------------------------------------------------------------------------------------------


def draw_fine_case(seed: int) -> WideCase:
    """A wide or further case whose windows of time are long and slide by a unit or two, where none slides by rows."""
    case, rng = (draw_wide_case, draw_further_case)[seed % 2](seed), Random(f"fine {seed}")
    counted = any(s.mixed or (s.window == "rows" and s.slide is not None) for s in case.query.sources)
    step = None if counted else rng.randint(1, 2)
    sources = tuple(
        replace(s, length=s.length * MANY, slide=step if step or s.slide is None else s.slide)
        if s.window == "range" and not s.mixed
        else s
        for s in case.query.sources
    )
    return replace(case, query=replace(case.query, sources=sources))


def check_fine(seed: int) -> int:
    """How many instants were shown."""
    case = draw_fine_case(seed)
    bound = bind(case.text, case.catalog, case.options)
    try:
        got = answers_of(bound, case, Random(seed))
    except UnsupportedError:
        return 0
    problem = difference(expected_of(bound, case), got)
    assert not problem, f"seed {seed}: {problem}\n{case.text}\n{case.options}\n{case.streams}\n{case.tables}"
    return len({t for t, _, _ in got})


@blocks(1, 2)
def test_rows_that_many_instants_see(block: int) -> None:
    instants = [check_fine(seed) for seed in range(block * 15, block * 15 + 15)]
    assert sum(n > 50 for n in instants) >= 1


# --- names like our own -----------------------------------------------------------------------------------------------

RESERVED = {"k": "__ts", "j": "__exp", "i": "__sign", "s": "__w", "x": "__start", "m": "__at", "v": "__h"}
SHOWN = ("ts", "op", "__add", "__x0", "__ts", "__dir", "__row", "__exp", "_ts")


def renamed(case: Case) -> tuple[str, Catalog, dict[str, list[dict[str, Any]]]]:
    """The case's text, catalog and rows under names like our own."""
    text = re.sub(r"\b([a-d])\.([kjisxmv])\b", lambda m: f"{m[1]}.`{RESERVED[m[2]]}`", case.text)
    text = re.sub(r"\bAS c(\d)\b", lambda m: f"AS `{SHOWN[int(m[1])]}`", text)

    def of(schema: Schema) -> Schema:
        return Schema(tuple(Field(RESERVED.get(f.name, f.name), f.type) for f in schema))

    streams = tuple(replace(s, schema=of(s.schema)) for s in case.catalog.streams)
    rows = {n: [{RESERVED.get(c, c): v for c, v in r.items()} for r in given] for n, given in case.streams.items()}
    return text, Catalog(streams), rows


@blocks(1, 2)
def test_columns_may_have_our_names(block: int) -> None:
    """The answers are those under plain names."""
    for seed in range(block * 30, block * 30 + 30):
        case = draw_case(seed)
        text, catalog, rows = renamed(case)
        expected = run(bind(case.text, case.catalog, case.options), case.streams)
        got = answers_of(bind(text, catalog, case.options), _Renamed(**{**vars(case), "streams": rows}), Random(seed))
        assert not (problem := difference(expected, got)), f"seed {seed}: {problem}\n{text}\n{case.options}\n{rows}"


class _Renamed(Case):
    """A case that has its renamed rows."""


# --- restarts ---------------------------------------------------------------------------------------------------------


def asked(bound: BoundQuery) -> Asked:
    return Asked(bound, lambda places, known: with_code(plan_query(bound, places, known)))


def check_restart(seed: int, draw: Callable[[int], Case]) -> bool:
    """Whether the planner takes the query, after checking that other aliases, hints and neighbours change no answer."""
    case, rng = draw(seed), Random(f"restart {seed}")
    bound = bind(case.text, case.catalog, case.options)
    other = re.sub(r"\b([a-d])\b", r"\1\1", case.text)  # aliases have one letter, names of columns others
    later = bind(other, case.catalog, replace(case.options, **rng.choice(({"strategy": "nt"}, {"skew": "split"}, {}))))
    beside = {f"n{i}": _neighbour(case, rng) for i in range(3)}
    named = [{"q": asked(b), **{n: asked(q) for n, q in rng.sample(sorted(beside.items()), k)}} for b, k in
             ((bound, rng.randint(0, 2)), (later, rng.randint(0, 2)))]  # fmt: skip
    try:
        begun = take_up(None, named[0], 0, "1")
        batches = batches_of(case, begun.plans["q"], rng, 6)
        cut = rng.randint(0, len(batches))
        taken = take_up(from_json(to_json(begun.durable)), _shuffled(named[1], rng), cut, "1")
    except UnsupportedError:
        return False
    shards = rng.choice((1, 2, 5))
    old, new = (LocalPipeline(_first(t.plans), shards) for t in (begun, taken))
    tables = [old.push(b) for b in batches[:cut]]
    new.restore({n: s for n, s in old.cells().items() if taken.since.get(n.partition("/")[0], 0) == 0})
    tables += [new.push(b) for b in batches[cut:]] + [new.finish()]
    got = rows_of(new, [t.rename_columns(new.query.result_schema.names) for t in tables])
    problem = difference(expected_of(bound, case), got)
    assert not problem, f"seed {seed}, cut {cut}: {problem}\n{case.text}\n{other}\n{case.options}"
    return True


def _neighbour(case: Case, rng: Random) -> BoundQuery:
    name = rng.choice(list(case.streams))
    shape = rng.choice(("SELECT k, COUNT(*) AS n FROM {} GROUP BY k", "SELECT v FROM {} WHERE v > 1"))
    window = f"{name} [RANGE {rng.randint(2, 9) * case.unit} MICROSECONDS]"
    return bind(shape.format(window), case.catalog)


def _shuffled(named: dict[str, Asked], rng: Random) -> dict[str, Asked]:
    return dict(rng.sample(sorted(named.items(), key=lambda p: p[0]), len(named)))


def _first(plans: dict[str, Any]) -> list[Any]:
    """The plans, that of the query in question first."""
    return [plans["q"], *(p for n, p in plans.items() if n != "q")]


def test_a_neighbour_does_not_make_time_run_on() -> None:
    """8040: at the end of input a query stops after its own last expiry, whatever else runs."""
    assert check_restart(8040, draw_wide_case)


@pytest.mark.parametrize("draw", [draw_case, draw_wide_case])
def test_other_aliases_hints_and_neighbours(draw: Callable[[int], Case]) -> None:
    assert sum(check_restart(seed, draw) for seed in range(8_000, 8_030)) >= 25


# --- sinks that fail --------------------------------------------------------------------------------------------------


def check_failing_sink(seed: int, path: Path) -> int:
    """How many batches ran again, from the version before theirs, after their state had been committed."""
    case, rng = (draw_case, draw_wide_case)[seed % 2](seed), Random(f"sink {seed}")
    bound = bind(case.text, case.catalog, case.options)
    try:
        pipeline = Stored(with_code(plan_query(bound)), shards=rng.choice((1, 2, 5)))
    except UnsupportedError:
        return 0
    store, shown, repeated = PaneStore.open(str(path), "q", 0), [], 0
    for version, batch in enumerate(batches_of(case, pipeline.query, rng, 6)):
        results = pipeline.push(batch)
        pipeline.restart(store, version)
        while version and rng.random() < 0.4:  # the sink refused them: Spark asks for the batch again
            pipeline.restore(store.load(version - 1, list(pipeline.cells())))
            again = pipeline.push(batch)
            assert again.equals(results), f"seed {seed}: batch {version} gave other results\n{case.text}"
            pipeline.restart(store, version)
            repeated += 1
        shown.append(results)
    problem = difference(expected_of(bound, case), rows_of(pipeline, [*shown, pipeline.finish()]))
    assert not problem, f"seed {seed}: {problem}\n{case.text}\n{case.options}"
    return repeated


def test_batches_that_a_sink_refused_run_again(tmp_path: Path) -> None:
    assert sum(check_failing_sink(seed, tmp_path / str(seed)) for seed in range(9_000, 9_030)) > 20


def test_results_keep_the_names_that_were_written() -> None:
    """A column named like ours is shown under its name, and ours under another."""
    case = draw_case(3)
    name, schema = next(iter(case.streams)), case.catalog.streams[0].schema
    stream = replace(case.catalog.streams[0], schema=Schema((*schema.fields, Field("__exp", pa.int64()))))
    bound = bind(f"SELECT `__exp`, k AS ts FROM {name} [NOW]", Catalog((stream,)))
    assert plan_query(bound).result_schema.names[:3] == ("__exp", "ts", "_ts")
