"""A10, Ayad & Naughton Figure 7: how often the plan of lowest utilisation is not the one to shed from.

Deviation: a small run has fewer queries than the document's thousand, so the curve counts as monotone where it falls by
no more than a standard error of the difference of two shares.
"""

from __future__ import annotations

from itertools import pairwise
from math import sqrt

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.static.reoptimised import LEVELS, mean, size, study


def crossing(share: dict[float, float]) -> float:
    """The level at which half of the queries need another plan, interpolated."""
    for high, low in pairwise(LEVELS):
        if share[high] < 0.5 <= share[low]:
            return high - (high - low) * (0.5 - share[high]) / (share[low] - share[high])
    return 0.0


def judge(share: dict[float, float], queries: int) -> tuple[Check, ...]:
    """By level, the share of the queries that need another plan."""
    told = ", ".join(f"{share[level]:.0%}" for level in LEVELS)
    values = [share[level] for level in LEVELS]
    at = crossing(share)
    return (
        Check("monotone as resources fall", told, all(b - a >= -sqrt(0.5 / queries) for a, b in pairwise(values))),
        Check("crosses 50 % between 65 and 50 % of the resources", f"at {at:.0%}", 0.5 <= at <= 0.65),
        Check(">= 85 % at <= 30 %", f"{min(values[7:]):.0%}", min(values[7:]) >= 0.85),
    )


def run(setting: Setting) -> Outcome:
    """The study."""
    found = study(size(setting.smoke))
    share = {level: mean([float(f.better) for f in rows]) for level, rows in found.items()}
    plot = Plot("queries that need another plan", "resources", "share", {"share": list(share.items())}, log=False)
    return Outcome(judge(share, len(found[1.0])), plots=(plot,))


ENTRY = Entry(
    "A10",
    "Figure 7: rises about linearly, more than 50 % at about 60 % of resources, almost certain from 30 %",
    "monotone; crosses 50 % between 65 and 50 % resources; >= 85 % at <= 30 %",
    run,
)
