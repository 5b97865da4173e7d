"""What a pipeline is, as data that is shipped to the workers."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from muntin.physical.stage import PhysicalQuery
from muntin.plan.catalog import Stream


@dataclass(frozen=True)
class Target:
    """Input ``input`` of stage ``level`` of query number ``query``."""

    query: int
    level: int
    input: int


@dataclass(frozen=True)
class Feed:
    """Rows of one stream, filtered, projected and sharded in one way: sent once, however many inputs want them.

    ``keep`` and ``columns`` are positions among the columns that the JVM computes (``keep`` -1: every row);
    ``keys`` are positions among ``columns``. ``schema`` is the wire schema of the first target, which the others share but
    for names. ``level``: the deepest stage that reads it.
    """

    number: int
    stream: int
    keep: int
    columns: tuple[int, ...]
    keys: tuple[int, ...]
    schema: pa.Schema
    targets: tuple[Target, ...]

    @property
    def level(self) -> int:
        return max(t.level for t in self.targets)


@dataclass(frozen=True)
class PipelineSpec:
    """One pipeline: the streams in the order of the union, the distinct queries, and how they are placed.

    ``since[n]``: the first batch in which the checkpoint's pipeline has level n.
    ``store``: where the pane store is (None: batch DataFrames, state in memory). ``plain``: the result is the one query's
    own columns; otherwise letters. ``late``: late rows are handed out too. ``retain``: versions that stay readable.
    """

    streams: tuple[Stream, ...]
    queries: tuple[PhysicalQuery, ...]
    names: tuple[str, ...]
    since: tuple[int, ...]
    feeds: tuple[Feed, ...]
    shards: int
    partitions: int
    store: str | None = None
    plain: bool = True
    late: bool = False
    retain: int = 10

    @property
    def levels(self) -> int:
        """Number of stages of the deepest query."""
        return max(len(q.stages) for q in self.queries)

    def positions(self, query: int) -> dict[int, int]:
        """Position in the pipeline of each stream that the query reads -> its position in the query."""
        mine = [s.name for s in self.queries[query].streams]
        return {i: mine.index(s.name) for i, s in enumerate(self.streams) if s.name in mine}
