"""T22, thesis Figures 4.1 and 4.2: which sub-indices of a 2x2 index updates insert into and expire from.

The product's archive tells the sub-indices that it touched; its layout, which of them by insertion and by expiry.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muntin.archive import Layout
from muntin.archive.layout import Order
from muntin.research.archive.made import updates
from muntin.research.harness import Check, Entry, Outcome, Setting

Trace = tuple[tuple[str, ...], tuple[str, ...]]
CHRONOLOGICAL: dict[int, Trace] = {
    **dict.fromkeys((18, 20, 22, 24), (("I1", "I2"), ("I1", "I3"))),
    **dict.fromkeys((26, 28, 30, 32), (("I3", "I4"), ("I2", "I4"))),
}
ROUND_ROBIN: dict[int, Trace] = {18: (("I1", "I2"), ("I1", "I3")), 20: (("I3", "I4"), ("I2", "I4"))}


def trace(layout: Layout, at: int) -> Trace:
    """Sub-indices of the insertions and of the expirations of the update at ``at`` (interval 2, lifetimes to 16)."""
    slot = np.array([at // 2 - 1])
    row, column = int(layout.rows(slot, 8)[0]), int(layout.columns(slot, 8)[0])
    inserts = tuple(f"I{row * layout.expirations + c + 1}" for c in range(layout.expirations))
    return inserts, tuple(f"I{r * layout.expirations + column + 1}" for r in range(layout.insertions))


def judge(
    order: str, expected: Mapping[int, Trace], planned: Mapping[int, Trace], touched: Mapping[int, tuple[str, ...]]
) -> tuple[Check, ...]:
    """The layout's plan, and what the archive touched."""
    wrong = [t for t in expected if planned[t] != expected[t]]
    other = [t for t in expected if set(touched[t]) != set(sum(expected[t], ()))]
    return (
        Check(f"{order}: exact trace", f"{order} differs at {wrong or 'no update'} of {list(expected)}", not wrong),
        Check(f"{order}: the archive touches those", f"other ones at {other or 'no update'}", not other),
    )


def judge_empty(built: tuple[str, ...]) -> Check:
    """Sub-indices that the chronological archive of all records to 16 was built of."""
    return Check("chronological: I2 alone is empty at 16", f"{list(built)} have rows", built == ("I1", "I3", "I4"))


def run(setting: Setting) -> Outcome:
    """Both orders."""
    checks: list[Check] = []
    built: dict[Order, tuple[str, ...]] = {}
    orders: tuple[tuple[Order, Mapping[int, Trace]], ...] = (
        ("chronological", CHRONOLOGICAL),
        ("round_robin", ROUND_ROBIN),
    )
    for order, expected in orders:
        layout = Layout(2, 2, order)
        first, *later = updates(layout, 2, 16, 32)
        built[order], touched = first.touched, {u.at: u.touched for u in later}
        checks += judge(order, expected, {t: trace(layout, t) for t in expected}, touched)
    return Outcome((*checks, judge_empty(built["chronological"])))


ENTRY = Entry(
    "T22",
    "Figures 4.1, 4.2: at 18 a 2x2 index inserts into I1, I2 and expires from I1, I3; chronological leaves I4 alone "
    "until 26, round robin turns to I3, I4 at 20",
    "exact",
    run,
)
