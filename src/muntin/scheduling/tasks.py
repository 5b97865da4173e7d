"""Periodic queries as tasks (Golab 2006, section 8.4.3): which queries are always run together, and how often.

Lengths of time are in updates of the synopsis that a group shares: a window of 10 reads its 10 youngest intervals, a
period (SLIDE) of 2 asks for an answer after every second update.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PeriodicQuery:
    """A query that is run again and again.

    ``group``: queries of one group may be computed together (by the rules of computation sharing). ``priority``: of
    queries that are equally urgent the one with the greatest goes first. ``exact``: it is run after as many updates as
    it asks for, never before.
    """

    name: str
    group: Hashable
    window: int
    period: int
    priority: int = 0
    exact: bool = False

    def __post_init__(self) -> None:
        if self.window < 1 or self.period < 1:
            raise ValueError(f"windows and periods are at least one update: {self}")


@dataclass(frozen=True)
class Task:
    """Queries of one group that are always run together, each ``period`` updates."""

    queries: tuple[PeriodicQuery, ...]
    period: int

    def __post_init__(self) -> None:
        if len({q.group for q in self.queries}) != 1:
            raise ValueError(f"a task is of queries of one group: {self.queries}")

    @property
    def group(self) -> Hashable:
        """That of its queries."""
        return self.queries[0].group

    @property
    def window(self) -> int:
        """The longest: shorter windows are answered on the way (rule CS2)."""
        return max(q.window for q in self.queries)

    @property
    def priority(self) -> int:
        """The greatest of its queries'."""
        return max(q.priority for q in self.queries)

    @property
    def allowed(self) -> bool:
        """Whether none of its queries is run early that must not be."""
        return not any(q.exact and q.period > self.period for q in self.queries)


def groups_of(queries: Iterable[PeriodicQuery]) -> Mapping[Hashable, list[PeriodicQuery]]:
    """By group its queries, in the order in which they come."""
    found: dict[Hashable, list[PeriodicQuery]] = {}
    for query in queries:
        found.setdefault(query.group, []).append(query)
    return found


def separate(queries: Iterable[PeriodicQuery]) -> tuple[Task, ...]:
    """Each query by itself (Algorithm 9)."""
    return tuple(Task((q,), q.period) for q in queries)


def aggressive(queries: Iterable[PeriodicQuery]) -> tuple[Task, ...]:
    """Each group as one task, as often as its most frequent query asks: the others are run early, but for exact ones,
    which are tasks by period."""
    found: list[Task] = []
    for mine in groups_of(queries).values():
        most = min(q.period for q in mine)
        found.append(Task(tuple(q for q in mine if not q.exact or q.period == most), most))
        found += conservative(q for q in mine if q.exact and q.period > most)
    return tuple(found)


def conservative(queries: Iterable[PeriodicQuery]) -> tuple[Task, ...]:
    """Each group in sub-groups of one period (and of exact ones), by period: nothing is run early."""
    found = []
    for mine in groups_of(queries).values():
        for kind in sorted({(q.period, q.exact) for q in mine}):
            found.append(Task(tuple(q for q in mine if (q.period, q.exact) == kind), kind[0]))
    return tuple(found)


def merged(tasks: Sequence[Task]) -> Task:
    """Sub-groups of one group as one, as often as the most frequent of them."""
    return Task(tuple(q for t in tasks for q in t.queries), min(t.period for t in tasks))


def early(tasks: Iterable[Task]) -> int:
    """How many queries are run more often than they ask."""
    return sum(q.period > t.period for t in tasks for q in t.queries)
