"""The cases: sliding sums by key, and an equi-join of two windows (baselines and targets: ARCHITECTURE.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muntin.bench.contest import Build, Contest, Side

DELAY = "1 second"
"""Watermark delay of Spark and slack of Muntin: the same for both."""


def _muntin(text: str, columns: str, **options: Any) -> Build:
    def build(spark: Any, frames: Sequence[Any], scratch: Path) -> Any:
        from muntin.session import Session

        session = Session(spark, store=str(scratch))
        for name, frame in zip("AB", frames, strict=False):
            session.stream(name, frame, ts="ts", slack=DELAY)
        return session.sql(text, **options).to_df().selectExpr(*columns.split("; "))

    return build


def _spark_sum(slide: int) -> Build:
    def build(spark: Any, frames: Sequence[Any], scratch: Path) -> Any:
        frames[0].withWatermark("ts", DELAY).createOrReplaceTempView("native_a")
        grouped = spark.sql(
            f"SELECT k, window(ts, '600 seconds', '{slide} seconds') AS w, SUM(v) AS s FROM native_a GROUP BY 1, 2"
        )
        return grouped.selectExpr("w.end AS t", "k", "s")

    return build


def _spark_join(spark: Any, frames: Sequence[Any], scratch: Path) -> Any:
    for name, frame in zip("ab", frames, strict=True):
        frame.withWatermark("ts", DELAY).createOrReplaceTempView(f"native_{name}")
    joined = spark.sql(
        "SELECT a.k AS k, a.v AS av, b.v AS bv, a.ts AS at, b.ts AS bt FROM native_a a JOIN native_b b ON a.k = b.k "
        "AND a.ts > b.ts - INTERVAL 10 SECONDS AND b.ts > a.ts - INTERVAL 10 SECONDS"
    )
    return joined.selectExpr("greatest(at, bt) AS t", "k", "av", "bv", "at", "bt")


def sliding_sum(slide: int, spark_size: int, spark_files: int, rounds: int = 2, scale: float = 1.0) -> Contest:
    """SUM by key over RANGE 600 s; instants are Spark's window ends (``bounds="start"``)."""
    text = f"SELECT k, SUM(v) AS s FROM A [RANGE 600 SECONDS SLIDE {slide} SECONDS] GROUP BY k"
    mine = Side("muntin", _muntin(text, "ts AS t; k; s", bounds="start"), int(2_000_000 * scale), 3)
    return Contest(
        "sliding-sum", f"range600-slide{slide}", 1, mine, Side("spark", _spark_sum(slide), spark_size, spark_files,
        warm=1),
        prefix=2 + rounds * spark_files, rounds=rounds,
    )  # fmt: skip


def window_join(rounds: int = 2, scale: float = 1.0) -> Contest:
    """Equi-join, both windows 10 s: about 20 results per row of a stream."""
    text = (
        "Istream(SELECT A.k AS k, A.v AS av, B.v AS bv, A.ts AS at, B.ts AS bt "
        "FROM A [RANGE 10 SECONDS], B [RANGE 10 SECONDS] WHERE A.k = B.k)"
    )
    mine = Side("muntin", _muntin(text, "ts AS t; k; av; bv; at; bt"), int(500_000 * scale), 4)
    theirs = Side("spark", _spark_join, int(80_000 * scale), 1, warm=1)
    return Contest("window-join", "join10", 2, mine, theirs, prefix=2 + rounds, rounds=rounds)


def contests(bench: str) -> list[Contest]:
    """The contests of a benchmark by name."""
    match bench:
        case "sliding-sum":
            return [sliding_sum(10, 2_000_000, 1), sliding_sum(1, 50_000, 1)]
        case "window-join":
            return [window_join()]
        case _:
            raise ValueError(f"unknown benchmark {bench!r}; there are sliding-sum, window-join and state-bytes")
