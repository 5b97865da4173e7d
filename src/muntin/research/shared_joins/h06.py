"""H6, Hammad et al. Figure 6: the trace of Greedy where w1 is larger than w2 - w1, and w3 - w2 the largest.

Every row of the other stream joins. The text's last step, "b12 with w3-w1", is w3-w2: b12 has done w2-w1, whose
priority is higher than that of a11's w3-w2.
"""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins.pairs import SharedJoin, Trace, Tuple, alone
from muntin.scheduling.greedy import GREEDY

WINDOWS = (4.0, 6.0, 12.0)
ROWS = [Tuple(t % 2, float(11 - t), 1) for t in range(11, 0, -1)] + [Tuple(0, 11.0, 1), Tuple(1, 12.0, 1)]
"""One row a second on alternate streams, then a11 and b12; all have one key."""

ORDER = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)]
"""(a11: 0, b12: 1; slice)."""


def judge(trace: Trace, own: dict[int, object]) -> tuple[Check, ...]:
    """The order of segments, and each query's stream."""
    units = [(u.outer, u.slice) for u in trace.units]
    names = ", ".join(f"{('a11', 'b12')[o]}:w{s + 1}" for o, s in units)
    return (
        Check("a11:w1, a11:w2, b12:w1, b12:w2, a11:w3, b12:w3", names, units == ORDER),
        Check("each query's stream is its own", "equal" if trace.streams == own else "not equal", trace.streams == own),
    )


def run(setting: Setting) -> Outcome:
    """Both rows have arrived when the first scan begins."""
    join = SharedJoin(GREEDY, WINDOWS)
    history = len(ROWS) - 2
    return Outcome(judge(join.run(ROWS, history, lambda n: 0), {**alone(WINDOWS, ROWS, history, join)}))


ENTRY = Entry(
    "H6",
    "order a11:w1, a11:w2, b12:w1, b12:w2, a11:w3, b12:w3",
    "exact segment order; per-query streams equal isolated",
    run,
)
