"""The cases: sliding sums by key, an equi-join of two windows and of three (baselines and targets: ARCHITECTURE.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muntin.bench import flink_sql
from muntin.bench.contest import Contest, checked
from muntin.bench.data import joined
from muntin.bench.flink import FlinkSide
from muntin.bench.load import Load, Side
from muntin.bench.streaming import Build, StreamSide

DELAY = "1 second"
"""Watermark delay of Spark and of Flink, and slack of Muntin: the same for all."""

JOIN3_KEYS = 5_000
"""Keys of the join of three: 12 results for a row of each stream; with 1,000 there were 300, and nothing but them."""


def _query(text: str, **options: Any) -> Build:
    """The text as a registered query over streams A, B, ..."""

    def build(spark: Any, frames: Sequence[Any], scratch: Path) -> Any:
        from muntin.session import Session

        session = Session(spark, store=str(scratch))
        for name, frame in zip("ABC", frames, strict=False):
            session.stream(name, frame, ts="ts", slack=DELAY)
        return session.sql(text, **options)

    return build


def _muntin(text: str, **options: Any) -> Build:
    """The text's result as a DataFrame, to be written by Spark."""
    query = _query(text, **options)
    return lambda spark, frames, scratch: query(spark, frames, scratch).to_df()


def _both(text: str, answer: tuple[str, ...], load: Load, streams: int) -> tuple[Side, ...]:
    """Muntin with a sink on its workers, and handing every result over to Spark."""
    return (
        StreamSide("muntin", _query(text), answer, load, streams, own_sink=True),
        StreamSide("muntin-df", _muntin(text), answer, load, streams),
    )


def _spark(text: str) -> Build:
    """Spark SQL over ``native_a``, ``native_b``, ...: the streams with their watermarks."""

    def build(spark: Any, frames: Sequence[Any], scratch: Path) -> Any:
        for name, frame in zip("abc", frames, strict=False):
            frame.withWatermark("ts", DELAY).createOrReplaceTempView(f"native_{name}")
        return spark.sql(text)

    return build


def _near(a: str, b: str) -> str:
    """Two instants lie in each other's half-open window of 10 s."""
    return f"{a} > {b} - INTERVAL 10 SECONDS AND {b} > {a} - INTERVAL 10 SECONDS"


def sliding_sum(slide: int, spark: Load, muntin: Load, rounds: int = 2) -> Contest:
    """SUM by key over RANGE 600 s; instants are Spark's window ends (``bounds="start"``)."""
    text = f"SELECT k, SUM(v) AS s FROM A [RANGE 600 SECONDS SLIDE {slide} SECONDS] GROUP BY k"
    native = f"SELECT k, window(ts, '600 seconds', '{slide} seconds') AS w, SUM(v) AS s FROM native_a GROUP BY 1, 2"
    theirs = StreamSide("spark", _spark(native), ("w.end AS t", "k", "s"), spark, 1)
    mine = StreamSide("muntin", _muntin(text, bounds="start"), ("ts AS t", "k", "s"), muntin, 1)
    return Contest("sliding-sum", f"range600-slide{slide}", 1, (theirs, mine), checked(theirs, rounds), rounds)


def window_join(spark: Load, muntin: Load, flink: Load, rounds: int = 2) -> Contest:
    """Equi-join, both windows 10 s: about 20 results per row of a stream."""
    text = (
        "Istream(SELECT A.k AS k, A.v AS av, B.v AS bv, A.ts AS at, B.ts AS bt "
        "FROM A [RANGE 10 SECONDS], B [RANGE 10 SECONDS] WHERE A.k = B.k)"
    )
    native = (
        "SELECT a.k AS k, a.v AS av, b.v AS bv, a.ts AS at, b.ts AS bt FROM native_a a JOIN native_b b "
        f"ON a.k = b.k AND {_near('a.ts', 'b.ts')}"
    )
    columns = ("k", "av", "bv", "at", "bt")
    theirs = StreamSide("spark", _spark(native), ("greatest(at, bt) AS t", *columns), spark, 2)
    sides: tuple[Side, ...] = (theirs, *_both(text, ("ts AS t", *columns), muntin, 2), _flink_join(flink))
    return Contest("window-join", "join10", 2, sides, checked(theirs, rounds), rounds)


def _flink_join(load: Load) -> FlinkSide:
    def make(first: int, count: int, out: Path | None) -> flink_sql.Job:
        sink = flink_sql.blackhole() if out is None else flink_sql.csv(out)
        return flink_sql.window_join(first, count, sink, DELAY.split()[0])

    def count(first: int, rows: int) -> int:
        return joined(first, rows, 10_000_000)

    names = [name for name, _ in flink_sql.RESULT]
    answer = ("greatest(at, bt) AS t", *names)
    schema = "k BIGINT, av BIGINT, bv BIGINT, at TIMESTAMP, bt TIMESTAMP"
    return FlinkSide(make, count, schema, answer, load, 2)


def join3(spark: Load, muntin: Load, rounds: int = 2) -> Contest:
    """Equi-join of three windows of 10 s on one key: one operator here, two stream-stream joins one after the other in
    Spark. Spark lets the second of them see one event time only, so ``bt`` goes there as a plain instant, and what is
    asked of it is not written as a comparison: Spark would look for a watermark in it and fill its log with not finding
    one."""
    text = (
        "Istream(SELECT A.k AS k, A.v AS av, B.v AS bv, C.v AS cv, A.ts AS at, B.ts AS bt, C.ts AS ct FROM "
        "A [RANGE 10 SECONDS], B [RANGE 10 SECONDS], C [RANGE 10 SECONDS] WHERE A.k = B.k AND B.k = C.k)"
    )
    first = (
        "SELECT a.k AS k, a.v AS av, b.v AS bv, a.ts AS at, timestamp_micros(unix_micros(b.ts)) AS bt "
        f"FROM native_a a JOIN native_b b ON a.k = b.k AND {_near('a.ts', 'b.ts')}"
    )
    native = (
        f"SELECT ab.k, av, bv, c.v AS cv, at, bt, c.ts AS ct FROM ({first}) ab JOIN native_c c ON ab.k = c.k "
        f"AND {_near('at', 'c.ts')} AND abs(unix_micros(bt) - unix_micros(c.ts)) DIV 10000000 = 0"
    )
    columns = ("k", "av", "bv", "cv", "at", "bt", "ct")
    theirs = StreamSide("spark", _spark(native), ("greatest(at, bt, ct) AS t", *columns), spark, 3)
    mine = _both(text, ("ts AS t", *columns), muntin, 3)
    return Contest("window-join", "join3", 3, (theirs, *mine), checked(theirs, rounds), rounds, JOIN3_KEYS)


def contests(bench: str) -> list[Contest]:
    """The contests of a benchmark by name. Raises ValueError for one that has none."""
    match bench:
        case "sliding-sum":
            return [
                sliding_sum(10, Load(2_000_000, 1), Load(2_000_000, 4), rounds=3),
                sliding_sum(1, Load(50_000, 1), Load(2_000_000, 4)),
            ]
        case "window-join":
            return [
                window_join(Load(80_000, 1), Load(1_000_000, 4), Load(3_000_000, 1)),
                join3(Load(40_000, 1), Load(700_000, 4)),
            ]
        case _:
            raise ValueError(f"benchmark {bench!r} is no contest")
