"""What may hold the rows of an edge, and what each structure costs to keep (thesis 3.5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muntin.optimizer.flow import Flow
from muntin.optimizer.statistics import Statistics
from muntin.optimizer.strategy import Strategy
from muntin.plan.patterns import Pattern


@dataclass(frozen=True)
class StructureStatistics(Statistics):
    """What is known of data, and of the structures that keep it.

    ``partitions``: of a calendar queue (thesis 3.5.2). ``lazy``: how often state that may be cleaned late is cleaned,
    as a share of the window (thesis 3.6.1). ``instants``: per second, at which something arrives and expirations are
    asked for (None: with every row of an edge). ``chains``: of a hash table (None: as many as it has rows, so that a
    row is found at once).
    """

    partitions: int = 10
    lazy: float = 0.05
    instants: float | None = None
    chains: int | None = None


class Structure(StrEnum):
    """State structures. ``LOG``: rows that never leave; ``HASH``: rows leave by negative tuples alone."""

    LOG = "log"
    FIFO = "fifo"
    LIST = "list"
    CALENDAR = "calendar queue"
    HASH = "hash table"


def holdings(f: Flow, s: StructureStatistics, strategy: Strategy, eager: bool) -> dict[Structure, float]:
    """Steps per second to insert an edge's rows and to delete them, by structure that the strategy may use.

    ``eager``: expirations show at once, so every instant asks for them; otherwise state is cleaned ``1 / lazy`` times
    in the time a row stays. The update pattern of the edge leaves one structure, save that with negative tuples UPA has
    two: a calendar queue, searched for each of them, or a hash table for which every expiration is a negative tuple.
    """
    if f.pattern is Pattern.MON:
        return {Structure.LOG: f.rate}
    if strategy is Strategy.NT:
        return {Structure.HASH: _hashed(f, s)}
    queue = f.rate + f.expiring
    if f.pattern is Pattern.WKS:
        return {Structure.FIFO: queue}
    if strategy is Strategy.DIRECT:
        asks = f.rate + f.early if s.instants is None else s.instants
        scans = asks * f.size if eager else f.rate / s.lazy
        return {Structure.LIST: queue + scans + f.early * f.size}
    day = f.size / s.partitions
    calendar = queue + (f.rate * day / 2 + _looks(f, s) if eager else f.rate / (s.lazy * s.partitions))
    if f.pattern is Pattern.WK:
        return {Structure.CALENDAR: calendar}
    return {Structure.CALENDAR: calendar + f.early * f.size, Structure.HASH: _hashed(f, s) + f.expiring}


def _looks(f: Flow, s: StructureStatistics) -> float:
    """Every instant looks at the day that it is in, and at those that have ended since the last."""
    if s.instants is None:
        return 0.0
    return s.instants + min(s.instants, s.partitions * f.rate / max(f.size, 1e-9))


def _hashed(f: Flow, s: StructureStatistics) -> float:
    """Chains grow at their heads: the oldest row, which expires next, is found last, any other half way."""
    chain = f.size / s.chains if s.chains is not None else 0.0
    return f.rate + f.expiring * (1 + chain) + f.early * (1 + chain / 2)
