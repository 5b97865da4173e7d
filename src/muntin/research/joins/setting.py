"""What is joined and how: windows, join graph, orders, strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from muntin.core.errors import ConfigError

Pattern = OneOf["WKS", "WK", "STR"]
"""How the rows of a window expire: in order of arrival; in any order, each at a time known on arrival; when a negative
tuple says so."""

Algorithm = OneOf["eager", "lazy", "no-restore", "restore"]
"""``eager``: EAGER or NAIVE of Golab & Ozsu (2003), Algorithms 2 and 3 of the thesis. ``lazy``: LAZY, GENERAL LAZY or
NAIVE lazy. ``no-restore``, ``restore``: Algorithms 4 and 5. Which it is of the 2003 ones is a matter of the orders:
NAIVE has the same for every origin, EAGER and LAZY have the origin outermost, GENERAL has any."""

Order = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """``rows``: a count window of so many, else 0 for one whose rows bring their expiry. ``buckets``: of the hash index
    on attribute ``hashed``; 1 means nested loops. ``parts``: with WK, cut the time up to ``reach`` into so many
    partitions of a calendar queue; 1 means a list."""

    rows: int = 0
    buckets: int = 1
    pattern: Pattern = "WKS"
    parts: int = 1
    reach: int = 1
    hashed: int = 0


@dataclass(frozen=True)
class Edge:
    """A predicate between streams: |left - right| <= ``width``; 0 is equality. ``of_left``, ``of_right``:
    attributes."""

    left: int
    right: int
    width: int = 0
    of_left: int = 0
    of_right: int = 0


@dataclass(frozen=True)
class Join:
    """Windows, one per stream, and the join graph."""

    windows: tuple[Window, ...]
    edges: tuple[Edge, ...]

    @classmethod
    def on_one(cls, windows: Sequence[Window]) -> Join:
        """Equality on attribute 0 of all streams, as in the documents."""
        return cls(tuple(windows), tuple(Edge(0, j) for j in range(1, len(windows))))

    @property
    def width(self) -> int:
        """Number of streams."""
        return len(self.windows)


@dataclass(frozen=True)
class Strategy:
    """``orders``: per origin, the streams from the outermost loop inwards. ``interval``: of re-execution (tau, Delta);
    0 for eager evaluation. ``expire``: interval of expiry; 0 for eager expiry, or for as often as re-execution.
    ``careless``: leave out the comparison of times, which gives wrong answers (Table 3)."""

    algorithm: Algorithm
    orders: tuple[Order, ...]
    interval: int = 0
    expire: int = 0
    careless: bool = False

    def check(self, join: Join) -> None:
        """Raises ConfigError for what the algorithms do not allow."""
        every = tuple(range(join.width))
        if len(self.orders) != join.width or any(tuple(sorted(o)) != every for o in self.orders):
            raise ConfigError(f"there must be an order of all {join.width} streams for each of them")
        if (self.algorithm == "eager") != (self.interval == 0):
            raise ConfigError("an interval of re-execution goes with lazy evaluation, and only with it")
        if self.algorithm != "eager" and self.expire % self.interval:
            raise ConfigError("lazy evaluation expires at most as often as it re-executes, at multiples of that")
        if self.careless and self.algorithm != "lazy":
            raise ConfigError("careless is a variant of lazy evaluation")
        for n, window in enumerate(join.windows):
            _check_window(self, n, window)


def _check_window(strategy: Strategy, n: int, window: Window) -> None:
    inside = any(order[0] != o for o, order in enumerate(strategy.orders))
    if window.rows and (window.pattern != "WKS" or strategy.algorithm in ("restore", "no-restore")):
        raise ConfigError(f"window {n}: count windows are WKS here; Algorithms 4 and 5 take them as negative tuples")
    if window.parts > 1 and window.pattern != "WK":
        raise ConfigError(f"window {n}: a calendar queue is for WK input")
    if window.parts > 1 and strategy.algorithm == "lazy" and inside:
        raise ConfigError(f"window {n}: new rows inside the order want a window in order of arrival")
    if window.pattern == "STR" and (strategy.algorithm == "lazy" or strategy.expire):
        raise ConfigError(f"window {n}: STR input needs eager expiry, or Algorithm 4 or 5")
    if inside and strategy.algorithm in ("restore", "no-restore"):
        raise ConfigError("Algorithms 4 and 5 have new tuples outermost")


def by_origin(order: Sequence[int]) -> tuple[Order, ...]:
    """Orders of EAGER and LAZY: the new tuple outermost, the others in the global order (Table 4)."""
    return tuple((o, *(s for s in order if s != o)) for o in range(len(order)))


def fixed(order: Sequence[int]) -> tuple[Order, ...]:
    """Orders of NAIVE: the global one, whatever the origin."""
    return (tuple(order),) * len(order)
