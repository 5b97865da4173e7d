"""T57, thesis Figure 7.14: how old periodic answers are beside one-time queries."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.transactions.figures import Runs, drawn, holds, plain, runs_of, told
from muntin.research.transactions.simulation import mixed


def judge(runs: Runs) -> tuple[Check, ...]:
    """Runs of the mix."""
    return (
        Check("TTU best", told(runs, "staleness"), holds(runs, "staleness", lambda s: s["TTU"] == min(s.values()))),
        Check("WS worst", "as above", holds(runs, "staleness", lambda s: s["WS"] == max(s.values()))),
    )


def run(setting: Setting) -> Outcome:
    """100 periodic queries, and 5 one-time ones a sub-window of 5 s."""
    runs = runs_of(mixed, setting)
    return Outcome(judge(runs), plots=(drawn("T57", runs, "staleness"),), figures=plain(runs))


ENTRY = Entry(
    "T57",
    "Figure 7.14: periodic staleness in the mix: TTU best",
    "ordering",
    run,
)
