"""J3, Gedik et al. 4.3: the yield P of a fraction z of ranked parts."""

from __future__ import annotations

import random

from muntin.optimizer.harvest.problem import Problem
from muntin.research.harness import Check, Entry, Outcome, Setting


def yields(scores: tuple[float, ...]) -> tuple[float, ...]:
    """P by parts read, 0 to n."""
    n = len(scores)
    given = Problem((1.0, 1.0), (1.0, 1.0), (n, n), ((1,), (0,)), ((1.0,), (1.0,)), ((scores,), (scores,)))
    return given.yields[0][0]


def judge(low: int, flat: int, full: int, n: int) -> tuple[Check, ...]:
    """Of ``n`` vectors, how many had P <= z for 0 < z < 1; P other than z though flat; P other than 1 at z = 1."""
    return (
        Check("P > z for 0 < z < 1 where scores differ", f"{low} of {n} not", low == 0),
        Check("P = z where they are flat", f"{flat} not", flat == 0),
        Check("P = 1 at z = 1", f"{full} not", full == 0),
    )


def run(setting: Setting) -> Outcome:
    """Random vectors."""
    rng, low, flat, full, count = random.Random(3), 0, 0, 0, 200 if setting.smoke else 5000
    for _ in range(count):
        n = rng.randint(2, 20)
        found = yields(tuple(rng.random() for _ in range(n)))
        low += any(found[k] <= k / n for k in range(1, n))
        full += abs(found[n] - 1) > 1e-12
        even = yields((rng.random() + 0.1,) * n)
        flat += any(abs(p - k / n) > 1e-12 for k, p in enumerate(even))
    return Outcome(judge(low, flat, full, count))


ENTRY = Entry("J3", "a flat pdf gives P = z, any other P > z", "P_ij >= z_ij with equality iff flat or z = 1", run)
