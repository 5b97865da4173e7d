"""J17, Gedik et al. Figure 15: tuples that find their buffer full, over its size.

z is set to 1 and found again; tuples are counted for 20 s from then on. Delta = 5 s. The document does not say what the
reference of "cuts the drop rate by 30 %" is: here the ten tuples of its other experiments.
"""

from __future__ import annotations

from itertools import pairwise

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting, curves
from muntin.research.harvest.engine import Setup, run, saturation
from muntin.research.harvest.j13 import workload
from muntin.research.harvest.sizes import scaled

FORCED = 40.0
SIZES = (0.0, 0.5, 1.0, 2.0)
"""Seconds of input that a buffer holds; 0: ten tuples."""


def dropped(rate: float, sat: float, seconds: float) -> tuple[float, float]:
    """(share of the tuples of the 20 s after z was set to 1 that were dropped, how full the buffers were then)."""
    load = workload(3, False, rate)
    setup = Setup(saturation(load, sat), buffer=max(10, round(seconds * rate)), forced=FORCED)
    trace = run(load, setup, "harvest", FORCED)
    return trace.dropped / trace.pushed, trace.filled


def judge(found: dict[float, list[float]], filled: dict[float, list[float]] | None = None) -> tuple[Check, ...]:
    """Shares dropped at each size, and how full buffers were; by rate relative to saturation."""
    full = "; ".join(f"{r:g} x: " + ", ".join(f"{x:.0%}" for x in v) for r, v in (filled or {}).items())
    reason = f"{REASON}; full when z was set to 1: {full}"
    falling = all(v == sorted(v)[::-1] for v in found.values())
    rates = sorted(found)
    rising = all(found[a][k] <= found[b][k] for a, b in pairwise(rates) for k in range(len(SIZES)))
    at = found[2.0]
    one, two = (1 - at[SIZES.index(s)] / at[0] if at[0] else 0.0 for s in (1.0, 2.0))
    told = "; ".join(f"{r:g} x: " + ", ".join(f"{x:.1%}" for x in v) for r, v in found.items())
    return (
        Check("drops fall with the size of the buffer", told, falling, reason),
        Check("and rise with the rate", "as above", rising),
        Check("1 s cuts 15-45 %", f"{one:.0%}", 0.15 <= one <= 0.45, reason),
        Check("2 s cuts 35-65 %", f"{two:.0%}", 0.35 <= two <= 0.65, reason),
        Check("2 s more than 1 s", f"{two:.0%} > {one:.0%}", two > one, reason),
    )


REASON = (
    "z is found so that what comes is consumed (beta = 1), which leaves a full buffer full: one of 1 or 2 s is full "
    "again, or still, when z is set to 1, and then spares nothing; an empty one would spare its own size once"
)


def run_entry(setting: Setting) -> Outcome:
    """Every size at three rates."""
    sat = scaled(setting)
    both = {f: [dropped(f * sat, sat, s) for s in SIZES] for f in (1.5, 2.0, 2.5)}
    found, filled = ({f: [x[k] for x in v] for f, v in both.items()} for k in (0, 1))
    lines = curves(SIZES, {f"{f:g} x": v for f, v in found.items()})
    return Outcome(judge(found, filled), plots=(Plot("drops", "buffer, s", "share dropped", lines, log=False),))


ENTRY = Entry(
    "J17",
    "Figure 15: buffers of 1 s cut the drop rate by about 30 %, of 2 s by about 50 %",
    "decreasing in buffer size, increasing in rate; 1 s cuts 15-45 %, 2 s cuts 35-65 %, 2 s > 1 s",
    run_entry,
)
