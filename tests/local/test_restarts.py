"""The pane store between any two batches changes nothing: every version is written, dropped from memory and read
back, by other tasks than those that wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from draws import blocks
from generate import Case, draw_case
from generate_further import draw_further_case, draw_repeating_case
from generate_internal import draw_beside_case, draw_internal_case
from generate_wide import draw_wide_case
from stored import Stored
from test_first_rows import draw_first_case
from test_local_matches_wide import batches_of
from user_aggregates import PLAIN, with_code

from muntin.core.errors import UnsupportedError
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.reference import run
from muntin.state.pane_store import PaneStore
from muntin.verify.arrow import from_table
from muntin.verify.compare import bag_difference

DRAWS: tuple[Callable[[int], Case], ...] = (draw_case, draw_wide_case, draw_further_case)


@blocks(1, 6)
def test_answers_survive_a_restart_after_every_batch(block: int, tmp_path: Path) -> None:
    found = Counter(check(seed, tmp_path) for seed in range(5_000 + block * 15, 5_000 + block * 15 + 15))
    assert found["UNSUPPORTED"] <= 2


@pytest.mark.parametrize("kind", ["static", "nrr", "relation"])
def test_tables_survive_too(kind: str, tmp_path: Path) -> None:
    """Cases that read a table of the kind, from both draws that have some."""
    cases = ((seed, DRAWS[seed % 3](seed)) for seed in range(6_000, 6_400) if seed % 3)
    seeds = [s for s, c in cases if any(t.kind == kind for t in c.catalog.tables)]
    assert len(seeds) >= 8
    for seed in seeds[:8]:
        assert check(seed, tmp_path) != "PLAIN"


def test_the_first_rows_of_groups_survive_too(tmp_path: Path) -> None:
    found = Counter(check(seed, tmp_path, draw_first_case) for seed in range(9_000, 9_012))
    assert found["UNSUPPORTED"] == 0


def test_tables_that_repeat_themselves_survive_too(tmp_path: Path) -> None:
    for seed in range(7_000, 7_025):
        check(seed, tmp_path, draw_repeating_case)


@pytest.mark.parametrize("draw", [draw_internal_case, draw_beside_case])
def test_results_over_internal_windows_survive_too(draw: Callable[[int], Case], tmp_path: Path) -> None:
    found = Counter(check(seed, tmp_path, draw) for seed in range(8_000, 8_012))
    assert found["UNSUPPORTED"] == 0


def check(seed: int, path: Path, draw: Callable[[int], Case] | None = None) -> str:
    """WITH TABLES, PLAIN or UNSUPPORTED."""
    case = (draw or DRAWS[seed % 3])(seed)
    bound = bind(case.text, case.catalog, case.options)
    try:
        query = with_code(plan_query(bound))
    except UnsupportedError:
        return "UNSUPPORTED"
    rng = Random(seed)
    pipeline = Stored(query, shards=rng.choice((1, 2, 5)))
    store = PaneStore.open(str(path / str(seed)), "q", 0)
    got = []
    for version, batch in enumerate(batches_of(case, query, rng, 6)):
        got += from_table(pipeline.push(batch), query.schema, query.shows_op)
        pipeline.restart(store, version, rng)
    got += from_table(pipeline.finish(), query.schema, query.shows_op)
    held = getattr(case, "tables", {})
    expected = run(bound, case.streams, tables=held, functions=PLAIN)
    for key in {(t, op) for t, op, _ in [*expected, *got]}:
        mine, theirs = ([r for t, op, r in rows if (t, op) == key] for rows in (got, expected))
        assert not bag_difference(theirs, mine), f"seed {seed} at {key}: {case.text}"
    return "WITH TABLES" if held else "PLAIN"
