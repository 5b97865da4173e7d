"""What the entries on Figures 7.8 to 7.14 share: runs of all schedulers, and how they are told and drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from muntin.research.harness import Check, Outcome, Plot, Setting
from muntin.research.transactions.simulation import (
    FAST,
    KINDS,
    READ_MS,
    SIZES,
    SLOW,
    Kind,
    Load,
    Means,
    measured,
    mixed,
    periodic,
)  # fmt: skip

Runs = Mapping[Kind, Mapping[int, Means]]
"""By scheduler and number of sub-windows."""


def runs_of(load: Callable[[int], Load], setting: Setting) -> dict[Kind, dict[int, Means]]:
    """All schedulers over windows of all sizes."""
    sizes, repetitions = ((10, 40), 1) if setting.smoke else (SIZES, 5)
    return {kind: {n: measured(kind, load(n), repetitions) for n in sizes} for kind in KINDS}


def told(runs: Runs, name: str) -> str:
    """A figure of all schedulers."""
    return "; ".join(
        f"{kind} " + " ".join(f"{getattr(m, name):,.4g}" for m in by.values()) for kind, by in runs.items()
    )


def value(runs: Runs, kind: Kind, name: str) -> list[float]:
    """A figure of one scheduler, by size."""
    return [float(getattr(m, name)) for m in runs[kind].values()]


def holds(runs: Runs, name: str, relation: Callable[[dict[Kind, float]], bool]) -> bool:
    """Whether a relation among the schedulers holds at every size."""
    sizes = next(iter(runs.values())).keys()
    return all(relation({k: float(getattr(by[n], name)) for k, by in runs.items()}) for n in sizes)


def growing(values: list[float]) -> bool:
    """Whether a series never falls."""
    return all(a <= b for a, b in pairwise(values))


def drawn(name: str, runs: Runs, what: str) -> Plot:
    """A figure against the number of sub-windows."""
    curves = {str(k): [(float(n), float(getattr(m, what))) for n, m in by.items()] for k, by in runs.items()}
    return Plot(name, "sub-windows", what, curves, log=False)


def plain(runs: Runs) -> dict[str, Any]:
    """For the record."""
    return {f"{kind} n={n}": m.plain for kind, by in runs.items() for n, m in by.items()}


def at_both_rates(
    figure: str,
    what: str,
    judge: Callable[[Runs, Runs], tuple[Check, ...]],
    dearer: Callable[[Runs], str] | None = None,
) -> Callable[[Setting], Outcome]:
    """An entry's run: periodic queries alone, with t = 1 s and 5 s. ``dearer``: what to say beside ``COSTS`` of runs
    with t = 1 s in which a read takes twice as long."""

    def run(setting: Setting) -> Outcome:
        fast, slow = runs_of(lambda n: periodic(n, FAST), setting), runs_of(lambda n: periodic(n, SLOW), setting)
        plots = (drawn(f"{figure}-1s", fast, what), drawn(f"{figure}-5s", slow, what))
        checks, figures = judge(fast, slow), {"1 s": plain(fast), "5 s": plain(slow)}
        if dearer is not None:
            dear = runs_of(lambda n: replace(periodic(n, FAST), read_ms=2 * READ_MS), setting)
            said = f"{COSTS}: where a read takes {2 * READ_MS:g} ms, {dearer(dear)}"
            checks = tuple(replace(c, reason=said) if c.reason == COSTS else c for c in checks)
            figures["1 s, reads twice as dear"] = plain(dear)
        return Outcome(checks, plots=plots, figures=figures)

    return run


def in_the_mix(figure: str, what: str, judge: Callable[[Runs], tuple[Check, ...]]) -> Callable[[Setting], Outcome]:
    """An entry's run: 100 periodic queries, and 5 one-time ones a sub-window of 5 s."""

    def run(setting: Setting) -> Outcome:
        runs = runs_of(mixed, setting)
        return Outcome(judge(runs), plots=(drawn(figure, runs, what),), figures=plain(runs))

    return run


COSTS = (
    "the thesis gives no costs; with 10 ms to read a summary for five queries a scan of half a window of 100 takes "
    "half a second, and how many updates fall into it, and how much they cost, decides the margin"
)
