"""T13, thesis Figure 3.6: a calendar queue of five partitions, now = 50, window 50.

The structure is the one that the engines of T14 to T21 use (``kernels.strategies``).
"""

from __future__ import annotations

import numpy as np

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.kernels.strategies import CALENDAR, CHAINS, EXP, NEXT, Store, drop, insert, new_store, next_expired

PARTS, WINDOW = 5, 50

Contents = dict[int, list[int]]
"""Partition, from the left, to the expiry times in it, in order."""


def contents(queue: Store) -> Contents:
    """What is in each partition. The figure's left-most partition holds 51 to 60; it is the array's first."""
    found: Contents = {}
    for part in range(PARTS):
        times, node = [], queue[CHAINS + part]
        while node >= 0:
            times.append(int(queue[node + EXP]))
            node = queue[node + NEXT]
        found[part] = times
    return found


def fill(queue: Store, low: int, high: int) -> None:
    """Tuples that expire at ``low`` to ``high``, latest first, so that the order inside a partition is the queue's
    work."""
    work = np.zeros(10, np.int64)
    for exp in range(high, low - 1, -1):
        insert(queue, exp, exp, exp, -1, work)


def expire(queue: Store, now: int) -> list[int]:
    """What leaves at ``now``, in order."""
    work, gone = np.zeros(10, np.int64), []
    while (node := next_expired(queue, now, work)) >= 0:
        gone.append(int(queue[node + EXP]))
        drop(queue, node)
    return gone


def judge(at_50: Contents, gone: list[int], at_60: Contents) -> tuple[Check, ...]:
    """The partitions before and after time moves to 60."""
    expected = {i: list(range(51 + 10 * i, 61 + 10 * i)) for i in range(PARTS)}
    return (
        Check("at 50: partitions 51-60..91-100", _told(at_50), at_50 == expected),
        Check("at 60 the tuples of the left-most are gone", f"{len(gone)} gone", gone == expected[0]),
        Check(
            "at 60 the left-most becomes 101-110",
            f"then {_told(at_60)}",
            at_60 == {**expected, 0: list(range(101, 111))},
        ),
    )


def _told(found: Contents) -> str:
    return " ".join(f"{times[0]}-{times[-1]}" if times else "empty" for times in found.values())


def run(setting: Setting) -> Outcome:
    """Fill for now = 50, move to 60, fill again."""
    queue = new_store(CALENDAR, PARTS, 100, WINDOW)
    fill(queue, 51, 100)
    before = contents(queue)
    gone = expire(queue, 60)
    fill(queue, 101, 110)
    return Outcome(judge(before, gone, contents(queue)))


ENTRY = Entry(
    "T13",
    "calendar queue: 5 partitions, now=50, window 50, partitions 51-60..91-100; at 60 the left-most becomes 101-110",
    "exact",
    run,
)
