"""A13, Ayad & Naughton Figure 10: how far the System R style search is from the best left-deep plan."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.static.reoptimised import LEVELS, Found, mean, size, study


def judge(found: dict[float, list[Found]]) -> tuple[Check, ...]:
    """By level, each query's outputs."""
    errors = {level: mean([f.error for f in rows]) for level, rows in found.items()}
    middle = max(errors[level] for level in LEVELS[1:-1])
    least = max(f.best / f.heuristic for f in found[0.01])
    return (
        Check("mean error <= 0.5 % from 90 to 10 %", f"{middle:.3%}", middle <= 0.005),
        Check("0 at 100 %", f"{errors[1.0]:.1e}", errors[1.0] < 1e-9),
        Check("at 1 % <= 28 %", f"{errors[0.01]:.3%}", errors[0.01] <= 0.28),
        Check("best <= 2 x found at 1 %", f"{least:.3f} x", least <= 2),
    )


def run(setting: Setting) -> Outcome:
    """The study."""
    return Outcome(judge(study(size(setting.smoke))))


ENTRY = Entry(
    "A13",
    "Figure 10: average error <= 0.2 % but at 1 %, where 28 %; never a factor of two",
    "mean error <= 0.5 % for 10-90 %, 0 at 100 %; at 1 % <= 28 % and best <= 2 x found",
    run,
)
