"""J5, Gedik et al. 4.4: how many settings the brute force visits."""

from __future__ import annotations

import random

from muntin.optimizer.harvest.solvers import brute_force, settings
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.harvest.random_problems import drawn


def judge(found: list[tuple[int, int, int, int]]) -> tuple[Check, ...]:
    """(m, n, visited from 1, visited from 0)."""
    right = all(one == n ** (m * (m - 1)) and zero == (n + 1) ** (m * (m - 1)) for m, n, one, zero in found)
    told = ", ".join(f"m={m} n={n}: {one}, {zero}" for m, n, one, zero in found)
    return (Check("prod n_i^(m-1) from one part, (n + 1)^(m (m - 1)) from none", told, right),)


def run(setting: Setting) -> Outcome:
    """Small problems, visited whole."""
    rng, found = random.Random(5), []
    for m, n in ((2, 5), (3, 3)) if setting.smoke else ((2, 5), (2, 20), (3, 3), (3, 8), (3, 10)):
        given = drawn(rng, m, n)
        visited = [brute_force(given, 1.0, least).evaluated for least in (1, 0)]
        assert visited == [settings(given, least) for least in (1, 0)]
        found.append((m, n, *visited))
    return Outcome(judge(found))  # type: ignore[arg-type]


ENTRY = Entry("J5", "prod n_i^(m-1) settings", "the enumerator visits exactly that count", run)
