"""T52, thesis Figure 7.9: how old periodic answers are when they are reported."""

from __future__ import annotations

from muntin.research.harness import Check, Entry
from muntin.research.transactions.figures import COSTS, Runs, at_both_rates, growing, holds, told, value


def judge(fast: Runs, slow: Runs) -> tuple[Check, ...]:
    """Runs with t = 1 s and 5 s."""
    both = (fast, slow)
    best = all(holds(r, "staleness", lambda s: s["TTU"] <= s["LWS"] < min(s["Serial"], s["WS"])) for r in both)
    serial = all(holds(r, "staleness", lambda s: s["Serial"] <= 1.05 * s["WS"]) for r in both)
    grows = all(growing(value(r, k, "staleness")) for r in both for k in ("Serial", "WS"))
    later = all(
        a < b for k in fast for a, b in zip(value(fast, k, "staleness"), value(slow, k, "staleness"), strict=True)
    )
    return (
        Check("TTU <= LWS < min(Serial, WS)", f"{told(fast, 'staleness')} and {told(slow, 'staleness')}", best, COSTS),
        Check("Serial <= 1.05 WS", "as above", serial),
        Check("grows with n (Serial, WS) and t", "as above", grows and later, COSTS),
    )


def dearer(runs: Runs) -> str:
    """Whether the order is that of the thesis where reads take longer."""
    best = holds(runs, "staleness", lambda s: s["TTU"] <= s["LWS"] < min(s["Serial"], s["WS"]))
    return f"the order at t = 1 s is {'that of the thesis' if best else 'another one'}: {told(runs, 'staleness')}"


ENTRY = Entry(
    "T52",
    "Figure 7.9: staleness: TTU lowest, then LWS, clearly below Serial and WS; Serial slightly better than WS; "
    "grows with t and n",
    "TTU <= LWS < min(Serial,WS); Serial <= WS x1.05",
    at_both_rates("T52", "staleness", judge, dearer),
)
