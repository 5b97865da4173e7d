"""What the cost model knows of one input of a multi-way window join (Golab & Ozsu 2003, Table 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class JoinStream:
    """One stream and its window.

    ``rate`` lambda: tuples per unit time. ``span`` T: time units that a tuple stays. ``distinct`` v: values of the
    join attribute in the window, a prefix of the common list of values (containment), each equally likely.
    ``buckets`` b: of the hash index on the window; 1 is no index. ``weight``: what a comparison with a tuple of this
    window costs, where predicates differ in cost.

    Raises:
        ValueError: a number is not positive and finite, or there is less than one value or bucket.
    """

    rate: float
    span: float
    distinct: float
    buckets: int = 1
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rate", "span", "weight"):
            if not (getattr(self, name) > 0 and math.isfinite(getattr(self, name))):
                raise ValueError(f"{name} must be positive and finite: {self}")
        if not (self.distinct >= 1 and math.isfinite(self.distinct)):
            raise ValueError(f"a window has at least one value: {self}")
        if self.buckets < 1 or self.buckets != int(self.buckets):
            raise ValueError(f"buckets are counted from 1 (no index): {self}")

    @classmethod
    def of_rows(cls, rate: float, rows: float, distinct: float, buckets: int = 1, weight: float = 1.0) -> JoinStream:
        """A count window of C ``rows``: a tuple stays C / lambda time units."""
        if not rate > 0:
            raise ValueError(f"rate must be positive and finite: {rate}")
        return cls(rate, rows / rate, distinct, buckets, weight)

    @property
    def size(self) -> float:
        """Tuples in the window, lambda T."""
        return self.rate * self.span

    @property
    def scanned(self) -> float:
        """Tuples that one probe looks at: the window's, or those of one bucket, lambda T / b."""
        return self.size / self.buckets


Order = tuple[int, ...]
"""Streams from the top of the plan (the outermost loop) down, numbered from 0."""


def checked(streams: Sequence[JoinStream], order: Sequence[int]) -> Order:
    """The order, if it names each of at least two streams once; ValueError otherwise."""
    if len(streams) < 2:
        raise ValueError(f"a join has at least two streams, not {len(streams)}")
    if sorted(order) != list(range(len(streams))):
        raise ValueError(f"an order of {len(streams)} streams names each of 0..{len(streams) - 1} once: {tuple(order)}")
    return tuple(order)
