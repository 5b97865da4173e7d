"""``muntin bench overload``: what a join gives under several times the load that it has time for, by policy.

Rows come in real time, as files (``overload_rows``); a batch takes all that have come; the workers write the results.
Each policy gets the same rows; what it gives is compared, by the numbers of the rows, with the exact answer of what it
had read, which is computed afterwards in this process.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from muntin.bench.contest import Say
from muntin.bench.overload_record import (
    INTERVAL,
    POLICIES,
    Overloaded,
    Reported,
    Sample,
    draw,
    failures,
    judged,
    line,
    require_plot,
)
from muntin.bench.overload_rows import TEXT, WINDOW, Writer, compared, put, rows_at
from muntin.bench.processes import held_by_workers
from muntin.bench.record import write_json
from muntin.core.errors import ConfigError
from muntin.core.time import NEVER
from muntin.plan.windows import Shed

LOADS = (0.5, 1.0, 1.5, 2.0, 3.0)
SECONDS, LONG = 60.0, 600.0
"""Seconds of input: of each run, and of those of the policies that shed at the highest load."""


def one(spark: Any, policy: Shed, rate: int, load: float, seconds: float) -> Overloaded:
    """One run over ``seconds`` of input in real time."""
    from muntin.session import Session

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        writer = Writer(folder / "in", rate, seconds)
        session = Session(spark, shards=4)
        for name in "lr":
            put(folder / "in" / name, -1, rows_at(np.random.default_rng(0), name, time.time() - 1, 1.0, 1, -9))
            schema = spark.read.parquet(str(folder / "in" / name)).schema
            session.stream(name, spark.readStream.schema(schema).parquet(str(folder / "in" / name)))
        session.sql(TEXT, name="q", shed=policy).write("parquet", str(folder / "out"))
        run = session.start(str(folder / "cp"), f"{INTERVAL:g} seconds")
        thread = threading.Thread(target=writer.run, daemon=True)
        thread.start()
        samples = list(_watched(run, seconds))
        thread.join()
        run.stop(timeout=10 * INTERVAL)
        reported, upto, given = _ended(run.metrics(), folder / "out")
    return judged(policy, load, rate, compared(writer.kept, given, upto), samples, seconds, reported)


def _watched(run: Any, seconds: float) -> Iterator[Sample]:
    """A look at a run now and then, while rows come."""
    start = time.time()
    while time.time() < start + seconds:
        time.sleep(0.5)
        found = run.metrics()
        if found is not None and found.watermark is not None:  # a batch under way makes answers older, too
            lag = time.time() - found.watermark / 1e6
            yield Sample(time.time() - start, lag, found.state_rows, held_by_workers(os.getpid()), found.results)


def _ended(found: Any, out: Path) -> tuple[Reported, int, list[pa.Table]]:
    """Of the metrics of a run that has ended (None: before its first batch had): what it reported, up to when it has
    answered, and the pairs of the batches that are done."""
    if found is None:
        return Reported(), NEVER, []
    reported = Reported(1 - found.answered["q"], found.answered_error["q"], found.batches)
    files = [p for b in range(found.batch + 1) for p in sorted((out / f"batch={b}").glob("*.parquet"))]
    return (
        reported,
        NEVER if found.watermark is None else found.watermark,
        [pq.read_table(p, columns=["a", "b"]) for p in files],
    )


def capacity(spark: Any, say: Say) -> int:
    """Rows a second of each stream for which the join just has time: what a batch takes beside a fixed time goes with
    the square of the rate."""
    rate, before = 400, (0, 0.0)
    room = 0.8 * INTERVAL
    while True:
        begun = time.time()
        seconds = _batch_seconds(spark, rate)
        say(f"{rate} rows/s: a batch takes {seconds:.2f} s of {INTERVAL:g} ({time.time() - begun:.0f} s)")
        if seconds > room or rate > 50_000:
            return fitting(before, (rate, seconds), room)
        rate, before = 2 * rate, (rate, seconds)


def fitting(one: tuple[int, float], other: tuple[int, float], room: float) -> int:
    """The rate at which a batch takes ``room`` seconds, by two (rate, seconds)."""
    each = (other[1] - one[1]) / (other[0] ** 2 - one[0] ** 2)
    fixed = other[1] - each * other[0] ** 2
    return round((max(0.1 * room, room - fixed) / each) ** 0.5) if each > 0 else other[0]


def _batch_seconds(spark: Any, rate: int) -> float:
    """Seconds of a batch over full windows, rows being there already."""
    from muntin.session import Session

    marks = [time.time()]
    with tempfile.TemporaryDirectory() as place:
        folder, rng, start = Path(place), np.random.default_rng(1), 1_700_000_000.0
        batches = round(WINDOW / INTERVAL) + 4
        session = Session(spark, shards=4)
        for name in "lr":
            for b in range(batches):
                first = b * round(INTERVAL * rate)
                put(folder / name, b, rows_at(rng, name, start + b * INTERVAL, INTERVAL, rate, first))
            reader = spark.readStream.schema(spark.read.parquet(str(folder / name)).schema)
            session.stream(name, reader.option("maxFilesPerTrigger", 1).parquet(str(folder / name)))
        session.sql(TEXT, name="q").write("parquet", str(folder / "out"))
        run = session.start(str(folder / "cp"), "available_now")
        done = 0
        while not run.await_termination(0.02):
            if (found := run.metrics()) is not None and found.batches > done:
                marks.append(time.time())
                done = found.batches
    return float(np.median(np.diff(marks)[-3:]))


def run(
    say: Say, seconds: float = SECONDS, loads: Sequence[float] = LOADS, long: float = LONG, fits: int = 0
) -> Iterator[Overloaded]:
    """Every policy at every load, ``seconds`` of input each; those that shed at the highest load, if that is above 1,
    ``long`` seconds (0: as the others). ``fits``: rows a second that the join has time for (0: that is measured)."""
    from muntin.session import local_spark

    spark = local_spark(cores="2", memory="3g")
    try:
        fits = fits or capacity(spark, say)
        say(f"the join has time for {fits} rows/s of each stream")
        for load in loads:
            for policy in POLICIES:
                longer = long and policy != "never" and load == max(loads) > 1
                found = one(spark, policy, max(1, round(load * fits)), load, long if longer else seconds)
                say(line(found))
                yield found
    finally:
        spark.stop()


def run_overload(
    say: Say, seconds: float | None, loads: str | None, long: float | None, json_file: Path | None, plot: Path | None
) -> bool:
    """The benchmark as the command runs it; whether what must hold does (``failures``). Raises ConfigError for loads
    that are no numbers, or for ``plot`` where it cannot be drawn."""
    try:
        chosen = LOADS if loads is None else tuple(float(x) for x in loads.split(","))
    except ValueError:
        raise ConfigError(f"--loads {loads!r}: write numbers, as 0.5,1,3") from None
    if min(chosen) <= 0:
        raise ConfigError(f"--loads {loads!r}: a load is more than 0")
    if plot is not None:
        require_plot(plot)
    found = []
    for each in run(say, seconds or SECONDS, chosen, LONG if long is None else long):
        found.append(each)  # what there is already is kept if the command is stopped
        if json_file is not None:
            write_json(found, json_file)
        if plot is not None:
            draw(found, plot)
    wrong = failures(found)
    for what in wrong:
        say(f"does not hold: {what}")
    return not wrong
