"""J12, Gedik et al. Figure 10: greedy, greedy reverse and double-sided, m = 3, in steps."""

from __future__ import annotations

import random

from muntin.optimizer.harvest.solvers import double_sided, greedy, greedy_reverse
from muntin.research.harness import Check, Entry, Outcome, Plot, Setting, curves
from muntin.research.harvest.j09 import FRACTIONS as QUALITY_FRACTIONS
from muntin.research.harvest.j09 import optimality
from muntin.research.harvest.random_problems import drawn

FRACTIONS = (0.05, 0.15, 0.25, 0.35, 0.44, 0.56, 0.65, 0.75, 0.85, 0.95)


def steps(runs: int, n: int) -> dict[str, list[float]]:
    """Mean steps at each fraction."""
    given = [drawn(random.Random(s), 3, n) for s in range(runs)]
    solvers = {"greedy": greedy, "reverse": greedy_reverse, "double": double_sided}
    return {name: [sum(solve(g, z).steps for g in given) / runs for z in FRACTIONS] for name, solve in solvers.items()}


def judge(found: dict[str, list[float]], quality: list[float]) -> tuple[Check, ...]:
    """Steps, and O(reverse) / best O."""
    least = [min(g, r) for g, r in zip(found["greedy"], found["reverse"], strict=True)]
    off = max(d / best for d, best in zip(found["double"], least, strict=True))
    reverse = found["reverse"]
    pairs = zip(FRACTIONS, found["double"], least, strict=True)
    where = REASON.format(", ".join(f"z={z:g}: {d:g} for {best:g}" for z, d, best in pairs if d > 1.1 * best))
    return (
        Check("reverse's steps fall with z", f"{reverse[0]:g} to {reverse[-1]:g}", reverse == sorted(reverse)[::-1]),
        Check("double-sided within 10 % of the better", f"x {off:.2f} at most", off <= 1.1, where),
        Check("quality of reverse >= 0.97", f"{min(quality):.3f} at least", min(quality) >= 0.97, QUALITY),
    )


REASON = (
    "the switch at 0.5 supposes that work grows with the square of the fractions, which correlated streams' does not; "
    "steps taken for the least possible: {}"
)
QUALITY = (
    "not in the document (ours); at the smallest z reverse has taken away single parts of directions that were worth "
    "more whole"
)


def run(setting: Setting) -> Outcome:
    """Steps; quality from the runs of J9."""
    found = steps(40, 10)  # of few draws the steps of neighbouring fractions overlap
    quality = optimality(*((15, 4) if setting.smoke else (200, 8)))["reverse"]
    assert len(quality) == len(QUALITY_FRACTIONS)
    return Outcome(judge(found, quality), plots=(Plot("steps", "z", "steps", curves(FRACTIONS, found), log=False),))


ENTRY = Entry(
    "J12",
    "Figure 10: double-sided switches at z = 0.5 for m = 3 and gets the best of both",
    "reverse's steps fall with z; double-sided within 10 % of the better outside +-0.05 of the switch; quality >= 0.97",
    run,
)
