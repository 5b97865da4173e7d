"""T1, thesis Figure 1.1: the largest value of a sliding window.

The figure's numbers beside 75, 73 and 61 are not in the text; smaller ones stand in for them. The product runs the
query, fed second by second, under each of its strategies. The delayed form is the product's too: the same query with
SLIDE 15 SECONDS, whose window lets tuples go every 15 seconds only.
"""

from __future__ import annotations

from collections.abc import Sequence

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import Row, bound, catalog, local, metered

WINDOW = 60
STRATEGIES = ("upa", "nt", "direct", "auto")
ITEMS = ((1, 75), (12, 52), (23, 73), (34, 68), (45, 70), (58, 61))
"""(second, value); 61 arrives last, 75 leaves at second 61."""

TEXT = f"SELECT MAX(a) AS m FROM S [RANGE {WINDOW} SECONDS]"


def answers(changes: Sequence[Row], seconds: Sequence[int]) -> list[object]:
    """The value shown at each second, from a change stream or from whole answers."""
    return [[r.values[0] for r in changes if r.op != "-" and r.ts <= s][-1] for s in seconds]


LATE = f"SELECT MAX(a) AS m FROM S [RANGE {WINDOW} SECONDS SLIDE 15 SECONDS]"
"""The same query, expired and shown every 15 seconds only."""


def judge(shown: dict[str, list[object]], late: list[object]) -> tuple[Check, ...]:
    """``shown``: by strategy, what the product shows before 61 arrives, when it does, and when 75 has left. ``late``:
    what it shows then if it expires tuples every 15 seconds."""
    wrong = {s: found for s, found in shown.items() if found != [75, 75, 73]}
    told = f"answers {shown['upa']} under {', '.join(shown)}" if not wrong else f"answers {wrong}"
    return (
        Check("75 stays when 61 arrives, becomes 73 when 75 expires, under each strategy", told, not wrong),
        Check("delayed expiry shows 75 wrongly", f"delayed expiry shows {late}", late == [75, 75, 75]),
    )


def run(setting: Setting) -> Outcome:
    """The trace, on the local runtime: under each strategy, and with expiry every 15 seconds."""
    rows, streams, seconds = {"S": [{"ts": t, "a": v} for t, v in ITEMS]}, catalog(S="a"), (57, 58, 61)
    runs = {s: metered(bound(TEXT, streams), rows, s, until=61) for s in STRATEGIES}
    late = answers(local(bound(LATE, streams), rows, live=True, until=61), seconds)
    shown = {s: answers(found.changes, seconds) for s, found in runs.items()}
    return Outcome(judge(shown, late), figures={s: found.plain for s, found in runs.items()})


ENTRY = Entry(
    "T1",
    "sliding MAX: 75 stays the answer when 61 arrives, becomes 73 when 75 expires",
    "exact; eager expiry needed (delayed expiry shows 75 wrongly)",
    run,
)
