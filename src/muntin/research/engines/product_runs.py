"""The product's own operators on a figure's query, under its own strategies, counted by the product's meter.

Each strategy takes the trace in batches of 5 % of the window (the thesis' interval of lazy expiry); what comes after
the windows have filled is counted. ``auto`` is told what the state of a run has measured (``dataflow.measured``), as a
query that joins a running pipeline is. What it takes when told the rates of the streams alone, as by ``rate=`` of a
registration, stands beside it (``unmeasured``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pyarrow as pa

from muntin.core.errors import UnsupportedError
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.dataflow.measured import kept_of, measured
from muntin.dataflow.planner import plan_query
from muntin.engine.clocks import CLOCKS
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.optimizer import optimize
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Catalog
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions
from muntin.research.engines.workload import Ints, Trace
from muntin.research.harness import Check
from muntin.research.product import catalog

STRATEGIES = ("upa", "nt", "direct")
MARGIN = 1.10
"""How far the own choice may stay behind the better of nt and direct."""
BATCHES = 20
"""To a window."""


@dataclass(frozen=True)
class Totals:
    """Over all vertices; ``stored``: rows held, on average over the batches."""

    work: int
    rows_in: int
    rows_out: int
    negative: int
    looked: int
    stored: float


@dataclass(frozen=True)
class Counted:
    """A strategy's run. ``rows``: of the answer at each instant of the trace; ``measured``: what its state says of the
    data at the end."""

    totals: Totals
    changes: pa.Table
    rows: Ints
    measured: Statistics = field(default_factory=Statistics)


Runs = dict[str, Counted]
"""By strategy; one that the product refuses for the query is missing."""


@dataclass(frozen=True)
class ProductPoint:
    """All strategies at one window. ``estimates``: what the optimizer expects of each, in operations a second, given
    what was measured; ``unmeasured``: given the rates alone. One that the product refuses has none."""

    window: int
    runs: Runs
    estimates: dict[str, float]
    unmeasured: dict[str, float]

    def work(self, strategy: str) -> float:
        return float(self.runs[strategy].totals.work)

    def behind(self, estimates: Mapping[str, float], rivals: Sequence[str] = ("nt", "direct")) -> float:
        """The work of the strategy with the lowest estimate over that of the best of the ``rivals``."""
        return self.work(chosen(estimates)) / min(self.work(s) for s in rivals if s in self.runs)


def chosen(estimates: Mapping[str, float]) -> str:
    """What ``strategy="auto"`` takes."""
    return min(estimates, key=lambda s: (estimates[s], STRATEGIES.index(s)))


def streams_of(trace: Trace) -> Catalog:
    """The links, each with the rate that it has in the trace."""
    names = {f"s{i}": "source pair protocol" for i in range(int(trace.link.max()) + 1)}
    span = int(trace.ts[-1] - trace.ts[0]) or 1
    known = catalog(**names).streams
    return Catalog(tuple(replace(s, rate=float((trace.link == i).sum()) / span) for i, s in enumerate(known)))


def run_point(text: str, trace: Trace, window: int) -> ProductPoint:
    """Every strategy over the trace."""
    runs: Runs = {}
    plain = bind(text.format(window), streams_of(trace), QueryOptions(granule=SECOND))
    for strategy in STRATEGIES:
        query = replace(plain, options=replace(plain.options, strategy=strategy))
        try:
            runs[strategy] = _run(query, trace, window)
        except UnsupportedError:
            continue
    known = runs["upa"].measured
    return ProductPoint(window, runs, _estimates(plain, runs, known), _estimates(plain, runs, Statistics()))


def _estimates(query: BoundQuery, runs: Runs, known: Statistics) -> dict[str, float]:
    """Of the plan under each strategy, as ``auto`` compares them."""
    each = {s: replace(query, options=replace(query.options, strategy=s)) for s in runs}
    return {s: optimize(q, known).cost for s, q in each.items()}


def _run(query: BoundQuery, trace: Trace, window: int) -> Counted:
    meter, plan = Meter(), plan_query(query)
    pipeline = LocalPipeline(plan, 1, meter)
    full, step, end = int(trace.ts[0]) + window, max(1, window // BATCHES), int(trace.ts[-1])
    tables, before, held = [], Totals(0, 0, 0, 0, 0, 0.0), []
    for low in range(int(trace.ts[0]), end + 1, step):
        if low - step < full <= low:
            before = _totals(meter, [0])
        tables.append(pipeline.push(_batch(trace, low, low + step)))
        tables.append(pipeline.heartbeat((min(low + step, end + 1)) * SECOND))
        if low >= full:
            held.append(sum(c.state for c in meter.counters.values()))
    after = _totals(meter, held or [0])
    spent = Totals(*(a - b for a, b in zip(asdict(after).values(), asdict(before).values(), strict=True)))
    changes = pa.concat_tables(tables)
    rows = _answer_rows(changes, len(plan.schema), trace.ts)
    cells = pipeline.cells()
    known = measured([plan], kept_of(cells), cells[f"{CLOCKS}/0"].heads["clocks"])
    return Counted(spent, changes, rows, known)


def _totals(meter: Meter, held: Sequence[int]) -> Totals:
    each = meter.counters.values()
    work, rows_in, rows_out, negative, looked = (
        sum(getattr(c, n) for c in each) for n in ("work", "rows_in", "rows_out", "negative", "looked")
    )
    return Totals(work, rows_in, rows_out, negative, looked, float(np.mean(held)))


def _batch(trace: Trace, low: int, high: int) -> dict[str, pa.Table]:
    first, last = np.searchsorted(trace.ts, [low, high])
    found = {}
    for i in range(int(trace.link.max()) + 1):
        here = np.flatnonzero(trace.link[first:last] == i) + first
        columns = {n: getattr(trace, n)[here] for n in ("ts", "source", "pair", "protocol")}
        found[f"s{i}"] = pa.table(columns)
    return found


def _answer_rows(changes: pa.Table, width: int, ts: Ints) -> Ints:
    """How many rows the answer has at each instant of the trace."""
    at = changes.column(width).cast(pa.int64()).to_numpy() // SECOND
    sign = np.where(changes.column(width + 1).to_numpy(zero_copy_only=False) == "+", 1, -1)
    alive = np.concatenate([[0], np.cumsum(sign[np.argsort(at, kind="stable")])])
    return alive[np.searchsorted(np.sort(at), np.unique(ts), side="right")]


def equal_strategies(points: Sequence[ProductPoint], expected: Sequence[Ints] | None = None) -> Check:
    """All strategies show the same changes, and at every instant as many rows as the thesis' engines (``expected``: by
    point)."""
    worse = [p.window for p in points if not _alike([c.changes for c in p.runs.values()])]
    counts = [] if expected is None else list(zip(points, expected, strict=True))
    worse += [p.window for p, e in counts if any(not np.array_equal(c.rows, e) for c in p.runs.values())]
    alike = f"product: {', '.join(points[0].runs)} alike"
    found = alike if not worse else f"product: answers differ at windows {worse}"
    return Check("the product gives one answer under all its strategies, the engines' answer", found, not worse)


def _alike(tables: Sequence[pa.Table]) -> bool:
    order = [(n, "ascending") for n in tables[0].column_names]
    first, *others = (t.sort_by(order).combine_chunks() for t in tables)
    return all(first.equals(t) for t in others)


def own_choice(points: Sequence[ProductPoint]) -> Check:
    """The product's ``auto``, given what a run has measured, is at most 10 % behind the better of its nt and direct at
    every window, in the work that the meter counts: the project's own promise, so there is no reason to miss it."""
    worst = max(points, key=lambda p: p.behind(p.estimates))
    beside = max(p.behind(p.estimates, STRATEGIES) for p in points)
    return Check(
        "the product's own choice / better of its nt and direct <= 1.10 in counted work at every window",
        f"product's own choice {worst.behind(worst.estimates):.2f} (window {worst.window}: {chosen(worst.estimates)}), "
        f"at most {beside:.2f} of the best of all",
        worst.behind(worst.estimates) <= MARGIN,
    )


def unmeasured_note(points: Sequence[ProductPoint]) -> str:
    """How ``auto`` fares in a first query, which is told the rates of its streams alone."""
    worst = max(points, key=lambda p: p.behind(p.unmeasured))
    return (
        f"told rates alone, as a first query is, its own choice is {worst.behind(worst.unmeasured):.2f} of the "
        f"better of its nt and direct (window {worst.window}: {chosen(worst.unmeasured)}); it takes 1,000 values a "
        "column and batches of a second for granted"
    )


def figures(points: Sequence[ProductPoint]) -> dict[str, object]:
    """What the meter counted, for the JSON record."""
    return {
        f"product, window {p.window}": {s: asdict(c.totals) | {"expected": p.estimates[s]} for s, c in p.runs.items()}
        | {"auto": chosen(p.estimates), "auto, told rates alone": chosen(p.unmeasured)}
        for p in points
    }
