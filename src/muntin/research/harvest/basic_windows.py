"""A join window as a list of basic windows that rotate (Gedik et al., 4.1.1), to say what a logical one holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil


@dataclass
class BasicWindows:
    """``span`` seconds in n = ceil(span / b) + 1 physical basic windows of ``b`` seconds, the youngest first; tuples in
    one stand in order of time. Every ``b`` seconds the last is emptied and becomes the first."""

    span: float
    b: float
    turned: float = 0.0
    """When the last rotation was."""
    physical: deque[deque[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.physical = deque(deque() for _ in range(self.n + 1))

    @property
    def n(self) -> int:
        """Logical basic windows."""
        return ceil(self.span / self.b)

    def insert(self, t: float) -> None:
        """A tuple of the present."""
        self.rotate(t)
        self.physical[0].append(t)

    def rotate(self, now: float) -> None:
        """All rotations up to ``now``."""
        while now >= self.turned + self.b:
            self.physical.pop()
            self.physical.appendleft(deque())
            self.turned += self.b

    def logical(self, j: int, now: float) -> Iterator[float]:
        """Tuples of logical basic window ``j`` (from 1), oldest first: of physical j + 1 its younger part, iterated
        backwards until it is too old, then of physical j its older part, forwards. No search."""
        self.rotate(now)
        younger: list[float] = []
        for t in reversed(self.physical[j]):
            if now - t >= j * self.b:
                break
            younger.append(t)
        yield from reversed(younger)
        for t in self.physical[j - 1]:
            if now - t < (j - 1) * self.b:
                break
            yield t
