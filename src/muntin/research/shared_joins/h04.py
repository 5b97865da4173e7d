"""H4, Hammad et al. Figure 4: the trace of smallest window first, in 12 steps (a scan and a routing each).

The text says in step 8 that Q3 gets (a9,b12) and (a5,b12); it is Q2, since Q3 gets them in order in step 12.
"""

from __future__ import annotations

from collections.abc import Mapping

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins.h02 import A11, B12
from muntin.research.shared_joins.pairs import FIGURE, FIGURE_WINDOWS, Pair, SharedJoin, Trace
from muntin.scheduling.swf import SWF

FOUND = [pair for both in zip(A11, B12, strict=True) for pair in both]
STEPS = [
    {0: A11[:1], 1: A11[:1], 2: A11[:1]},
    {0: B12[:1]},
    {1: A11[1:2], 2: A11[1:2]},
    {1: B12[:2]},
    {2: A11[2:]},
    {2: B12},
]
STREAMS = {0: A11[:1] + B12[:1], 1: A11[:2] + B12[:2], 2: A11 + B12}


def in_order(streams: Mapping[int, list[Pair]]) -> bool:
    """Whether each stream has each pair once, by the time of its newer row."""
    newest = [[max(float(a[1:]), float(b[1:])) for a, b in pairs] for pairs in streams.values()]
    return all(t == sorted(t) for t in newest) and all(len(p) == len(set(p)) for p in streams.values())


def judge(trace: Trace) -> tuple[Check, ...]:
    """Pairs as they are found, what leaves after each slice, whole streams."""
    streams = dict(trace.streams)
    return (
        Check("pairs are found in the document's order", f"{trace.found}", trace.found == FOUND),
        Check("what leaves after each scan (step 8: for Q2)", f"{trace.steps}", trace.steps == STEPS),
        Check("each query's stream", f"{streams}", streams == STREAMS and in_order(streams)),
    )


def run(setting: Setting) -> Outcome:
    """b12 comes while a11 scans w1."""
    arrives = {len(FIGURE) - 2: 1}
    return Outcome(judge(SharedJoin(SWF, FIGURE_WINDOWS).run(FIGURE, 6, lambda n: arrives.get(n, 0))))


ENTRY = Entry(
    "H4",
    "output order of the join step (a11,b8), (a9,b12), (a11,b4), (a5,b12), (a11,b0), (a1,b12), and what each "
    "step releases",
    "exact per-query streams; no duplicates, non-decreasing max timestamp",
    run,
)
