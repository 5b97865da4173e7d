"""J6, Gedik et al. Figure 4: an optimal configuration.

pdfs and selectivities are in the image alone: here Gaussians of 1.5 s at the stated lags, selectivities in the order
that the stated join orders imply (s23 < s12 < s13).
"""

from __future__ import annotations

from muntin.optimizer.harvest.problem import Counts
from muntin.optimizer.harvest.solvers import brute_force, greedy
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.harvest.random_problems import with_lags

SIGMA = [[0.0, 0.0020, 0.0030], [0.0020, 0.0, 0.0010], [0.0030, 0.0010, 0.0]]


def judge(orders: tuple[tuple[int, ...], ...], best: Counts, fast: Counts) -> tuple[Check, ...]:
    """Orders, and the settings of brute force and greedy (5 parts each)."""
    told = f"brute force {best}, greedy {fast}"
    most = all(sum(c[2]) == max(map(sum, c)) for c in (best, fast))
    return (
        Check("R1={2,3}, R2={3,1}, R3={2,1}", str(orders), orders == ((1, 2), (2, 0), (1, 0))),
        Check("direction 3 has the largest harvest", told, most),
        Check("z31 = z32 = 1", f"{best[2]}, {fast[2]}", best[2] == fast[2] == (5, 5), REASON),
    )


REASON = (
    "partners of S3 in W2 are about 1 s older than its tuples, so with any Gaussian of 1 to 2 s the parts beyond 6 s "
    "give nothing, and what they cost is spent on the other directions"
)


def run(setting: Setting) -> Outcome:
    """The scenario."""
    deviation = 1.5 / 2**0.5
    given = with_lags((300.0, 100.0, 150.0), [0.0, 4.0, 5.0], [deviation] * 3, SIGMA, 5, 10.0)
    return Outcome(judge(given.orders, brute_force(given, 0.5, 0).counts, greedy(given, 0.5).counts))


ENTRY = Entry(
    "J6",
    "Figure 4: with S2 and S3 lagging by 4 and 5 s, z31 = z32 = 1 at z = 0.5",
    "brute force and greedy give direction 3 the largest harvest (z31 = z32 = 1)",
    run,
)
