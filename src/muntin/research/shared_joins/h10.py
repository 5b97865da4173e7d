"""H10, Hammad et al. Figure 9: by nested loops, 15 rows a second of each stream.

Nested loops make the machine busy for half of the time; the join by hash at the same rate runs on the same machine.
"""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins import h08
from muntin.research.shared_joins.study import (
    NAMES,
    NLJ_RATE,
    Found,
    Study,
    by_clock,
    measured,
    rows_of,
    seeds_of,
    told,
)
from muntin.research.shared_joins.workload import TABLE_1


def judge(
    means: h08.Means, hashed: h08.Means, uniform: Found, why: h08.Why | None = None
) -> tuple[Check, ...]:
    """The orderings of H8, nested loops slower than hash, and the longest responses for Uniform."""
    slower = min(means[n][p] / hashed[n][p] for n in means for p in NAMES)
    lwo = uniform.most["lwo"]
    even = float(lwo.max() / lwo.min())
    last = {p: float(uniform.most[p][-1]) for p in ("greedy", "swf")}
    return (
        *h08.judge(means, why or h08.Why())[:2],
        Check("nested loops answer later than hash, all policies", f"at least {slower:.0f} times", slower > 1),
        Check(
            "LWO's longest even over windows (max/min <= 1.5)", f"max/min {even:.2f} ({told(lwo)} ms)", even <= 1.5,
            "the longest response is that of the longest scan which finds something, and at this rate w1 holds 0.03 "
            f"partners of a row on average: without w1 max/min is {lwo[1:].max() / lwo[1:].min():.2f}",
        ),
        Check(
            "Greedy's longest for w7 <= SWF's", f"{1e3 * last['greedy']:.3g} and {1e3 * last['swf']:.3g} ms",
            last["greedy"] <= last["swf"],
        ),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """Load 0.5."""
    rows, seeds, clock = rows_of(setting), seeds_of(setting), setting.clock
    means = h08.means_of(setting, "nlj", NLJ_RATE)
    hashed = {n: Study(n, h08.LOAD, rows, rate=NLJ_RATE, as_fast_as="nlj", seeds=seeds, clock=clock) for n in TABLE_1}
    uniform = measured(Study("Uniform", h08.LOAD, rows, "nlj", rate=NLJ_RATE, seeds=seeds, clock=clock))
    by_hash = {n: {p: measured(s).over_windows(p) for p in NAMES} for n, s in hashed.items()}
    checks = judge(means, by_hash, uniform, h08.why_of(setting, "nlj", NLJ_RATE))
    return Outcome(by_clock(setting, checks, Study("Uniform", 0.0, rows, "nlj", rate=NLJ_RATE)))


ENTRY = Entry(
    "H10",
    "nested loops: same trends as hash, higher response times; Greedy best overall, its max always better than SWF for "
    "large windows; LWO's max uniform",
    "orderings of H8; NLJ avg > hash avg at the same rate for all three; LWO max/min of per-window maxima <= 1.5; "
    "Greedy max(w7) <= SWF max(w7)",
    run,
)
