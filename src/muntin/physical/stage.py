"""Physical plans as data: stages cut where the partitioning key changes, and the operators inside each.

A query's rows travel::

    source rows --keep, columns (stateless)--> Input of stage 0 --ops per shard--> Derived input of stage 1 --> ... --> result

Everything here is frozen and picklable: it is shipped to the workers and its ``signature`` names the state on disk.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal as OneOf

from muntin.core.schema import Field, Schema
from muntin.plan.catalog import Stream
from muntin.plan.exprs import TRUE, Agg, Expr
from muntin.plan.windows import QueryOptions, Ticks, Window


@dataclass(frozen=True)
class SourceInput:
    """Rows of a registered stream, made ready in Spark SQL (or by ``physical.evaluate`` on the local runtime).

    ``keep``: rows to keep (over the stream's own column names, without alias); ``columns``: what to ship, by name. Rows
    that fail ``keep`` are not shipped, but count for progress. ``instants_only``: the rows feed no operator; they tell a
    query that answers whenever any row enters or leaves a window when that is (no columns, every row kept).
    ``shard_key``: names among ``columns`` whose hash chooses the shard; () puts every row on shard 0.
    """

    alias: str
    stream: Stream
    window: Window
    keep: Expr
    columns: tuple[tuple[str, Expr], ...]
    shard_key: tuple[str, ...]
    instants_only: bool = False

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in self.columns))


@dataclass(frozen=True)
class DerivedInput:
    """Rows that an earlier stage of the same query (``stage``) emits; ``signed``: changes, else interval rows."""

    stage: int
    schema: Schema
    shard_key: tuple[str, ...]
    signed: bool = False


Input = SourceInput | DerivedInput


@dataclass(frozen=True)
class Compute:
    """Stateless: keep the rows for which ``predicate`` is true, then compute ``columns`` (None: all as they are)."""

    predicate: Expr = TRUE
    columns: tuple[tuple[str, Expr], ...] | None = None


@dataclass(frozen=True)
class WindowJoin:
    """n-way equi-join of the stage's inputs in one operator; ``keys[i]`` names input i's key columns (aligned).

    () in every place is the cross product. Output: the columns of all inputs in order, valid while all parts are.
    ``null_safe``: NULL keys equal NULL keys (otherwise the inputs have none).
    """

    keys: tuple[tuple[str, ...], ...]
    null_safe: bool = False


@dataclass(frozen=True)
class GroupAggregate:
    """Aggregates of interval rows by ``groups``; ungrouped when empty.

    ``emit="changes"``: signed rows at every instant at which a group's answer changes. ``emit="snapshots"``: all live
    groups at every evaluation instant (interval rows with ts = the instant). An ungrouped aggregate has an answer from
    the query's first row on, over an empty window too.
    """

    groups: tuple[tuple[str, Expr], ...]
    aggs: tuple[tuple[str, Agg], ...]
    emit: OneOf["changes", "snapshots"]


@dataclass(frozen=True)
class Materialize:
    """Interval rows become what the query shows: "changes" (both signs) or "snapshots" (all live rows per instant)."""

    emit: OneOf["changes", "snapshots"]


@dataclass(frozen=True)
class Net:
    """Signed rows: equal rows that enter and leave at one instant cancel (bag difference between instants)."""


@dataclass(frozen=True)
class OneSign:
    """Signed rows: only those that enter (+1, Istream) or leave (-1, Dstream)."""

    sign: int


@dataclass(frozen=True)
class Insertions:
    """Interval rows seen as insertions at their start: Istream of rows that can never be netted away."""


Op = Compute | WindowJoin | GroupAggregate | Materialize | Net | OneSign | Insertions


@dataclass(frozen=True)
class Stage:
    """One stage of one query: inputs (a WindowJoin takes all, otherwise there is one) and operators in order."""

    inputs: tuple[Input, ...]
    ops: tuple[Op, ...]
    schema: Schema
    signed: bool
    """Whether the stage's output rows are changes."""


@dataclass(frozen=True)
class PhysicalQuery:
    """A planned query: the last stage's output is the answer.

    ``kind`` and ``schema`` describe the result rows; ``shows_op``: the result has the column ``op`` ('+' / '-').
    ``signature`` identifies the query's state: equal text, options and streams give equal signatures.
    """

    stages: tuple[Stage, ...]
    options: QueryOptions
    ticks: Ticks | None
    schema: Schema
    shows_op: bool

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams it reads, each once, in registration order."""
        found = {i.stream.name: i.stream for s in self.stages for i in s.inputs if isinstance(i, SourceInput)}
        return tuple(sorted(found.values(), key=lambda s: s.order))

    @property
    def signature(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    @property
    def result_schema(self) -> Schema:
        """Columns of the result in order: the query's own, then ``ts`` (``_ts`` if taken), ``op``, ``exp`` as they apply.

        Time columns are timestamps with microseconds in UTC; ``op`` is a string.
        """
        import pyarrow as pa

        instant = pa.timestamp("us", "UTC")
        extra = [Field("_ts" if self.schema.get("ts") else "ts", instant)]
        if self.shows_op:
            extra.append(Field("_op" if self.schema.get("op") else "op", pa.string()))
        if self.options.exp:
            extra.append(Field("_exp" if self.schema.get("exp") else "exp", instant))
        return Schema(self.schema.fields + tuple(extra))
