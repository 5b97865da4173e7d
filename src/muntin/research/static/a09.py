"""A9, Ayad & Naughton 6.1 and Table 2: the setting of A10 to A13."""

from __future__ import annotations

import random

from muntin.optimizer.capacity.search import best_plan, cheapest_plan, orders
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.static.reoptimised import LEVELS, PREDICATES, WINDOWS, drawn


def run(setting: Setting) -> Outcome:
    """Draw queries and saturate them."""
    rng, n = random.Random(2004), 20 if setting.smoke else 1000
    rates, exact, shed = [], 0, 0
    for _ in range(n):
        query = drawn(rng)
        rates += [s.rate for s in query.sources]
        work = cheapest_plan(query).boxes.work
        exact += min(best_plan(query, work).boxes.shares) == 1
        shed += min(best_plan(query, 0.99 * work).boxes.shares) < 1
    given = (len(PREDICATES), len(WINDOWS), len(list(orders(5))), len(LEVELS))
    checks = (
        Check("4 predicates, 5 windows, 60 left-deep plans, 11 levels", str(given), given == (4, 5, 60, 11)),
        Check(
            "rates within 10 ... 1000",
            f"{min(rates):.0f} ... {max(rates):.0f}",
            min(rates) >= 10 and max(rates) <= 1000,
        ),
        Check(
            "at 100 % the best plan just saturates",
            f"{exact} of {n} shed nothing, {shed} do at 99 %",
            exact == shed == n,
        ),
    )
    return Outcome(checks)


ENTRY = Entry(
    "A9", "Table 2: selectivities, windows; 1000 queries; resources 100, 90, ... 10, 1 %", "the setting, exact", run
)
