"""Schedulers of updates and queries: Algorithms 7 and 8 of Golab (2006), 7.4, with any order of reads.

Updates run at once. A query reads the ``size`` youngest sub-windows; it is aborted when what it has read expires from
its window, and then starts over (the printed algorithms leave it in the list with its bits set).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from muntin.scheduling.transactions.history import History, Op

Event = tuple[str, int]
"""("update", 0), ("query", its size), or ("step", 0): one read of the oldest query."""

Order = Callable[[Sequence[int], int, int], int]
"""Sub-windows that a query has still to read, the youngest of the window, n: which to read next."""


def ascending(left: Sequence[int], youngest: int, n: int) -> int:
    """The least index: the query as it is written."""
    return min(left)


def ttu(left: Sequence[int], youngest: int, n: int) -> int:
    """The highest time to update (Algorithm 8): the youngest."""
    return min(left, key=lambda i: (youngest - i) % n)


def oldest_first(left: Sequence[int], youngest: int, n: int) -> int:
    """The lowest time to update."""
    return max(left, key=lambda i: (youngest - i) % n)


def at_random(seed: int) -> Order:
    """Any."""
    rng = random.Random(seed)
    return lambda left, youngest, n: rng.choice(sorted(left))


def printed_index(j: int, n: int, size: int) -> int:
    """Which sub-window an update takes out of a window of ``size``, as Algorithms 7 and 8 have it."""
    return (j + n - size) % n


def proof_index(j: int, n: int, size: int) -> int:
    """The same as the proof of Theorem 7.3 has it."""
    return (j - n + size) % n


@dataclass
class _Query:
    name: str
    size: int
    read: set[int] = field(default_factory=set)


@dataclass
class Scheduler:
    """Runs events; ``ops`` is the history, ``aborts`` how many queries were aborted."""

    n: int
    order: Order
    index: Callable[[int, int, int], int] = printed_index
    ops: list[Op] = field(default_factory=list)
    aborts: int = 0
    committed: int = 0
    _running: list[_Query] = field(default_factory=list)
    _youngest: int = -1
    _queries: int = 0

    def __post_init__(self) -> None:
        self._youngest = self.n - 1

    def run(self, events: Sequence[Event]) -> Scheduler:
        """Take the events in order."""
        for kind, size in events:
            match kind:
                case "update":
                    self._update()
                case "query":
                    self._queries += 1
                    self._running.append(_Query(f"Q{self._queries}", size))
                case _:
                    self._step()
        return self

    @property
    def history(self) -> History:
        """What happened."""
        return History(tuple(self.ops), self.n, self.n - 1)

    def _update(self) -> None:
        self._youngest += 1
        j = self._youngest
        self.ops += [Op("w", j, j % self.n), Op("c", j)]
        for query in self._running:
            if self.index(j, self.n, query.size) in query.read:
                self.ops.append(Op("a", query.name))
                self.aborts += 1
                query.read.clear()

    def _step(self) -> None:
        if not self._running:
            return
        query = self._running[0]
        wanted = {(self._youngest - i) % self.n for i in range(query.size)} - query.read
        if wanted:
            place = self.order(sorted(wanted), self._youngest % self.n, self.n)
            self.ops.append(Op("r", query.name, place))
            query.read.add(place)
        if len(wanted) <= 1:
            self.ops.append(Op("c", query.name))
            self.committed += 1
            self._running.remove(query)


def schedule(rng: random.Random, n: int, length: int, whole: bool = False, updates: float = 0.12) -> list[Event]:
    """Random events; ``whole``: queries read the whole window."""
    found: list[Event] = []
    for _ in range(length):
        draw = rng.random()
        if draw < updates:
            found.append(("update", 0))
        elif draw < updates + 0.1:
            found.append(("query", n if whole else rng.randrange(1, n + 1)))
        else:
            found.append(("step", 0))
    return found


def interleaved(rng: random.Random, n: int, immediate: bool) -> History:
    """A random history of one or two whole queries and some updates, without a scheduler; ``immediate``: updates commit
    at once, else somewhere later."""
    streams: list[list[Op]] = []
    for q in range(rng.choice([1, 2])):
        places = list(range(n))
        rng.shuffle(places)
        streams.append([*(Op("r", f"Q{q + 1}", p) for p in places), Op("c", f"Q{q + 1}")])
    writes = [Op("w", j, j % n) for j in range(n, n + rng.randrange(1, 5))]
    ops: list[Op] = []
    pending: list[Op] = []
    while writes or pending or any(streams):
        sources = [s for s in [*streams, writes, pending] if s]
        source = rng.choice(sources)
        op = source.pop(0)
        ops.append(op)
        if op.kind == "w":
            if immediate:
                ops.append(Op("c", op.who))
            else:
                pending.append(Op("c", op.who))
    return History(tuple(ops), n, n - 1)
