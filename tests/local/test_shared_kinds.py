"""Sliding aggregates over ``closed`` windows, and over windows on the clock of a zone, read a synopsis with those of
their kind: every query has the answer of its isolated run."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pyarrow as pa
import pytest
from test_shared_aggregates import CATALOG, CONDITIONS, SCHEMA, SLIDES, run, values

from muntin.cql.binder import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_queries
from muntin.dataflow.sharing.rules import shared_graph
from muntin.operators.synopsis import Synopsis
from muntin.plan.windows import QueryOptions

AGGREGATES = ("COUNT(*)", "SUM(v)", "AVG(x)", "MIN(v)", "MAX(x)", "COUNT(DISTINCT name)", "MEDIAN(v)", "FREQUENT(v, 2)")
CHANGES = {
    "Europe/Berlin": ("2021-03-28", "2021-10-31"),
    "America/Sao_Paulo": ("2018-11-04", "2018-02-18"),  # midnight is skipped, and comes twice
    "Pacific/Apia": ("2011-12-30",),  # a day is skipped
    "Australia/Lord_Howe": ("2021-04-04",),  # by half an hour
    "+05:30": ("2021-03-28",),
}
STEPS = (3_600, 7_200, 21_600, 43_200, 86_400, 172_800)


def text(rng: Random, lengths: tuple[int, ...], slides: tuple[int, ...]) -> str:
    made = rng.sample(AGGREGATES, rng.randint(1, 2))
    groups = rng.choice(["", "k", "k"])
    columns = ", ".join([*(f"{a} AS a{i}" for i, a in enumerate(made)), *([groups] if groups else [])])
    where = " AND ".join(c.format(c=rng.randint(0, 4)) for c in rng.sample(CONDITIONS, rng.choice([0, 0, 1])))
    query = f"SELECT {columns} FROM s [RANGE {rng.choice(lengths)} SECONDS SLIDE {rng.choice(slides)} SECONDS]"
    return query + (f" WHERE {where}" if where else "") + (f" GROUP BY {groups}" if groups else "")


def feed(rng: Random, low: int, span: int, step: int, batches: int = 8) -> list[dict[str, pa.Table]]:
    """Rows at multiples of ``step`` seconds, mostly; time moves on by up to ``span`` a batch."""
    found = []
    for _ in range(batches):
        times = [low + step * rng.randint(0, span // step) for _ in range(rng.choice([0, 9, 40]))]
        rows = [(t + rng.choice([0, 0, 1]), *values(rng)) for t in times]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA.names)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        found.append({"s": pa.table(arrays, names=SCHEMA.names)})
        low += rng.choice([span // 2, span])
    return found


def compared(plans: list[QueryPlan], batches: list[dict[str, pa.Table]], shards: int, texts: list[str]) -> None:
    pipe, together = run(plans, batches, shards)
    for query, plan, rows in zip(texts, plans, together, strict=True):
        assert rows == run([plan], batches, shards)[1][0], query
    assert any(isinstance(v.op, Synopsis) for v in pipe.graph.vertices)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 60))])
def test_closed_windows_share(seed: int) -> None:
    rng = Random(11_000 + seed)
    texts = [text(rng, (1, 2, 4, 6, 10, 15, 24, 30), SLIDES) for _ in range(rng.choice([6, 12, 20]))]
    granule = rng.choice([1, 1, 250_000, 1_000_000])
    options = QueryOptions(bounds="closed", granule=granule, origin=rng.choice([0, 0, 2_000_000]))
    compared(plan_queries(bind(t, CATALOG, options) for t in texts), feed(rng, -20, 8, 1), rng.choice([1, 3]), texts)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 80))])
def test_windows_of_days_in_a_zone_share_over_changes_of_its_clock(seed: int) -> None:
    rng = Random(12_000 + seed)
    zone = list(CHANGES)[seed % len(CHANGES)]
    day = datetime.fromisoformat(rng.choice(CHANGES[zone])).replace(tzinfo=UTC)
    fixed, bounds = zone.startswith("+"), rng.choice(["half_open", "half_open", "closed"])
    bounds = rng.choice([bounds, "start"]) if fixed else bounds
    lengths = (86_400, 172_800, 259_200, *((3_600, 43_200) if fixed else ()))
    texts = [text(rng, lengths, STEPS) for _ in range(rng.choice([6, 12]))]
    options = QueryOptions(bounds=bounds, zone=zone, origin=rng.choice([0, 0, 10_800_000_000]))  # type: ignore[arg-type]
    batches = feed(rng, int(day.timestamp()) - 3 * 86_400, 86_400, 1_800)
    compared(plan_queries(bind(t, CATALOG, options) for t in texts), batches, rng.choice([1, 3]), texts)


def test_kinds_do_not_mix_and_what_panes_cannot_tell_stays_apart() -> None:
    """Hours in a zone that changes its clock are of real time, its instants are not."""
    options = [QueryOptions(), QueryOptions(bounds="closed"), QueryOptions(zone="Europe/Berlin")]
    window = "SELECT k, SUM(v) AS a FROM s [RANGE {r} SLIDE 1 HOUR] GROUP BY k"
    days = [bind(window.format(r=f"{n} DAYS"), CATALOG, o) for o in options for n in (1, 2)]
    assert [len(note.plans) for note in shared_graph(plan_queries(days)).shared] == [2, 2, 2]
    hours = [bind(window.format(r=f"{n} HOURS"), CATALOG, options[2]) for n in (2, 3)]
    assert not shared_graph(plan_queries(hours)).shared
