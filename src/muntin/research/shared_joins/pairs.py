"""A shared window join row by row (Hammad et al., section 3): whose turn it is, what it finds, what leaves for whom.

Each outer row scans the other stream from the newest row that had arrived before it, slice by slice, by nested loops or
through the bucket of its key; rows that arrive while it waits scan it themselves, so each pair is found once. Windows
are of time (a partner is in w while it is less than w older) or of rows (among the w newest of the other stream).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal as OneOf

from muntin.scheduling.routing import Router
from muntin.scheduling.slices import Policy, SliceQueues, Unit, sizes_of, slices_of

Pair = tuple[str, str]
"""Names of the row of stream A and of that of stream B."""


@dataclass(frozen=True)
class Tuple:
    """A row: ``stream`` 0 (A) or 1 (B), ``time``, join attribute ``key``."""

    stream: int
    time: float
    key: int

    @property
    def name(self) -> str:
        """As in the document's figures: a11, b12."""
        return f"{'ab'[self.stream]}{self.time:g}"


@dataclass
class Trace:
    """``units``: in the order in which they ran; ``found``: pairs as they were found; ``steps``: what left after each
    unit, by query; ``streams``: all of it; ``looked``: rows looked at."""

    units: list[Unit] = field(default_factory=list)
    found: list[Pair] = field(default_factory=list)
    steps: list[dict[int, list[Pair]]] = field(default_factory=list)
    streams: dict[int, list[Pair]] = field(default_factory=lambda: defaultdict(list))
    looked: int = 0


@dataclass
class SharedJoin:
    """A join for queries with these ``windows`` (ascending)."""

    policy: Policy
    windows: Sequence[float]
    access: OneOf["hash", "nlj"] = "hash"
    by: OneOf["time", "rows"] = "time"

    def run(self, rows: Sequence[Tuple], history: int = 0, units: Callable[[int], int] | None = None) -> Trace:
        """All rows in order of arrival; the first ``history`` of them are there from the beginning. ``units``: how many
        units run after each arrival (None: all that wait)."""
        slices, trace = slices_of(self.windows), Trace()
        queues, router = SliceQueues(self.policy, sizes_of(self.windows)), Router(self.policy, len(slices))
        buffers: tuple[list[Tuple], list[Tuple]] = ([], [])
        seen: list[int] = []  # by outer, how many rows of the other stream had arrived
        kept: dict[tuple[int, int], list[Pair]] = {}
        for number, row in enumerate(rows):
            if number >= history:
                queues.arrived(number - history)
                seen.append(len(buffers[1 - row.stream]))
            buffers[row.stream].append(row)
            rest = None if units is None or number + 1 == len(rows) else units(number)
            while (rest is None or rest > 0) and (unit := queues.next()) is not None:
                outer = rows[history + unit.outer]
                scanned = self._scan(outer, buffers[1 - outer.stream][: seen[unit.outer]], slices[unit.slice], trace)
                self._done(unit, scanned, kept, queues, router, trace)
                rest = None if rest is None else rest - 1
        return trace

    def _scan(self, outer: Tuple, other: list[Tuple], piece: tuple[float, float], trace: Trace) -> list[Pair]:
        """Partners in a slice, the newest first."""
        low, high = piece
        found = []
        for age, row in enumerate(reversed(other)):
            back = outer.time - row.time if self.by == "time" else age
            if back >= high:
                break
            if back >= low and (self.access == "nlj" or row.key == outer.key):
                trace.looked += 1
                if row.key == outer.key:
                    found.append((outer.name, row.name) if outer.stream == 0 else (row.name, outer.name))
        return found

    def _done(
        self, unit: Unit, found: list[Pair], kept: dict[tuple[int, int], list[Pair]], queues: SliceQueues,
        router: Router, trace: Trace,
    ) -> None:  # fmt: skip
        kept[unit.outer, unit.slice] = found
        queues.done(unit)
        left: dict[int, list[Pair]] = {}
        for r in router.done(unit):
            left.setdefault(r.query, []).extend(p for s in range(r.first, r.last + 1) for p in kept[r.outer, s])
        for query, pairs in left.items():
            trace.streams[query] += pairs
        trace.units.append(unit)
        trace.found += found
        trace.steps.append(left)


def alone(windows: Sequence[float], rows: Sequence[Tuple], history: int, join: SharedJoin) -> dict[int, list[Pair]]:
    """The stream of each query when it runs by itself."""
    found = {}
    for query, window in enumerate(windows):
        own = SharedJoin(join.policy, (window,), join.access, join.by).run(rows, history)
        found[query] = own.streams[0]
    return found


def tuples(names: Iterable[tuple[str, int]]) -> list[Tuple]:
    """Rows from names as in the figures, each with its symbol."""
    return [Tuple("ab".index(n[0]), float(n[1:]), key) for n, key in names]


FIGURE = tuples([("b0", 1), ("a1", 2), ("b4", 1), ("a5", 2), ("b8", 1), ("a9", 2), ("a11", 1), ("b12", 2)])
"""Figures 2, 4 and 6: a11 joins with b8, b4 and b0, b12 with a9, a5 and a1; the first six are there already."""

FIGURE_WINDOWS = (4.0, 8.0, 12.0)
"""Differences are 3, 7 and 11."""
