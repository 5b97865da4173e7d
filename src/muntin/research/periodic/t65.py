"""T65, thesis Figure 8.7: throughput of six ways of scheduling at 1,500 packets a second.

Deviations: a virtual clock driven by the work that the product's scheduler and synopsis take (``periodic.product`` says
how that is counted, ``periodic.load`` what the queries are), on a machine as fast as leaves No-S with the latency that
Figure 8.8 ends at; 400 updates, three random workloads a size.
"""

from __future__ import annotations

from itertools import pairwise

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.periodic.load import LOW
from muntin.research.periodic.study import Table, documents, figures, ordered, plot, slower, table, words

ORDER = ("No-S", "CS", "HS", "H-LS", "H-LP")


def judge(found: Table, why: str = "") -> tuple[Check, ...]:
    """The order, how far HS gets, and the growing gap."""
    largest = found[max(found)]
    order = all(ordered(r, ORDER, "throughput") and r["CS"].throughput < r["HS"].throughput for r in found.values())
    gains = [row["HS"].throughput / row["CS"].throughput for n, row in found.items() if n >= 160]
    joint = ", ".join(f"{row['CS'].joint:.2f}" for row in found.values())
    gaps = [row["CS"].throughput - row["No-S"].throughput for row in found.values()]
    return (
        Check(
            "No-S <= CS < HS <= H-LS <= H-LP at every size (5 % slack)",
            f"largest size: {words(largest, 'throughput')}",
            order,
            why,
        ),
        Check(
            "HS/CS >= 1.4 at 160 and 240 queries", f"HS/CS {min(gains):.2f}..{max(gains):.2f}", min(gains) >= 1.4, why
        ),
        Check(
            "the gap between CS and No-S grows with the queries (5 % slack)",
            "CS - No-S " + ", ".join(f"{g:.1f}" for g in gaps),
            all(b >= 0.95 * a for a, b in pairwise(gaps)),
            "deadlines that are missed by different numbers of updates are not equal, so overload takes away what more "
            f"queries bring: tasks that CS runs together {joint}",
        ),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """The low rate."""
    found = table(setting, LOW)
    why = slower(setting)
    notes = (documents(setting, LOW, "throughput"),)
    plots = (plot(found, "throughput", "runs a second"),)
    return Outcome(judge(found, why), notes, plots, figures(found, setting, LOW))


ENTRY = Entry(
    "T65",
    "throughput: No-S and CS lowest, their gap grows; HS about twice CS; H-LS and H-LP add more; AS good",
    "No-S<=CS<HS<=H-LS<=H-LP (5% slack); HS/CS >= 1.4 at 160-240 queries; gap CS-No-S increasing",
    run,
)
