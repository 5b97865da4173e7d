"""What a pipeline is, as data that is shipped to the workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from muntin.dataflow.stage import PhysicalQuery
from muntin.plan.catalog import Stream
from muntin.spark.outlets import Outlet


@dataclass(frozen=True)
class Target:
    """Input ``input`` of stage ``stage`` of query number ``query``."""

    query: int
    stage: int
    input: int


EVENT_TIME = -1
"""In place of a column's number: the stream's event time, which is there for every row anyway."""


@dataclass(frozen=True)
class Feed:
    """Rows of one stream, filtered, projected and sharded in one way: sent once, however many inputs want them.

    ``keep`` and ``columns`` are positions among the columns that the JVM computes (``keep`` -1: every row); ``keys``
    and ``present`` (rows where one of them is NULL are not sent) are positions among ``columns``. ``schema`` is the
    wire schema of the first target, which the others share but for names. ``level``: the deepest level that reads it.
    ``everywhere``: every shard gets every row. ``split``: rows of hot keys are spread (``hot_keys``).
    """

    number: int
    stream: int
    keep: int
    columns: tuple[int, ...]
    keys: tuple[int, ...]
    schema: pa.Schema
    targets: tuple[Target, ...]
    level: int
    everywhere: bool = False
    split: bool = False
    present: tuple[int, ...] = ()


@dataclass(frozen=True)
class PipelineSpec:
    """One pipeline: the streams in the order of the union, the distinct queries, and how they are placed.

    Stages of equal depth run together: level n of the pipeline is every query's stages of depth n, one exchange.
    ``signatures`` are the driver's (they name the state, so workers must not make their own). ``since[n]``: the first
    batch in which the checkpoint's pipeline has level n. ``store``: where the pane store is (None: batch DataFrames,
    state in memory). ``tables``: directory of the static tables that a live pipeline reads, one file each. ``plain``:
    the result is the one query's own columns; otherwise letters. ``late``: late rows are handed out too. ``retain``:
    versions that stay readable. ``outlets``: what the workers write themselves, by query; ``sent``: the queries whose
    results are (also) handed to Spark as letters.
    """

    streams: tuple[Stream, ...]
    queries: tuple[PhysicalQuery, ...]
    signatures: tuple[str, ...]
    names: tuple[str, ...]
    since: tuple[int, ...]
    feeds: tuple[Feed, ...]
    shards: int
    partitions: int
    store: str | None = None
    tables: str | None = None
    plain: bool = True
    late: bool = False
    retain: int = 10
    outlets: tuple[tuple[Outlet, ...], ...] = ()
    sent: frozenset[int] = frozenset()
    starts: tuple[int, ...] = ()
    """Processing times (microseconds) at which runs of the pipeline began, where ``timed`` (see ``starts``)."""

    @property
    def levels(self) -> int:
        """Number of levels of the deepest query."""
        return max(d[-1] for d in self.depths) + 1  # the last stage reads every other

    @property
    def timed(self) -> bool:
        """Whether answers depend on processing time: some stream stops holding time back when it is idle."""
        return any(s.idle_after is not None for s in self.streams)

    @cached_property
    def depths(self) -> tuple[tuple[int, ...], ...]:
        """The level of each stage of each query."""
        return tuple(q.depths for q in self.queries)

    def stages_at(self, query: int, level: int) -> tuple[int, ...]:
        """The stages of a query that run at a level."""
        return tuple(s for s, depth in enumerate(self.depths[query]) if depth == level)

    @cached_property
    def positions(self) -> tuple[dict[int, int], ...]:
        """For each query: position in the pipeline of each stream that it reads -> position in the query."""
        mine = [[s.name for s in q.streams] for q in self.queries]
        return tuple({i: m.index(s.name) for i, s in enumerate(self.streams) if s.name in m} for m in mine)

    @cached_property
    def feed_of(self) -> dict[Target, Feed]:
        """The feed of every source input."""
        return {t: f for f in self.feeds for t in f.targets}
