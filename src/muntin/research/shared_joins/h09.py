"""H9, Hammad et al. Figure 8: average and maximum response of each window, by hash, at load 0.8."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting, curves
from muntin.research.shared_joins.study import (
    NAMES,
    Found,
    Study,
    by_clock,
    mean_under,
    measured,
    rows_of,
    seeds_of,
    told,
)
from muntin.research.shared_joins.workload import TABLE_1
from muntin.scheduling.slices import Policy
from muntin.scheduling.swf import SWF

LOAD = 0.8


RELEASING = Policy("swf that releases while it scans", SWF.order)
"""SWF's order of slices, without holding results until a slice is done."""


@dataclass(frozen=True)
class Why:
    """What is measured for the reasons. ``longest``: by rows of a run the greatest ratio of longest to mean;
    ``releasing``: mean by window of SWF for Uniform, were results to leave while their outer scans; ``ratios``: by load
    SWF's mean for w7 of Mostly-Small over that of Uniform."""

    longest: Mapping[int, float] = field(default_factory=dict)
    releasing: tuple[float, ...] = ()
    ratios: Mapping[float, float] = field(default_factory=dict)


def judge(found: Mapping[str, Found], why: Why = Why()) -> tuple[Check, ...]:
    """Claims (i) to (vii)."""
    means = {n: f.mean for n, f in found.items()}
    return (
        _nearly_constant(means), _small_first(means), _longest(found, why), _uniform(means["Uniform"], why),
        _mostly_small(means, why), _mostly_large(means["Mostly-Large"]), _small_large(means["Small-Large"]),
    )  # fmt: skip


Means = Mapping[str, NDArray[np.float64]]


def _nearly_constant(means: Mapping[str, Means]) -> Check:
    ratios = [float(m["lwo"].max() / m["lwo"].min()) for m in means.values()]
    rises = all(m["lwo"][-1] > m["lwo"][0] for m in means.values())
    ok = rises and max(ratios) <= 1.35
    return Check("(i) LWO nearly constant, slightly rising", f"max/min {', '.join(f'{r:.2f}' for r in ratios)}", ok)


def _small_first(means: Mapping[str, Means]) -> Check:
    faster = [[bool((m[p][:2] < m["lwo"][:2]).all()) for p in ("swf", "greedy")] for m in means.values()]
    shown = "; ".join(f"{n} {told(m['greedy'][:2])} against {told(m['lwo'][:2])} ms" for n, m in means.items())
    return Check("(ii) SWF and Greedy faster for the two smallest", f"Greedy {shown}", bool(np.all(faster)))


def longest(found: Mapping[str, Found]) -> float:
    """The greatest ratio of a window's longest response to its mean."""
    return max(float((f.most[p] / f.mean[p]).max()) for f in found.values() for p in NAMES)


def _longest(found: Mapping[str, Found], why: Why) -> Check:
    ratio = longest(found)
    shown = ", ".join(f"{r:.0f} times of {n:,} rows" for n, r in why.longest.items())
    return Check(
        "(iii) longest up to 10-100 times the average", f"up to {ratio:.0f} times", 10 <= ratio <= 100,
        f"the longest of a run is the longer the more rows come: {shown}",
    )  # fmt: skip


def _uniform(m: Means, why: Why) -> Check:
    apart = np.abs(m["greedy"][:-1] / np.array(why.releasing)[:-1] - 1).max() if why.releasing else 0.0
    near = float(np.abs(m["greedy"][:-1] / m["swf"][:-1] - 1).max())
    better = float(1 - m["greedy"][-1] / m["swf"][-1])
    return Check(
        "(iv) Uniform: SWF and Greedy within 25 %, Greedy better for w7",
        f"within {near:.0%}, w7 {better:.0%} better", near <= 0.25 and better > 0,
        "results leave while their outer scans under Greedy, and when it has scanned under SWF, much where the wait is "
        f"short (w2 {told(m['greedy'][1:2])} and {told(m['swf'][1:2])} ms): were they to leave while it scans "
        f"under SWF, too, they would be within {apart:.0%}",
    )  # fmt: skip


def _mostly_small(means: Mapping[str, Means], why: Why) -> Check:
    m, uniform = means["Mostly-Small"], means["Uniform"]
    near = float(np.abs(m["greedy"][:5] / m["swf"][:5] - 1).max())
    ratio = float(m["swf"][-1] / uniform["swf"][-1])
    ok = near <= 0.25 and m["greedy"][-1] < m["swf"][-1] and 0.3 <= ratio <= 0.7
    return Check(
        "(v) Mostly-Small: Greedy as SWF for small windows, better for w7; SWF's w7 0.3-0.7 of its Uniform value",
        f"within {near:.0%} for w1..w5, w7 {told(m['greedy'][-1:])} against {told(m['swf'][-1:])} ms, "
        f"{ratio:.2f} of Uniform",
        bool(ok),
        "equation (2), which the document refers to, gives 0.82 for a burst; of an open queue the ratio is "
        + ", ".join(f"{r:.2f} at load {at}" for at, r in why.ratios.items()),
    )


def _mostly_large(m: Means) -> Check:
    larger = m["lwo"] < m["greedy"]
    ratio = float(m["swf"][-1] / m["lwo"][-1])
    ok = bool(larger[2:].all() and not larger[:2].any() and ratio >= 2)
    return Check(
        "(vi) Mostly-Large: LWO beats Greedy for all but w1, w2; SWF/LWO >= 2 on w7",
        f"LWO {told(m['lwo'])}, Greedy {told(m['greedy'])} ms; SWF/LWO {ratio:.1f}", ok,
    )  # fmt: skip


def _small_large(m: Means) -> Check:
    small = float(np.abs(m["greedy"][:3] / m["swf"][:3] - 1).max())
    large = float(np.abs(m["greedy"][3:] / m["lwo"][3:] - 1).max())
    return Check(
        "(vii) Small-Large: Greedy within 25 % of SWF to 15 s, of LWO from 300 s",
        f"within {small:.0%} and {large:.0%}", small <= 0.25 and large <= 0.25,
    )  # fmt: skip


def found_of(setting: Setting) -> dict[str, Found]:
    """By distribution, at load 0.8."""
    rows, seeds = rows_of(setting), seeds_of(setting)
    return {n: measured(Study(n, LOAD, rows, seeds=seeds, clock=setting.clock)) for n in TABLE_1}


def why_of(setting: Setting, found: Mapping[str, Found]) -> Why:
    """The reasons' figures: fewer rows, SWF that releases, and other loads."""
    rows, seeds, clock = rows_of(setting), seeds_of(setting), setting.clock
    fewer = {n: measured(Study(n, LOAD, rows // 6, seeds=seeds, clock=clock)) for n in TABLE_1}
    releasing = mean_under(Study("Uniform", LOAD, rows, seeds=seeds, clock=clock), RELEASING)

    def last(windows: str, load: float) -> float:
        return float(measured(Study(windows, load, rows, seeds=seeds, clock=clock)).mean["swf"][-1])

    ratios = {at: last("Mostly-Small", at) / last("Uniform", at) for at in (0.5, LOAD, 0.95)}
    return Why({rows // 6: longest(fewer), rows: longest(found)}, releasing, ratios)


def run(setting: Setting) -> Outcome:
    """All distributions."""
    found = found_of(setting)
    why = why_of(setting, found)
    plots = [
        Plot(
            f"Figure 8 {what}, {n}", "window (s)", "response (ms)",
            curves(TABLE_1[n], {p: 1e3 * values[p] for p in NAMES}),
        )
        for n, f in found.items()
        for what, values in (("average", f.mean), ("maximum", f.most))
    ]  # fmt: skip
    return Outcome(by_clock(setting, judge(found, why)), plots=tuple(plots))


ENTRY = Entry(
    "H9",
    "per-window average and maximum: (i) LWO nearly constant; (ii) SWF/Greedy faster for small windows; (iii) max one "
    "or two orders above average; (iv)-(vii) by distribution",
    "each of (i)-(vii) as orderings; (v) ratio in [0.3,0.7]; (vii) Greedy within 25% of SWF on w<=15 and of LWO on "
    "w>=300; SWF/LWO >= 2 on w7 of Mostly-Large",
    run,
)
