"""The implementations of DISTINCT (thesis 3.2.2, 3.5.2) as operators that say what they emit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

Item = tuple[int, int, int]
"""An input tuple: ts, exp, value."""


@dataclass(frozen=True)
class Emitted:
    """A result: when, the value, when it will expire (None: not known), and '+' or '-' (a negative tuple)."""

    ts: int
    value: int
    exp: int | None
    op: str = "+"


@dataclass
class DeltaStar:
    """delta*: the results, and for each at most one duplicate (``aux``): the one with the latest expiry.

    ``youngest``: keep the youngest duplicate instead, as the thesis prints it.
    """

    youngest: bool = False
    output: dict[int, int] = field(default_factory=dict)
    aux: dict[int, int] = field(default_factory=dict)

    def advance(self, now: int) -> list[Emitted]:
        """Results whose time is over leave; a live duplicate takes the place of each."""
        emitted = []
        for value in [v for v, exp in self.output.items() if exp <= now]:
            del self.output[value]
            spare = self.aux.pop(value, now)
            if spare > now:
                self.output[value] = spare
                emitted.append(Emitted(now, value, spare))
        return emitted

    def arrive(self, item: Item) -> list[Emitted]:
        ts, exp, value = item
        if value not in self.output:
            self.output[value] = exp
            return [Emitted(ts, value, exp)]
        self.aux[value] = exp if self.youngest else max(exp, self.aux.get(value, exp))
        return []

    @property
    def size(self) -> int:
        return len(self.output) + len(self.aux)


@dataclass
class NaiveDelta:
    """delta: the whole input is stored; the youngest live tuple with the value takes the place of an expired result."""

    output: dict[int, int] = field(default_factory=dict)
    stored: list[Item] = field(default_factory=list)

    def advance(self, now: int) -> list[Emitted]:
        self.stored = [i for i in self.stored if i[1] > now]
        emitted = []
        for value in [v for v, exp in self.output.items() if exp <= now]:
            del self.output[value]
            spare = [exp for _, exp, v in self.stored if v == value]
            if spare:
                self.output[value] = spare[-1]
                emitted.append(Emitted(now, value, spare[-1]))
        return emitted

    def arrive(self, item: Item) -> list[Emitted]:
        ts, exp, value = item
        self.stored.append(item)
        if value in self.output:
            return []
        self.output[value] = exp
        return [Emitted(ts, value, exp)]

    @property
    def size(self) -> int:
        return len(self.output) + len(self.stored)


@dataclass
class CountingDelta:
    """The strict form: a counter per value, fed with the window's negative tuples."""

    counts: Counter[int] = field(default_factory=Counter)
    window: list[Item] = field(default_factory=list)

    def advance(self, now: int) -> list[Emitted]:
        emitted = []
        for item in [i for i in self.window if i[1] <= now]:
            self.window.remove(item)
            self.counts[item[2]] -= 1
            if not self.counts[item[2]]:
                del self.counts[item[2]]
                emitted.append(Emitted(now, item[2], None, "-"))
        return emitted

    def arrive(self, item: Item) -> list[Emitted]:
        ts, _, value = item
        self.window.append(item)
        self.counts[value] += 1
        return [Emitted(ts, value, None)] if self.counts[value] == 1 else []

    @property
    def output(self) -> dict[int, int]:
        return dict(self.counts)

    @property
    def size(self) -> int:
        return len(self.counts) + len(self.window)


Delta = DeltaStar | NaiveDelta | CountingDelta


@dataclass(frozen=True)
class Replay:
    """``emitted``: in order; ``wrong``: instants with another answer than the distinct live values; ``worst``: the
    largest
    state / output ratio."""

    emitted: list[Emitted]
    wrong: int
    worst: float


def replay(operator: Delta, items: Sequence[Item], until: int) -> Replay:
    """Feed the tuples (in order of ts) and let time run, instant by instant, to ``until``."""
    emitted: list[Emitted] = []
    wrong, worst, place = 0, 0.0, 0
    for now in range(until + 1):
        emitted += operator.advance(now)
        while place < len(items) and items[place][0] == now:
            emitted += operator.arrive(items[place])
            place += 1
        alive = {v for ts, exp, v in items if ts <= now < exp}
        wrong += set(operator.output) != alive
        if operator.output:
            worst = max(worst, operator.size / len(operator.output))
    return Replay(emitted, wrong, worst)
