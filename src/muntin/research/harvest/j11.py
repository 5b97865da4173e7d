"""J11, Gedik et al. Figure 9: running time over z, in steps."""

from __future__ import annotations

import random

from muntin.optimizer.harvest.solvers import greedy
from muntin.research.harness import Check, Entry, Outcome, Plot, Setting, curves
from muntin.research.harvest.random_problems import drawn

FRACTIONS = (0.01, 0.1, 0.25, 0.5, 0.75, 1.0)


def steps(m: int, n: int, runs: int) -> list[float]:
    """Mean steps at each fraction."""
    given = [drawn(random.Random(s), m, n) for s in range(runs)]
    return [sum(greedy(g, z).steps for g in given) / runs for z in FRACTIONS]


def judge(by_m: dict[int, list[float]], n: int) -> tuple[Check, ...]:
    """Steps by m; one that begins a direction takes m - 1 parts at once."""
    whole = {m: n * m * (m - 1) - m * (m - 2) for m in by_m}
    rising = all(v == sorted(v) for v in by_m.values())
    told = "; ".join(f"m={m} " + ", ".join(f"{x:g}" for x in v) for m, v in by_m.items())
    return (
        Check("steps do not fall with z", told, rising),
        Check("n m (m - 1) less what beginnings save at z = 1", str(whole), all(by_m[m][-1] == whole[m] for m in by_m)),
        Check("m = 3 < 4 < 5", f"at z = 1 {[v[-1] for v in by_m.values()]}", by_m[3] < by_m[4] < by_m[5]),
    )


def run(setting: Setting) -> Outcome:
    """m of 3, 4, 5."""
    n = 5 if setting.smoke else 10
    by_m = {m: steps(m, n, 3 if setting.smoke else 20) for m in (3, 4, 5)}
    lines = curves(FRACTIONS, {f"m={m}": v for m, v in by_m.items()})
    return Outcome(judge(by_m, n), plots=(Plot("steps", "z", "steps", lines, log=False),))


ENTRY = Entry(
    "J11",
    "Figure 9: best case z ~ 0 stops after the first step, worst z = 1 with about n m (m-1) steps",
    "monotone in z; steps(z=1) = n m (m-1) less initialisation; m=3<4<5",
    run,
)
