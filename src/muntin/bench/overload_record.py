"""What a run of ``muntin bench overload`` came to: its record, its judgement, its line and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muntin.bench.overload_rows import Compared
from muntin.core.errors import ConfigError
from muntin.core.optional import require_matplotlib
from muntin.plan.windows import Shed

INTERVAL = 3.0
"""Seconds from batch to batch."""

POLICIES: tuple[Shed, ...] = ("harvest", "drop", "never")

SETTLED = 120.0
"""Seconds from which a run is long enough to judge whether it grows: before, processes still warm up."""

CLOSE = 0.05
"""By how much the share that a run tells of itself may be wrong, or by its own error where that is more."""


@dataclass(frozen=True)
class Overloaded:
    """One policy at one load, ``seconds`` of input. ``load``: input by what the join has time for; ``rate``: rows a
    second of each stream; ``results``: pairs that came out, ``exact``: that there were for the time that was answered;
    ``subset``: whether all of those given are among them; ``results_per_s``: pairs that were given while input came, a
    second; ``lag``: the most seconds that an answer was behind in the second half; ``lag_bounded``: whether that is
    within ten intervals; ``shed_share``: 1 - (results / exact); ``reported``: what the run's metrics said of it, within
    ``reported_error``; ``state_rows``: the most rows that were kept; ``memory_mb``: the most that workers held in the
    second half (resident; 0 where the system does not tell); ``memory_bounded``: whether neither grew by more than a
    quarter from the third quarter of the time to the last; ``batches``: that were done."""

    policy: str
    load: float
    rate: int
    seconds: float
    results: int
    exact: int
    subset: bool
    results_per_s: float
    lag: float
    lag_bounded: bool
    shed_share: float
    reported: float
    reported_error: float
    state_rows: int
    memory_mb: int
    memory_bounded: bool
    batches: int


@dataclass(frozen=True)
class Sample:
    """A look at a run: ``at`` seconds after its begin answers were ``lag`` seconds old; ``state_rows``, ``memory``
    (bytes): what it held; ``results``: pairs so far."""

    at: float
    lag: float
    state_rows: int
    memory: int
    results: int


@dataclass(frozen=True)
class Reported:
    """What a run's metrics say in the end: the share that it left out, the error of that, batches."""

    left_out: float = 0.0
    error: float = 0.0
    batches: int = 0


def judged(
    policy: str, load: float, rate: int, found: Compared, samples: Sequence[Sample], seconds: float, reported: Reported
) -> Overloaded:
    """One line of the benchmark."""
    third, last = ([s for s in samples if low < s.at / seconds <= high] for low, high in ((0.5, 0.75), (0.75, 2.0)))
    lag = max((s.lag for s in (*third, *last)), default=float("inf"))
    bounded = bool(third and last) and all(
        max(get(s) for s in last) <= 1.25 * max(get(s) for s in third) for get in (_rows, _memory)
    )
    return Overloaded(
        policy, load, rate, seconds, found.results, found.exact, found.subset,
        round(samples[-1].results / seconds if samples else 0.0, 1), round(lag, 2), lag <= 10 * INTERVAL,
        round(1 - found.results / max(1, found.exact), 4), round(reported.left_out, 4), round(reported.error, 4),
        max(map(_rows, samples), default=0), max(map(_memory, (*third, *last)), default=0) >> 20, bounded,
        reported.batches,
    )  # fmt: skip


def _rows(sample: Sample) -> int:
    return sample.state_rows


def _memory(sample: Sample) -> int:
    return sample.memory


def line(r: Overloaded) -> str:
    """One run in words."""
    return (
        f"load {r.load:g}, {r.policy + ',':8} {r.seconds:g} s: {r.results:,} of {r.exact:,} pairs, subset {r.subset}, "
        f"{r.results_per_s:,.0f} pairs/s, lag {r.lag:.1f} s{'' if r.lag_bounded else ' (not bounded)'}, "
        f"left out {r.shed_share:.1%} (reported {r.reported:.1%} within {100 * r.reported_error:.1f} points), "
        f"{r.state_rows:,} rows kept, {r.memory_mb} MB{'' if r.memory_bounded else ' (growing)'}"
    )


def failures(found: Sequence[Overloaded]) -> list[str]:
    """What does not hold of what must: answers are parts of the exact one; where a policy sheds, lag is bounded, memory
    too (of runs that are long enough to tell), and the share left out is reported; harvest gives at least what drop
    does."""
    shed = [r for r in found if r.policy != "never"]
    wrong = [f"{_named(r)}: not a part of the exact answer" for r in found if not r.subset]
    wrong += [f"{_named(r)}: lag is not bounded" for r in shed if not r.lag_bounded]
    wrong += [f"{_named(r)}: memory is not bounded" for r in shed if r.seconds >= SETTLED and not r.memory_bounded]
    wrong += [
        f"{_named(r)}: reported {r.reported:.1%} where {r.shed_share:.1%} was left out"
        for r in found
        if abs(r.reported - r.shed_share) > max(CLOSE, r.reported_error)
    ]
    by = {(r.policy, r.load): r.results / max(1, r.exact) for r in found}
    return wrong + [
        f"load {load:g}: harvest gives less than drop"
        for policy, load in by
        if policy == "harvest" and load > 1 and by["harvest", load] < by.get(("drop", load), 0.0)
    ]


def _named(r: Overloaded) -> str:
    return f"load {r.load:g}, {r.policy}, {r.seconds:g} s"


def draw(found: Sequence[Overloaded], path: Path) -> None:
    """Results a second over load, a curve for each policy (PNG, SVG, PDF by the ending). Needs matplotlib; raises
    ConfigError for another ending."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for policy, marker in zip(POLICIES, "osx", strict=True):
        points = sorted((r.load, r.results_per_s) for r in found if r.policy == policy)
        axes.plot([x for x, _ in points], [y for _, y in points], marker=marker, label=policy)
    whole = {r.load: r.rate for r in found}
    known = [r for r in found if r.policy == "never" and r.load <= 1]  # pairs go with the rate, as chance has them
    if known:
        each = sum(r.exact / r.seconds / r.rate**2 for r in known) / len(known)
        axes.plot(sorted(whole), [each * whole[x] ** 2 for x in sorted(whole)], "k:", label="all there are")
    axes.set(xlabel="load by capacity", ylabel="results a second", title="Output rate over load", ylim=(0, None))
    axes.legend()
    figure.savefig(path)


def require_plot(path: Path) -> None:
    """Raises ConfigError when nothing can be drawn, or not in this form."""
    require_matplotlib("--plot")
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"--plot {path}: the file ends in .png, .svg or .pdf")
