"""J19, Gedik et al. 7: memory shedding, and what harvesting gains where a hash table finds partners."""

from __future__ import annotations

import numpy as np

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.harvest.engine import Setup, Simulation, run, saturation
from muntin.research.harvest.j13 import outputs, workload
from muntin.research.harvest.sizes import scaled
from muntin.research.harvest.streams import Workload, streams
from muntin.research.kernels.harvest import OUTPUT


def with_less_memory(sat: float) -> tuple[list[float], list[float], float]:
    """Results by stream between two adaptations, with all tuples and without those of parts that no direction reads;
    the share of tuples that could go."""
    found = []
    share = 0.0
    for shed in (False, True):
        load = workload(3, False, 2 * sat)
        sim = Simulation(load, Setup(saturation(load, sat), omega=0.0), "harvest")
        solved = run(load, Setup(saturation(load, sat)), "harvest")
        assert solved.last is not None
        sim.problem, sim.counts = solved.last, solved.points[-1][3]
        sim.go(40.0)
        before = sim.counters.copy()
        if shed:
            kept = sim.problem.kept(sim.counts)
            for w, parts in enumerate(kept):
                first, end = sim.window[w]
                oldest = _next(sim) - load.span * parts / load.parts
                cut = int(np.searchsorted(sim.times[w, first:end], oldest - 1e-9)) + first
                share += (cut - first) / max(1, end - first) / len(kept)
                sim.window[w, 0] = cut
        sim.go(45.0)
        found.append((sim.counters - before)[OUTPUT].tolist())
    return found[0], found[1], share


def _next(sim: Simulation) -> float:
    """Time of the tuple that is joined next."""
    waiting = [float(sim.at[sim.buffers[s, 0]]) for s in range(sim.load.m) if sim.sizes[s]]
    return min([*waiting, float(sim.at[int(sim.clock[1])])])


def hash_gain(sat: float) -> float:
    """Improvement over RandomDrop of an equi-join with hash tables at twice its capacity."""
    kappa, tau = streams(3, False)
    load = Workload(2 * sat, tuple(kappa), tuple(tau), whole=True)
    harvest, drop = outputs(load, sat, 1)
    return harvest / max(drop, 1e-9) - 1


def judge(whole: list[float], less: list[float], share: float, hashed: float, epsilon: float) -> tuple[Check, ...]:
    """Results with and without the rule; gains of both joins."""
    return (
        Check(
            "output is the same without parts that no direction reads",
            f"{sum(less):.0f} results, {share:.0%} of the tuples gone",
            whole == less and sum(whole) > 0,
        ),
        Check(
            "a hash equi-join gains <= 20 % of what the epsilon-join does",
            f"{hashed:+.0%} against {epsilon:+.0%}",
            hashed <= 0.2 * epsilon,
            REASON,
        ),
    )


REASON = (
    "a look into each part's hash table costs little, as the document says, but the work of an equi-join is then in "
    "its matches, and at the second hop harvesting still chooses those that complete a result"
)


def run_entry(setting: Setting) -> Outcome:
    """Both claims."""
    sat = scaled(setting)
    epsilon, drop = outputs(workload(3, False, 2 * sat), sat, 1)
    return Outcome(judge(*with_less_memory(sat), hash_gain(sat), epsilon / drop - 1))


ENTRY = Entry(
    "J19",
    "7: parts beyond the last one read may be dropped; hash equi-joins gain little from harvesting",
    "identical output with the memory rule between adaptations; improvement on hash <= 20 % of that on epsilon-join",
    run_entry,
)
