"""J8, Gedik et al. 5.2.1: window shredding costs z of the full join."""

from __future__ import annotations

from math import inf

from muntin.optimizer.harvest.throttle import Throttle
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.harvest.engine import Setup, Simulation
from muntin.research.harvest.streams import Workload
from muntin.research.kernels.harvest import WORK

FRACTIONS = (0.1, 0.3, 0.7)


def shredded(load: Workload, z: float | None) -> float:
    """Work after 20 s of a run that shreds every tuple with ``z``; None: reads everything."""
    sim = Simulation(load, Setup(inf, omega=0.0 if z is None else 1.0, buffer=1000, base=0.0), "harvest")
    if z is not None:
        sim.throttle = Throttle(z)
    sim.go(20.0)
    before = float(sim.counters[WORK].sum())
    sim.go(load.seconds)
    return float(sim.counters[WORK].sum()) - before


def judge(shares: list[float]) -> tuple[Check, ...]:
    """Work by full work, for each fraction."""
    told = ", ".join(f"z={z:g}: {s:.4f}" for z, s in zip(FRACTIONS, shares, strict=True))
    right = all(abs(s / z - 1) <= 0.05 for z, s in zip(FRACTIONS, shares, strict=True))
    return (Check("counted comparisons / full = z within 5 %", told, right),)


def run(setting: Setting) -> Outcome:
    """Each fraction."""
    load = Workload(100.0, seconds=40.0)
    full = shredded(load, None)
    return Outcome(judge([shredded(load, z) / full for z in FRACTIONS]))


ENTRY = Entry("J8", "window shredding costs z C(1)", "counted comparisons of shredded tuples / full = z +-5 %", run)
