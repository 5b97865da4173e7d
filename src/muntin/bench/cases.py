"""The cases: sliding sums by key, and an equi-join of two windows (baselines and targets: ARCHITECTURE.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muntin.bench.contest import Build, Contest, Load, Side

DELAY = "1 second"
"""Watermark delay of Spark and slack of Muntin: the same for both."""


def _muntin(text: str, **options: Any) -> Build:
    def build(spark: Any, frames: Sequence[Any], scratch: Path) -> Any:
        from muntin.session import Session

        session = Session(spark, store=str(scratch))
        for name, frame in zip("AB", frames, strict=False):
            session.stream(name, frame, ts="ts", slack=DELAY)
        return session.sql(text, **options).to_df()

    return build


def _spark_sum(slide: int) -> Build:
    def build(spark: Any, frames: Sequence[Any], scratch: Path) -> Any:
        frames[0].withWatermark("ts", DELAY).createOrReplaceTempView("native_a")
        return spark.sql(
            f"SELECT k, window(ts, '600 seconds', '{slide} seconds') AS w, SUM(v) AS s FROM native_a GROUP BY 1, 2"
        )

    return build


def _spark_join(spark: Any, frames: Sequence[Any], scratch: Path) -> Any:
    for name, frame in zip("ab", frames, strict=True):
        frame.withWatermark("ts", DELAY).createOrReplaceTempView(f"native_{name}")
    return spark.sql(
        "SELECT a.k AS k, a.v AS av, b.v AS bv, a.ts AS at, b.ts AS bt FROM native_a a JOIN native_b b ON a.k = b.k "
        "AND a.ts > b.ts - INTERVAL 10 SECONDS AND b.ts > a.ts - INTERVAL 10 SECONDS"
    )


def sliding_sum(slide: int, spark: Load, muntin: Load, rounds: int = 2) -> Contest:
    """SUM by key over RANGE 600 s; instants are Spark's window ends (``bounds="start"``)."""
    text = f"SELECT k, SUM(v) AS s FROM A [RANGE 600 SECONDS SLIDE {slide} SECONDS] GROUP BY k"
    return Contest(
        "sliding-sum", f"range600-slide{slide}", 1,
        Side("muntin", _muntin(text, bounds="start"), ("ts AS t", "k", "s"), muntin),
        Side("spark", _spark_sum(slide), ("w.end AS t", "k", "s"), spark), rounds,
    )  # fmt: skip


def window_join(spark: Load, muntin: Load, rounds: int = 2) -> Contest:
    """Equi-join, both windows 10 s: about 20 results per row of a stream."""
    text = (
        "Istream(SELECT A.k AS k, A.v AS av, B.v AS bv, A.ts AS at, B.ts AS bt "
        "FROM A [RANGE 10 SECONDS], B [RANGE 10 SECONDS] WHERE A.k = B.k)"
    )
    columns = ("k", "av", "bv", "at", "bt")
    return Contest(
        "window-join", "join10", 2, Side("muntin", _muntin(text), ("ts AS t", *columns), muntin),
        Side("spark", _spark_join, ("greatest(at, bt) AS t", *columns), spark), rounds,
    )  # fmt: skip


def contests(bench: str) -> list[Contest]:
    """The contests of a benchmark by name."""
    match bench:
        case "sliding-sum":
            return [
                sliding_sum(10, Load(2_000_000, 1), Load(2_000_000, 4), rounds=3),
                sliding_sum(1, Load(50_000, 1), Load(2_000_000, 4)),
            ]
        case "window-join":
            return [window_join(Load(80_000, 2), Load(500_000, 6))]
        case _:
            raise ValueError(f"unknown benchmark {bench!r}; there are sliding-sum, window-join and state-bytes")
