"""H8, Hammad et al. Figure 7: average response over all windows, by hash.

The unweighted mean of the seven windows' means, at load 0.5: weighted by results, the largest windows decide alone.

DIFFERS, and not by chance of the three draws that are run: over twelve draws (seeds 1 to 12) LWO varies by 25.7 %, over
the first nine as well, draw by draw by 24.8 to 26.3 %, within the 25 % of the criterion in one of them. SWF and LWO tie
for Uniform, both at 1.9 ms: which comes first changes from draw to draw (SWF is second for Mostly-Small alone in four
of the twelve), and so may with other rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import mean

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins.study import NAMES, Study, by_clock, measured, rows_of, seeds_of
from muntin.research.shared_joins.workload import TABLE_1, Access

LOAD = 0.5

LOADS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""Loads at which the order of SWF and LWO is looked at, too."""

Means = dict[str, dict[str, float]]
"""Distribution -> policy -> seconds."""


@dataclass(frozen=True)
class Why:
    """What is measured for the reasons. ``ratios``: by load SWF's mean over LWO's for Uniform; ``ends``: by
    distribution LWO's mean for the smallest and for the largest window, seconds."""

    ratios: Mapping[float, float] = field(default_factory=dict)
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def turns(self) -> str:
        """How the order of SWF and LWO goes with the load."""
        shown = ", ".join(f"{r:.2f} at load {at}" for at, r in self.ratios.items())
        return f"Uniform turns with the load: SWF's mean over LWO's is {shown}"

    def spread(self) -> str:
        """How LWO's ends vary over the distributions."""
        varies = [max(x) / min(x) - 1 for x in zip(*self.ends.values(), strict=True)]
        small, large = varies or (0.0, 0.0)
        share = mean(a / b for a, b in self.ends.values()) if self.ends else 0.0
        return (
            f"w7 varies by {large:.0%} and w1 by {small:.0%}, but w1 waits {share:.2f} times as long as w7, since its "
            "results come early in their outer's scan: the more windows are small, the lower the unweighted mean"
        )


def study_of(setting: Setting, windows: str, access: Access, rate: float, load: float = LOAD) -> Study:
    """One distribution at a load."""
    return Study(windows, load, rows_of(setting), access, rate=rate, seeds=seeds_of(setting), clock=setting.clock)


def means_of(setting: Setting, access: Access = "hash", rate: float = 100.0) -> Means:
    """Of all distributions."""
    studies = {n: study_of(setting, n, access, rate) for n in TABLE_1}
    return {n: {p: measured(s).over_windows(p) for p in NAMES} for n, s in studies.items()}


def why_of(setting: Setting, access: Access = "hash", rate: float = 100.0) -> Why:
    """The reasons' figures."""
    uniform = {at: measured(study_of(setting, "Uniform", access, rate, at)) for at in LOADS}
    ratios = {at: f.over_windows("swf") / f.over_windows("lwo") for at, f in uniform.items()}
    lwo = {n: measured(study_of(setting, n, access, rate)).mean["lwo"] for n in TABLE_1}
    return Why(ratios, {n: (float(m[0]), float(m[-1])) for n, m in lwo.items()})


def judge(means: Means, why: Why = Why()) -> tuple[Check, ...]:
    """Greedy first everywhere, SWF second for Mostly-Small alone, LWO steady."""
    shown = "; ".join(f"{n} " + "/".join(f"{1e3 * m[p]:.2f}" for p in NAMES) for n, m in means.items())
    best = [n for n, m in means.items() if m["greedy"] <= min(m["lwo"], m["swf"])]
    second = [n for n, m in means.items() if m["swf"] < m["lwo"]]
    steady = [m["lwo"] for m in means.values()]
    spread = max(steady) / min(steady) - 1
    return (
        Check("Greedy is best in 4 of 4", f"LWO/SWF/Greedy in ms: {shown}", len(best) == len(means)),
        Check(
            "SWF < LWO for Mostly-Small alone", f"SWF < LWO for {', '.join(second) or 'none'}",
            second == ["Mostly-Small"],
            why.turns(),
        ),
        Check(
            "LWO varies <= 25 % over the distributions", f"LWO varies {spread:.0%}", spread <= 0.25,
            why.spread(),
        ),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """Load 0.5."""
    return Outcome(by_clock(setting, judge(means_of(setting), why_of(setting))))


ENTRY = Entry(
    "H8",
    "Greedy best in all four distributions; LWO second in all but Mostly-Small, where SWF is",
    "unweighted mean over windows, load 0.4-0.7: Greedy <= LWO and <= SWF in 4/4; SWF < LWO only for Mostly-Small; "
    "LWO varies <= 25% across distributions",
    run,
)
