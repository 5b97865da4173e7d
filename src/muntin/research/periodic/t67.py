"""T67, thesis Figures 8.9 and 8.10: throughput and latency at 3,000 packets a second and twice the values.

Deviations: as T65.
"""

from __future__ import annotations

from dataclasses import replace

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.periodic.load import HIGH, LOW
from muntin.research.periodic.study import SIZES, Table, base, dearer, documents, figures, plot, table, words


def rank(found: Table, policy: str) -> int:
    """Place by throughput at the largest size, 1 the best."""
    row = found[max(found)]
    return 1 + sum(f.throughput > row[policy].throughput for f in row.values())


def judge(low: Table, high: Table, together: str = "") -> tuple[Check, ...]:
    """H-LP against HS and all others, and where AS stands."""
    row = high[max(high)]
    gain = row["H-LP"].throughput / row["HS"].throughput
    lowest = min(row, key=lambda p: row[p].latency)
    places = rank(low, "AS"), rank(high, "AS")
    return (
        Check("H-LP/HS >= 1.4 at 240 queries (stated: more than 2)", f"H-LP/HS {gain:.2f}", gain >= 1.4, together),
        Check("H-LP has the lowest latency", words(row, "latency"), lowest == "H-LP", together),
        Check(
            "AS falls in rank by throughput against the low rate",
            f"AS from place {places[0]} to {places[1]}",
            places[1] > places[0],
            together,
        ),
    )


def run(setting: Setting) -> Outcome:
    """Both rates."""
    low, high = table(setting, LOW), table(setting, HIGH)
    plots = plot(high, "throughput", "runs a second"), plot(high, "latency", "updates late")
    notes = documents(setting, HIGH, "throughput"), documents(setting, HIGH, "latency")
    load = replace(base(setting, HIGH), per_group=SIZES[-1])
    together = (
        f"a run of all {SIZES[-1]} queries of a group takes {dearer(load):.2f} times the work of the longest alone, by "
        f"the document's cost {dearer(replace(load, by='document')):.2f} times, so eight tasks of a whole group each, "
        f"run whenever one of its queries is due, get the most done and are hardly late"
    )
    return Outcome(judge(low, high, together), notes, plots, figures(high, setting, HIGH))


ENTRY = Entry(
    "T67",
    "heavier overload: HS gains little, H-LP more than doubles HS' throughput and wins in both; AS drops",
    "H-LP/HS >= 1.4 (stated >2) at 240; H-LP lowest latency; AS rank falls relative to T65",
    run,
)
