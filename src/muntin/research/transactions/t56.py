"""T56, thesis Figure 7.13: how old one-time answers are."""

from __future__ import annotations

from muntin.research.harness import Check, Entry
from muntin.research.transactions.figures import Runs, holds, in_the_mix, told

SAME = (
    "where a window is short, hardly an update falls into a one-time query, and the later start of a Serial one, which "
    "waits for the query under way, makes its state newer"
)


def judge(runs: Runs) -> tuple[Check, ...]:
    """Runs of the mix."""
    name = "one_time_staleness"
    return (
        Check("TTU best", told(runs, name), holds(runs, name, lambda s: s["TTU"] == min(s.values())), SAME),
        Check("LWS next", "as above", holds(runs, name, lambda s: s["LWS"] <= min(s["Serial"], s["WS"])), SAME),
    )


ENTRY = Entry(
    "T56",
    "Figure 7.13: one-time staleness: TTU best, LWS somewhat worse, WS and Serial worst",
    "ordering",
    in_the_mix("T56", "one_time_staleness", judge),
)
