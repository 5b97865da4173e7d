"""Physical plans as data: stages cut where the partitioning key changes, and the operators inside each.

A query's rows travel::

    source rows --keep, columns (stateless)--> Input of stage 0 --ops per shard--> Derived input of stage 1 --> ...
    --> result

Everything here is frozen and picklable: it is shipped to the workers and its ``signature`` names the state on disk.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.dataflow.signature import stable_text
from muntin.operators.as_of_join import AsOfJoin
from muntin.operators.compute import Compute
from muntin.operators.fired_window import FiredWindow
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Insertions, Materialize
from muntin.operators.net import Net, OneSign
from muntin.operators.reshape import Endless, Merge, Repeat, Rewind, Signed, Snap, Stamp, Until
from muntin.operators.restore import Restore
from muntin.operators.rows_window import RowsWindow
from muntin.operators.top_rows import TopRows
from muntin.plan.aggregates import Evaluate
from muntin.plan.catalog import Stream
from muntin.plan.exprs import Expr
from muntin.plan.windows import QueryOptions, Ticks, Window


@dataclass(frozen=True)
class SourceInput:
    """Rows of a registered stream, made ready in Spark SQL (or by ``physical.evaluate`` on the local runtime).

    ``keep``: rows to keep (over the stream's own column names, without alias); ``columns``: what to ship, by name. Rows
    that fail ``keep`` are not shipped, but count for progress. ``instants_only``: the rows feed no operator; they
    tell a
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
    ticks: Ticks | None = None
    """Evaluation instants that the rows' validity is moved to."""
    everywhere: bool = False
    """Whether every shard gets every row (``shard_key`` is then empty)."""
    split: bool = False
    """Whether rows of hot keys are spread over all shards (``hot_keys``)."""

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in self.columns))


@dataclass(frozen=True)
class DerivedInput:
    """Rows that an earlier stage of the same query (``stage``) emits at ``port``; ``signed``: with weights of +1 and
    -1."""

    stage: int
    schema: Schema
    shard_key: tuple[str, ...]
    signed: bool = False
    port: int = 0
    everywhere: bool = False
    """As in ``SourceInput``."""


Input = SourceInput | DerivedInput


Op = (
    Compute
    | WindowJoin
    | GraphJoin
    | GroupAggregate
    | Materialize
    | Net
    | OneSign
    | Insertions
    | RowsWindow
    | FiredWindow
    | Rewind
    | Snap
    | Stamp
    | Until
    | Endless
    | Restore
    | Signed
    | AsOfJoin
    | Merge
    | Repeat
    | TopRows
)


@dataclass(frozen=True)
class Stage:
    """One stage of one query: inputs and operators.

    Values are numbered: the inputs, then the operators' results. ``args[k]`` names the values that operator k takes;
    without ``args`` the first operator takes every input that feeds operators and each other one the result before it.
    ``ports``: the values that the stage emits (default: the last); ``schema`` and ``signed`` describe the first port.
    """

    inputs: tuple[Input, ...]
    ops: tuple[Op, ...]
    schema: Schema
    signed: bool
    args: tuple[tuple[int, ...], ...] | None = None
    ports: tuple[int, ...] | None = None

    def arguments(self) -> tuple[tuple[int, ...], ...]:
        """The values that each operator takes."""
        if self.args is not None:
            return self.args
        n = len(self.inputs)
        data = tuple(i for i, s in enumerate(self.inputs) if not (isinstance(s, SourceInput) and s.instants_only))
        return tuple(data if k == 0 else (n + k - 1,) for k in range(len(self.ops)))

    def emitted(self) -> tuple[int, ...]:
        """The values that the stage emits, by port."""
        return self.ports if self.ports is not None else (len(self.inputs) + len(self.ops) - 1,)


OrderKeys = tuple[tuple[str, bool, bool], ...]
"""Columns that results are ordered by: (name, descending, NULLs first)."""

Reach = tuple[tuple[Window, Ticks | None], ...]
"""Windows with their evaluation instants. End of input: time runs on through all of them (for a window on an output:
from
the end of that output's own time)."""


@dataclass(frozen=True)
class PhysicalQuery:
    """A planned query: the last stage's output is the answer.

    ``kind`` and ``schema`` describe the result rows; ``shows_op``: the result has the column ``op`` ('+' / '-').
    ``signature`` identifies the query's state: equal plans, options and streams give equal signatures, also in later
    versions that add fields with defaults; code (``functions``) is not part of it.
    """

    stages: tuple[Stage, ...]
    options: QueryOptions
    ticks: Ticks | None
    schema: Schema
    shows_op: bool
    functions: tuple[tuple[str, Evaluate], ...] = field(default=(), repr=False, compare=False)
    """User-defined aggregates by name: a group's values (in order) to one value."""

    present: tuple[str, ...] = field(default=(), compare=False)
    """Columns of the result that are never NULL (``plan.presence``)."""
    order: OrderKeys = field(default=(), compare=False)
    """How the results of one instant are ordered (ORDER BY ... LIMIT), over the last stage's columns, of which
    ``schema`` may be a part."""
    horizon: tuple[tuple[str, Reach], ...] = ()
    """For every window on a stream: the stream, and the windows that its rows pass on their way out, innermost
    first."""

    @property
    def depths(self) -> tuple[int, ...]:
        """For each stage how many exchanges of derived rows lie before it; stages of equal depth can run together."""
        found: list[int] = []
        for stage in self.stages:
            before = [found[i.stage] + 1 for i in stage.inputs if isinstance(i, DerivedInput)]
            found.append(max(before, default=0))
        return tuple(found)

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams it reads, each once, in registration order."""
        found = {i.stream.name: i.stream for s in self.stages for i in s.inputs if isinstance(i, SourceInput)}
        return tuple(sorted(found.values(), key=lambda s: s.order))

    @property
    def signature(self) -> str:
        return hashlib.sha256(stable_text(self).encode()).hexdigest()[:16]

    @property
    def time_column(self) -> str:
        """The result's column of event time."""
        return "_ts" if self.schema.get("ts") else "ts"

    def spark_schema(self) -> pa.Schema:
        """The result's columns, each nullable or not."""
        known = {*self.present, self.time_column}
        return pa.schema([f.with_nullable(f.name not in known) for f in self.result_schema.to_arrow()])

    @property
    def result_schema(self) -> Schema:
        """Columns of the result in order: the query's own, then ``ts`` (``_ts`` if taken), ``op``, ``exp`` as they
        apply.

        Time columns are timestamps with microseconds in UTC; ``op`` is a string.
        """
        instant = pa.timestamp("us", "UTC")
        extra = [Field(self.time_column, instant)]
        if self.shows_op:
            extra.append(Field("_op" if self.schema.get("op") else "op", pa.string()))
        if self.options.exp:
            extra.append(Field("_exp" if self.schema.get("exp") else "exp", instant))
        return Schema(self.schema.fields + tuple(extra))
