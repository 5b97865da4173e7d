"""What a pipeline is, as data that is shipped to the workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.routes import Route
from muntin.plan.catalog import Stream
from muntin.plan.exprs import Expr
from muntin.spark.outlets import Outlet

EVENT_TIME = -1
"""In place of a column's number: the stream's event time, which is there for every row anyway."""


@dataclass(frozen=True)
class Feed:
    """Rows of one stream, filtered, projected and sharded in one way: a channel of the graph that begins at a source.

    ``channel``: its number. ``keep`` and ``columns`` are positions among the columns that the JVM or the packer
    (``PipelineSpec.computed``) computes (``keep`` -1: every row); ``present`` (rows where one of them is NULL are not
    sent) are positions among ``columns``.
    ``schema``: as rows arrive; ``sent``: as they travel. ``level``: the deepest level that reads it.
    """

    channel: int
    stream: int
    keep: int
    columns: tuple[int, ...]
    schema: pa.Schema
    sent: pa.Schema
    route: Route
    level: int
    present: tuple[int, ...] = ()


@dataclass(frozen=True)
class LateFeed:
    """Late rows of one stream, for the late output. ``row``: the type of a row as it came, a struct."""

    stream: int
    row: pa.DataType


@dataclass(frozen=True)
class Resumed:
    """What of the graph was there before this run. ``batch``: the first of this run.

    ``since``: by id of a vertex the first batch that has it. ``homes``: by id the level that it ran on before
    ``batch``.
    """

    batch: int = 0
    since: Mapping[str, int] = field(default_factory=dict)
    homes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PipelineSpec:
    """One pipeline: the streams in the order of the union, the graph of the distinct queries, and how it is placed.

    Vertices of a level run together, whatever query they are of: each level is one exchange. ``signatures`` name the
    result streams. ``store``: where the pane store is (None: batch DataFrames, state in memory). ``tables``: directory
    of the static tables that a live pipeline reads, one file each. ``plain``: the result is the one query's own
    columns; otherwise letters. ``late``: of which streams late rows are handed out too. ``called``: all names of each
    query. ``retain``: versions that stay readable. ``outlets``: what the workers write themselves, by query; ``sent``:
    the queries whose results are (also) handed to Spark as letters.
    """

    streams: tuple[Stream, ...]
    graph: Graph
    signatures: tuple[str, ...]
    names: tuple[str, ...]
    feeds: tuple[Feed, ...]
    shards: int
    partitions: int
    resumed: Resumed = Resumed()
    store: str | None = None
    tables: str | None = None
    plain: bool = True
    late: tuple[LateFeed, ...] = ()
    called: tuple[tuple[str, ...], ...] = ()
    retain: int = 10
    outlets: tuple[tuple[Outlet, ...], ...] = ()
    sent: frozenset[int] = frozenset()
    budgeted: bool = False
    """Whether queries may wait (``spark.due``)."""
    sheds: bool = False
    """Whether the driver decides for each batch what it leaves out (``overload``)."""
    computed: tuple[tuple[tuple[int, Expr], ...], ...] = ()
    """By stream the columns that packers compute beside those of the JVM, by place: what calls users' functions."""
    starts: tuple[int, ...] = ()
    """Processing times (microseconds) at which runs of the pipeline began, where ``timed`` (see ``starts``)."""

    @property
    def queries(self) -> tuple[QueryPlan, ...]:
        """The distinct queries."""
        return self.graph.plans

    @property
    def levels(self) -> int:
        """Number of levels of the graph."""
        return self.graph.depth

    @property
    def timed(self) -> bool:
        """Whether answers depend on processing time: some stream stops holding time back when it is idle."""
        return any(s.idle_after is not None for s in self.streams)

    @cached_property
    def positions(self) -> Mapping[int, int]:
        """Position in the pipeline of each stream that the graph reads -> position among ``graph.streams``."""
        read = [s.name for s in self.graph.streams]
        return {i: read.index(s.name) for i, s in enumerate(self.streams) if s.name in read}

    def streams_of(self, query: int) -> frozenset[int]:
        """Positions in the pipeline of the streams that a query reads."""
        read = {s.name for s in self.queries[query].streams}
        return frozenset(i for i, s in enumerate(self.streams) if s.name in read)
