"""The demo: two months of departures from New York's airports and their weather, as streams replayed through Spark.

Only computes; the command line renders what ``run_demo`` yields.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from muntin.data import sample
from muntin.session import Session
from muntin.spark.sources import read_batch


@dataclass(frozen=True)
class Question:
    """A query of the demo, and which of its many answer rows are worth a look."""

    title: str
    note: str
    cql: str
    streams: tuple[str, ...]
    pick: Callable[[pa.Table, int], pa.Table]


@dataclass(frozen=True)
class Answer:
    """What a question gave.

    ``rows_in``, ``rows_out``, ``seconds``: of one sample, compilers and workers starting. ``many_in``, ``many_out``,
    ``many_seconds``: of ``COPIES`` samples in a row, warm.
    """

    question: Question
    plan: str
    picked: pa.Table
    rows_in: int
    rows_out: int
    seconds: float
    many_in: int
    many_out: int
    many_seconds: float


COPIES = 10
"""Times that the sample is repeated, each copy 59 days after the last one, to show a rate and not the fixed costs."""

JOIN = """\
SELECT f.carrier, COUNT(*) AS departures, AVG(f.dep_delay) AS delay, AVG(w.wind_speed) AS wind
FROM   flights f [RANGE 2 HOURS SLIDE 1 HOUR], weather w [RANGE 1 HOUR]
WHERE  f.origin = w.origin AND w.wind_speed < 200
GROUP BY f.carrier
"""

SLIDING = """\
SELECT f.origin, COUNT(*) AS departures, AVG(f.dep_delay) AS delay
FROM   flights f [RANGE 60 MINUTES SLIDE 1 MINUTE]
GROUP BY f.origin
"""


def _worst_delays(rows: pa.Table, limit: int) -> pa.Table:
    busy = rows.filter(pc.greater_equal(rows["departures"], 20))
    return busy.sort_by([("delay", "descending"), ("ts", "ascending")]).slice(0, limit)


def _busiest_hours(rows: pa.Table, limit: int) -> pa.Table:
    """The fullest windows, at most one per airport and day: neighbours a minute apart are nearly the same hour."""
    ordered = rows.sort_by([("departures", "descending"), ("ts", "ascending"), ("origin", "ascending")])
    seen: set[tuple[Any, ...]] = set()
    index: list[int] = []
    for i, (origin, ts) in enumerate(zip(ordered["origin"].to_pylist(), ordered["ts"].to_pylist(), strict=True)):
        if (origin, ts.date()) not in seen and len(index) < limit:
            seen.add((origin, ts.date()))
            index.append(i)
    return ordered.take(index)


QUESTIONS = (
    Question(
        "Departures and wind by carrier, over two hours, every hour",
        "Each departure of the last two hours meets the latest observation at its airport. "
        "Shown: the worst average delays (minutes) of carriers with 20 departures or more.",
        JOIN,
        ("flights", "weather"),
        _worst_delays,
    ),
    Question(
        "Departures by airport, over one hour, every minute",
        "Shown: the busiest hours, one per airport and day.",
        SLIDING,
        ("flights",),
        _busiest_hours,
    ),
)


def run_demo(spark: Any, limit: int) -> Iterator[Answer]:
    """Run every question over ``spark``; ``limit``: rows to pick from each answer.

    A batch DataFrame registered as a stream is replayed: its answer has exactly the rows that the live stream would
    have given. The answers over one sample are fetched whole, those over many are counted.
    """
    once, many = Session(spark), Session(spark)
    counts: dict[str, int] = {}
    for name, ts in (("flights", "dep"), ("weather", "ts")):
        df = read_batch(spark, "parquet", str(sample(name)))
        counts[name] = df.count()
        once.stream(name, df, ts=ts)
        many.stream(name, _repeated(df, ts), ts=ts)
    for i, question in enumerate(QUESTIONS):
        rows_in = sum(counts[s] for s in question.streams)
        query = once.sql(question.cql, name=f"demo{i}")
        began = time.perf_counter()
        rows = query.to_df().toArrow()
        middle = time.perf_counter()
        many_out = many.sql(question.cql, name=f"demo{i}").to_df().count()
        seconds, many_seconds = middle - began, time.perf_counter() - middle
        picked = question.pick(rows, limit)
        yield Answer(
            question, query.explain(), picked, rows_in, rows.num_rows, seconds, rows_in * COPIES, many_out, many_seconds
        )


def _repeated(df: Any, ts: str) -> Any:
    """``COPIES`` of a sample, one after another in event time."""
    copies = df.crossJoin(df.sparkSession.range(COPIES).withColumnRenamed("id", "__copy"))
    moved = f"{ts} + make_dt_interval(cast(59 * __copy as int)) as {ts}"
    return copies.selectExpr(*(moved if c == ts else c for c in df.columns))
