"""What a pipeline's state says of its data reaches the plans of new queries, and of no others."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from test_durable import JOIN3, SECOND, asked, catalog, continued

from muntin.core.watermark import Header, SourceClock
from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, from_json, take_up, to_json
from muntin.dataflow.measured import kept_of, measured
from muntin.engine.clocks import CLOCKS
from muntin.local.runtime import LocalPipeline
from muntin.optimizer.statistics import Statistics
from muntin.plan.windows import QueryOptions

TEXTS = {
    "groups": "SELECT j, COUNT(*) AS n FROM B [RANGE 60 SECONDS] GROUP BY j",
    "values": "SELECT DISTINCT v FROM A [RANGE 60 SECONDS]",
    "some": "SELECT DISTINCT j FROM A [RANGE 60 SECONDS] WHERE v > 10",
    "join": JOIN3,
}


def query(text: str, strategy: str = "upa") -> Asked:
    return asked(bind(text, catalog(), QueryOptions(strategy=strategy)))


def run(shards: int = 3) -> tuple[LocalPipeline, Statistics]:
    """Streams with 4, 2 and 1 rows a second in batches of 10 seconds, k, j and v of 5, 7 and 100 values."""
    taken = take_up(None, {n: query(t) for n, t in TEXTS.items()}, 0, "1")
    pipeline = LocalPipeline(list(taken.plans.values()), shards)
    for low in range(0, 120, 10):
        batch = {}
        for name, rate in zip("ABC", (4, 2, 1), strict=True):
            ts = [low + i // rate for i in range(10 * rate)]
            at = [low * rate + i for i in range(10 * rate)]
            columns = {"k": [i % 5 for i in at], "j": [i % 7 for i in at], "v": [i % 100 for i in at]}
            batch[name] = pa.table({"ts": ts, **columns})
        pipeline.push_all(batch)
    cells = pipeline.cells()
    return pipeline, measured(taken.plans.values(), kept_of(cells), cells[f"{CLOCKS}/0"].heads["clocks"])


def test_rates_and_values_are_those_of_the_streams() -> None:
    _, found = run()
    assert {n: pytest.approx(r, rel=0.12) for n, r in found.rates.items()} == {"a": 4, "b": 2, "c": 1}
    assert found.step == pytest.approx(10, rel=0.1)
    assert found.values("b", "j") == 7 and found.values("a", "v") == pytest.approx(100, rel=0.05)
    assert found.values("a", "k") == pytest.approx(5, abs=1), "from the join's sketches"
    assert ("a", "j") not in found.distinct, "of a selection nothing is said of all rows"


def test_a_new_query_is_planned_by_them_and_a_known_one_goes_on_as_it_was() -> None:
    pipeline, found = run()
    begun = take_up(None, {n: query(t) for n, t in TEXTS.items()}, 0, "1").durable
    before = from_json(json.loads(json.dumps(to_json(begun))))
    few = Statistics(found.rates, distinct=found.distinct | {("c", "v"): 20.0}, step=60.0)
    many = Statistics(found.rates, distinct=found.distinct | {("c", "v"): 5_000.0}, step=60.0)
    text = "SELECT DISTINCT v FROM C [RANGE 1 HOUR]"
    plans = {}
    for name, known in (("few", few), ("many", many)):
        now = {n: query(t) for n, t in TEXTS.items()} | {"new": query(text, "auto")}
        taken = take_up(before, now, 5, "1", known=known)
        assert not taken.notes.keys() - {"new"}
        continued(pipeline, taken)
        assert taken.durable.queries["new"].known == known.to_json() and taken.durable.queries["groups"].known == {}
        assert taken.durable.queries["new"].since == 5 and taken.durable.queries["groups"].since == 0
        again = take_up(taken.durable, now, 9, "1", known=Statistics())  # what is known by then does not matter
        assert again.plans["new"].id == taken.plans["new"].id and not again.notes
        assert again.durable.queries["new"].since == 5
        plans[name] = taken.plans["new"]
    assert plans["few"].options.strategy == "upa" and plans["many"].options.strategy == "nt"
    assert plans["few"].id != plans["many"].id


def test_begun_says_from_when_on_results_are_those_of_all_that_was_read() -> None:
    first = take_up(None, {"one": query(TEXTS["groups"])}, 0, "1")
    assert first.begun == {"one": 0}
    second = take_up(first.durable, {"one": query(TEXTS["groups"]), "two": query(TEXTS["values"])}, 4, "1")
    assert second.begun == {"one": 0, "two": 4}
    same = take_up(second.durable, {"three": query(TEXTS["values"])}, 6, "1")
    assert same.begun == {"three": 4}, "it reads a window that was there before it"


def test_a_clock_measures_rate_and_step_also_where_time_stands_for_a_while() -> None:
    clock = SourceClock()
    for top, rows in ((10, 20), (10, 5), (20, 15)):
        clock = clock.advance([Header(0, 0, rows, 0 if top == 10 else 11 * SECOND, top * SECOND, top * SECOND)], 0)
    assert clock.rate == pytest.approx(0.7 * 2 + 0.3 * 2) and clock.step == 10 and clock.waiting == 0
    old = {k: v for k, v in clock.to_json().items() if k not in ("rate", "step", "waiting")}
    assert SourceClock(**old).rate == 0, "clocks of an earlier release are read"
