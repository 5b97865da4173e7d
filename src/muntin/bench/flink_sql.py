"""Flink SQL for the windowed join: the generated streams as tables inside Flink, the interval join, and its sinks.

Flink makes the rows itself, from ``muntin.bench.data``'s formula over a sequence of row numbers. Its package bundles
readers of CSV and JSON only. A scan of 6 million rows took 11.4 CPU seconds either way, made or read from CSV, and a
file that is read in several parts at once does not come in order of event time. The join costs six times the scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from muntin.bench.data import EPOCH_US, KEYS, MIX, MIX_STREAM, PRIME, RATE

RESULT = (("k", "BIGINT"), ("av", "BIGINT"), ("bv", "BIGINT"), ("at", "TIMESTAMP_LTZ(3)"), ("bt", "TIMESTAMP_LTZ(3)"))
"""Columns of the join's results, Flink's types."""


@dataclass(frozen=True)
class Job:
    """What Flink is told: ``statements`` that define tables, then one ``insert`` that runs until its input ends."""

    statements: tuple[str, ...]
    insert: str


def stream(name: str, number: int, first: int, count: int, delay: str) -> tuple[str, str]:
    """Statements for one stream: rows ``first .. first + count`` in order, one at a time; event time and watermark
    as for Spark.

    ``delay``: seconds of the watermark. Each of Flink's parallel sources takes every other row number, so all advance
    together in event time.
    """
    if 1000 % RATE:
        raise ValueError(f"Flink's event time is in milliseconds: {RATE} rows a second do not fall on them")
    source = (
        f"CREATE TABLE {name}_numbers (n BIGINT, ts AS TO_TIMESTAMP_LTZ({EPOCH_US // 1000} + n * {1000 // RATE}, 3), "
        f"WATERMARK FOR ts AS ts - INTERVAL '{delay}' SECOND) WITH ('connector' = 'datagen', "
        f"'rows-per-second' = '{10**9}', 'fields.n.kind' = 'sequence', 'fields.n.start' = '{first}', "
        f"'fields.n.end' = '{first + count - 1}')"
    )
    mixed = f"SELECT ts, MOD(n * {MIX} + {number * MIX_STREAM}, {PRIME}) AS m FROM {name}_numbers"
    # m is not negative, so the quotient of integers is the shift by seven bits
    view = f"CREATE VIEW {name} AS SELECT ts, MOD(m, {KEYS}) AS k, MOD(m / 128, 100) AS v FROM ({mixed})"
    return source, view


def window_join(first: int, count: int, sink: str, delay: str = "1", seconds: int = 10) -> Job:
    """The join of two windows of so many seconds as Flink's interval join, into a table made by ``sink``.

    The bounds are strict: a row has left the half-open window at ts + RANGE.
    """
    join = (
        "SELECT a.k, a.v, b.v, CAST(a.ts AS TIMESTAMP_LTZ(3)), CAST(b.ts AS TIMESTAMP_LTZ(3)) FROM a JOIN b "
        f"ON a.k = b.k AND a.ts > b.ts - INTERVAL '{seconds}' SECOND AND b.ts > a.ts - INTERVAL '{seconds}' SECOND"
    )
    tables = (*stream("a", 0, first, count, delay), *stream("b", 1, first, count, delay), sink)
    return Job(tables, f"INSERT INTO results {join}")


def blackhole() -> str:
    """A sink that drops what it is given."""
    return f"CREATE TABLE results ({_columns()}) WITH ('connector' = 'blackhole')"


def csv(folder: Path) -> str:
    """A sink of CSV files."""
    return (
        f"CREATE TABLE results ({_columns()}) WITH ('connector' = 'filesystem', 'path' = '{folder.as_uri()}', "
        "'format' = 'csv')"
    )


def _columns() -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in RESULT)
