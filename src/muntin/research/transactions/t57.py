"""T57, thesis Figure 7.14: how old periodic answers are beside one-time queries."""

from __future__ import annotations

from muntin.research.harness import Check, Entry
from muntin.research.transactions.figures import Runs, holds, in_the_mix, told


def judge(runs: Runs) -> tuple[Check, ...]:
    """Runs of the mix."""
    return (
        Check("TTU best", told(runs, "staleness"), holds(runs, "staleness", lambda s: s["TTU"] == min(s.values()))),
        Check("WS worst", "as above", holds(runs, "staleness", lambda s: s["WS"] == max(s.values()))),
    )


ENTRY = Entry(
    "T57",
    "Figure 7.14: periodic staleness in the mix: TTU best",
    "ordering",
    in_the_mix("T57", "staleness", judge),
)
