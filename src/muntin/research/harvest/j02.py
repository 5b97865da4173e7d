"""J2, Gedik et al. Figure 3: which logical basic windows are read, and what they hold."""

from __future__ import annotations

import random

from muntin.optimizer.harvest.problem import Problem
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.harvest.basic_windows import BasicWindows

RANKS = ((4, 3, 5, 1, 2), (3, 2, 1, 4, 5))
"""Of W3 and of W2 in direction 1, best first; the figure shows the first three and two."""


def selected() -> tuple[list[int], list[int]]:
    """Parts (from 1) that direction 1 reads with z = 0.6 and 0.4."""
    scores = tuple(tuple(float(5 - ranks.index(k + 1)) for k in range(5)) for ranks in RANKS)
    flat = ((1.0,) * 5,) * 2
    given = Problem(
        (1.0,) * 3, (1.0,) * 3, (5,) * 3, ((2, 1), (0, 2), (0, 1)), ((1.0,) * 2,) * 3, (scores, flat, flat)
    )  # fmt: skip
    counts = ((round(0.6 * 5), round(0.4 * 5)), (0, 0), (0, 0))
    first, second = ([k + 1 for k in given.read(counts, 0, j)] for j in (0, 1))
    return first, second


def misplaced(rng: random.Random, tuples: int) -> int:
    """Tuples that a logical basic window holds and should not, or lacks, over random times."""
    window, now, kept, wrong = BasicWindows(10.0, 2.0), 0.0, [], 0
    for _ in range(tuples):
        t = now + rng.expovariate(5.0)
        window.insert(t)
        kept.append(t)
        now = t + rng.random() * 0.1
        for j in range(1, window.n + 1):
            right = [x for x in kept if (j - 1) * 2.0 <= now - x < j * 2.0]
            wrong += right != list(window.logical(j, now))
    return wrong


def judge(first: list[int], second: list[int], physical: int, wrong: int) -> tuple[Check, ...]:
    """Selections, number of physical windows, wrong logical windows."""
    return (
        Check("W3: {3, 4, 5}", str(first), first == [3, 4, 5]),
        Check("W2: {2, 3}", str(second), second == [2, 3]),
        Check("6 physical basic windows", str(physical), physical == 6),
        Check("logical j holds exactly ages in [(j - 1) b, j b)", f"{wrong} wrong", wrong == 0),
    )


def run(setting: Setting) -> Outcome:
    """The figure, and random tuples."""
    wrong = misplaced(random.Random(2), 600 if setting.smoke else 2000)
    return Outcome(judge(*selected(), len(BasicWindows(10.0, 2.0).physical), wrong))


ENTRY = Entry(
    "J2",
    "Figure 3: R1={3,2}, z=0.6 and 0.4 with ranks 4,3,5 and 3,2 select {3,4,5} of W3 and {2,3} of W2",
    "exact selection; logical j contains exactly the tuples with age in [(j-1)b, jb)",
    run,
)
