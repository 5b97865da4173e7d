"""Engines on the same generated streams: answers compared on a prefix, then timed in turns within one run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muntin.bench.data import KEYS
from muntin.bench.load import Place, Side, Turns
from muntin.bench.record import Record

Say = Callable[[str], None]

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True)
class Contest:
    """A case: ``streams`` inputs with so many ``keys``; its engines in the order of their turns, for ``rounds``.

    ``checked``: files, and rows a stream in each, on which answers are compared.
    """

    bench: str
    case: str
    streams: int
    sides: tuple[Side, ...]
    checked: tuple[int, int]
    rounds: int = 2
    keys: int = KEYS

    @property
    def engines(self) -> tuple[str, ...]:
        return tuple(s.engine for s in self.sides)

    def only(self, engines: Sequence[str]) -> Contest:
        """The same contest between these engines alone."""
        return replace(self, sides=tuple(s for s in self.sides if s.engine in engines))


def checked(spark: Side, rounds: int) -> tuple[int, int]:
    """Answers are compared on all that Spark is timed on, and what it is fed before."""
    return 1 + spark.load.warm + rounds * spark.load.files, spark.load.size


def run(contest: Contest, spark: Any, say: Say = lambda _: None) -> list[Record]:
    """Compare the answers, then time all engines in alternating rounds: one works, the others wait."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    with _scratch() as scratch:
        place = Place(spark, scratch, contest.keys)
        files, size = contest.checked
        try:
            say(f"{contest.case}: comparing answers on {files * size * contest.streams:,} rows")
            frames = {side.engine: side.answers(place, files, size) for side in contest.sides}
            equal = equal_answers(list(frames.values()))
            say(f"{contest.case}: answers of {', '.join(frames)} {'equal' if equal else 'DIFFER'}; timing")
            timings = _time_in_turns(contest, place, say)
        finally:
            for side in contest.sides:
                side.close()
    return _records(contest, timings, equal)


def equal_answers(frames: Sequence[Any]) -> bool:
    """Whether all frames hold the same rows equally often, up to the last instant ``t`` that all have reached.

    One pass: rows of all frames are grouped, and counted apart for each frame. False if a frame is empty.
    """
    ends = [f.selectExpr("max(t)").first()[0] for f in frames]
    if None in ends:
        return False
    until = f"t <= timestamp_micros({_micros(min(ends))})"
    numbers = range(len(frames))
    tagged = [
        f.where(until).selectExpr("*", *(f"{int(i == j)} AS n{j}" for j in numbers)) for i, f in enumerate(frames)
    ]
    every = tagged[0]
    for frame in tagged[1:]:
        every = every.union(frame)
    counts = every.groupBy(*frames[0].columns).agg({f"n{j}": "sum" for j in numbers})
    return bool(counts.where(" OR ".join(f"`sum(n{j})` <> `sum(n0)`" for j in numbers)).isEmpty())


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="muntin-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _micros(instant: Any) -> int:
    return round(instant.timestamp() * 1_000_000)


def _time_in_turns(contest: Contest, place: Place, say: Say) -> list[tuple[str, Turns]]:
    running: list[tuple[str, Turns]] = []
    try:
        for side in contest.sides:
            running.append((side.engine, side.start(place)))
        for number in range(contest.rounds):
            for engine, turns in running:
                turns.turn()
                say(f"{contest.case}: round {number + 1}, {engine} {turns.rows / turns.seconds:,.0f} rows/s so far")
        for _, turns in running:
            for line in turns.account(contest.case):
                say(line)
        return running
    finally:
        for _, turns in running:
            turns.stop()


def _records(contest: Contest, timings: Sequence[tuple[str, Turns]], equal: bool) -> list[Record]:
    best = next(t.rows / t.seconds for engine, t in timings if engine == "muntin")
    return [
        Record(
            contest.bench, contest.case, engine, t.rows, t.results, round(t.seconds, 2),
            round(t.rows / t.seconds, 1), round(best / (t.rows / t.seconds), 2), equal,
        )
        for engine, t in timings
    ]  # fmt: skip
