"""G3, Golab & Ozsu Table 4 (thesis Table 5.2): the order for new tuples of each stream.

What a run did is read off its counters. The three windows hold 2, 3 and 5 tuples of one value. A new tuple with that
value looks at all a tuples of the window below it and, for each, at all b of the next: a + a x b, which is another
number for each order. A new tuple with a value of its own looks at the window next to it alone.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from muntin.optimizer.multiway.orders import by_origin
from muntin.optimizer.multiway.streams import Order
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.engine import merged
from muntin.research.joins.engine import run as run_join
from muntin.research.joins.setting import Join, Strategy, Window

TABLE_4 = ((0, 1, 2), (1, 0, 2), (2, 0, 1))


SIZES = (2, 3, 5)
"""Tuples of each window."""


def observed(orders: tuple[Order, ...], origin: int) -> Order:
    """The order in which a run with ``orders`` went through the windows for a new tuple of ``origin``."""
    alike, alone = (_looked(orders, origin, value) for value in (1, 2))
    fits = [o for o in permutations(range(3)) if o[0] == origin and _expected(o) == (alike, alone)]
    if len(fits) != 1:
        raise ValueError(f"a new tuple of stream {origin + 1} looks at {alike} and {alone} tuples: no order does that")
    return fits[0]


def _expected(order: Order) -> tuple[int, int]:
    inner, last = SIZES[order[1]], SIZES[order[2]]
    return inner + inner * last, inner


def _looked(orders: tuple[Order, ...], origin: int, value: int) -> int:
    """Tuples that inner loops look at for one new tuple with that value; all others have the value 1."""
    stream = np.array([*(s for s, size in enumerate(SIZES) for _ in range(size)), origin], np.int64)
    values = np.ones(len(stream), np.int64)
    values[-1] = value
    given = merged(np.arange(len(stream), dtype=np.int64), stream, values).with_windows((100,) * 3)
    found = run_join(Join.on_one([Window()] * 3), given, Strategy("eager", orders), warm=len(stream) - 1)
    return found.counts.looked


def judge(proposed: tuple[Order, ...], executed: tuple[Order, ...]) -> tuple[Check, ...]:
    """The optimizer's orders, and those in which a run went through the windows."""
    told = "; ".join(f"S{i + 1}->{','.join(f'S{k + 1}' for k in order)}" for i, order in enumerate(proposed))
    return (
        Check("orders by origin as in Table 4", told, proposed == TABLE_4),
        Check("a run goes through the windows in these orders", f"a run: {executed}", executed == TABLE_4),
    )


def run(setting: Setting) -> Outcome:
    """Global order S1,S2,S3."""
    proposed = by_origin((0, 1, 2))
    return Outcome(judge(proposed, tuple(observed(proposed, origin) for origin in range(3))))


ENTRY = Entry(
    "G3",
    "orders by origin for global order S1,S2,S3: S1->S1,S2,S3; S2->S2,S1,S3; S3->S3,S1,S2",
    "exact",
    run,
)
