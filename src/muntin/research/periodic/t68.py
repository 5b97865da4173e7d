"""T68, thesis section 8.5.2: how many sub-groups hybrid scheduling runs with another.

Deviations: as T65; of all groups of all workloads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.periodic.policies import Load, tasks_of
from muntin.research.periodic.study import SEEDS, SIZES, base


def shares(load: Load) -> list[float]:
    """By group the share of sub-groups that take another's period."""
    before, after = (Counter(t.group for t in tasks_of(kind, load)) for kind in ("conservative", "hybrid"))
    return [1 - after[group] / n for group, n in before.items()]


def judge(found: Sequence[float], scans: Sequence[float]) -> tuple[Check, ...]:
    """``scans``: where queries do nothing but scan."""
    return (
        Check(
            "the median share of sub-groups that are run with another is at least 40 %",
            f"median {median(found):.0%}",
            median(found) >= 0.4,
            "running a query early costs what it does with the counters of its window, which no sharing saves; with "
            f"that free the median is {median(scans):.0%}",
        ),
    )


def run(setting: Setting) -> Outcome:
    """All sizes at the low rate."""
    sizes = SIZES[:2] if setting.smoke else SIZES
    loads = [replace(base(setting), per_group=n, seed=s) for n in sizes for s in range(SEEDS)]
    by_size = {load: shares(load) for load in loads}
    scans = [x for load in loads for x in shares(replace(load, finish=False))]
    every = [x for found in by_size.values() for x in found]
    cost = [x for load in loads for x in shares(replace(load, by="document"))]
    note = f"by the document's cost, not the product's, the median is {median(cost):.0%}"
    shown = {f"{8 * n} queries": median(x for at, f in by_size.items() if at.per_group == n for x in f) for n in sizes}
    return Outcome(judge(every, scans), (note,), figures=shown)


ENTRY = Entry(
    "T68",
    "hybrid scheduling often needs g/2 tasks for g sub-groups",
    "median merged fraction >= 40% on the random workload",
    run,
)
