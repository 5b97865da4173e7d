"""Splitting hot keys: the answer is that of a join that does not, and no shard does most of the work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.schema import Field, Schema
from muntin.core.time import SECOND
from muntin.cql import bind
from muntin.dataflow.planner import plan_query
from muntin.dataflow.routes import Split
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions

TS = pa.timestamp("us", "UTC")
FIELDS = Schema((Field("ts", TS), Field("k", pa.int64()), Field("v", pa.int64())))
CATALOG = Catalog((Stream("A", FIELDS, "ts", slack=SECOND), Stream("B", FIELDS, "ts", order=1, slack=SECOND)))
END, SHARDS, HOT = 40 * SECOND, 4, 7
TEXTS = {
    "changes": "SELECT A.k, A.v, B.v AS w FROM A [RANGE 2 SECONDS], B [RANGE 3 SECONDS] WHERE A.k = B.k AND B.v < 40",
    "groups": "SELECT A.k, COUNT(*) AS n FROM A [RANGE 2 SECONDS], B [RANGE 3 SECONDS] WHERE A.k = B.k GROUP BY A.k",
    "slide": "SELECT A.k, SUM(B.v) AS s FROM A [RANGE 4 SECONDS SLIDE 1 SECOND], B [RANGE 2 SECONDS] WHERE A.k = B.k "
    "GROUP BY A.k",
}


def rows(rng: np.random.Generator, n: int, share: float, until: float = 1.0) -> pa.Table:
    """Rows in order of arrival, up to 2 s out of order; ``share`` of them have the hot key, until that part."""
    ts = np.sort(rng.integers(0, END, n)) + rng.integers(-2 * SECOND, 1, n)
    hot = (rng.random(n) < share) & (np.arange(n) < until * n)
    keys = np.where(hot, HOT, rng.integers(0, 300, n))
    return pa.table({"ts": pa.array(ts, TS), "k": keys, "v": rng.integers(0, 100, n)})


def cuts(tables: dict[str, pa.Table], n: int) -> list[dict[str, pa.Table]]:
    return [{k: t.slice(i * len(t) // n, (i + 1) * len(t) // n - i * len(t) // n) for k, t in tables.items()}
            for i in range(n)]  # fmt: skip


def run(
    text: str, skew: str, batches: list[dict[str, pa.Table]], shards: int = SHARDS, meter: Meter | None = None
) -> tuple[pa.Table, LocalPipeline]:
    pipeline = LocalPipeline(plan_query(bind(text, CATALOG, QueryOptions(skew=skew))), shards, meter)
    tables = [pipeline.push(b) for b in batches]
    return pa.concat_tables([*tables, pipeline.finish()]), pipeline


def ordered(table: pa.Table) -> pa.Table:
    return table.sort_by([(n, "ascending") for n in table.schema.names])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", TEXTS)
def test_answers_are_those_without_splitting(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = {"A": rows(rng, 2400, 0.5, until=rng.choice([1.0, 0.5])), "B": rows(rng, 2000, rng.choice([0.0, 0.5]))}
    batches, shards = cuts(tables, int(rng.integers(2, 12))), int(rng.integers(1, 5))
    plain, before = run(TEXTS[name], "keep", batches, shards)
    split, after = run(TEXTS[name], "split", batches, shards)
    assert ordered(split).equals(ordered(plain))
    assert after.late == before.late > 0, "a late row is counted once, however many shards it goes to"


@pytest.mark.parametrize("both", [True, False])
def test_no_shard_makes_most_of_a_hot_key_s_results(both: bool) -> None:
    rng = np.random.default_rng(1)
    tables = {"A": rows(rng, 4000, 0.5), "B": rows(rng, 4000, 0.5 if both else 0.01)}
    shares = {}
    for skew in ("keep", "split"):
        meter = Meter()
        run(TEXTS["changes"].replace(" AND B.v < 40", ""), skew, cuts(tables, 20), meter=meter)
        (join,) = {v for v, _ in meter.made if v in meter.joins}
        made = [n for (v, _), n in meter.made.items() if v == join]
        shares[skew] = max(made) / sum(made)
    assert shares["keep"] > 0.6 and shares["split"] < 0.4, shares


def test_a_key_that_is_no_longer_hot_is_no_longer_spread() -> None:
    rng = np.random.default_rng(2)
    tables = {"A": rows(rng, 6000, 0.6, until=0.4), "B": rows(rng, 6000, 0.6, until=0.4)}
    pipeline = LocalPipeline(plan_query(bind(TEXTS["changes"], CATALOG, QueryOptions(skew="split"))), SHARDS)
    found = []
    for batch in cuts(tables, 12):
        pipeline.push(batch)
        found.append(sum(len(s.heads.get("hot", [])) for states in pipeline.states for s in states.values()))
    assert max(found[:4]) > 0 and found[-1] == 0


def test_three_windows_are_not_split() -> None:
    text = (
        "SELECT A.k FROM A [RANGE 2 SECONDS], B [RANGE 3 SECONDS], A C [RANGE 1 SECOND] WHERE A.k = B.k AND B.k = C.k"
    )
    plan = plan_query(bind(text, CATALOG, QueryOptions(skew="split")))
    assert replace(plan, options=QueryOptions()) == plan_query(bind(text, CATALOG, QueryOptions()))
    assert not any(isinstance(e.route, Split) for v in plan.vertices for e in v.inputs)
