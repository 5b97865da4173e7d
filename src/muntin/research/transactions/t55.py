"""T55, thesis Figure 7.12: how long one-time queries wait for their answers."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.transactions.figures import COSTS, Runs, drawn, holds, plain, runs_of, told
from muntin.research.transactions.simulation import mixed


def judge(runs: Runs) -> tuple[Check, ...]:
    """Runs of the mix."""
    close = holds(runs, "response", lambda s: abs(s["TTU"] - s["WS"]) <= 0.05 * s["WS"])
    return (
        Check("TTU within 5 % of WS", told(runs, "response"), close),
        Check("LWS > TTU", "as above", holds(runs, "response", lambda s: s["LWS"] > s["TTU"]), COSTS),
        Check("Serial > LWS", "as above", holds(runs, "response", lambda s: s["Serial"] > s["LWS"])),
    )


def run(setting: Setting) -> Outcome:
    """100 periodic queries, and 5 one-time ones a sub-window of 5 s."""
    runs = runs_of(mixed, setting)
    return Outcome(judge(runs), plots=(drawn("T55", runs, "response"),), figures=plain(runs))


ENTRY = Entry(
    "T55",
    "Figure 7.12: one-time response: TTU and WS best, LWS longer, Serial worst",
    "|TTU-WS| <= 5%; LWS > TTU; Serial > LWS",
    run,
)
