"""H12, Hammad et al. Figure 10(b), (c): each window at an expected burst of five."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting, curves
from muntin.research.shared_joins import h11
from muntin.research.shared_joins.study import NAMES, Found, by_clock
from muntin.research.shared_joins.workload import TABLE_1


def judge(found: Found) -> tuple[Check, ...]:
    """The longest responses for the largest window."""
    most = {p: float(found.most[p][-1]) for p in NAMES}
    ratio, near = most["swf"] / most["greedy"], most["greedy"] / most["lwo"]
    return (
        Check(
            "SWF's longest for w7 >= 2 times Greedy's",
            f"{most['swf']:.3g} and {most['greedy']:.3g} s, {ratio:.2f} times",
            ratio >= 2,
            "the longest burst is one backlog, and SWF's w7 gets what was held for it when its own outer is through; a "
            "backlog is worked off by the same work under either policy, so at this load the ratio is the share of "
            "small slices that new rows bring in the meantime",
        ),
        Check("Greedy's within 25 % of LWO's", f"{near:.2f} of LWO's", abs(near - 1) <= 0.25),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """The same rows as H11 at burst five."""
    found = h11.found_of(setting)[5]
    plots = tuple(
        Plot(
            f"Figure 10 {what}", "window (s)", "response (s)",
            curves(TABLE_1["Small-Large"], {p: values[p] for p in NAMES}),
        )
        for what, values in (("(b) average", found.mean), ("(c) maximum", found.most))
    )  # fmt: skip
    return Outcome(by_clock(setting, judge(found)), plots=plots)


ENTRY = Entry(
    "H12",
    "at burst 5 SWF's largest-window maximum is 125 s, Greedy's bounded by 25 s",
    "SWF max(w7) >= 2 x Greedy max(w7); Greedy max(w7) within 25% of LWO's",
    run,
)
