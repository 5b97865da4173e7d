"""The estimated traffic of one edge of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from muntin.plan.patterns import Pattern


@dataclass(frozen=True)
class Flow:
    """``rate``: rows that come per second (thesis: lambda). ``size``: rows that are there at a time (lambda T).
    ``expiring``: rows per second that leave at an expiry known when they came; ``early``: rows per second that a
    negative tuple takes away (premature expirations). ``distinct``: distinct values by column (v)."""

    rate: float
    size: float
    expiring: float
    early: float
    distinct: Mapping[str, float]
    pattern: Pattern

    def scaled(self, share: float) -> Flow:
        """A random share of the rows."""
        size = self.size * share
        distinct = {n: min(v, max(size, 1.0)) for n, v in self.distinct.items()}
        return replace(
            self, rate=self.rate * share, size=size, expiring=self.expiring * share, early=self.early * share,
            distinct=distinct,
        )  # fmt: skip
