"""Sliding aggregates over ``closed`` windows, and over windows on the clock of a zone, read a synopsis with those of
their kind: every query has the answer of its isolated run."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pyarrow as pa
import pytest
from test_shared_aggregates import CATALOG, CONDITIONS, SCHEMA, SLIDES, run, shown, values

from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, from_json, take_up, to_json
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.sharing.rules import shared_graph
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.operators.synopsis import Synopsis
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions

AGGREGATES = (
    ["COUNT(*)", "SUM(v)", "AVG(x)", "MIN(v)", "MAX(x)", "COUNT(DISTINCT name)", "MEDIAN(v)", "FREQUENT(v, 2)"]
    + ["STDDEV(v)", "CORR(v, d)", "APPROX_QUANTILE(v, 0.5)"]
)
CHANGES = {
    "Europe/Berlin": ("2021-03-28", "2021-10-31"),
    "America/Sao_Paulo": ("2018-11-04", "2018-02-18"),  # midnight is skipped, and comes twice
    "Pacific/Apia": ("2011-12-30",),  # a day is skipped
    "Australia/Lord_Howe": ("2021-04-04",),  # by half an hour
    "Africa/Monrovia": ("1972-01-07",),  # from 44 minutes and 30 seconds
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
    assert len(texts) < 12 or any(isinstance(v.op, Synopsis) for v in pipe.graph.vertices)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 60))])
def test_closed_windows_share(seed: int) -> None:
    rng = Random(11_000 + seed)
    texts = [text(rng, (1, 2, 4, 6, 10, 15, 24, 30), SLIDES) for _ in range(rng.choice([6, 12, 20]))]
    granule = rng.choice([1, 1, 250_000, 1_000_000])
    options = QueryOptions(bounds="closed", granule=granule, origin=rng.choice([0, 0, 2_000_000]))
    compared(plan_queries(bind(t, CATALOG, options) for t in texts), feed(rng, -20, 8, 1), rng.choice([1, 3]), texts)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 80))])
def test_windows_in_a_zone_share_over_changes_of_its_clock(seed: int) -> None:
    """Those of days with each other, those of hours, which are of real time, with each other (where the clock is
    changed: those of days that begin at their start, and closed ones of hours, do not)."""
    rng = Random(12_000 + seed)
    zone = list(CHANGES)[seed % len(CHANGES)]
    day = datetime.fromisoformat(rng.choice(CHANGES[zone])).replace(tzinfo=UTC)
    fixed, bounds = zone.startswith("+"), rng.choice(["half_open", "half_open", "closed"])
    bounds = rng.choice([bounds, bounds, "start"])
    days, hours = (86_400, 172_800, 259_200), (3_600, 7_200, 43_200, 90_000)
    lengths = (*(days if fixed or bounds != "start" else ()), *(hours if fixed or bounds != "closed" else ()))
    texts = [text(rng, lengths, STEPS) for _ in range(rng.choice([6, 12]))]
    options = QueryOptions(bounds=bounds, zone=zone, origin=rng.choice([0, 0, 10_800_000_000]))  # type: ignore[arg-type]
    batches = feed(rng, int(day.timestamp()) - 3 * 86_400, 86_400, 1_800)
    compared(plan_queries(bind(t, CATALOG, options) for t in texts), batches, rng.choice([1, 3]), texts)


def test_kinds_do_not_mix_and_what_panes_cannot_tell_stays_apart() -> None:
    """Hours in a zone that changes its clock are of real time, days are not."""
    options = [QueryOptions(), QueryOptions(bounds="closed"), QueryOptions(zone="Europe/Berlin")]
    window = "SELECT k, SUM(v) AS a FROM s [RANGE {r} SLIDE 1 HOUR] GROUP BY k"
    days = [bind(window.format(r=f"{n} DAYS"), CATALOG, o) for o in options for n in (1, 2)]
    assert [len(note.plans) for note in shared_graph(plan_queries(days)).shared] == [2, 2, 2]
    mixed = [bind(window.format(r=r), CATALOG, options[2]) for r in ("1 DAY", "2 HOURS", "2 DAYS", "36 HOURS")]
    assert [note.plans for note in shared_graph(plan_queries(mixed)).shared] == [(0, 2), (1, 3)]
    closed = [bind(window.format(r=f"{n} HOURS"), CATALOG, replace(options[2], bounds="closed")) for n in (2, 3)]
    assert not shared_graph(plan_queries(closed)).shared


def test_hours_in_a_zone_go_on_over_restarts_and_new_ones_begin_with_the_panes_that_tell_them() -> None:
    """Over the end of summer time: a window of two hours begins within panes of one; one of 90 minutes does not."""
    options = QueryOptions(zone="Europe/Berlin")
    window = "SELECT k, SUM(v) AS a FROM s [RANGE {r} MINUTES SLIDE {s} MINUTES] GROUP BY k"
    windows = ((180, 60), (300, 60), (120, 120), (90, 30))
    bound = {r: bind(window.format(r=r, s=s), CATALOG, options) for r, s in windows}
    asked = {str(r): Asked(b, lambda places, known, b=b: plan_query(b, places, known)) for r, b in bound.items()}  # type: ignore[misc]
    end = int(datetime(2021, 10, 31, tzinfo=UTC).timestamp())
    batches, first = feed(Random(4), end - 7_200, 3_600, 600), 3
    before = take_up(None, {n: asked[n] for n in ("180", "300")}, 0, "test")
    pipe = LocalPipeline(list(before.plans.values()), 2)
    for batch in batches[:first]:
        pipe.push_all(batch)
    after = take_up(from_json(json.loads(json.dumps(to_json(before.durable)))), asked, first, "test")
    going = LocalPipeline(list(after.plans.values()), 2)
    going.restore(pipe.cells())
    found = [going.push_all(batch) for batch in batches[first:]]
    rows = dict(zip(after.plans, (shown(pa.concat_tables(parts)) for parts in zip(*found, strict=True)), strict=True))
    for name, b in zip(asked, bound.values(), strict=True):
        assert (rows[name] == alone(b, batches, first)) == (name != "90"), name


def alone(query: BoundQuery, batches: list[dict[str, pa.Table]], first: int) -> list[str]:
    """What a query shows from a batch on that was there from the beginning."""
    pipe = LocalPipeline([plan_query(query)], 1)
    return shown(pa.concat_tables([pipe.push(b) for b in batches][first:]))


@pytest.mark.parametrize(
    ("zone", "made"),
    [
        ("Europe/Berlin", "SUM(v) AS a, MAX(v) AS b"),
        pytest.param(None, "CORR(v, d) AS a, STDDEV(x) AS b", marks=pytest.mark.slow),
    ],
)
def test_hours_in_a_zone_and_sums_of_products_cost_less_together(zone: str | None, made: str) -> None:
    """Counted: partials that a synopsis goes through, and rows that operators of their own do."""
    options = QueryOptions(zone=zone)
    window = f"SELECT k, {made} FROM s [RANGE {{r}} HOURS SLIDE 1 HOUR] GROUP BY k"
    plans = plan_queries(bind(window.format(r=r), CATALOG, options) for r in range(2, 12, 2))
    end = int(datetime(2021, 10, 31, tzinfo=UTC).timestamp())
    rng = Random(5)
    rows = [[(end + 3_600 * n + 9 * i, *values(rng)) for i in range(400)] for n in range(-12, 12)]
    columns = [list(zip(*batch, strict=True)) for batch in rows]
    batches = [
        {"s": pa.table([pa.array(c, f.type) for c, f in zip(own, SCHEMA, strict=True)], names=SCHEMA.names)}
        for own in columns
    ]
    apart = [replace(p, sharing=tuple((v.id, False) for v in p.vertices)) for p in plans]
    assert work(plans, batches) < work(apart, batches) / 2


def work(plans: list[QueryPlan], batches: list[dict[str, pa.Table]]) -> float:
    """Rows of state that are looked at, of what keeps state."""
    meter = Meter()
    pipe = LocalPipeline(plans, meter=meter)
    for batch in batches:
        pipe.push_all(batch)
    return sum(meter.of(v).work for v in pipe.graph.stateful)
