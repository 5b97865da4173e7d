"""``muntin bench one-time``: eight readers who ask a live pipeline on Spark one-time queries all the time.

Every answer is compared with the same question over the input, for the instant that it names. The time of batches is
taken in turns: without readers, with all of them asking without a pause, with all of them asking once in a while.
Readers are processes of their own, as ``muntin sql --live`` is.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from muntin.bench.contest import Say
from muntin.bench.one_time_reader import ISOLATIONS, QUESTIONS, digest
from muntin.bench.processes import cpu_seconds
from muntin.bench.record import write_json

READERS = 8
ROWS, KEYS = 2_000, 50
"""Rows a second of the stream, and values of its key."""
PERIOD = 2.0
"""Seconds between the questions of a reader that is not in a hurry."""
BLOCK, TRIGGER = 20.0, 2.0
"""Seconds of one turn, and from batch to batch."""
WARM = 5
"""Batches before anybody asks."""
MOST_SECONDS = 240.0
"""That the beginning may take."""
MOST = 1.1
"""What a batch beside readers may take, by what it takes without them."""

SECOND = 1_000_000
EPOCH = 1_700_000_000 * SECOND
RUNNING = {
    "shown": "SELECT k, v FROM a [RANGE 30 SECONDS]",
    "totals": "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 10 SECONDS] GROUP BY k",
    "recent": "SELECT k, COUNT(*) AS n FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k",
}
Span = tuple[str, float, float, float]
"""Name of a turn, its begin and its end (seconds since the epoch), and the CPU seconds of the pipeline in it."""
TURNS = (("none", "-1"), ("continuous", "0"), ("now and then", str(PERIOD)))
"""Names of turns, and how long a reader rests before it asks (-1: for ever)."""


@dataclass(frozen=True)
class OneTimeRun:
    """``answers``: that were given, of ``instants`` instants; ``wrong``: that were not those of their instant.
    ``failed``: questions without an answer after the first batch; ``ended``: readers that ended by themselves;
    ``caught_up``: batches that readers took up while they read; ``again``: panes that they read again; ``stale``:
    answers of isolation latest or serial that were not of the newest batch when they came. ``batch_ms``: by turn the
    median time of a batch, ``batches`` how many it had, ``cpu_ms`` the CPU time of the pipeline's processes by batch;
    ``response_ms``, ``waited_ms``, ``age_ms``: by isolation medians and the greatest."""

    seconds: float
    answers: int
    instants: int
    wrong: int
    failed: int
    ended: int
    caught_up: int
    again: int
    stale: int
    batch_ms: dict[str, float]
    batches: dict[str, int]
    cpu_ms: dict[str, float]
    response_ms: dict[str, tuple[float, float]]
    waited_ms: dict[str, tuple[float, float]]
    age_ms: dict[str, tuple[float, float]]

    @property
    def rise(self) -> dict[str, float]:
        """By turn the time of a batch, by that without readers."""
        return {t: ms / max(self.batch_ms["none"], 1e-9) for t, ms in self.batch_ms.items() if t != "none"}


def run_one_time(say: Say, seconds: float | None = None, json_file: Path | None = None) -> bool:
    """Run, print what was found; whether what must hold does (``good``)."""
    found = measure(seconds or 300.0, say)
    for line in lines(found):
        say(line)
    if json_file is not None:
        write_json([found], json_file)
    return good(found)


def good(found: OneTimeRun) -> bool:
    """What must hold: there were answers, all right; readers lived; each turn had batches, none slower than ``MOST``
    says."""
    slow = [t for t, by in found.rise.items() if by > MOST]
    told = found.answers > 0 and all(found.batches.values())
    return told and not (found.wrong or found.failed or found.ended or slow)


def lines(found: OneTimeRun) -> list[str]:
    """As a table."""
    out = [
        f"{found.answers:,} answers of {found.instants:,} instants in {found.seconds:.0f} s: {found.wrong} wrong, "
        f"{found.failed} failed, {found.ended} readers ended; {found.caught_up} batches taken up while reading, "
        f"{found.again} panes read again, {found.stale} answers of latest or serial with a newer batch by then"
    ]
    for turn, ms in found.batch_ms.items():
        rise = "" if turn == "none" else f", {100 * (found.rise[turn] - 1):+.1f} %"
        took = f"{ms:.0f} ms a batch (median of {found.batches[turn]}){rise}"
        out.append(f"readers {turn}: {took}, {found.cpu_ms[turn]:.0f} ms of CPU")
    for isolation, (middle, most) in found.response_ms.items():
        age, waited = found.age_ms[isolation], found.waited_ms[isolation]
        out.append(
            f"{isolation}: answered in {middle:.0f} ms (at most {most:.0f}), of which it waited {waited[0]:.0f} (at "
            f"most {waited[1]:.0f}), {age[0]:.0f} ms after the batch was committed (at most {age[1]:.0f})"
        )
    return out


def measure(seconds: float, say: Say, readers: int = READERS, block: float = BLOCK) -> OneTimeRun:
    """A pipeline of ``RUNNING`` and readers for some seconds, and what they found."""
    from muntin.session import Session, local_spark

    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        (where / "told").mkdir()
        spark = local_spark(cores="2")
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "100000")  # a hundred are less than all turns
        try:
            writer = Writer(where / "a")
            session = Session(spark, shards=2)
            frame = spark.readStream.schema("ts TIMESTAMP, k LONG, v LONG").parquet(str(where / "a"))
            session.stream("a", frame, ts="ts")
            for name, text in RUNNING.items():
                session.sql(text, name=name).write("blackhole")
            _pause(where, "-1")
            run = session.start(str(where / "checkpoint"), f"{TRIGGER:g} seconds")
            with writer.writing(), _readers(where, readers) as processes:
                _wait(lambda: (m := run.metrics()) is not None and m.batch >= WARM)
                _pause(where, "0")  # what they compile, they compile now
                _wait(lambda: len(_told(where)) >= 2 * readers * len(QUESTIONS))
                others = {p.pid for p in processes}
                spans = _turns(where, seconds, block, say, lambda: cpu_seconds(os.getpid(), others))
                ended = sum(p.poll() is not None for p in processes)
            batches = _batches(run.query)
            run.stop()
        finally:
            spark.stop()
        return _found(where, writer.table(), spans, batches, ended)


class Writer:
    """Puts a file a second: rows of the second before, by the clock of the stream."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number, self._done = folder, 0, threading.Event()
        folder.mkdir()
        self.put()

    def put(self) -> None:
        rng = np.random.default_rng(self.number)
        ts = np.sort(rng.integers(0, SECOND, ROWS)) + EPOCH + self.number * SECOND
        k, v = rng.integers(0, KEYS, ROWS), rng.integers(0, 1000, ROWS)
        columns = [pa.array(ts, pa.timestamp("us", "UTC")), pa.array(k), pa.array(v)]
        hidden = self.folder / f".{self.number:06d}"
        pq.write_table(pa.table(columns, names=["ts", "k", "v"]), hidden)
        hidden.rename(self.folder / f"{self.number:06d}.parquet")
        self.number += 1

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A file a second while it lasts."""
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join()

    def _run(self) -> None:
        while not self._done.wait(1.0):
            self.put()

    def table(self) -> pa.Table:
        """All rows."""
        return pa.concat_tables(pq.read_table(p) for p in sorted(self.folder.glob("*.parquet")))


def _pause(where: Path, rest: str) -> None:
    hidden = where / "told" / ".pause"
    hidden.write_text(rest)
    hidden.rename(where / "told" / "pause")


@contextmanager
def _readers(where: Path, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    told = where / "told"
    command = [sys.executable, "-m", "muntin.bench.one_time_reader", str(where / "checkpoint")]
    processes = [subprocess.Popen([*command, str(i), str(told / f"{i}.jsonl")]) for i in range(count)]
    try:
        yield processes
    finally:
        (told / "stop").touch()
        for p in processes:
            try:
                p.wait(60)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


def _told(where: Path) -> list[dict[str, Any]]:
    """What the readers noted; a line that is not whole yet is left out."""
    lines = [t for p in sorted((where / "told").glob("*.jsonl")) for t in p.read_text().splitlines()]
    return [json.loads(t) for t in lines if t.endswith("}")]


def _wait(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + MOST_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise RuntimeError(f"after {MOST_SECONDS:.0f} seconds the pipeline or its readers have not begun")
        time.sleep(0.2)


def _turns(where: Path, seconds: float, block: float, say: Say, cpu: Callable[[], float]) -> list[Span]:
    """The turns one after the other. ``cpu``: what the pipeline has used so far."""
    found, end = [], time.time() + seconds
    while time.time() < end:
        for name, rest in TURNS:
            _pause(where, rest)
            time.sleep(2)  # what was under way ends
            began, used = time.time(), cpu()
            time.sleep(block)
            found.append((name, began, time.time(), cpu() - used))
        say(f"{max(end - time.time(), 0):.0f} s left")
    return found


def _batches(query: Any) -> list[tuple[float, float]]:
    """When each batch began that had rows, and how many milliseconds it took."""
    from datetime import datetime

    rows = [p for p in query.recentProgress if p["numInputRows"]]
    return [
        (datetime.fromisoformat(p["timestamp"]).timestamp(), float(p["durationMs"]["triggerExecution"])) for p in rows
    ]


def _found(
    where: Path,
    rows: pa.Table,
    spans: Sequence[Span],
    batches: Sequence[tuple[float, float]],
    ended: int,
) -> OneTimeRun:
    told = _told(where)
    answers = [t for t in told if t["at"] is not None]
    failed = len(told) - len(answers)
    expected = Expected(rows)
    wrong = sum(expected.digest(t["question"], t["at"]) != t["digest"] for t in answers)
    took = {n: [ms for t, ms in batches if any(s == n and b <= t <= e for s, b, e, _ in spans)] for n, _ in TURNS}
    used = {n: 1000 * sum(c for s, _, _, c in spans if s == n) / max(len(took[n]), 1) for n, _ in TURNS}
    by = {i: [t for t in answers if t["isolation"] == i] for i in ISOLATIONS}
    return OneTimeRun(
        sum(e - b for _, b, e, _ in spans), len(answers), len({t["at"] for t in answers}), wrong, failed, ended,
        sum(t["caught_up"] for t in answers), sum(t["again"] for t in answers),
        sum(t["newer"] > 0 for i in ("latest", "serial") for t in by[i]),
        {n: statistics.median(t or [0.0]) for n, t in took.items()},
        {n: len(t) for n, t in took.items()}, used, {i: _middle([t["seconds"] for t in own]) for i, own in by.items()},
        {i: _middle([t["waited"] for t in own]) for i, own in by.items()},
        {i: _middle([t["age"] for t in own]) for i, own in by.items()},
    )  # fmt: skip


def _middle(seconds: Sequence[float]) -> tuple[float, float]:
    return 1000 * statistics.median(seconds or [0.0]), 1000 * max(seconds, default=0.0)


class Expected:
    """The answers to ``QUESTIONS`` at any instant, by going through all rows."""

    def __init__(self, rows: pa.Table) -> None:
        self.ts = rows["ts"].cast(pa.int64()).to_numpy()
        self.k, self.v = rows["k"].to_numpy(), rows["v"].to_numpy()
        self.known: dict[tuple[str, int], str] = {}
        self.ways: dict[str, Callable[[int], list[tuple[Any, ...]]]] = {
            "window": lambda at: self._groups(at, 20), "totals": lambda at: self._groups(at, 10),
            "all": self._all, "join": self._join, "most": self._most,
        }  # fmt: skip
        assert self.ways.keys() == QUESTIONS.keys()

    def digest(self, question: str, at: int) -> str:
        if (question, at) not in self.known:
            self.known[question, at] = digest(self.ways[question](at))
        return self.known[question, at]

    def _live(self, at: int, seconds: int) -> np.ndarray[Any, Any]:
        return np.flatnonzero((self.ts <= at) & (self.ts > at - seconds * SECOND))

    def _groups(self, at: int, seconds: int) -> list[tuple[Any, ...]]:
        live = self._live(at, seconds)
        count = np.bincount(self.k[live], minlength=KEYS)
        total = np.bincount(self.k[live], self.v[live], minlength=KEYS).astype(np.int64)
        return [(k, int(count[k]), int(total[k])) for k in range(KEYS) if count[k]]

    def _all(self, at: int) -> list[tuple[Any, ...]]:
        v = self.v[self._live(at, 30)]
        return [(len(v), int(v.sum()) if len(v) else None, int(v.max()) if len(v) else None)]

    def _join(self, at: int) -> list[tuple[Any, ...]]:
        x, y = (Counter(self.k[self._live(at, s)].tolist()) for s in (2, 1))
        return [(k, n * y[k]) for k, n in x.items() if y[k]]

    def _most(self, at: int) -> list[tuple[Any, ...]]:
        return [(k, n) for k, n, _ in self._groups(at, 4) if n > 3]
