"""T6, thesis Figures 2.2 and 2.3: the negative tuple approach against the direct approach.

The plan of the figures: a selection on one of two windows, a join, and an aggregate (MAX) on top. Every operator counts
the tuples that it processes. Time runs on until all windows are empty, so that every tuple has had its negative one.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from muntin.research.harness import Check, Entry, Outcome, Setting

WINDOW = 30


@dataclass
class Plan:
    """``seen``: tuples processed by operator; ``undone``: by base tuple, the negative results its expiry caused;
    ``born``:
    the pairs of timestamps of all join results."""

    negative: bool
    sides: tuple[list[tuple[int, int, int]], ...] = field(default_factory=lambda: ([], []))
    results: list[tuple[int, int, int]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    undone: Counter[tuple[int, int]] = field(default_factory=Counter)
    born: list[tuple[int, int]] = field(default_factory=list)

    def advance(self, now: int) -> None:
        """Expire: by negative tuples of the windows, or by looking at exp in every operator's state."""
        if not self.negative:
            self.results = [r for r in self.results if min(r[0], r[1]) + WINDOW > now]
            for side in self.sides:
                side[:] = [t for t in side if t[0] + WINDOW > now]
            return
        for link, side in enumerate(self.sides):
            while side and side[0][0] + WINDOW <= now:
                self._undo(link, side.pop(0))

    def _undo(self, link: int, item: tuple[int, int, int]) -> None:
        self.seen["selection"] += 1
        if not _kept(link, item[2]):
            return
        self.seen["join"] += 1
        gone = [r for r in self.results if r[link] == item[0]]
        for r in gone:
            self.results.remove(r)
        self.seen["aggregate"] += len(gone)
        self.undone[link, item[0]] += len(gone)

    def arrive(self, link: int, ts: int, key: int, value: int) -> None:
        """A tuple of one stream; timestamps are unique within a stream."""
        self.seen["selection"] += 1
        if _kept(link, value) or self.negative:  # the negative tuple approach materialises the whole window
            self.sides[link].append((ts, key, value))
        if not _kept(link, value):
            return
        self.seen["join"] += 1
        for other, its_key, its_value in self.sides[1 - link]:
            if its_key == key and _kept(1 - link, its_value):
                pair = (ts, other) if link == 0 else (other, ts)
                self.results.append((*pair, value if link == 0 else its_value))
                self.seen["aggregate"] += 1
                self.born.append(pair)

    def answer(self) -> int | None:
        """MAX over the join."""
        return max((v for _, _, v in self.results), default=None)


def _kept(link: int, value: int) -> bool:
    return link == 1 or value % 3 > 0


def replay(negative: bool, count: int) -> tuple[Plan, list[int | None]]:
    """The plan over random streams, then until its windows are empty; and the answer at every instant."""
    rng, plan, answers = random.Random(2), Plan(negative), []
    for now in range(count + WINDOW + 1):
        plan.advance(now)
        if now < count:
            for link in (0, 1):
                plan.arrive(link, now, rng.randrange(8), rng.randrange(100))
        answers.append(plan.answer())
    return plan, answers


def judge(nt: Plan, direct: Plan, same: bool) -> tuple[Check, ...]:
    """Counts of both approaches."""
    ratios = {name: nt.seen[name] / direct.seen[name] for name in ("selection", "join", "aggregate")}
    total = nt.seen.total() / direct.seen.total()
    # the older part of a result expires first; of two of the same age, the one on the first stream
    expected = Counter((0, one) if one <= two else (1, two) for one, two in nt.born)
    undone = +nt.undone
    return (
        Check(
            "NT processes exactly 2x the tuples of direct",
            f"NT/direct {total:.3f} tuples",
            set(ratios.values()) == {2.0},
        ),
        Check("results equal", f"equal answers: {same}", same),
        Check(
            "an expired base tuple gives a negative tuple per join result that it ends; direct none",
            f"{undone.total()} negative results, {direct.undone.total()} in direct",
            undone == expected and direct.undone.total() == 0,
        ),
    )


def run(setting: Setting) -> Outcome:
    """Both approaches over the same streams."""
    count = 100 if setting.smoke else 400
    (nt, first), (direct, second) = replay(True, count), replay(False, count)
    return Outcome(judge(nt, direct, first == second))


ENTRY = Entry(
    "T6",
    "one expired base tuple produces a negative tuple per join result it took part in; direct produces none",
    "NT processes exactly 2x the tuples of direct for time windows (every tuple has one negative); results equal",
    run,
)
