"""Join with a non-retroactive relation: a row meets what the relation holds when the row comes, and nothing later.

The relation is kept as signed rows in bucket order, like a window of a join; rows of the first input are not kept
beyond
their step (thesis 3.3.1: the stream need not be stored). An update with a row's own instant is visible to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows, no_columns
from muntin.kernels.hashing import hash_columns
from muntin.kernels.keys import columns_equal, key_ids
from muntin.kernels.spans import probe_spans
from muntin.operators.context import Context
from muntin.operators.held_back import held_back
from muntin.operators.joins.indexed_window import Layout, OpenChunk, rebuilder, store_rows
from muntin.operators.naming import combined
from muntin.operators.operator import Described, Show
from muntin.plan.exprs import TRUE, Expr
from muntin.plan.patterns import Pattern
from muntin.scalars.evaluate import predicate_mask
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import WEIGHT, merge_closed, remaining


@dataclass(frozen=True)
class AsOfJoin(Described):
    """Each row of the first input with the rows of the second that are there when it starts; later changes
    of the second do not matter (non-retroactive relation, thesis 3.3.1). Results live as long as the first input's row.

    ``condition``: what pairs must satisfy beside equal keys. ``outer``: rows without a partner come out with NULLs.
    ``lag``: microseconds before its start at which a row reads the relation.
    """

    keys: tuple[tuple[str, ...], tuple[str, ...]]
    condition: Expr = TRUE
    outer: bool = False
    lag: int = 0

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return as_of_join(self, state, combined(inputs), ctx)

    def words(self, show: Show) -> str:
        on = "; ".join(" = ".join(show.columns(k)) for k in zip(*self.keys, strict=True)) or "nothing"
        where = "" if self.condition == TRUE else f" where {show(self.condition)}"
        return f"{'outer ' if self.outer else ''}join as of the row's start on {on}{where}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "hash index of the relation's rows"


Ints = NDArray[np.int64]


def as_of_join(op: AsOfJoin, state: ShardState, data: list[Batch], ctx: Context) -> Batch:
    """(stream rows, relation updates) in; pairs out, valid as long as the stream row."""
    stream, relation = data
    fresh = held_back(state, "waiting", stream, ctx)
    structure = "relation"
    layout = Layout((op.keys[1],))
    store_rows(state, structure, relation, layout)
    left, rows = _partners(op, state, structure, fresh, relation.columns.schema, ctx)
    rebuild = rebuilder(layout, relation.columns.schema.names)
    merge_closed(state, structure, ctx.high, None, rebuild=rebuild)
    pairs = _side_by_side(fresh.columns.take(pa.array(left)), rows)
    kept = predicate_mask(op.condition, pairs)
    found = Batch(pairs, fresh.ts[left], fresh.exp[left]).where(kept)
    if not op.outer:
        return found
    alone = np.setdiff1d(np.arange(len(fresh)), left[kept])
    nothing = [pa.nulls(len(alone), f.type) for f in relation.columns.schema]
    names = relation.columns.schema.names
    padding = pa.RecordBatch.from_arrays(nothing, names=names) if names else no_columns(len(alone))
    padded = _side_by_side(fresh.columns.take(pa.array(alone)), padding)
    return Batch.concat([found, Batch(padded, fresh.ts[alone], fresh.exp[alone])])


def _side_by_side(left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
    names = [*left.schema.names, *right.schema.names]
    if not names:
        return no_columns(left.num_rows)
    return pa.RecordBatch.from_arrays([*left.columns, *right.columns], names=names)


def _partners(
    op: AsOfJoin, state: ShardState, structure: str, fresh: Batch, schema: pa.Schema, ctx: Context
) -> tuple[Ints, pa.RecordBatch]:
    """(row of ``fresh``, relation row) for every row that the relation holds at the start of the fresh one."""
    keys = [fresh.columns.column(k) for k in op.keys[0]]
    at = fresh.ts - op.lag
    side = (hash_columns(keys, len(fresh)), at, at + 1)  # what has started by the row's own instant
    lefts, found = [np.empty(0, np.int64)], [_none(schema)]
    for chunk in (OpenChunk(c) for c in state.list(structure)):
        pairs = probe_spans(side, chunk.probe_side(), chunk.directory(), ctx.high, False)
        lefts.append(pairs.pair_rows().astype(np.int64))
        names = [*schema.names, WEIGHT]
        found.append(chunk.rows.select(names).take(pa.array(pairs.pair_partners())))
    left: Ints = np.concatenate(lefts).astype(np.int64)
    rows = concat_rows(found)
    same = np.ones(len(left), np.bool_)
    for key, other in zip(keys, op.keys[1], strict=True):
        same &= columns_equal(key.take(pa.array(left)), rows.column(other))
    return _standing(left[same], rows.filter(pa.array(same)), schema)


def _standing(left: Ints, rows: pa.RecordBatch, schema: pa.Schema) -> tuple[Ints, pa.RecordBatch]:
    """Without pairs whose relation row was taken away before."""
    sign = np.asarray(rows.column(WEIGHT).to_numpy(), np.int64)
    plain = rows.select(schema.names)
    if len(left) == 0:
        return left, plain
    ids, count, _ = key_ids([pa.array(left), *plain.columns], len(left))
    balance = np.bincount(ids, weights=sign, minlength=count).astype(np.int64)
    keep = remaining(ids, sign, balance)
    return left[keep], plain.filter(pa.array(keep))


def _none(schema: pa.Schema) -> pa.RecordBatch:
    fields = [*schema, pa.field(WEIGHT, pa.int8())]
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in fields], schema=pa.schema(fields))
