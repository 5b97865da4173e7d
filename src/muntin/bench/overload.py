"""``muntin bench overload``: what a join gives under several times the load that it has time for, by policy.

Two streams whose partners are some seconds apart, joined by a condition that no index helps (the square of a
difference), so that work is in looking at pairs, as in Gedik et al. (6.2). Rows come in real time, as files; a batch
takes all that have come. Each policy gets the same rows; what it gives is compared, by the numbers of the rows, with
the exact answer, which is computed afterwards in this process.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from muntin.bench.contest import Say
from muntin.core.errors import ConfigError
from muntin.plan.windows import Shed

WINDOW, LAG, KAPPA, DOMAIN, PERIOD = 20.0, 12.0, 10.0, 1000.0, 50.0
"""Seconds of both windows; by how much partners in ``r`` are older; deviation of values; values and their period."""

TEXT = (
    "Istream(SELECT l.n AS a, r.n AS b FROM l [RANGE 20 SECONDS], r [RANGE 20 SECONDS] "
    "WHERE (l.x - r.x) * (l.x - r.x) <= 1.0)"
)
EXACT = TEXT.replace("(l.x - r.x) * (l.x - r.x) <= 1.0", "ABS(l.x - r.x) <= 1.0")
"""The same condition as one that an index helps."""

INTERVAL = 3.0
PIECE = 0.5
"""Seconds from batch to batch, and from file to file."""

POLICIES: tuple[Shed, ...] = ("never", "drop", "harvest")
LOADS = (0.5, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class Overloaded:
    """One policy at one load. ``load``: input by what the join has time for; ``rate``: rows a second of each stream;
    ``results``: pairs that came out while rows came, ``exact``: that there were for the rows that came; ``subset``:
    whether all of those given are among them; ``lag``: the most seconds that an answer was behind in the second half;
    ``lag_bounded``: whether that is within ten intervals; ``shed_share``: 1 - (results / exact); ``told``: what the
    run's metrics said of it, on average; ``state_rows``: the most rows that were kept."""

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
    batches: int


def rows_at(rng: np.random.Generator, name: str, since: float, seconds: float, rate: int, first: int) -> pa.Table:
    """Rows of a stream over some seconds (since 1970): number, value, time."""
    n = round(seconds * rate)
    t = since + np.sort(rng.random(n)) * seconds
    lead = LAG if name == "r" else 0.0  # a row of r shows what a row of l shows LAG seconds later
    x = np.mod(DOMAIN / PERIOD * (t + lead) + KAPPA * rng.standard_normal(n), DOMAIN)
    us = pa.array((t * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))
    return pa.table({"ts": us, "n": np.arange(first, first + n), "x": x})


@dataclass
class Writer:
    """Puts a file of each stream every ``PIECE`` seconds, with the rows of that time."""

    folder: Path
    rate: int
    seconds: float
    kept: dict[str, list[pa.Table]] = field(default_factory=lambda: {"l": [], "r": []})

    def run(self) -> None:
        """Until all have come."""
        rng, start, done = np.random.default_rng(1), time.time(), 0
        for number in range(round(self.seconds / PIECE)):
            time.sleep(max(0.0, start + (number + 1) * PIECE - time.time()))
            for name, tables in self.kept.items():
                table = rows_at(rng, name, start + number * PIECE, PIECE, self.rate, done)
                put(self.folder / name, number, table)
                tables.append(table)
            done += round(PIECE * self.rate)


def put(folder: Path, number: int, table: pa.Table) -> None:
    """A file that appears whole; Spark takes files in the order of their times, which go by their numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{number:06d}"
    pq.write_table(table, hidden)
    os.utime(hidden, (1_600_000_000 + number, 1_600_000_000 + number))
    hidden.rename(folder / f"{number:06d}.parquet")


def one(spark: Any, policy: Shed, rate: int, load: float, seconds: float) -> Overloaded:
    """One run over ``seconds`` of input in real time."""
    from muntin.session import Session

    pairs: list[pa.Table] = []
    seen: list[tuple[float, Any]] = []
    lags: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        writer = Writer(folder / "in", rate, seconds)
        session = Session(spark, shards=4)
        for name in "lr":
            put(folder / "in" / name, -1, rows_at(np.random.default_rng(0), name, time.time() - 1, 1.0, 1, -9))
            schema = spark.read.parquet(str(folder / "in" / name)).schema
            session.stream(name, spark.readStream.schema(schema).parquet(str(folder / "in" / name)))
        query = session.sql(TEXT, name="q", shed=policy)
        query.write(foreach_batch=lambda df, batch: pairs.append(df.select("a", "b").toArrow()))
        run = session.start(str(folder / "cp"), f"{INTERVAL:g} seconds")
        thread = threading.Thread(target=writer.run, daemon=True)
        start = time.time()
        thread.start()
        while time.time() < start + seconds:
            time.sleep(0.5)
            found = run.metrics()
            if found is not None and found.watermark is not None:  # a batch under way makes answers older, too
                lags.append((time.time() - start, time.time() - found.watermark / 1e6))
            if found is not None and (not seen or found.batch != seen[-1][1].batch):
                seen.append((time.time() - start, found))
        thread.join()
        run.stop(timeout=10 * INTERVAL)
    return judged(policy, load, rate, pa.concat_tables(pairs), exact_pairs(writer.kept), seen, lags, seconds)


def exact_pairs(kept: dict[str, list[pa.Table]]) -> pa.Table:
    """What a join that has all the time gives."""
    from muntin import query

    inputs = {name: pa.concat_tables(tables) for name, tables in kept.items()}
    return query(EXACT, **inputs).select(["a", "b"])


def judged(
    policy: str,
    load: float,
    rate: int,
    given: pa.Table,
    exact: pa.Table,
    seen: Sequence[tuple[float, Any]],
    lags: Sequence[tuple[float, float]],
    seconds: float,
) -> Overloaded:
    """Compare; pairs with the rows that were there before are left out. ``lags``: (second, how old answers were)."""
    mine, all_of_it = (_codes(t) for t in (given, exact))
    mine = mine[mine >= 0]
    late = [lag for at, lag in lags if at > seconds / 2]
    lag = max(late, default=float("inf"))
    told = [m.queries["q"].share for _, m in seen]
    part = bool(np.isin(mine, all_of_it).all()) and len(np.unique(mine)) == len(mine)
    return Overloaded(
        policy, load, rate, len(mine), len(all_of_it), part, round(lag, 2), lag <= 10 * INTERVAL,
        round(1 - len(mine) / max(1, len(all_of_it)), 4), round(1 - float(np.mean(told)), 4) if told else 0.0,
        max((m.state_rows for _, m in seen), default=0), len(seen),
    )  # fmt: skip


def _codes(table: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    a, b = (table.column(n).to_numpy().astype(np.int64) for n in ("a", "b"))
    return np.where((a < 0) | (b < 0), -1, a * (1 << 31) + b)


def capacity(spark: Any, say: Say) -> int:
    """Rows a second of each stream for which the join just has time: work goes with the square of the rate."""
    rate = 200
    while True:
        begun = time.time()
        seconds = _batch_seconds(spark, rate)
        say(f"{rate} rows/s: a batch takes {seconds:.2f} s of {INTERVAL:g} ({time.time() - begun:.0f} s)")
        if seconds > 0.5 * INTERVAL or rate > 50_000:
            return round(rate * (0.8 * INTERVAL / seconds) ** 0.5)
        rate *= 2


def _batch_seconds(spark: Any, rate: int) -> float:
    """Seconds of a batch over full windows, rows being there already."""
    from muntin.session import Session

    took: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        folder, rng, start = Path(place), np.random.default_rng(1), 1_700_000_000.0
        batches = round(WINDOW / INTERVAL) + 4
        session = Session(spark, shards=4)
        for name in "lr":
            for b in range(batches):
                put(folder / name, b, rows_at(rng, name, start + b * INTERVAL, INTERVAL, rate, b * rate))
            reader = spark.readStream.schema(spark.read.parquet(str(folder / name)).schema)
            session.stream(name, reader.option("maxFilesPerTrigger", 1).parquet(str(folder / name)))
        marks = [time.time()]

        def note(df: Any, batch: int) -> None:
            df.select("a", "b").toArrow()
            marks.append(time.time())

        session.sql(TEXT, name="q").write(foreach_batch=note)
        run = session.start(str(folder / "cp"), "available_now")
        run.await_termination()
        took = np.diff(marks).tolist()
    return float(np.median(took[-3:]))


def run(say: Say, seconds: float = 60.0, loads: Sequence[float] = LOADS) -> Iterator[Overloaded]:
    """Every policy at every load, ``seconds`` of input each."""
    from muntin.session import local_spark

    spark = local_spark(cores="2", memory="3g")
    try:
        fits = capacity(spark, say)
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
        f"{r.state_rows:,} rows kept"
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
        json_file.write_text(json.dumps([asdict(r) for r in found], indent=2) + "\n", encoding="utf-8")
    if plot is not None:
        draw(found, plot, each)
    return good(found)


def require_matplotlib(option: str) -> None:
    """Raises ConfigError when nothing can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ConfigError(f"{option} needs matplotlib: pip install matplotlib") from None
