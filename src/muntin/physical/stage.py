"""Physical plans as data: stages cut where the partitioning key changes, and the operators inside each.

A query's rows travel::

    source rows --keep, columns (stateless)--> Input of stage 0 --ops per shard--> Derived input of stage 1 --> ...
    --> result

Everything here is frozen and picklable: it is shipped to the workers and its ``signature`` names the state on disk.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal as OneOf

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.physical.join_graph import GraphJoin
from muntin.physical.signature import stable_text
from muntin.plan.aggregates import Evaluate
from muntin.plan.catalog import Stream
from muntin.plan.exprs import TRUE, Agg, Expr
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


@dataclass(frozen=True)
class Compute:
    """Stateless: keep the rows for which ``predicate`` is true, then compute ``columns`` (None: all as they are)."""

    predicate: Expr = TRUE
    columns: tuple[tuple[str, Expr], ...] | None = None


@dataclass(frozen=True)
class WindowJoin:
    """n-way equi-join of the stage's inputs in one operator; ``keys[i]`` names input i's key columns (aligned).

    () in every place is the cross product. Output: the columns of all inputs in order, valid while all parts are.
    ``null_safe``: NULL keys equal NULL keys (otherwise the inputs have none). ``split``: its two inputs come with
    roles (``hot_keys``).
    """

    keys: tuple[tuple[str, ...], ...]
    null_safe: bool = False
    split: bool = False


@dataclass(frozen=True)
class GroupAggregate:
    """Aggregates of interval rows by ``groups``; ungrouped when empty.

    ``emit="changes"``: signed rows at every instant at which a group's answer changes. ``emit="snapshots"``: all live
    groups at every evaluation instant of ``ticks`` (None: at every instant that marks) (interval rows with ts = the
    instant). An ungrouped aggregate has an answer from
    the query's first row on (``from_input``: from
    the first row of its further arguments), over an empty window too.
    """

    groups: tuple[tuple[str, Expr], ...]
    aggs: tuple[tuple[str, Agg], ...]
    emit: OneOf["changes", "snapshots"]
    ticks: Ticks | None = None
    from_input: bool = False
    panes: bool = False
    """Whether rows of one group that enter and leave together are folded into one (``folds``) before they are kept."""


@dataclass(frozen=True)
class Materialize:
    """Interval rows become what the query shows: "changes" (both signs) or "snapshots" (all live rows per instant).

    Snapshots are taken at ``ticks``, or where there are none at every instant at which a row of the further arguments
    (or of the inputs that only mark instants) enters or leaves.
    """

    emit: OneOf["changes", "snapshots"]
    ticks: Ticks | None = None


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


@dataclass(frozen=True)
class RowsWindow:
    """Rows of an unbounded stream, in order, become the rows of ``[ROWS count]`` or ``[PARTITION BY by ROWS count]``.

    A negative tuple takes each row away when the row that pushes it out comes (signed output). With ``slide`` the
    contents move only when the count of rows (of the partition) is a multiple of it. ``order``: the column that orders
    rows of equal event time (None, and for its own ties: as they arrive). ``by_value``: all columns do, one after the
    other, NULLs first (nested ones apart): results of a query have no order of arrival of their own.
    """

    count: int
    slide: int | None
    by: tuple[str, ...]
    order: str | None = None
    by_value: bool = False


@dataclass(frozen=True)
class FiredWindow:
    """Rows of an unbounded stream, in order, become the rows of a time window that moves with the rows.

    Its contents are those of ``window`` (without SLIDE) as of the last row whose number is a multiple of ``rows``.
    """

    window: Window
    rows: int
    options: QueryOptions


@dataclass(frozen=True)
class Rewind:
    """Rows that came out of a query at ``ts`` enter a time window with that event time; ``shift`` is added to it."""

    window: Window
    options: QueryOptions
    shift: int = 0


@dataclass(frozen=True)
class Stamp:
    """Each row's start (``end``: its expiry) as one more column (int64 microseconds): rows of equal values keep apart
    if they start apart."""

    column: str
    end: bool = False


@dataclass(frozen=True)
class Until:
    """Rows live until the least of these columns says (none: forever), whatever expiry they came with."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class Endless:
    """Signed rows whose expiry is told by negative tuples alone (the negative-tuple approach, thesis 2.3.3)."""


@dataclass(frozen=True)
class Restore:
    """A continual evaluation, reported at evaluation instants without losing what came and went (thesis 3.3.4).

    Takes signed rows. ``whole``: at each instant the answer, and the rows inserted and deleted since the one before
    (Rstream-restore); otherwise every insertion since (Istream-restore).
    """

    ticks: Ticks
    whole: bool


@dataclass(frozen=True)
class Signed:
    """Rows of a table's feed, weighted by the boolean ``column`` (false: -1), which is then dropped."""

    column: str


@dataclass(frozen=True)
class AsOfJoin:
    """Each row of the first input with the rows of the second that are there when it starts; later changes
    of the second do not matter (non-retroactive relation, thesis 3.3.1). Results live as long as the first input's row.

    ``condition``: what pairs must satisfy beside equal keys. ``outer``: rows without a partner come out with NULLs.
    ``lag``: microseconds before its start at which a row reads the relation.
    """

    keys: tuple[tuple[str, ...], tuple[str, ...]]
    condition: Expr = TRUE
    outer: bool = False
    lag: int = 0


@dataclass(frozen=True)
class Snap:
    """Move both ends of validity to the evaluation instants; rows that none sees are left out."""

    ticks: Ticks


@dataclass(frozen=True)
class Merge:
    """All rows of the inputs (names of the first), those of input i with weight ``weights[i]`` (+1 or -1)."""

    weights: tuple[int, ...]


@dataclass(frozen=True)
class Repeat:
    """Each row as many times as ``times`` says (NULL or below one: not at all)."""

    times: Expr


@dataclass(frozen=True)
class TopRows:
    """Changes of the first ``count`` rows by ``keys`` ((expression, descending, nulls first)), ties by all columns."""

    keys: tuple[tuple[Expr, bool, bool], ...]
    count: int


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
