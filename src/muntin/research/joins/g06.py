"""G6, Golab & Ozsu Figure 3(a): best orders of NAIVE, LAZY and GENERAL on four equal streams, tau from 1 to 50."""

from __future__ import annotations

from itertools import pairwise

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.joins.lazy_curves import LazyCosts, analytic, curves
from muntin.research.joins.parameters import equal

RECOMPUTED = {
    1: (43471, 2869),
    5: (11764, 3154),
    10: (8158, 3538),
    20: (7037, 4397),
    30: (7381, 5387),
    40: (8198, 6518),
    50: (9300, 7800),
}
"""tau -> what NAIVE and LAZY cost, worked out apart from the model."""


def judge(points: dict[int, LazyCosts]) -> tuple[Check, ...]:
    """The figure's claims over all tau."""
    taus = sorted(points)
    ratios = [points[t].naive / points[t].lazy for t in taus]
    lazy, naive = ([getattr(points[t], side) for t in taus] for side in ("lazy", "naive"))
    low = min(taus, key=lambda t: points[t].naive)
    at = taus.index(low)
    gap = max(abs(points[t].lazy / points[t].general - 1) for t in taus)
    right = all((round(points[t].naive), round(points[t].lazy)) == want for t, want in RECOMPUTED.items())
    return (
        Check("the recomputed values", "recomputed values hold" if right else "recomputed values differ", right),
        Check("LAZY = GENERAL for all tau", f"LAZY and GENERAL differ by {gap:.1g}", gap < 1e-12),
        Check(
            "LAZY increases with tau",
            f"LAZY {lazy[0]:.0f} to {lazy[-1]:.0f}",
            all(a < b for a, b in pairwise(lazy)),
        ),
        Check(
            "NAIVE/LAZY decreases from > 10 to < 1.3",
            f"NAIVE/LAZY {ratios[0]:.1f} to {ratios[-1]:.2f}",
            all(a > b for a, b in pairwise(ratios)) and ratios[0] > 10 and ratios[-1] < 1.3,
        ),
        Check(
            "NAIVE is U-shaped",
            f"NAIVE lowest at tau={low}",
            0 < at < len(taus) - 1
            and all(a > b for a, b in pairwise(naive[: at + 1]))
            and all(a < b for a, b in pairwise(naive[at:])),
        ),
    )


def run(setting: Setting) -> Outcome:
    """Formulas only: the entry is analytic."""
    points = analytic(equal(4), range(1, 51))
    plot = Plot("Figure 3(a)", "tau", "comparisons per unit time", curves(points), log=False)
    return Outcome(judge(points), (), (plot,))


ENTRY = Entry(
    "G6",
    "four equal streams: LAZY = GENERAL, cost rises with tau; NAIVE dearer, above all at small tau",
    "LAZY==GENERAL for all tau; LAZY monotone increasing; NAIVE/LAZY monotone decreasing from >10 to <1.3; NAIVE "
    "U-shaped",
    run,
)
