"""H11, Hammad et al. Figure 10(a): burst size, Small-Large by hash at load 0.8.

The same uniform draws make the bursts of all expected sizes. Sizes are floors of Pareto values, whose variance has no
bound from an expected size of two on: a run's longest burst decides, so all policies are compared on the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.shared_joins.study import HASH_RATE, NAMES, Found, Study, by_clock, measured, rows_of
from muntin.research.shared_joins.workload import arrivals_of

LOAD, BURSTS = 0.8, (1, 2, 3, 4, 5)


def found_of(setting: Setting) -> dict[int, Found]:
    """By expected size of a burst."""
    rows, seeds, clock = rows_of(setting), _seeds(setting), setting.clock
    return {e: measured(Study("Small-Large", LOAD, rows, burst=float(e), seeds=seeds, clock=clock)) for e in BURSTS}


def _seeds(setting: Setting) -> tuple[int, ...]:
    return (1, 2) if setting.smoke else (1, 2, 3, 4, 5)


def longest_bursts(setting: Setting) -> dict[int, int]:
    """By expected size the longest burst that comes in the runs: rows that follow one another within 2 microseconds."""
    found = {}
    for e in BURSTS:
        found[e] = 0
        for seed in _seeds(setting):
            rows = arrivals_of(rows_of(setting), HASH_RATE, 600.0, seed, float(e))
            for stream in (0, 1):
                own = rows.times[rows.first :][rows.streams[rows.first :] == stream]
                ends = np.flatnonzero(np.append(np.diff(own) > 2e-6, True))
                found[e] = max(found[e], int(np.diff(np.append(-1, ends)).max()))
    return found


def judge(means: Mapping[int, Mapping[str, float]], bursts: Mapping[int, int] | None = None) -> tuple[Check, ...]:
    """Greedy first, by more and more; all grow faster than the bursts."""
    lowest = [e for e, m in means.items() if m["greedy"] < min(m["lwo"], m["swf"])]
    gaps = [m["lwo"] - m["greedy"] for m in means.values()]
    at_4 = means[4]
    less, longer = 1 - at_4["greedy"] / at_4["lwo"], at_4["lwo"] / at_4["greedy"]
    growth = {p: means[5][p] / means[1][p] for p in NAMES}
    shown = "; ".join(f"{e}: " + "/".join(f"{m[p]:.3g}" for p in NAMES) for e, m in means.items())
    return (
        Check("Greedy strictly lowest for every E", f"LWO/SWF/Greedy in s: {shown}", len(lowest) == len(means)),
        Check(
            "the gap to LWO grows with E", ", ".join(f"{g:.3g}" for g in gaps), bool((np.diff(gaps) > 0).all()),
            "one burst makes most of a run's waiting where their variance has no bound; the longest that came has "
            + ", ".join(f"{n} rows at E = {e}" for e, n in (bursts or {}).items()),
        ),
        Check(
            "at E = 4 35 % less than LWO, or LWO 1.5 times", f"{less:.0%} less, {longer:.2f} times",
            less >= 0.35 or longer >= 1.5,
        ),
        Check(
            "all grow superlinearly in E", ", ".join(f"{p} {g:.0f} times from 1 to 5" for p, g in growth.items()),
            min(growth.values()) > 5,
        ),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """Expected bursts of one to five rows."""
    means = {e: {p: f.over_windows(p) for p in NAMES} for e, f in found_of(setting).items()}
    plot = Plot(
        "Figure 10(a)", "expected burst", "response (s)", {p: [(e, m[p]) for e, m in means.items()] for p in NAMES}
    )
    return Outcome(by_clock(setting, judge(means, longest_bursts(setting))), plots=(plot,))


ENTRY = Entry(
    "H11",
    "Greedy best for all burst sizes, up to 80% better than LWO at burst 4",
    "Greedy strictly lowest for every E; gap grows with E; at E=4 (LWO-Greedy)/LWO >= 0.35 or LWO/Greedy >= 1.5; all "
    "superlinear in E",
    run,
)
