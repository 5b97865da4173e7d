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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from muntin.bench.contest import Say
from muntin.bench.overload_rows import TEXT, WINDOW, Compared, Writer, compared, put, rows_at
from muntin.bench.processes import held_by_workers
from muntin.bench.record import write_json
from muntin.core.errors import ConfigError
from muntin.core.optional import require_matplotlib
from muntin.plan.windows import Shed

INTERVAL = 3.0
"""Seconds from batch to batch."""

POLICIES: tuple[Shed, ...] = ("never", "drop", "harvest")
LOADS = (0.5, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class Overloaded:
    """One policy at one load. ``load``: input by what the join has time for; ``rate``: rows a second of each stream;
    ``results``: pairs that came out, ``exact``: that there were for the time that was answered; ``subset``: whether all
    of those given are among them; ``lag``: the most seconds that an answer was behind in the second half;
    ``lag_bounded``: whether that is within ten intervals; ``shed_share``: 1 - (results / exact); ``told``: what the
    run's metrics said of it; ``state_rows``: the most rows that were kept, ``memory_mb``: the most that workers held
    (resident, in the second half; 0 where the system does not tell), ``memory_bounded``: whether neither grew by more
    than a quarter from the third quarter of the time to the last."""

    policy: str
    load: float
    rate: int
    results: int
    exact: int
    subset: bool
    lag: float
    lag_bounded: bool
    shed_share: float
    told: float
    state_rows: int
    memory_mb: int
    memory_bounded: bool
    batches: int


@dataclass(frozen=True)
class Sample:
    """A look at a run: ``at`` seconds after its begin answers were ``lag`` seconds old; ``state_rows``, ``memory``
    (bytes): what it held; ``told``: the share that it had given so far, by its own estimate."""

    at: float
    lag: float
    state_rows: int
    memory: int
    told: float
    batches: int


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
        upto = run.metrics().watermark
        given = [pq.read_table(p, columns=["a", "b"]) for p in sorted((folder / "out").glob("batch=*/*.parquet"))]
    return judged(policy, load, rate, compared(writer.kept, given, upto), samples, seconds)


def _watched(run: Any, seconds: float) -> Iterator[Sample]:
    """A look at a run now and then, while rows come."""
    start = time.time()
    while time.time() < start + seconds:
        time.sleep(0.5)
        found = run.metrics()
        if found is not None and found.watermark is not None:  # a batch under way makes answers older, too
            lag = time.time() - found.watermark / 1e6
            told = found.answered.get("q", 1.0)
            yield Sample(time.time() - start, lag, found.state_rows, held_by_workers(os.getpid()), told, found.batches)


def judged(
    policy: str, load: float, rate: int, found: Compared, samples: Sequence[Sample], seconds: float
) -> Overloaded:
    """One line of the benchmark."""
    third, last = ([s for s in samples if low < s.at / seconds <= high] for low, high in ((0.5, 0.75), (0.75, 2.0)))
    lag = max((s.lag for s in (*third, *last)), default=float("inf"))
    bounded = bool(third and last) and all(
        max(get(s) for s in last) <= 1.25 * max(get(s) for s in third) for get in (_rows, _memory)
    )
    return Overloaded(
        policy, load, rate, found.results, found.exact, found.subset, round(lag, 2), lag <= 10 * INTERVAL,
        round(1 - found.results / max(1, found.exact), 4), round(1 - (samples[-1].told if samples else 1.0), 4),
        max(map(_rows, samples), default=0), max(map(_memory, (*third, *last)), default=0) >> 20, bounded,
        samples[-1].batches if samples else 0,
    )  # fmt: skip


def _rows(sample: Sample) -> int:
    return sample.state_rows


def _memory(sample: Sample) -> int:
    return sample.memory


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
    say: Say, seconds: float = 60.0, loads: Sequence[float] = LOADS, fits: int = 0
) -> Iterator[Overloaded]:
    """Every policy at every load, ``seconds`` of input each. ``fits``: rows a second that the join has time for (0:
    that is measured)."""
    from muntin.session import local_spark

    spark = local_spark(cores="2", memory="3g")
    try:
        fits = fits or capacity(spark, say)
        say(f"the join has time for {fits} rows/s of each stream; each run lasts {seconds:g} s")
        for load in loads:
            for policy in POLICIES:
                found = one(spark, policy, max(1, round(load * fits)), load, seconds)
                say(line(found))
                yield found
    finally:
        spark.stop()


def line(r: Overloaded) -> str:
    """One run in words."""
    return (
        f"load {r.load:g}, {r.policy:8}: {r.results:,} of {r.exact:,} pairs, subset {r.subset}, lag {r.lag:.1f} s"
        f"{'' if r.lag_bounded else ' (not bounded)'}, shed {r.shed_share:.1%} (told {r.told:.1%}), "
        f"{r.state_rows:,} rows kept, {r.memory_mb} MB{'' if r.memory_bounded else ' (growing)'}"
    )


def good(found: Sequence[Overloaded]) -> bool:
    """What must hold: parts of the exact answer, bounded lag where a policy sheds, harvest at least as much as drop."""
    shed = [r for r in found if r.policy != "never"]
    by = {(r.policy, r.load): r.results for r in found}
    over = [load for policy, load in by if policy == "harvest" and load > 1]
    return all(r.subset for r in found) and all(r.lag_bounded for r in shed) and all(
        by["harvest", x] >= by["drop", x] for x in over
    )  # fmt: skip


def draw(found: Sequence[Overloaded], path: Path, seconds: float) -> None:
    """Results a second over load, a curve for each policy. Needs matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for policy in POLICIES:
        points = sorted((r.load, r.results / seconds) for r in found if r.policy == policy)
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", label=policy)
    axes.set(xlabel="load by capacity", ylabel="results a second", title="Output rate over load")
    axes.legend()
    figure.savefig(path)


def run_overload(say: Say, seconds: float | None, loads: str | None, json_file: Path | None, plot: Path | None) -> bool:
    """The benchmark as the command runs it; whether what must hold does (``good``). Raises ConfigError for loads that
    are no numbers, or for ``plot`` without matplotlib."""
    try:
        chosen = LOADS if loads is None else tuple(float(x) for x in loads.split(","))
    except ValueError:
        raise ConfigError(f"--loads {loads!r}: write numbers, as 0.5,1,3") from None
    if plot is not None:
        require_matplotlib("--plot")
    each = seconds or 60.0
    found = list(run(say, each, chosen))
    if json_file is not None:
        write_json(found, json_file)
    if plot is not None:
        draw(found, plot, each)
    return good(found)
