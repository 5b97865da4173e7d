"""G12, Golab & Ozsu Figure 4(a): nested loops and hash tables of 2, 10 and 30 buckets against the interval tau.

Rates are tuples per 1,000 operations (``research.unit``); rates in time are in the notes. Every expiry visits every
bucket; a list of expirations per table would remove the effect. The intervals start at a unit of time.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import log2

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.joins.measured import load_of
from muntin.research.joins.parameters import equal
from muntin.research.joins.workload import strategy

ORDER = (0, 1, 2, 3)
BUCKETS = (1, 2, 10, 30)
TAUS = (1, 2, 4, 8, 15, 30, 50)

Curves = dict[int, dict[float, float]]
"""Buckets -> interval -> rate."""


@cache
def measured(tuples: int) -> Curves:
    """Rates in tuples per 1,000 operations."""
    plain = load_of(equal(4), tuples / 4, 12)
    found: Curves = {}
    for buckets in BUCKETS:
        load = plain.hashed(buckets)
        runs = {tau: load.measure(strategy(load, "lazy", ORDER, tau)) for tau in TAUS}
        found[buckets] = {tau: 1000 * r.tuples / r.counts.operations for tau, r in runs.items()}
    return found


@cache
def expiry_shares(tuples: int) -> dict[int, float]:
    """Visits for expiry over all operations at tau = 1."""
    plain, found = load_of(equal(4), tuples / 4, 12), {}
    for buckets in (2, 10):
        counts = plain.hashed(buckets).measure(strategy(plain.hashed(buckets), "lazy", ORDER, 1)).counts
        found[buckets] = counts.expiry / counts.operations
    return found


def best(curve: dict[float, float]) -> float:
    """The interval with the highest rate."""
    return max(curve, key=curve.__getitem__)


def gains(rates: Curves, tau: float) -> list[float]:
    """Per doubling of buckets, from each table to the next larger one."""
    steps = pairwise(BUCKETS)
    return [(rates[b][tau] / rates[a][tau]) ** (1 / log2(b / a)) for a, b in steps]


def judge(rates: Curves, shares: dict[int, float] | None = None) -> tuple[Check, ...]:
    """Order, gains, and where the highest rates are. ``shares``: what part expiry is at tau = 1, by buckets."""
    ordered = all(rates[1][t] < rates[2][t] < rates[10][t] for t in TAUS)
    late = min(rates[30][t] / rates[10][t] for t in TAUS if t >= 15)
    falling = all(g == sorted(g, reverse=True) and len(set(g)) == 3 for g in (gains(rates, t) for t in TAUS))
    peaks = [best(rates[b]) for b in BUCKETS]
    inside = all(TAUS[0] < best(rates[b]) < TAUS[-1] for b in (2, 10))
    told = ", ".join(f"{g:.2f}" for g in gains(rates, 15))
    return (
        Check("NLJ < HASH2 < HASH10 at each tau", "NLJ < HASH2 < HASH10" if ordered else "not in order", ordered),
        Check("HASH10 <= HASH30 from tau = 15", f"HASH30/HASH10 >= {late:.2f} from 15", late >= 1),
        Check("gain per doubling NLJ->2 > 2->10 > 10->30 at each tau", f"gains {told} at 15", falling),
        Check(
            "the best tau does not decrease with the buckets",
            "best tau " + ", ".join(f"{p:g}" for p in peaks),
            peaks == sorted(peaks),
        ),
        Check(
            "interior maximum for HASH2 and HASH10",
            "best tau " + ", ".join(f"{best(rates[b]):g} with {b} buckets" for b in (2, 10)),
            inside,
            "a visit to a bucket counts as one operation like a visit to a tuple, so at tau = 1 expiry is "
            + ", ".join(f"{s:.1%} of the operations with {b} buckets" for b, s in (shares or {}).items())
            + "; an interior maximum needs visits that cost more than the tuples found",
        ),
    )


def in_time(tuples: int) -> str:
    """Thousands of tuples per second, for comparison."""
    plain, told, taus = load_of(equal(4), tuples / 4, 12), [], (1, 4, 15, 30, 50)
    for buckets in BUCKETS:
        load = plain.hashed(buckets)
        times = load.fastest([strategy(load, "lazy", ORDER, tau) for tau in taus], 3)
        told.append(f"{buckets} buckets " + ", ".join(f"{1e3 / t:.0f}" for t in times))
    return f"thousand tuples/s at tau {', '.join(f'{t:g}' for t in taus)}: " + "; ".join(told)


def rates_of(setting: Setting) -> Curves:
    """All tables at all intervals; the same call is measured once."""
    return measured(4000 if setting.smoke else 20_000)


def run(setting: Setting) -> Outcome:
    """The curves, and times at some of the points."""
    rates = rates_of(setting)
    plot = Plot(
        "Figure 4(a)",
        "tau",
        "tuples per 1,000 operations",
        {f"{b} buckets" if b > 1 else "NLJ": list(c.items()) for b, c in rates.items()},
    )
    return Outcome(judge(rates, expiry_shares(4000)), (in_time(1000 if setting.smoke else 4000),), (plot,))


ENTRY = Entry(
    "G12",
    "NLJ slowest, HASH30 fastest; greatest relative gain NLJ->HASH2, diminishing after; the best interval grows with "
    "the buckets",
    "at each tau NLJ<HASH2<HASH10 and HASH10<=HASH30 at tau>=15; gain(NLJ->2) > gain(2->10) > gain(10->30) as ratios "
    "per doubling; argmax_tau non-decreasing in bucket count; interior maximum for HASH2 and HASH10",
    run,
)
