"""T53, thesis Figure 7.10: times between the answers of a periodic query."""

from __future__ import annotations

from muntin.research.harness import Check, Entry
from muntin.research.transactions.figures import COSTS, Runs, at_both_rates, growing, holds, told, value


def judge(fast: Runs, slow: Runs) -> tuple[Check, ...]:
    """Runs with t = 1 s and 5 s."""
    both = (fast, slow)
    close = all(holds(r, "between", lambda s: s["Serial"] <= s["TTU"] <= 1.05 * s["Serial"]) for r in both)
    worst = all(holds(r, "between", lambda s: s["LWS"] == max(s.values())) for r in both)
    grows = all(growing(value(r, k, "between")) for r in both for k in r)
    return (
        Check("Serial <= TTU <= 1.05 Serial", f"{told(fast, 'between')} and {told(slow, 'between')}", close, COSTS),
        Check("LWS is the largest", "as above", worst),
        Check("grows with n", "as above", grows),
    )


ENTRY = Entry(
    "T53",
    "Figure 7.10: inter-execution time: Serial lowest, WS and TTU very close, LWS worst; grows with n, t",
    "Serial <= TTU <= 1.05 Serial; LWS largest",
    at_both_rates("T53", "between", judge),
)
