"""G13, Golab & Ozsu Figure 4(b): more buckets for the fast stream.

The join is GENERAL with the cheapest orders by origin for the buckets at hand, which here puts the many new tuples of
the fast stream last. With LAZY, where each of them is outermost and probes the slow tables, 5-to-slow would be slower
than Equal (in the notes): the figure cannot be LAZY's. Rates are tuples per 1,000 operations (``research.unit``), for
the averages that the figure has.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from muntin.optimizer.multiway.indexes import equal_buckets, k_to_slow
from muntin.optimizer.multiway.search import cheapest_general
from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.joins.measured import load_of
from muntin.research.joins.parameters import FAST_BY_50
from muntin.research.joins.setting import Strategy
from muntin.research.joins.workload import Load, strategy

TAU = 5
SHOWN = range(2, 14)
"""Average numbers of buckets on the graph."""

Curves = dict[str, dict[int, float]]
"""Strategy -> average buckets -> rate."""


def buckets(slow: int | None, average: int) -> tuple[int, ...] | None:
    """Of each window, None if the fast stream would get fewer than the slow ones."""
    if slow is None:
        return equal_buckets(FAST_BY_50, average)
    return k_to_slow(FAST_BY_50, average, slow) if average >= slow else None


def rate(load: Load, chosen: Strategy) -> float:
    """Tuples per 1,000 operations."""
    found = load.measure(chosen)
    return 1000 * found.tuples / found.counts.operations


@cache
def measured(tuples: int) -> tuple[Curves, Curves]:
    """GENERAL and LAZY."""
    plain = load_of(FAST_BY_50, tuples / 53, 13)
    general: Curves = {}
    lazy: Curves = {}
    for name, slow in (("Equal", None), ("1 to slow", 1), ("5 to slow", 5), ("10 to slow", 10)):
        general[name], lazy[name] = {}, {}
        for average in SHOWN:
            each = buckets(slow, average)
            if each is None:
                continue
            load = plain.hashed(*each)
            orders = cheapest_general(load.streams, TAU)[1]
            general[name][average] = rate(load, Strategy("lazy", orders, load.ticks(TAU)))
            if average == 12:
                lazy[name][average] = rate(load, strategy(load, "lazy", (0, 1, 2, 3), TAU))
    return general, lazy


def judge(rates: Curves) -> tuple[Check, ...]:
    """The figure's trends."""
    ratio = rates["5 to slow"][12] / rates["Equal"][12]
    one = rates["1 to slow"]
    peak = max(one, key=one.__getitem__)
    ten = [r for a, r in rates["10 to slow"].items() if a in SHOWN]
    return (
        Check("5-to-slow / Equal >= 1.15 at an average of 12", f"5-to-slow/Equal {ratio:.2f} at 12", ratio >= 1.15),
        Check(
            "1-to-slow has an interior maximum",
            f"1-to-slow best at {peak} (largest table {4 * peak - 3})",
            min(one) < peak < max(one) and one[peak] > one[max(one)],
            f"at an average of {max(one)} the fast stream's table has {4 * max(one) - 3} buckets for 50 values, and a "
            "visit to a bucket is one operation like a visit to a tuple, so each further bucket still saves more "
            "tuples than it costs visits",
        ),
        Check(
            "10-to-slow increases over the plotted range",
            f"10-to-slow {ten[0]:.2f}..{ten[-1]:.2f}",
            all(a < b for a, b in pairwise(ten)),
        ),
    )


def rates_of(setting: Setting) -> tuple[Curves, Curves]:
    """GENERAL and LAZY; the same call is measured once."""
    return measured(8000 if setting.smoke else 20_000)


def run(setting: Setting) -> Outcome:
    """All strategies."""
    general, lazy = rates_of(setting)
    passed = [a for a in general["10 to slow"] if general["10 to slow"][a] > general["5 to slow"][a]]
    notes = (
        f"10-to-slow passes 5-to-slow from an average of {min(passed) if passed else 'more than 13'}",
        "LAZY at an average of 12, tuples per 1,000 operations: "
        + ", ".join(f"{name} {c[12]:.2f}" for name, c in lazy.items()),
    )
    plot = Plot(
        "Figure 4(b)",
        "average buckets",
        "tuples per 1,000 operations",
        {name: list(c.items()) for name, c in general.items()},
        log=False,
    )
    return Outcome(judge(general), notes, (plot,))


ENTRY = Entry(
    "G13",
    "Equal rises gradually to >7000 at 13; 1-to-slow best at average 8; 5-to-slow >10000 at 12; 10-to-slow below it, "
    "surpasses beyond",
    "at equal memory (average 12) 5-to-slow > Equal, ratio >= 1.15; 1-to-slow has an interior maximum; 10-to-slow "
    "increasing over the plotted range",
    run,
)
