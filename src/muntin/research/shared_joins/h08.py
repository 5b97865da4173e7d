"""H8, Hammad et al. Figure 7: average response over all windows, by hash.

The unweighted mean of the seven windows' means, at load 0.5: weighted by results, the largest windows decide alone.
"""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins.study import NAMES, Study, measured, rows_of, seeds_of
from muntin.research.shared_joins.workload import TABLE_1, Access

LOAD = 0.5

Means = dict[str, dict[str, float]]
"""Distribution -> policy -> seconds."""


def means_of(setting: Setting, access: Access = "hash", rate: float = 100.0) -> Means:
    """Of all distributions."""
    studies = {n: Study(n, LOAD, rows_of(setting), access, rate=rate, seeds=seeds_of(setting)) for n in TABLE_1}
    return {n: {p: measured(s).over_windows(p) for p in NAMES} for n, s in studies.items()}


def judge(means: Means) -> tuple[Check, ...]:
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
            "Uniform is nearly a tie at this load, and turns with it: SWF's mean is "
            f"{means['Uniform']['swf'] / means['Uniform']['lwo']:.2f} of LWO's",
        ),
        Check(
            "LWO varies <= 25 % over the distributions", f"LWO varies {spread:.0%}", spread <= 0.25,
            "a window's results come while LWO scans, so small windows' wait less by half of their outer's own scan; "
            "the more windows are small, the lower the unweighted mean",
        ),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """Load 0.5."""
    return Outcome(judge(means_of(setting)))


ENTRY = Entry(
    "H8",
    "Greedy best in all four distributions; LWO second in all but Mostly-Small, where SWF is",
    "unweighted mean over windows, load 0.4-0.7: Greedy <= LWO and <= SWF in 4/4; SWF < LWO only for Mostly-Small; "
    "LWO varies <= 25% across distributions",
    run,
)
