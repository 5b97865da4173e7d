"""Many standing queries over the same streams, beside one: time, CPU and state of 1, 10, 100 and 1,000 of them.

Runs the engine in process: what is asked is what a query more costs, not what Spark's batches do. Every count of
queries is fed the same rows in the same batches; the first query is the same for all, and what it costs alone is what
they are compared with. A share of the queries is also run alone, and has to give the same rows. Spark and Flink run ten
of them beside it, and Muntin on Spark all (``bench.many_others``, ``bench.many_joins``).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from muntin.bench.data import rows
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_queries
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream

Say = Callable[[str], None]


@dataclass(frozen=True)
class Many:
    """A case: ``texts(n)`` are n queries over the streams A, B, ... (``streams`` of them), the first of which is the
    one that others are compared with; ``counts`` of queries; ``limits``: by count the most that they may cost, in
    CPU time of one; ``total`` rows a stream in batches of ``size``; ``dropped``: results are counted and dropped."""

    name: str
    texts: Callable[[int], list[str]]
    streams: int
    counts: tuple[int, ...]
    limits: dict[int, float]
    total: int
    size: int
    dropped: bool = False
    check: tuple[int, int, int] = (24, 150_000, 50_000)
    """Queries of a count that are also run alone, over so many rows in batches of so many."""


@dataclass(frozen=True)
class ManyRecord:
    """``seconds``: CPU time of Muntin, which runs in process, of others by the clock; ``relative``: to those of one
    query; ``state_bytes``: held at the end (0: not known); ``answers_equal``: whether queries that also ran alone had
    the same rows (of other engines: whether theirs are Muntin's); ``wall``: seconds by the clock."""

    case: str
    queries: int
    engine: str
    seconds: float
    relative: float
    state_bytes: int
    answers_equal: bool
    rows: int
    results: int
    wall: float


FUNCTIONS = ("SUM(v)", "COUNT(*)", "AVG(v)", "MAX(v)", "MIN(v)")
SLIDES = (10, 20, 30, 60, 120)

ONE = "SELECT k, SUM(v) AS a FROM A [RANGE 600 SECONDS SLIDE 10 SECONDS] GROUP BY k"
"""The longest window, over all keys."""


@dataclass(frozen=True)
class Shape:
    """An aggregate by key: ``function`` over windows of ``length`` seconds every ``slide``, of the rows ``where``."""

    function: str
    length: int
    slide: int
    where: str

    @property
    def text(self) -> str:
        """The query."""
        window = f"RANGE {self.length} SECONDS SLIDE {self.slide} SECONDS"
        return f"SELECT k, {self.function} AS a FROM A [{window}] WHERE {self.where} GROUP BY k"


def aggregate(number: int) -> str:
    """A query; the first has the longest window, over all keys."""
    return ONE if number == 0 else shape(number).text


def shape(number: int) -> Shape:
    """A sliding aggregate; each has another predicate, most another window and slide. Windows of 10 seconds to 10
    minutes; predicates are comparisons, ranges, lists and disjunctions over the key, and one value."""
    if number == 0:
        return Shape("SUM(v)", 600, 10, "k >= 0")
    low = number * 37 % 990
    where = (
        f"k BETWEEN {low} AND {low + 9}",
        f"k = {low} OR k = {(number * 13 + 3) % 1000}",
        f"k >= {low} AND k < {low + 7} AND v >= 50",
        f"k IN ({low}, {number * 17 % 1000}, {number * 29 % 1000})",
    )[number % 4]
    return Shape(FUNCTIONS[number % 5], 10 * (1 + number * 7 % 60), SLIDES[number // 4 % 5], where)


AGGREGATES = Many(
    "aggregates",
    lambda n: [aggregate(i) for i in range(n)],
    streams=1,
    counts=(1, 10, 100, 1_000),
    limits={100: 2.0, 1_000: 5.0},
    total=2_000_000,
    size=500_000,
)


def join(number: int, count: int) -> str:
    """One of so many joins with windows of parts of ten seconds, the longest first; results in order of their rows."""
    window = f"RANGE {10_000 * (count - number) // count} MILLISECONDS"
    return f"Istream(SELECT A.k, A.v, B.v AS w, A.ts AS a, B.ts AS b FROM A [{window}], B [{window}] WHERE A.k = B.k)"


JOINS = Many(
    "joins",
    lambda n: [join(i, n) for i in range(n)],
    streams=2,
    counts=(1, 10, 100),
    limits={10: 1.5, 100: 3.0},
    total=300_000,
    size=50_000,
    dropped=True,
    check=(8, 15_000, 5_000),
)

RUNS = 6
"""Times that every count is run, one after another; of each the one with the least CPU time counts."""

CASES: tuple[Many, ...] = (AGGREGATES, JOINS)
"""In the order in which they are run."""

MOST_STATE = {100: 2.0}
"""By count of aggregates the most state, in that of the longest window alone."""


def run(cases: Sequence[Many] = CASES, say: Say = print) -> list[ManyRecord]:
    """Measure every case at every count."""
    return [record for case in cases for record in measured(case, say)]


def measured(case: Many, say: Say) -> list[ManyRecord]:
    """One case; kernels are compiled before it is timed. Counts take turns: the machine is at times faster and at times
    slower for minutes, and what is compared is to be of the same time."""
    _fed(plans_of(case, 10), case, case.size, case.size)
    plans = {count: plans_of(case, count) for count in case.counts}
    runs = [{c: _fed(own, case, case.total, case.size) for c, own in plans.items()} for _ in range(RUNS)]
    found: list[ManyRecord] = []
    for count in case.counts:
        equal = answers_equal(plans[count], case)
        cpu, wall, results, state = min(r[count] for r in runs)
        one = found[0].seconds if found else cpu
        given = case.total * case.streams
        record = ManyRecord(
            case.name, count, "muntin", round(cpu, 3), round(cpu / one, 2), state, equal, given, results, round(wall, 3)
        )
        more = "" if not found or not found[0].state_bytes else f", {state / found[0].state_bytes:.2f} x the state"
        say(
            f"{case.name}, {count} queries: {given / wall:,.0f} rows/s, {cpu:.2f} s CPU, {record.relative} x one, "
            f"{results:,} results, {state:,} bytes of state{more}, answers {'equal' if equal else 'DIFFER'}"
        )
        found.append(record)
    return found


def plans_of(case: Many, count: int) -> list[QueryPlan]:
    """The queries of a case, planned."""
    schema = Schema.of(**{f.name: f.type for f in rows(0, 1, 0).schema})
    names = "ABCDEFGH"[: case.streams]
    streams = tuple(Stream(n, schema, "ts", slack=1_000_000, order=i) for i, n in enumerate(names))
    return plan_queries(bind(text, Catalog(streams)) for text in case.texts(count))


def _fed(plans: Sequence[QueryPlan], case: Many, total: int, size: int) -> tuple[float, float, int, int]:
    """(CPU seconds, seconds, results, bytes of state) of a run; what it is fed is made before."""
    pipeline = LocalPipeline(plans)
    feed = [_batch(case, first, size) for first in range(0, total, size)]
    gc.collect()
    gc.freeze()
    results, cpu, clock = 0, time.process_time(), time.perf_counter()
    for batch in feed:
        counts = pipeline.count_all(batch) if case.dropped else [t.num_rows for t in pipeline.push_all(batch)]
        results += sum(counts)
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    gc.unfreeze()
    return cpu, clock, results, sum(s.size() for s in pipeline.cells().values())


def shown_in_process(case: Many, count: int, batches: int) -> int:
    """How many rows so many queries show over the first batches."""
    pipeline = LocalPipeline(plans_of(case, count))
    feed = (_batch(case, n * case.size, case.size) for n in range(batches))
    return sum(sum(pipeline.count_all(batch)) for batch in feed)


def _batch(case: Many, first: int, size: int) -> dict[str, pa.Table]:
    return {n: rows(first, size, i) for i, n in enumerate("ABCDEFGH"[: case.streams])}


def answers_equal(plans: Sequence[QueryPlan], case: Many) -> bool:
    """Whether some of the queries give together what each gives alone."""
    checked, total, size = case.check
    batches = [_batch(case, first, size) for first in range(0, total, size)]
    together = _answers(plans, batches)
    step = max(1, len(plans) // checked)
    return all(_answers([plans[i]], batches)[0] == together[i] for i in range(0, len(plans), step))


def _answers(plans: Sequence[QueryPlan], batches: Sequence[dict[str, pa.Table]]) -> list[pa.Table]:
    """Each query's rows in an order that does not depend on how they were found."""
    pipeline = LocalPipeline(plans)
    found = [pipeline.push_all(b) for b in batches]
    whole = [pa.concat_tables(parts).combine_chunks() for parts in zip(*found, strict=True)]
    return [t.sort_by([(n, "ascending") for n in reversed(t.schema.names)]) for t in whole]


def good(records: Sequence[ManyRecord], cases: Sequence[Many] = CASES) -> list[str]:
    """What does not hold of what was promised; nothing if all does."""
    limits = {c.name: c.limits for c in cases}
    one = {r.case: r.state_bytes for r in records if r.queries == 1 and r.engine == "muntin"}
    wrong = [f"{r.case}, {r.queries} queries: answers differ" for r in records if not r.answers_equal]
    for r in (r for r in records if r.engine == "muntin"):
        limit, state = limits.get(r.case, {}).get(r.queries), MOST_STATE.get(r.queries)
        if limit is not None and r.relative > limit:
            wrong.append(f"{r.case}, {r.queries} queries: {r.relative} x one, more than {limit}")
        if r.case == AGGREGATES.name and state is not None and r.state_bytes > state * one[r.case]:
            wrong.append(f"{r.case}, {r.queries} queries: {r.state_bytes / one[r.case]:.2f} x the state, not {state}")
    return wrong


def lines(records: Sequence[ManyRecord]) -> list[str]:
    """A plain table, one line a record: rows/s, seconds and state, each beside those of one query."""
    names = f"{'case':<12}{'queries':>8} {'engine':<8}"
    head = f"{names}{'rows/s':>13}{'of one':>8}{'seconds':>9}{'of one':>8}{'state bytes':>13}{'of one':>8}  answers"
    one = {(r.case, r.engine): r for r in reversed(records)}
    return [head, *(_line(r, one[r.case, r.engine]) for r in records)]


def _line(r: ManyRecord, one: ManyRecord) -> str:
    rate = (r.rows / r.wall) / (one.rows / one.wall)
    state = f"{r.state_bytes:>13,}{r.state_bytes / one.state_bytes:>7.2f}x" if one.state_bytes else f"{'':>13}{'':>8}"
    return (
        f"{r.case:<12}{r.queries:>8,} {r.engine:<8}{r.rows / r.wall:>13,.0f}{rate:>7.2f}x"
        f"{r.seconds:>9.2f}{r.relative:>7.2f}x{state}  {'equal' if r.answers_equal else 'DIFFER'}"
    )
