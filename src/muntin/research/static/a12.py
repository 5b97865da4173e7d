"""A12, Ayad & Naughton Figure 9: the gain of those queries that gain, and the largest."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.static.reoptimised import Found, mean, size, study

REASON = (
    "all / benefiting is the share of queries that gain at all, of which A10 has 0.59 at 50 % of the resources with a "
    "thousand queries and 0.76 at 40 %"
)


def figures(found: list[Found]) -> tuple[float, float, float]:
    """Mean gain of all, of those that gain, and the largest."""
    gains = [f.gain for f in found]
    return mean(gains), mean([f.gain for f in found if f.better]), max(gains)


def judge(at: dict[float, tuple[float, float, float]]) -> tuple[Check, ...]:
    """By level (all, benefiting, largest)."""
    dilution = {level: a / b if b else 0.0 for level, (a, b, _) in at.items()}
    below_half = min(dilution[x] for x in (0.5, 0.4, 0.3, 0.2, 0.1, 0.01))
    low = min(dilution[x] for x in (0.2, 0.1, 0.01))
    far, near = (at[x][2] / at[x][0] for x in (0.8, 0.3))
    return (
        Check("all / benefiting >= 0.65 at <= 50 %", f"{below_half:.2f}", below_half >= 0.65, REASON),
        Check("and >= 0.9 at <= 20 %", f"{low:.2f}", low >= 0.9),
        Check("largest / mean at 80 % > at 30 %", f"{far:.1f} > {near:.1f}", far > near),
    )


def run(setting: Setting) -> Outcome:
    """The study."""
    return Outcome(judge({level: figures(rows) for level, rows in study(size(setting.smoke)).items()}))


ENTRY = Entry(
    "A12",
    "Figure 9: dilution near saturation alone, none to speak of from 50 % down; max/avg falls as resources fall",
    "avg-all/avg-benefiting >= 0.65 at <= 50 % and >= 0.9 at <= 20 %; max/avg at 80 % > at 30 %",
    run,
)
