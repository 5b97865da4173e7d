"""T54, thesis Figure 7.11: how many queries are answered."""

from __future__ import annotations

from muntin.research.harness import Check, Entry
from muntin.research.transactions.figures import Runs, at_both_rates, holds, told


def judge(fast: Runs, slow: Runs) -> tuple[Check, ...]:
    """Runs with t = 1 s and 5 s."""
    both = (fast, slow)
    close = all(holds(r, "throughput", lambda s: s["TTU"] >= 0.95 * s["Serial"]) for r in both)
    lower = all(holds(r, "throughput", lambda s: s["LWS"] < s["TTU"]) for r in both)
    return (
        Check("TTU >= 0.95 Serial", f"{told(fast, 'throughput')} and {told(slow, 'throughput')}", close),
        Check("LWS < TTU", "as above", lower),
    )


ENTRY = Entry(
    "T54",
    "Figure 7.11: throughput penalty of TTU against Serial typically below 2 %, at most 4 %; LWS lower in all cases",
    "TTU >= 0.95 Serial; LWS < TTU",
    at_both_rates("T54", "throughput", judge),
)
