"""T58, thesis 7.4.3 and Figure 7.6: a query over a materialized result whose tuples expire in any order.

The result is a calendar queue: an update drops its oldest sub-window and inserts into all others. Tuples for
sub-windows that a running query has read are handed to it; if it has read the one that is dropped, it starts over.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from muntin.research.harness import Check, Entry, Outcome, Setting

Tuples = list[tuple[int, int]]
"""(number, slot of expiry)."""


@dataclass
class Result:
    """Sub-windows by slot of expiry, the oldest first; ``now``: the slot that expires next."""

    n: int
    now: int = 0
    slots: dict[int, Tuples] = field(default_factory=dict)

    def update(self, fresh: Tuples) -> None:
        """Drop the oldest sub-window, insert what has come."""
        self.slots.pop(self.now, None)
        self.now += 1
        for item in fresh:
            self.slots.setdefault(item[1], []).append(item)

    def all(self) -> Counter[tuple[int, int]]:
        """The whole state."""
        return Counter(x for part in self.slots.values() for x in part)


@dataclass
class Query:
    """A scan that reads the youngest sub-windows first; ``handing``: whether it is handed what it would miss."""

    handing: bool
    seen: Counter[tuple[int, int]] = field(default_factory=Counter)
    read: set[int] = field(default_factory=set)
    handed: int = 0
    restarts: int = 0

    def step(self, result: Result) -> bool:
        """Read a sub-window; whether that was the last."""
        left = [s for s in range(result.now, result.now + result.n) if s not in self.read]
        self.seen.update(result.slots.get(left[-1], []))
        self.read.add(left[-1])
        return len(left) == 1

    def updated(self, dropped: int, fresh: Tuples) -> None:
        """An update has dropped a sub-window and inserted tuples."""
        if dropped in self.read:
            self.seen.clear()
            self.read.clear()
            self.restarts += 1
        elif self.handing:
            mine = [x for x in fresh if x[1] in self.read]
            self.seen.update(mine)
            self.handed += len(mine)


def run_one(seed: int, handing: bool) -> tuple[int, int, Query]:
    """Queries one after the other beside random updates: commits, wrong answers, and the last query's counts added."""
    rng, n, number = random.Random(seed), 6, 0
    result, commits, wrong, total = Result(n), 0, 0, Query(handing)
    query = Query(handing)
    for _ in range(400):
        if rng.random() < 0.1:
            fresh = []
            for _ in range(rng.randrange(6)):
                number += 1
                fresh.append((number, result.now + 1 + rng.randrange(n)))
            dropped = result.now
            result.update(fresh)
            query.updated(dropped, fresh)
        elif query.step(result):
            commits += 1
            wrong += query.seen != result.all()
            total.handed += query.handed
            total.restarts += query.restarts
            query = Query(handing)
    return commits, wrong, total


def judge(handed: tuple[int, int, int], without: tuple[int, int]) -> tuple[Check, ...]:
    """``handed``: commits, wrong answers, tuples handed over; ``without``: commits and wrong answers without that."""
    return (
        Check("answer = state at commit", f"{handed[1]} wrong of {handed[0]}", handed[1] == 0 and handed[0] > 0),
        Check("tuples are handed over", f"{handed[2]}", handed[2] > 0),
        Check("without them answers are wrong", f"{without[1]} of {without[0]}", without[1] > 0),
    )


def run(setting: Setting) -> Outcome:
    """Random updates."""
    seeds = range(10 if setting.smoke else 100)
    with_them = [run_one(s, True) for s in seeds]
    without = [run_one(s, False) for s in seeds]
    handed = sum(c for c, _, _ in with_them), sum(w for _, w, _ in with_them), sum(q.handed for _, _, q in with_them)
    restarts = sum(q.restarts for _, _, q in with_them)
    note = f"queries that started over, for they had read what was dropped: {restarts}"
    return Outcome(judge(handed, (sum(c for c, _, _ in without), sum(w for _, w, _ in without))), (note,))


ENTRY = Entry(
    "T58",
    "Figure 7.6: an update of a weak non-monotonic result drops the oldest sub-window and inserts into all others; "
    "tuples inserted into sub-windows already read are handed to the running query",
    "query answer = state at commit",
    run,
)
