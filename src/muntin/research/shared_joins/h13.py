"""H13, Hammad et al. 5.3: memory of the join buffer, of waiting rows and of held results.

Waiting and held are counted in rows, at load 0.8 without bursts.
"""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins.h09 import found_of
from muntin.research.shared_joins.study import HASH_RATE, NAMES, Found, by_clock

WINDOW, LONGEST = 600, 120
"""Seconds: the largest window, and the longest response that the document reckons with."""


def shares(found: dict[str, Found]) -> dict[str, tuple[float, float]]:
    """By policy the most (waiting, held) rows in the rows of a join buffer, over all distributions."""
    buffer = HASH_RATE * WINDOW
    return {
        p: (max(f.waiting[p] for f in found.values()) / buffer, max(f.held[p] for f in found.values()) / buffer)
        for p in NAMES
    }


def run(setting: Setting) -> Outcome:
    """The document's reckoning, and what is counted."""
    found = found_of(setting)
    part = shares(found)
    bound = all(f.waiting[p] <= f.arrived[p] + 1 for f in found.values() for p in f.waiting)
    reckoned = (int(HASH_RATE * WINDOW), int(HASH_RATE * LONGEST))
    return Outcome(
        by_clock(setting, (
            Check("60,000 and 12,000 rows, 20 %", f"{reckoned[0]:,} and {reckoned[1]:,}", reckoned == (60_000, 12_000)),
            Check("no more wait than arrive in the longest response", "so for each policy" if bound else "more", bound),
            Check("SWF: waiting < 10 % of the join buffer", f"{part['swf'][0]:.2%}", part["swf"][0] < 0.1),
            Check(
                "held results < 3 % for SWF and Greedy", f"{part['swf'][1]:.2%} and {part['greedy'][1]:.2%}",
                max(part["swf"][1], part["greedy"][1]) < 0.03,
            ),
        ))
    )  # fmt: skip


ENTRY = Entry(
    "H13",
    "join buffer 60,000 rows, input buffer 12,000 at worst (20%), measured < 10%; output buffer < 3% for "
    "SWF and Greedy",
    "max input buffer = arrivals during the longest response; at non-bursty load input buffer < 10%, output buffer "
    "< 3% of the join buffer",
    run,
)
