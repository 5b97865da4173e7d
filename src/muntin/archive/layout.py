"""Which sub-index a row belongs to: partitions of insertion times by partitions of expiration times.

Golab (2006), 4.3.1 and Algorithm 1. Time is cut into *slots* of one update interval: slot k is ``(k * every,
(k + 1) * every]``, and its update takes place at its end. An update inserts into one row of the grid (one sub-index for
each partition of expiration times) and expires from one column, so it touches ``G + E - 1`` sub-indices.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from muntin.core.errors import ConfigError

Order = OneOf["round_robin", "chronological", "random"]
Update = OneOf["rebuild", "norebuild"]
Ints = NDArray[np.int64]

MOST = 4096
"""Sub-indices of an index, at most."""


@dataclass(frozen=True)
class Layout:
    """A grid of ``insertions`` (G) by ``expirations`` (E) sub-indices.

    ``order``: how slots go to partitions: in turn (``round_robin``, sub-indices of like size), in stretches
    (``chronological``), or by a hash (``random``, for rates that swing in step with the updates: 4.3.3). ``update``: a
    sub-index that changes is clustered anew (``rebuild``), or gets its rows beside those that it has, and frees what
    has expired (``norebuild``).
    """

    insertions: int = 2
    expirations: int = 2
    order: Order = "round_robin"
    update: Update = "rebuild"

    def __post_init__(self) -> None:
        if self.insertions < 1 or self.expirations < 1 or self.size > MOST:
            raise ConfigError(
                f"a layout has 1 or more partitions of each kind and at most {MOST} sub-indices, not "
                f"{self.insertions} x {self.expirations}"
            )
        if self.order not in get_args(Order):
            raise ConfigError(f"order is one of {', '.join(get_args(Order))}, not {self.order!r}")
        if self.update not in get_args(Update):
            raise ConfigError(f"update is one of {', '.join(get_args(Update))}, not {self.update!r}")

    @property
    def size(self) -> int:
        """How many sub-indices there are."""
        return self.insertions * self.expirations

    @property
    def touched(self) -> int:
        """Sub-indices that an update changes, at most, where lifetimes vary (4.3.2)."""
        return self.insertions + self.expirations - 1

    def rows(self, slot: Ints, period: int) -> Ints:
        """Of each slot of insertion, the row of the grid; ``period``: slots in the longest lifetime."""
        return _partition(slot, self.insertions, self.order, period, 0)

    def columns(self, slot: Ints, period: int) -> Ints:
        """Of each slot of expiration, the column of the grid."""
        return _partition(slot, self.expirations, self.order, period, 1)

    def cells(self, inserted: Ints, expires: Ints, period: int) -> Ints:
        """The sub-index, from 0, of rows by their slots of insertion and expiration."""
        return self.rows(inserted, period) * self.expirations + self.columns(expires, period)

    def __str__(self) -> str:
        return f"{self.insertions}x{self.expirations} {self.order} {self.update}"


def _partition(slot: Ints, parts: int, order: Order, period: int, salt: int) -> Ints:
    if order == "random":
        mixed = (slot.astype(np.uint64) + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        return ((mixed >> np.uint64(32)) % np.uint64(parts)).astype(np.int64)
    stretch = max(-(-period // parts), 1) if order == "chronological" else 1
    return (slot // stretch) % parts


def slots(times: Ints, every: int) -> Ints:
    """The slot of each time."""
    return (times - 1) // every


def wave(kind: str, n: int) -> Layout:
    """A wave index of ``n`` sub-indices (``WAVES``), in the thesis' names. Raises ConfigError for another name."""
    if kind not in WAVES:
        raise ConfigError(f"a wave index is one of {', '.join(WAVES)}, not {kind!r}")
    by, update = WAVES[kind]
    return Layout(n, 1, "chronological", update) if by == "ins" else Layout(1, n, "chronological", update)


WAVES: dict[str, tuple[str, Update]] = {
    "R-ins": ("ins", "rebuild"),
    "R-exp": ("exp", "rebuild"),
    "D-ins": ("ins", "norebuild"),
    "D-exp": ("exp", "norebuild"),
}
"""The indices partitioned in one way that Golab compares with (4.4.1): by insertion or expiration time, clustered anew
(REINDEX) or not (DEL)."""


def layout_of(text: str, order: str = "round_robin", update: str = "rebuild") -> Layout:
    """A layout as users write it: ``3x3``, or a wave index as ``R-ins4``. Raises ConfigError for another form."""
    grid = re.fullmatch(r"(\d+)\s*[xX]\s*(\d+)", text.strip())
    if grid:
        return Layout(int(grid[1]), int(grid[2]), order, update)  # type: ignore[arg-type]
    one = re.fullmatch(r"([RD]-(?:ins|exp))(\d+)", text.strip())
    if one:
        return wave(one[1], int(one[2]))
    raise ConfigError(f"layout {text!r}: write GxE, as in 3x3, or a wave index, as in R-ins4 ({', '.join(WAVES)})")
