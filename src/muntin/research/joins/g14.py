"""G14, Golab & Ozsu 4.1: what expires does not depend on how often one looks, what looking costs does.

Accesses for expiry are those beyond the tuples that leave, which are the same for every interval: visits to chains, and
tuples looked at that stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.joins.measured import load_of
from muntin.research.joins.parameters import equal
from muntin.research.joins.workload import strategy

TAUS = (0.5, 1, 2, 5, 10, 20)
BUCKETS = (1, 5, 10, 30)
STREAMS = equal(4)


@dataclass(frozen=True)
class Expiry:
    """Per unit time: tuples that leave, accesses beyond them."""

    gone: float
    accesses: float


Found = dict[tuple[int, float], Expiry]
"""By buckets and interval."""


def measured(tuples: int) -> Found:
    """LAZY, which expires after each re-execution."""
    plain, found = load_of(STREAMS, tuples / 4, 14), {}
    for buckets in BUCKETS:
        load = plain.hashed(buckets)
        for tau in TAUS:
            r = load.measure(strategy(load, "lazy", (0, 1, 2, 3), tau))
            per = load.unit / r.tuples
            found[buckets, tau] = Expiry(r.counts.deletions * per, (r.counts.expiry - r.counts.deletions) * per)
    return found


def judge(found: Found, total: float, tolerance: float) -> tuple[Check, ...]:
    """``total``: sum of the arrival rates."""
    off = max(abs(e.gone / total - 1) for e in found.values())
    products = {b: [found[b, t].accesses * t for t in TAUS] for b in BUCKETS}
    falls = max(max(p) / min(p) for p in products.values())
    grows = all(found[a, t].accesses < found[b, t].accesses for t in TAUS for a, b in pairwise(BUCKETS))
    return (
        Check(
            f"deletions per unit time = sum of lambda (+-{tolerance:.0%})",
            f"deletions within {off:.2%} of {total:g}",
            off <= tolerance,
        ),
        Check("accesses fall as 1/tau (their product varies by < 15 %)", f"accesses x tau x{falls:.3f}", falls < 1.15),
        Check("accesses grow with the buckets", "grow with buckets" if grows else "do not grow", grows),
    )


def run(setting: Setting) -> Outcome:
    """All tables at all intervals."""
    found = measured(8000 if setting.smoke else 40_000)
    plot = Plot(
        "expiry",
        "tau",
        "accesses beyond deletions per unit time",
        {f"{b} buckets": [(t, found[b, t].accesses) for t in TAUS] for b in BUCKETS},
    )
    return Outcome(judge(found, sum(s.rate for s in STREAMS), 0.02 if setting.smoke else 0.01), (), (plot,))


ENTRY = Entry(
    "G14",
    "expired tuples per unit time are sum lambda_i regardless of tau; very frequent expiration is costly, more so for "
    "hash",
    "counter of deletions/time = sum lambda_i (+-1%); expiry accesses/time decreases ~1/tau and grows with bucket "
    "count",
    run,
)
