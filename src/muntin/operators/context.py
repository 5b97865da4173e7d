"""What an operator may know of the step it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import FOREVER, NEVER
from muntin.operators.joins.harvest import Harvest
from muntin.plan.aggregates import Evaluate


class Cut(Exception):
    """This step would give more rows than it may. It is to be done again, and only up to ``at`` (inside the step)."""

    def __init__(self, at: int) -> None:
        super().__init__(f"more rows than a step may give: take it up to {at}")
        self.at = at


@dataclass(frozen=True)
class Context:
    """Instants in ``[low, high)`` are answered by this step; none after ``end``. ``first``: when the query's first row
    enters, SLIDE apart.

    ``instants``: those of a query that answers whenever a row enters or leaves a window (sorted, inside the step; None
    where nothing marks them). ``pane``: microseconds after which small chunks are merged (None: the windows never end).
    ``fifo``: by argument of the operator, whether rows expire in order of start.
    """

    low: int
    high: int
    end: int
    first: int
    instants: NDArray[np.int64] | None
    pane: int | None
    fifo: tuple[bool, ...] = ()
    functions: Mapping[str, Evaluate] = field(default_factory=dict)
    """User-defined aggregates by name."""
    scan: bool = False
    """Whether expired rows are found by looking at all (strategy "direct")."""
    memory: int | None = None
    """Bytes of state that the vertex may hold on this shard (None: no limit)."""
    shard: int = 0
    """The number of this shard, of ``shards``."""
    shards: int = 1
    shown: int = NEVER
    """No instant before it is reported (of a query that may lengthen its period)."""
    shown_of: Mapping[int, int] = field(default_factory=dict)
    """The same by window of a synopsis: its first instant that is reported."""
    asked: int | None = None
    """Of a shared join how far back those of its readers look that are due, in microseconds or rows (None: as far as it
    does)."""
    apart: tuple[int, int] | None = None
    """Of a join that is done slice by slice how far apart the newest and the oldest row of a combination are in this
    turn, in microseconds or rows: at least the first, less than the second (None: as far as its windows allow)."""
    reach: int = FOREVER
    """How far the substep goes, which is less than ``low`` where it only takes up what was put off before."""
    expires: bool = True
    """Whether anybody reads when the operator's rows expire."""
    beside: tuple[object, ...] = ()
    """All operators that read what this one reads, itself among them, where they read nothing else."""
    narrowed: Any = None
    """Of a shared join how all of its readers narrow it (``operators.joins.narrow.Narrowed``), where it is worth its
    while to put its results in order for them."""
    shared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What operators of this step have worked out for those beside them."""
    harvest: Harvest | None = None
    """What of its windows a join reads (None: all of them, uncounted)."""
    weight: float = 1.0
    """How many rows of its stream each row of a source stands for that is admitted now."""
    most: int | None = None
    """Rows that one operator may give in this step: one that would give more raises ``Cut`` (None: no bound)."""

    @property
    def home(self) -> bool:
        """Whether this is the shard of rows without a key, where an ungrouped aggregate answers."""
        return self.shard == 0

    @property
    def cut(self) -> int | None:
        """Where the rows of a batch are kept apart: at panes, where a join may read some of these alone."""
        return None if self.harvest is None else self.pane

    @property
    def until(self) -> int:
        """First instant that is not shown."""
        return min(self.high, self.end + 1)

    def within(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which times this step answers."""
        return (times >= self.low) & (times < self.high)
