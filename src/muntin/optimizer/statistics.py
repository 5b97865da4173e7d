"""What is known, or assumed, of the data that a query will see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Statistics:
    """Rates, distinct values and selectivities, with defaults for what is not given. Names are looked up in lower case.

    ``rates``: rows per second by stream; of a table: its updates per second. ``sizes``: rows of a table.
    ``distinct``: distinct values by (stream or table, column). ``selectivities``: share of rows kept, by the Spark SQL
    text of the condition without backquotes. ``partitions``: of a calendar queue (thesis 3.5.2). ``lazy``: how often
    state that may be cleaned late is cleaned, as a share of the window (thesis 3.6.1). ``horizon``: seconds that an
    unbounded window is taken to hold. ``instants``: per second, at which something arrives and expirations are asked
    for (None: with every row of an edge). ``chains``: of a hash table (None: as many as it has rows, so that a row is
    found at once).
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)
    distinct: Mapping[tuple[str, str], float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)
    default_rate: float = 100.0
    default_updates: float = 0.1
    default_size: float = 1_000.0
    default_distinct: float = 1_000.0
    partitions: int = 10
    lazy: float = 0.05
    horizon: float = 3_600.0
    instants: float | None = None
    chains: int | None = None

    def rate(self, stream: str, expected: float | None = None) -> float:
        """Rows per second of a stream; ``expected``: what its registration says."""
        return self.rates.get(stream.lower(), expected or self.default_rate)

    def updates(self, table: str) -> float:
        """Updates per second of a table."""
        return self.rates.get(table.lower(), self.default_updates)

    def size(self, table: str) -> float:
        """Rows of a table."""
        return self.sizes.get(table.lower(), self.default_size)

    def values(self, source: str, column: str) -> float:
        """Distinct values of a column."""
        return self.distinct.get((source.lower(), column.lower()), self.default_distinct)
