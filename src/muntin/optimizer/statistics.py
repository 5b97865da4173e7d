"""What is known, or assumed, of the data that a query will see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Statistics:
    """Rates, distinct values and selectivities, with defaults for what is not given. Names are looked up in lower case.

    ``rates``: rows per second by stream; of a table: its updates per second. ``sizes``: rows of a table.
    ``distinct``: distinct values by (stream or table, column). ``selectivities``: share of rows kept, by the Spark SQL
    text of the condition without backquotes. ``horizon``: seconds that an unbounded window is taken to hold. ``step``:
    seconds of event time that a batch brings.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)
    distinct: Mapping[tuple[str, str], float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)
    default_rate: float = 100.0
    default_updates: float = 0.1
    default_size: float = 1_000.0
    default_distinct: float = 1_000.0
    horizon: float = 3_600.0
    step: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """What is known by stream and column, as plain values."""
        values = [[*source, v] for source, v in sorted(self.distinct.items())]
        found = {"rates": dict(sorted(self.rates.items())), "distinct": values}
        known: dict[str, Any] = {k: v for k, v in found.items() if v}
        return known if self.step == Statistics.step else known | {"step": self.step}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Statistics:
        """What ``to_json`` made."""
        distinct = {(s, c): v for s, c, v in value.get("distinct", [])}
        return Statistics(value.get("rates", {}), distinct=distinct, step=value.get("step", Statistics.step))

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
