"""J4, Gedik et al. 4.3: modelled work and output against counted ones.

The second and third stream lead by 10 s, so that new tuples of the first have all partners, and the pdf is known: they
are older by 10 s and a Gaussian of the deviations. The model takes predicates as independent; those of an epsilon-join
are not: of two tuples within epsilon of a third, 3/4 are within epsilon of each other, which the selectivity of the
second hop includes.
"""

from __future__ import annotations

from dataclasses import replace
from math import hypot, inf

from muntin.optimizer.harvest.problem import Counts, Problem
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.harvest.engine import Setup, Simulation, full_problem
from muntin.research.harvest.random_problems import gaussian
from muntin.research.harvest.sizes import scaled
from muntin.research.harvest.streams import Workload
from muntin.research.kernels.harvest import OUTPUT, WORK

KAPPA, TAU = (2.0, 50.0, 50.0), (0.0, 10.0, 10.0)
SETTINGS: tuple[Counts, ...] = (((10, 10),) * 3, ((3, 2),) * 3, ((2, 4), (5, 1), (1, 3)))


def modelled(load: Workload) -> Problem:
    """With the known pdf."""
    b, speed = load.span / load.parts, load.domain / load.eta
    given, scores = full_problem(load), []
    for i, order in enumerate(given.orders):
        hops = []
        for w in order:
            deviation = hypot(load.kappa[i], load.kappa[w]) / speed
            older = load.tau[w] - load.tau[i]
            hops.append(tuple(gaussian(older, deviation, k * b, (k + 1) * b) for k in range(load.parts)))
        scores.append(tuple(hops))
    selectivity = tuple((s[0], 0.75 * s[1]) for s in given.selectivity)
    return replace(given, scores=tuple(scores), selectivity=selectivity)


def counted(load: Workload, given: Problem, counts: Counts, warm: float) -> tuple[float, float]:
    """(work, output) a second of a run with this setting, after ``warm`` seconds."""
    sim = Simulation(load, Setup(inf, omega=0.0, buffer=100, base=0.0), "full")
    sim.given = sim.problem = given
    sim.counts = counts
    sim.go(warm)
    before = sim.counters.copy()
    sim.go(load.seconds)
    moved = sim.counters - before
    each = load.seconds - warm
    return float(moved[WORK].sum()) / each, float(moved[OUTPUT].sum()) / each


def judge(ratios: list[tuple[float, float]]) -> tuple[Check, ...]:
    """(C, O) counted by modelled, of each setting."""
    work, output = ([r[k] for r in ratios] for k in (0, 1))
    return (
        Check("C within 10 %", ", ".join(f"{x:.3f}" for x in work), all(abs(x - 1) <= 0.1 for x in work)),
        Check("O within 10 %", ", ".join(f"{x:.3f}" for x in output), all(abs(x - 1) <= 0.1 for x in output)),
    )


def run(setting: Setting) -> Outcome:
    """Each setting, counted and modelled."""
    load = Workload(scaled(setting), KAPPA, TAU, seconds=60.0 if setting.smoke else 120.0)
    given, ratios = modelled(load), []
    for counts in SETTINGS:
        work, output = counted(load, given, counts, 20.0)
        model = given.total(counts)
        ratios.append((work / model[0], output / model[1]))
    return Outcome(judge(ratios))


ENTRY = Entry(
    "J4", "the cost and output model", "modelled C and O vs counted within 10 % on epsilon-join streams, known pdf", run
)
