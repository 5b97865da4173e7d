"""G15, Golab & Ozsu 5.2 and 5.3: where all windows have as many values, orders by window size.

The rule for hash tables of different sizes is judged by what the join does (``multiway.cost``): an index divides by b
what is looked at, not what a window lets through. ``by_rank``, ascending (lambda T / v - 1) / (lambda T / b), is judged
too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from muntin.optimizer.multiway.cost import eager, lazy_term
from muntin.optimizer.multiway.heuristics import by_rank, by_size
from muntin.optimizer.multiway.search import cheapest
from muntin.optimizer.multiway.streams import JoinStream, Order
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.parameters import Streams

Trial = tuple[Order, Callable[[Order], float]]
"""The order that a rule gives, and what orders cost."""


def instances(count: int, seed: int) -> list[Streams]:
    """Three to five streams with equal v and buckets of their own."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        v = rng.randint(1, 400)
        found.append(
            tuple(
                JoinStream(rng.uniform(0.2, 40), rng.uniform(5, 300), v, rng.randint(1, 20))
                for _ in range(rng.randint(3, 5))
            )
        )
    return found


def optimal(trials: list[Trial]) -> int:
    """In how many trials no order is cheaper than the rule's."""
    return sum(cost(order) <= cheapest(len(order), cost)[0] * (1 + 1e-9) for order, cost in trials)


def plain(s: Streams, buckets: int = 1) -> Streams:
    """The same with as many buckets for each."""
    return tuple(replace(x, buckets=buckets) for x in s)


def eager_trials(given: list[Streams], order_of: Callable[[Streams], Order]) -> list[Trial]:
    """A rule for the global order of each instance."""
    return [(order_of(s), partial(eager, s)) for s in given]


def general_trials(given: list[Streams], seed: int) -> list[Trial]:
    """For each origin: windows of T + tau, and tau for the one of the new tuples."""
    rng = random.Random(seed)
    found: list[Trial] = []
    for s in given:
        tau = rng.uniform(1, 300)
        for i in range(len(s)):
            seen = [replace(x, span=tau if k == i else x.span + tau) for k, x in enumerate(s)]
            found.append((by_size(seen), partial(_lazy_cost, s, i, tau)))
    return found


def _lazy_cost(s: Streams, origin: int, tau: float, order: Order) -> float:
    return lazy_term(s, order, origin, tau)


UNEQUAL, RANK = "ascending lambda T/b, any b", "by rank, any b"
NOT_DIVIDED = (
    "a hash index divides by b the tuples that are looked at and not those that match, so the rule is that of windows "
    "of T/b alone; ascending (lambda T/v - 1) / (lambda T/b) is optimal in {} of {} of the same instances"
)


def judge(found: dict[str, tuple[int, int]], unchanged: int, count: int) -> tuple[Check, ...]:
    """``found``: rule -> (instances where it is optimal, instances)."""
    rules = tuple(
        Check(
            f"{name}: minimum modelled cost in all instances",
            f"{name} {good}/{of}",
            good == of,
            NOT_DIVIDED.format(*found[RANK]) if name == UNEQUAL and RANK in found else "",
        )
        for name, (good, of) in found.items()
    )
    return (
        *rules,
        Check("equal bucket counts leave the order unchanged", f"unchanged {unchanged}/{count}", unchanged == count),
    )


def run(setting: Setting) -> Outcome:
    """Each rule against all orders."""
    given = instances(60 if setting.smoke else 600, 15)
    flat = [plain(s) for s in given]
    hashed = [plain(s, 1 + i % 9) for i, s in enumerate(given)]
    trials = {
        "ascending lambda T": eager_trials(flat, by_size),
        "ascending lambda T/b, equal b": eager_trials(hashed, by_size),
        UNEQUAL: eager_trials(given, by_size),
        "tau for T of the new tuples": general_trials(flat, 16),
        RANK: eager_trials(given, by_rank),
    }
    found = {name: (optimal(each), len(each)) for name, each in trials.items()}
    unchanged = sum(
        abs(eager(a, cheapest(len(a), partial(eager, b))[1]) / eager(a, by_size(a)) - 1) < 1e-9
        for a, b in zip(flat, hashed, strict=True)
    )
    return Outcome(judge(found, unchanged, len(given)))


ENTRY = Entry(
    "G15",
    "equal v: ascending lambda_i T_i (or lambda_i T_i/b_i) is optimal; for lazy general replace T_i by tau for the "
    "new-tuple window; equal bucket counts leave the order unchanged",
    "for random equal-v instances the sorted order has minimum modelled cost (100%)",
    run,
)
