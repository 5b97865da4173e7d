"""A11, Ayad & Naughton Figure 8: what planning anew gains on average."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.static.reoptimised import LEVELS, mean, size, study


def judge(gain: dict[float, float]) -> tuple[Check, ...]:
    """By level, the mean gain over all queries."""
    values = [gain[level] for level in LEVELS]
    return (
        Check("2 to 8 % at 60 % of the resources", f"{gain[0.6]:.1%}", 0.02 <= gain[0.6] <= 0.08),
        Check("500 to 1100 % at 1 %", f"{gain[0.01]:.0%}", 5 <= gain[0.01] <= 11),
        Check("monotone", ", ".join(f"{v:.1%}" for v in values), values == sorted(values)),
    )


def run(setting: Setting) -> Outcome:
    """The study."""
    found = study(size(setting.smoke))
    gain = {level: mean([f.gain for f in rows]) for level, rows in found.items()}
    shown = [(level, g) for level, g in gain.items() if g > 0]
    return Outcome(judge(gain), plots=(Plot("average gain", "resources", "gain", {"gain": shown}),))


ENTRY = Entry(
    "A11",
    "Figure 8: about 4 % at 60 % of resources, almost 8-fold at 1 %",
    "60 %: 2-8 %; 1 %: 500-1100 %; monotone",
    run,
)
