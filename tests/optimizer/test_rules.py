"""Every rule's golden script: the plans are as written, and both sides give the same answers at every instant."""

from __future__ import annotations

import os
from random import Random

import pytest
from draws import seeds
from optimizer_golden import SCRIPTS, RuleCase, cases_of, draw_data, rewrite, with_root
from test_local_matches import difference
from test_local_matches_wide import feeds

from muntin.core.errors import UnsupportedError
from muntin.dataflow.planner import plan_as_written
from muntin.local.runtime import LocalPipeline
from muntin.optimizer.rules import RULES
from muntin.plan.nodes import BoundQuery
from muntin.reference import ResultRow, run
from muntin.verify.arrow import from_table, to_table

if os.environ.get("MUNTIN_GOLDEN") == "write":
    for script in sorted(SCRIPTS.glob("*.cql")):
        rewrite(script)

ALL = [pytest.param(c, id=f"{p.stem}-{c.title}") for p in sorted(SCRIPTS.glob("*.cql")) for c in cases_of(p)]


def on_local(query: BoundQuery, seed: int) -> list[ResultRow] | None:
    """The plan as it stands on the local runtime, over random cuts and shards; None if it cannot run."""
    rng = Random(seed)
    case = draw_data(seed, query)
    try:
        physical = plan_as_written(query)
    except UnsupportedError:
        return None
    pipeline = LocalPipeline(physical, shards=rng.choice((1, 3)))
    known = {s.name: s for s in physical.streams}
    tables = {n: rows for n, rows in feeds(case).items() if n in known}
    batches = case.cuts(rng, 3)
    batches[0] |= tables
    results = [pipeline.push({n: to_table(known[n], rows) for n, rows in b.items() if n in known}) for b in batches]
    results.append(pipeline.finish())
    return [r for t in results for r in from_table(t, query.root.schema, physical.shows_op)]


def test_every_rule_has_a_script() -> None:
    assert {p.stem for p in SCRIPTS.glob("*.cql")} == {r.name for r in RULES}
    for path in SCRIPTS.glob("*.cql"):
        titles = [c.title for c in cases_of(path)]
        assert len(set(titles)) == len(titles)
        assert any(not c.expected.startswith("unchanged") for c in cases_of(path)), f"{path.stem} never fires"


@pytest.mark.parametrize("case", ALL)
def test_plan(case: RuleCase) -> None:
    assert case.outcome() == case.expected


@pytest.mark.parametrize("case", ALL)
@seeds(2, 4)
def test_both_sides_agree(case: RuleCase, seeds: range) -> None:
    query = case.bound
    plans = dict.fromkeys((query.root, *(case.sides() or ()), case.optimized().query.root))
    for seed in seeds:
        data = draw_data(seed, query)
        expected = run(query, data.streams, None, data.tables)
        for root in plans:
            plan = with_root(query, root)
            assert not difference(expected, run(plan, data.streams, None, data.tables)), f"seed {seed}\n{root}"
            got = on_local(plan, seed)
            if got is not None:
                assert not difference(expected, got), f"seed {seed} on the local runtime\n{root}"
