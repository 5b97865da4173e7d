"""The slices of a shared window join, and the queues in which rows wait for them (Hammad et al., 3.2, 3.3).

The windows w_1 < w_2 < ... of the queries cut the largest into slices, the i-th from w_(i-1) to w_i. A *scheduling
unit* is one outer row, or all rows of one batch, against one slice of the other streams; it is not interrupted. An
outer goes through its slices from the smallest window on and waits in one queue at a time, first in, first out; a
policy says which queue is served next. So every slice is done for the outers in the order of their arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Order = Callable[[Sequence[float]], tuple[int, ...]]
"""From the sizes of the slices the order in which their queues are served; the first that is not empty is."""


@dataclass(frozen=True)
class Policy:
    """How units follow one another. ``holds``: results leave when their outer has done a slice, not while it scans, nor
    when an earlier outer lets them pass."""

    name: str
    order: Order
    holds: bool = False


class Unit(NamedTuple):
    """Outer number ``outer`` (by arrival) against slice number ``slice``, both from 0."""

    outer: int
    slice: int


def slices_of(windows: Iterable[float]) -> tuple[tuple[float, float], ...]:
    """From where to where each slice reaches back, the distinct windows in order: [low, high)."""
    ends = sorted(set(windows))
    return tuple(zip([0, *ends[:-1]], ends, strict=True))


def sizes_of(windows: Iterable[float]) -> tuple[float, ...]:
    """How long each slice is: what priorities go by. They change only when a window comes or goes (their 3.3, 4.5)."""
    return tuple(high - low for low, high in slices_of(windows))


class SliceQueues:
    """Outers that wait, by the slice that each needs next. Cost of a step: the number of slices."""

    def __init__(self, policy: Policy, sizes: Sequence[float], waiting: Iterable[tuple[int, int]] = ()) -> None:
        """``waiting``: (outer, next slice) of outers that others have begun, in order of arrival."""
        self.policy = policy
        self._queues: list[deque[int]] = [deque() for _ in sizes]
        self._order = policy.order(sizes)
        for outer, at in sorted(waiting):
            self._queues[at].append(outer)

    def arrived(self, outer: int) -> None:
        """A new outer: those before it must have arrived."""
        self._queues[0].append(outer)

    def next(self) -> Unit | None:
        """Which unit is to run; None where nothing waits."""
        for at in self._order:
            if self._queues[at]:
                return Unit(self._queues[at][0], at)
        return None

    def done(self, unit: Unit) -> None:
        """A unit that ``next`` gave has run: its outer waits for the next slice, after the last one for nothing."""
        self._queues[unit.slice].popleft()
        if unit.slice + 1 < len(self._queues):
            self._queues[unit.slice + 1].append(unit.outer)

    def waiting(self) -> list[tuple[int, int]]:
        """(outer, next slice) of all that wait, in order of arrival: what a later batch goes on from."""
        return sorted((outer, at) for at, queue in enumerate(self._queues) for outer in queue)

    def __len__(self) -> int:
        return sum(map(len, self._queues))
