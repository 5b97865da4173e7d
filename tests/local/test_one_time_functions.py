"""One-time queries that call users' functions, and that ask running queries which do: no checkpoint has their code."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from test_history import SHOWN, catalog, data, snapshot
from test_one_time import Fixed, rounded

from muntin import function
from muntin.core.errors import QueryError, UnsupportedError
from muntin.cql.binder import bind
from muntin.cql.user_functions import with_functions
from muntin.dataflow.durable import Asked, DurablePlan, from_json, take_up, to_json
from muntin.dataflow.planner import plan_query
from muntin.local.one_time import OneTimeAnswer, one_time
from muntin.local.runtime import LocalPipeline
from muntin.plan.user_functions import ScalarFunction


@function(returns="DOUBLE", arguments=["DOUBLE"])
def halved(x: pa.Array) -> pa.Array:
    return pc.divide(x, 2.0)


NEWER = function(lambda x: pc.divide(x, 3.0), name="halved", returns="DOUBLE", arguments=["DOUBLE"], version="2")
SUMS = "SELECT k, halved(SUM(v)) AS s FROM A [RANGE 9 SECONDS] GROUP BY k"
ROWS = "SELECT k, j, v, halved(v) AS w FROM A [RANGE 40 SECONDS] WHERE halved(v) > 0.1"


class Asking:
    """A query at work, which another process asks that has these functions."""

    def __init__(self, running: str, batches: int = 9) -> None:
        bound = bind(running, with_functions(catalog(), [halved]))
        asked = {"q": Asked(bound, lambda places, known: plan_query(bound, places, known))}
        taken = take_up(None, asked, 0, "1")
        self.plan: DurablePlan = from_json(to_json(taken.durable))
        self.pipeline, self.batches = LocalPipeline(list(taken.plans.values()), 2), data(5)[:batches]
        for batch in self.batches:
            self.pipeline.push_all(batch)

    def ask(self, text: str, *functions: ScalarFunction) -> OneTimeAnswer:
        held = Fixed(snapshot(self.pipeline, len(self.batches) - 1))
        return one_time(text, self.plan, held, functions=functions)

    def live(self, at: int, seconds: int) -> list[dict[str, Any]]:
        rows = pa.concat_tables(b["A"] for b in self.batches).to_pylist()
        return [r for r in rows if at - seconds * 1_000_000 < r["ts"] * 1_000_000 <= at]


def bag(found: OneTimeAnswer) -> Counter[Any]:
    return Counter(rounded(r.values()) for r in found.rows.to_pylist())


def test_the_query_calls_one() -> None:
    run = Asking(SHOWN)
    text = "SELECT k, halved(v) AS h FROM A [RANGE 20 SECONDS] WHERE halved(v) > 0.4"
    found = run.ask(text, halved)
    kept = [r for r in run.live(found.at, 20) if r["v"] is not None and r["v"] / 2 > 0.4]
    assert bag(found) == Counter(rounded((r["k"], r["v"] / 2)) for r in kept) and kept
    with pytest.raises((QueryError, UnsupportedError), match=r"no function halved here.*session\.function"):
        run.ask(text)


def test_a_running_query_calls_one_over_its_groups() -> None:
    run = Asking(SUMS)
    found = run.ask("SELECT k, s FROM q", halved)
    sums: dict[Any, Any] = {}
    for r in run.live(found.at, 9):
        before = sums.setdefault(r["k"], None)
        sums[r["k"]] = before if r["v"] is None else (before or 0.0) + r["v"] / 2
    assert bag(found) == Counter(rounded(item) for item in sums.items()) and len(sums) > 2
    with pytest.raises(UnsupportedError, match=r"code of function halved \(version 1\).*session\.function, or --job"):
        run.ask("SELECT k, s FROM q")
    with pytest.raises(UnsupportedError, match=r"code of function halved \(version 1\)"):
        run.ask("SELECT k, s FROM q", NEWER)


def test_what_was_computed_before_it_was_kept_needs_no_code() -> None:
    run = Asking(ROWS)
    found = run.ask("SELECT k, w FROM q")
    kept = [r for r in run.live(found.at, 40) if r["v"] is not None and r["v"] / 2 > 0.1]
    assert bag(found) == Counter(rounded((r["k"], r["v"] / 2)) for r in kept) and kept


def test_rows_that_passed_a_condition_with_one() -> None:
    run = Asking(ROWS)
    found = run.ask("SELECT COUNT(*) AS n FROM A [RANGE 20 SECONDS] WHERE halved(v) > 0.1 AND j = 2", halved)
    kept = [r for r in run.live(found.at, 20) if r["v"] is not None and r["v"] / 2 > 0.1 and r["j"] == 2]
    assert bag(found) == Counter([(len(kept),)])
    with pytest.raises(UnsupportedError, match="the condition that its rows passed"):
        run.ask("SELECT COUNT(*) AS n FROM A [RANGE 20 SECONDS] WHERE halved(v) > 0.1 AND j = 2", NEWER)
