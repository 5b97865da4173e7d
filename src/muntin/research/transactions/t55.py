"""T55, thesis Figure 7.12: how long one-time queries wait for their answers."""

from __future__ import annotations

from muntin.research.harness import Check, Entry
from muntin.research.transactions.figures import COSTS, Runs, holds, in_the_mix, told


def judge(runs: Runs) -> tuple[Check, ...]:
    """Runs of the mix."""
    close = holds(runs, "response", lambda s: abs(s["TTU"] - s["WS"]) <= 0.05 * s["WS"])
    return (
        Check("TTU within 5 % of WS", told(runs, "response"), close),
        Check("LWS > TTU", "as above", holds(runs, "response", lambda s: s["LWS"] > s["TTU"]), COSTS),
        Check("Serial > LWS", "as above", holds(runs, "response", lambda s: s["Serial"] > s["LWS"])),
    )


ENTRY = Entry(
    "T55",
    "Figure 7.12: one-time response: TTU and WS best, LWS longer, Serial worst",
    "|TTU-WS| <= 5%; LWS > TTU; Serial > LWS",
    in_the_mix("T55", "response", judge),
)
