"""J7, Gedik et al. 5.1.1 and Figure 6: steps and candidates of the greedy search."""

from __future__ import annotations

import random

from muntin.optimizer.harvest.problem import Counts, Problem
from muntin.optimizer.harvest.solvers import Solution, greedy
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.harvest.random_problems import drawn


def bound(m: int, n: int) -> int:
    """m (m - 1)^2 sum n_i."""
    return m * (m - 1) ** 2 * m * n


def repeated(given: Problem, z: float, seen: list[Counts]) -> int:
    """Increments that were costed again after they had not fitted."""
    limit, frozen, found = z * given.total(given.full)[0] * (1 + 1e-12), set(), 0
    for counts in seen:
        found += counts in frozen
        if given.total(counts)[0] > limit:
            frozen.add(counts)
    return found


def maximal(given: Problem, z: float, found: Solution) -> bool:
    """Whether no single increment fits any more."""
    limit = z * given.total(given.full)[0] * (1 + 1e-12)
    for i, own in enumerate(found.counts):
        tried = [(*own[:j], own[j] + 1, *own[j + 1 :]) for j, n in enumerate(given.sizes(i)) if own[j] < n]
        for more in tried if all(own) else [tuple(1 for _ in own)]:
            if given.total((*found.counts[:i], more, *found.counts[i + 1 :]))[0] <= limit:
                return False
    return True


def judge(most: float, again: int, feasible: int, whole: int, n: int) -> tuple[Check, ...]:
    """The largest share of the bound; repeats; settings that fit, and that are maximal, of ``n``."""
    bounds = bound(3, 10), bound(5, 20)
    return (
        Check("bounds 360 and 8000", f"{bounds[0]} and {bounds[1]}", bounds == (360, 8000)),
        Check("evaluations never exceed the bound", f"at most {most:.0%} of it", most <= 1),
        Check("frozen fractions are never costed again", f"{again} times", again == 0),
        Check("the setting is feasible and maximal", f"{feasible} and {whole} of {n}", feasible == whole == n),
    )


def run(setting: Setting) -> Outcome:
    """Random problems."""
    rng, most, again, feasible, whole, count = random.Random(7), 0.0, 0, 0, 0, 0
    for m, n in ((3, 5), (4, 3)) if setting.smoke else ((3, 10), (4, 10), (5, 20)):
        for z in (0.01, 0.1, 0.3, 0.6, 1.0):
            given, seen = drawn(rng, m, n), []  # type: tuple[Problem, list[Counts]]
            found = greedy(given, z, watch=seen.append)
            most = max(most, found.evaluated / bound(m, n))
            again += repeated(given, z, seen)
            feasible += found.work <= z * given.total(given.full)[0] * (1 + 1e-9)
            whole += maximal(given, z, found)
            count += 1
    return Outcome(judge(most, again, feasible, whole, count))


ENTRY = Entry(
    "J7",
    "at most (m-1) sum n_i steps and m(m-1)^2 sum n_i evaluations; infeasible increments are frozen",
    "the counter never exceeds the bound; frozen ones never re-evaluated; final setting feasible and maximal",
    run,
)
