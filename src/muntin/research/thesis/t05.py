"""T5, thesis section 2.2.2: the rules of duplicate-preserving negation, v3 = max(v1 - v2, 0).

Two of the printed rules fail: on expiry from W2 a tuple is appended if v1 >= v2 (right: v1 > v2), and the expiry of
a W1
tuple that is not in the answer must be able to retract one that is. The replay runs the printed and the corrected rules
over the same random windows; the product runs the query as EXCEPT ALL.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import dataclass, field

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import bound, catalog, local, naive

TEXT = "SELECT a FROM S [RANGE 12 SECONDS] EXCEPT ALL SELECT a FROM T [RANGE 12 SECONDS]"


@dataclass
class Negation:
    """W1 - W2 by the rules. ``left``: tuples (id, value) of W1; ``answer``: the ids of those that are results."""

    printed: bool
    left: deque[tuple[int, int]] = field(default_factory=deque)
    right: Counter[int] = field(default_factory=Counter)
    answer: set[int] = field(default_factory=set)

    def _count(self, value: int) -> int:
        return sum(v == value for _, v in self.left)

    def _results(self, value: int) -> list[int]:
        return [i for i, v in self.left if v == value and i in self.answer]

    def left_arrives(self, number: int, value: int) -> None:
        self.left.append((number, value))
        if self._count(value) > self.right[value]:
            self.answer.add(number)

    def left_expires(self) -> None:
        number, value = self.left.popleft()
        shown = number in self.answer
        self.answer.discard(number)
        results = self._results(value)
        if not self.printed and not shown and len(results) > max(self._count(value) - self.right[value], 0):
            self.answer.discard(results[0])

    def right_arrives(self, value: int) -> None:
        self.right[value] += 1
        results = self._results(value)
        if self.right[value] <= self._count(value) and results:
            self.answer.discard(results[0])

    def right_expires(self, value: int) -> None:
        self.right[value] -= 1
        enough = self._count(value) >= self.right[value] if self.printed else self._count(value) > self.right[value]
        waiting = [i for i, v in self.left if v == value and i not in self.answer]
        if enough and waiting:
            self.answer.add(waiting[-1])

    def is_right(self) -> bool:
        """Whether every value has max(v1 - v2, 0) results."""
        values = Counter(v for _, v in self.left)
        shown = Counter(v for i, v in self.left if i in self.answer)
        return shown == values - self.right


def replay(printed: bool, steps: int, seed: int = 5) -> int:
    """Wrong answers in ``steps`` random arrivals and expiries."""
    rng, op, right, wrong = random.Random(seed), Negation(printed), deque[int](), 0
    for number in range(steps):
        match rng.randrange(4):
            case 0:
                op.left_arrives(number, rng.randrange(3))
            case 1 if len(op.left) > 4:
                op.left_expires()
            case 2:
                right.append(rng.randrange(3))
                op.right_arrives(right[-1])
            case 3 if len(right) > 4:
                op.right_expires(right.popleft())
        wrong += not op.is_right()
    return wrong


def judge(corrected: int, printed: int, steps: int, same: bool) -> tuple[Check, ...]:
    """``same``: the product's EXCEPT ALL equals the naive evaluator's at every instant."""
    return (
        Check("per-value answer count = v3 at every step", f"{corrected} wrong of {steps} steps", corrected == 0),
        Check("the printed rules fail", f"printed rules wrong in {printed / steps:.0%}", printed > 0),
        Check("the product's EXCEPT ALL equals it", f"product right: {same}", same),
    )


def run(setting: Setting) -> Outcome:
    """Both replays, and the product."""
    steps = 1000 if setting.smoke else 6000
    rng = random.Random(6)
    rows = {n: [{"ts": t, "a": rng.randrange(3)} for t in range(1, 80)] for n in ("S", "T")}
    query = bound(TEXT, catalog(S="a", T="a"))
    key = [(r.ts, r.op or "", r.values) for r in naive(query, rows)]
    same = sorted(key) == sorted((r.ts, r.op or "", r.values) for r in local(query, rows, live=True))
    return Outcome(judge(replay(False, steps), replay(True, steps), steps, same))


ENTRY = Entry(
    "T5", "negation keeps v3 = max(v1-v2,0) results per value", "per-value answer count = v3 at every step", run
)
