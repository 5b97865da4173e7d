"""T66, thesis Figure 8.8: latency of six ways of scheduling at 1,500 packets a second.

Deviations: as T65; judged at 240 queries, since on this machine little is late with fewer.
"""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.periodic.load import LOW
from muntin.research.periodic.study import Table, documents, figures, ordered, plot, slower, table, words

ORDER = ("H-LP", "H-LS", "HS", "CS", "No-S")


def judge(found: Table, why: str = "", early: str = "") -> tuple[Check, ...]:
    """The order at the largest size, and two distances."""
    row = found[max(found)]
    strict = row["No-S"].latency > row["CS"].latency > row["HS"].latency
    gain = row["CS"].latency / max(row["HS"].latency, 1e-9)
    behind = row["AS"].latency / max(row["HS"].latency, 1e-9)
    return (
        Check(
            "No-S > CS > HS >= H-LS >= H-LP", words(row, "latency"), strict and ordered(row, ORDER, "latency", 0), why
        ),
        Check("CS/HS >= 3", f"CS/HS {gain:.2f}", gain >= 3, why),
        Check("AS > HS", f"AS/HS {behind:.2f}", behind > 1, early),
    )


def run(setting: Setting) -> Outcome:
    """The low rate."""
    found = table(setting, LOW)
    row = found[max(found)]
    early = (
        "AS has eight tasks, so a query waits for one round through them at most, which takes "
        f"{max(found) / row['AS'].throughput:.1f} s on this machine"
    )
    why = slower(setting)
    notes = documents(setting, LOW, "latency"), why
    plots = (plot(found, "latency", "updates late"),)
    return Outcome(judge(found, why, early), notes, plots, figures(found, setting, LOW))


ENTRY = Entry(
    "T66",
    "latency: No-S worst, CS high, HS an order of magnitude below CS; AS poor; H-LS and H-LP lowest",
    "No-S>CS>HS>=H-LS>=H-LP; CS/HS >= 3; AS>HS",
    run,
)
