"""T1, thesis Figure 1.1: the largest value of a sliding window.

The figure's numbers beside 75, 73 and 61 are not in the text; smaller ones stand in for them. The product runs the
query
fed second by second. The delayed form purges its window every 15 seconds only.
"""

from __future__ import annotations

from collections.abc import Sequence

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import Row, bound, catalog, local

WINDOW = 60
ITEMS = ((1, 75), (12, 52), (23, 73), (34, 68), (45, 70), (58, 61))
"""(second, value); 61 arrives last, 75 leaves at second 61."""

TEXT = f"SELECT MAX(a) AS m FROM S [RANGE {WINDOW} SECONDS]"


def answers(changes: Sequence[Row], seconds: Sequence[int]) -> list[object]:
    """The value shown at each second, from a change stream."""
    return [[r.values[0] for r in changes if r.op == "+" and r.ts <= s][-1] for s in seconds]


def delayed(second: int, every: int) -> int:
    """MAX over a window whose old tuples are purged only every ``every`` seconds."""
    purged = second // every * every
    return max(v for ts, v in ITEMS if ts <= second and ts + WINDOW > purged)


def judge(shown: list[object]) -> tuple[Check, ...]:
    """``shown``: what the product shows before 61 arrives, when it does, and when 75 has left."""
    late = delayed(61, 15)
    return (
        Check("75 stays when 61 arrives, becomes 73 when 75 expires", f"answers {shown}", shown == [75, 75, 73]),
        Check("delayed expiry shows 75 wrongly", f"delayed expiry shows {late}", late == 75 and delayed(61, 1) == 73),
    )


def run(setting: Setting) -> Outcome:
    """The trace, on the local runtime."""
    changes = local(bound(TEXT, catalog(S="a")), {"S": [{"ts": t, "a": v} for t, v in ITEMS]}, live=True, until=61)
    return Outcome(judge(answers(changes, (57, 58, 61))))


ENTRY = Entry(
    "T1",
    "sliding MAX: 75 stays the answer when 61 arrives, becomes 73 when 75 expires",
    "exact; eager expiry needed (delayed expiry shows 75 wrongly)",
    run,
)
