"""T56, thesis Figure 7.13: how old one-time answers are."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.transactions.figures import Runs, drawn, holds, plain, runs_of, told
from muntin.research.transactions.simulation import mixed

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


def run(setting: Setting) -> Outcome:
    """100 periodic queries, and 5 one-time ones a sub-window of 5 s."""
    runs = runs_of(mixed, setting)
    return Outcome(judge(runs), plots=(drawn("T56", runs, "one_time_staleness"),), figures=plain(runs))


ENTRY = Entry(
    "T56",
    "Figure 7.13: one-time staleness: TTU best, LWS somewhat worse, WS and Serial worst",
    "ordering",
    run,
)
