"""T53, thesis Figure 7.10: times between the answers of a periodic query."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.transactions.figures import COSTS, Runs, drawn, growing, holds, plain, runs_of, told, value
from muntin.research.transactions.simulation import FAST, SLOW, periodic


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


def run(setting: Setting) -> Outcome:
    """Periodic queries alone, with t = 1 s and 5 s."""
    fast, slow = (runs_of(lambda n, t=t: periodic(n, t), setting) for t in (FAST, SLOW))  # type: ignore[misc]
    plots = (drawn("T53-1s", fast, "between"), drawn("T53-5s", slow, "between"))
    return Outcome(judge(fast, slow), plots=plots, figures={"1 s": plain(fast), "5 s": plain(slow)})


ENTRY = Entry(
    "T53",
    "Figure 7.10: inter-execution time: Serial lowest, WS and TTU very close, LWS worst; grows with n, t",
    "Serial <= TTU <= 1.05 Serial; LWS largest",
    run,
)
