"""J10, Gedik et al. Figure 8: running time over the number of basic windows, z = 0.25.

Time is counted in settings that are costed, so that it is the same on every machine. Greedy takes at most one step for
each basic window and direction, n m (m - 1), and costs a setting for each of m (m - 1) fractions in each of them.
"""

from __future__ import annotations

import random

from muntin.optimizer.harvest.solvers import greedy, settings
from muntin.research.harness import Check, Entry, Outcome, Plot, Setting, curves
from muntin.research.harvest.random_problems import drawn

SIZES = (5, 10, 15, 20)


def evaluations(m: int, n: int, runs: int) -> float:
    """Mean settings costed by greedy."""
    return sum(greedy(drawn(random.Random(s), m, n), 0.25).evaluated for s in range(runs)) / runs


def judge(by_m: dict[int, list[float]], exhaustive: list[int]) -> tuple[Check, ...]:
    """Evaluations by size."""
    ratio = exhaustive[1] / by_m[3][1]
    growth = max(values[-1] / values[0] for values in by_m.values())
    used = max(e / (n * (m * (m - 1)) ** 2) for m, values in by_m.items() for n, e in zip(SIZES, values, strict=True))
    right = [n**6 for n in SIZES]
    return (
        Check("exhaustive / greedy >= 10^3 at n = 10, m = 3", f"{ratio:.0f}", ratio >= 1e3),
        Check("greedy grows about linearly in n", f"x {growth:.1f} for 4 times n", growth <= 6),
        Check("and polynomially in m: at most n (m (m - 1))^2", f"{used:.2f} of that", used <= 1),
        Check("exhaustive grows as n^(m (m - 1))", ", ".join(map(str, exhaustive)), exhaustive == right),
    )


def run(setting: Setting) -> Outcome:
    """All sizes."""
    runs = 3 if setting.smoke else 30
    by_m = {m: [evaluations(m, n, runs) for n in SIZES] for m in (3, 4, 5)}
    exhaustive = [settings(drawn(random.Random(0), 3, n)) for n in SIZES]
    lines = curves(SIZES, {**{f"greedy m={m}": v for m, v in by_m.items()}, "exhaustive m=3": exhaustive})
    return Outcome(judge(by_m, exhaustive), plots=(Plot("settings costed", "n", "settings", lines),))


ENTRY = Entry(
    "J10",
    "Figure 8: exhaustive several orders of magnitude slower; greedy within 10 ms for m=5, n<=20",
    "evaluations: ratio >= 10^3 at n=10, m=3; greedy ~ linear in n, polynomial in m; exhaustive as n^(m(m-1))",
    run,
)
