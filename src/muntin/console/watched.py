"""What the console asks of a run (``spark.run.Run`` has it)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from muntin.dataflow.graph import Graph


@dataclass(frozen=True)
class Standing:
    """What runs now: the graph, the names of the queries of each of its plans, by query where its rows go and what its
    user should know of its state."""

    graph: Graph
    called: Sequence[Sequence[str]]
    sinks: Mapping[str, str]
    notes: Mapping[str, str]
    texts: Mapping[str, str] = field(default_factory=dict)


class Watched(Protocol):
    """A run. ``metrics()``: ``spark.metrics.RunMetrics``, None before the first batch."""

    @property
    def active(self) -> bool: ...

    @property
    def exception(self) -> BaseException | None: ...

    @property
    def standing(self) -> Standing: ...

    def metrics(self, name: str | None = None) -> Any: ...

    def newest(self, name: str, limit: int) -> pa.Table | None:
        """The newest rows of a query; None where its sink does not let them be read back."""


Seen = Callable[[], None]
"""Called when a batch is done."""
