"""Stateless steps between operators: other validity, other weights, other multiplicity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch, forever, no_columns
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.optimizer.plan_text import window_text
from muntin.plan.exprs import Expr
from muntin.plan.patterns import Pattern
from muntin.plan.windows import QueryOptions, Ticks, Unbounded, Window, validity
from muntin.scalars.evaluate import evaluate
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import as_batch, entering, insert, int64s, stored


@dataclass(frozen=True)
class Rewind(Described):
    """Rows that came out of a query at ``ts`` enter a time window with that event time; ``shift`` is added to it."""

    window: Window
    options: QueryOptions
    shift: int = 0

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return rewind(self, inputs[0])

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """The window's."""
        return Pattern.MON if isinstance(self.window, Unbounded) else Pattern.WKS

    def words(self, show: Show) -> str:
        return f"window the output: {window_text(self.window)}"


@dataclass(frozen=True)
class Snap(Described):
    """Move both ends of validity to the evaluation instants; rows that none sees are left out."""

    ticks: Ticks

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return snap(self.ticks, inputs[0])

    def words(self, show: Show) -> str:
        return "move to evaluation instants"


@dataclass(frozen=True)
class Stamp(Described):
    """Each row's start (``end``: its expiry) as one more column (int64 microseconds): rows of equal values keep apart
    if they start apart."""

    column: str
    end: bool = False

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return stamp(self, inputs[0])

    def words(self, show: Show) -> str:
        return "note the expiry" if self.end else "note the start"


@dataclass(frozen=True)
class Until(Described):
    """Rows live until the least of these columns says (none: forever), whatever expiry they came with."""

    columns: tuple[str, ...]

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return until(self.columns, inputs[0])

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows leave with the first of their external parts."""
        return inputs[0] if inputs[0] is Pattern.STR else (Pattern.WK if self.columns else Pattern.MON)

    def words(self, show: Show) -> str:
        return "stay until the external rows expire" if self.columns else "stay"


@dataclass(frozen=True)
class Endless(Described):
    """Signed rows whose expiry is told by negative tuples alone (the negative-tuple approach, thesis 2.3.3)."""

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        batch = inputs[0]
        return Batch(batch.columns, batch.ts, forever(len(batch)), batch.sign)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Every row leaves by a negative tuple."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return "expiries told by negative tuples"


@dataclass(frozen=True)
class Signed(Described):
    """Rows of a table's feed, weighted by the boolean ``column`` (false: -1), which is then dropped."""

    column: str

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return signed(self.column, inputs[0])

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """An update may take any row away."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return "weights of a table's updates"


@dataclass(frozen=True)
class Merge(Described):
    """All rows of the inputs (names of the first), those of input i with weight ``weights[i]`` (+1 or -1)."""

    weights: tuple[int, ...]
    hold: bool = False
    """Whether some inputs run ahead of others: rows of instants that are not complete then wait."""

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        return self.hold

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        whole = merge(self.weights, list(inputs))
        return held_back(state, "waiting", whole, ctx) if self.hold else whole

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """STR where rows are taken away; rows of different windows leave in another order than they came."""
        hardest = Pattern.STR if min(self.weights) < 0 else max(inputs)
        return Pattern.WK if hardest is Pattern.WKS and len(inputs) > 1 else hardest

    def words(self, show: Show) -> str:
        return "merge " + ", ".join("+" if w > 0 else "-" for w in self.weights)

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "rows of instants that are not complete" if self.hold else ""


@dataclass(frozen=True)
class Repeat(Described):
    """Each row as many times as ``times`` says (NULL or below one: not at all)."""

    times: Expr

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return repeat(self.times, inputs[0])

    def words(self, show: Show) -> str:
        return f"repeat {show(self.times)} times"



def snap(ticks: Ticks, batch: Batch) -> Batch:
    """Both ends of validity at the evaluation instants; rows that none sees are left out."""
    start, exp = ticks.at_or_after(batch.ts), ticks.at_or_after(batch.exp)
    return Batch(batch.columns, start, exp, batch.sign).where(start < exp)


def rewind(op: Rewind, batch: Batch) -> Batch:
    """Rows that came out at ``ts`` as rows of a time window; their signs (all +1) are dropped."""
    start, exp = validity(op.window, batch.ts + op.shift, op.options)
    return Batch(batch.columns, start, exp).where(start < exp)


def stamp(op: Stamp, batch: Batch) -> Batch:
    """The rows with their start or their expiry as a column."""
    at = pa.array(batch.exp if op.end else batch.ts)
    return batch.with_columns(batch.columns.append_column(op.column, at))


def until(columns: tuple[str, ...], batch: Batch) -> Batch:
    """The rows with the least of the columns as their expiry."""
    ends = [int64s(batch.columns, c) for c in columns]
    return Batch(batch.columns, batch.ts, np.minimum.reduce(ends) if ends else forever(len(batch)), batch.sign)


def merge(weights: tuple[int, ...], batches: list[Batch]) -> Batch:
    """All rows, with their weights times the input's; one sign column if any input has one or is subtracted."""
    names = batches[0].columns.schema.names
    if all(w > 0 for w in weights) and all(b.sign is None for b in batches):
        return Batch.concat([_renamed(b, names) for b in batches])
    return Batch.concat([_weighted(_renamed(b, names), w) for b, w in zip(batches, weights, strict=True)])


def repeat(times: Expr, batch: Batch) -> Batch:
    """Each row as many times as the expression says."""
    counts = evaluate(times, batch.columns).fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
    counts = np.maximum(counts, 0)
    return batch if (counts == 1).all() else batch.take(np.repeat(np.arange(len(batch)), counts))


def _renamed(batch: Batch, names: list[str]) -> Batch:
    if batch.columns.schema.names == names:
        return batch
    return batch.with_columns(pa.RecordBatch.from_arrays(batch.columns.columns, names=names))


def _weighted(batch: Batch, weight: int) -> Batch:
    sign = np.ones(len(batch), np.int8) if batch.sign is None else batch.sign
    return Batch(batch.columns, batch.ts, batch.exp, sign * np.int8(weight))


def signed(column: str, batch: Batch) -> Batch:
    """Rows weighted by a boolean column, which goes: the updates of a table."""
    add = np.asarray(batch.columns.column(column).to_numpy(zero_copy_only=False), np.bool_)
    kept = batch.columns.select([n for n in batch.columns.schema.names if n != column])
    if not kept.schema.names:
        kept = no_columns(len(batch))
    return Batch(kept, batch.ts, batch.exp, np.where(add, 1, -1).astype(np.int8))


def held_back(state: ShardState, structure: str, batch: Batch, ctx: Context) -> Batch:
    """Rows whose instant this step answers, in order of time, those that waited first; later ones wait."""
    schema = batch.columns.schema
    waited = entering(state, structure, ctx.low, ctx.high)
    late = batch.ts >= ctx.high
    if late.any():
        insert(state, structure, stored(batch.where(late)))
        batch = batch.where(~late)
    state.keep(structure, lambda c: c.meta["max_start"] >= ctx.high)
    whole = Batch.concat([*(as_batch(r, schema) for r in waited), batch])
    return whole.take(np.argsort(whole.ts, kind="stable"))
