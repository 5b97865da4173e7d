"""However a join of several inputs is laid out and in whatever order it visits its windows, the answer is the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from test_multiway_joins import check

from muntin.dataflow.lowering import join_layout
from muntin.operators.joins import join_statistics
from muntin.operators.joins.order import Orders

FEW, MANY = 1, 10**9
"""Shards that a broadcast row is taken to go to: with few broadcasting is always cheaper, with many never."""


def shuffled(rng: Random) -> Any:
    """Stands in for ``revised``: other orders in every step."""

    def orders(op: Any, estimates: Any, now: Any, once: bool = False) -> tuple[Orders, tuple[()]]:
        n = len(estimates.sizes)
        found = [[j for j in range(n) if j != i] for i in range(n)]
        for order in found:
            rng.shuffle(order)
        return Orders(tuple(map(tuple, found)), (0,) * n), ()

    return orders


@pytest.mark.parametrize(("shards", "first"), [(FEW, 20_200), (MANY, 20_100)])
def test_every_layout_and_order_gives_the_answer(
    shards: int, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join_layout, "SHARDS", shards)
    monkeypatch.setattr(join_statistics, "revised", shuffled(Random(first)))
    found = Counter(check(seed, tmp_path, duckdb=False) for seed in range(first, first + 25))
    assert found["PASS"] > 10


def test_relayed_stages_are_among_the_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would show little if no drawn query could be relayed."""
    from generate_joins import draw_join_case

    from muntin.cql.binder import bind
    from muntin.dataflow.planner import plan_as_written
    from muntin.operators.joins.join_graph import GraphJoin

    monkeypatch.setattr(join_layout, "SHARDS", MANY)
    plans = []
    for case in map(draw_join_case, range(20_100, 20_160)):
        plan = plan_as_written(bind(case.text, case.catalog, case.options))
        plans.append([v.op for v in plan.vertices if isinstance(v.op, GraphJoin)])
    assert sum(any(op.passing for op in ops) for ops in plans) >= 5
    assert sum(any(op.bands for op in ops) for ops in plans) >= 3
