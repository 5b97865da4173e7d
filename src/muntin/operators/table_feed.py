"""The feed of a table that changes, made true: what it takes away is there, and nothing comes twice that has a key.

Feeds are often delivered at least once. A repeated deletion, or one of a row that never came, would make the row count
below zero, so that a later insertion is swallowed; such an update does nothing here and is counted. Updates are applied
in order of event time and, inside an instant, of arrival; one that is ahead of the watermark waits. All updates of one
row (of one key) must be on one shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal as OneOf

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows, forever
from muntin.core.errors import DataError
from muntin.kernels.keys import key_ids
from muntin.kernels.updates import apply_updates, replace_by_key
from muntin.operators.context import Context
from muntin.operators.held_back import held_back
from muntin.operators.net import net
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState

ROWS, BY_KEY = "rows", "by_key"
"""Structures: a bag by all of its columns; a table with a key by that."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TableFeed(Described):
    """Signed updates of ``table`` without those that change nothing, netted inside an instant.

    ``key``: columns of which each combination has one row: '+' replaces that row, '-' takes it away whatever its other
    columns say. Without one the table is a bag: '-' takes one equal row away. ``on_bad_update``: what a deletion of a
    row that is not there does: it is counted and dropped, or it fails. ``everywhere``: every shard sees all updates;
    one of them counts.
    """

    table: str
    key: tuple[str, ...] = ()
    on_bad_update: OneOf["drop", "fail"] = "drop"
    everywhere: bool = False
    columns: tuple[str, ...] = field(default=(), compare=False)
    """What the table calls its columns, for people."""
    deletions_first: bool = False
    """Of one instant the deletions are applied first, whatever their order."""

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return table_feed(self, state, inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """An update may take any row away."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return f"updates that change table {self.table}, by {', '.join(show.columns(self.key)) or 'row'}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "the table's rows"


def table_feed(op: TableFeed, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Signed updates in; those of this step's instants that change the table out, in order of time.

    Cost: the updates, and the rows of the keys that they name. Raises DataError for a bad update under "fail".
    """
    updates = held_back(state, "waiting", batch, ctx)
    if op.deletions_first and updates.sign is not None:
        updates = updates.take(np.lexsort((updates.sign, updates.ts)))
    changes, done = _by_key(op.key, state, updates) if op.key else _by_row(state, updates)
    bad = np.flatnonzero(~done)
    if len(bad) and op.on_bad_update == "fail":
        raise _not_there(op, updates.take(bad[:1]))
    _count(state, len(bad) if ctx.home or not op.everywhere else 0)
    return net(changes)


def bad_updates(state: ShardState) -> int:
    """How many deletions of rows that were not there the operator's last step met on this shard."""
    return int(state.heads.get("bad_updates", 0))


def _count(state: ShardState, bad: int) -> None:
    if bad:
        state.heads["bad_updates"] = bad
    else:
        state.heads.pop("bad_updates", None)


def _by_row(state: ShardState, updates: Batch) -> tuple[Batch, NDArray[np.bool_]]:
    """A bag: (the updates that count, which of all do)."""
    assert updates.sign is not None
    rows = KeyedTable(state, ROWS, updates.columns.schema)
    ids = rows.ids_of(updates.columns, len(updates))
    done = apply_updates(ids, updates.sign, rows.live)
    rows.save(np.unique(ids[done]))
    return updates.where(done), done


def _by_key(key: tuple[str, ...], state: ShardState, updates: Batch) -> tuple[Batch, NDArray[np.bool_]]:
    """One row a key: (what goes and what comes, which updates found what they name)."""
    assert updates.sign is not None
    schema = updates.columns.schema
    table = _keyed(key, state, schema)
    keys = table.ids_of(updates.columns.select(key), len(updates))
    there, came = np.flatnonzero(table.live), np.flatnonzero(updates.sign > 0)
    rows, ids = _numbered([_rows(table, there, schema), updates.columns.take(pa.array(came))])
    current, row_of = np.full(len(table), -1, np.int64), np.full(len(updates), -1, np.int64)
    current[there], row_of[came] = ids[: len(there)], ids[len(there) :]
    before = current.copy()
    gone, come, done = replace_by_key(keys, row_of, updates.sign, current)
    _save(table, rows, current, np.flatnonzero(current != before))
    return _signed(rows, updates.ts, gone, come), done


def _keyed(key: tuple[str, ...], state: ShardState, schema: pa.Schema) -> KeyedTable:
    """The table by its key. One that an earlier release kept by all of its columns is taken over, once."""
    others = [f for f in schema if f.name not in key]
    table = KeyedTable(state, BY_KEY, pa.schema([schema.field(k) for k in key]), pa.schema(others))
    if state.chunks.get(ROWS):
        old = KeyedTable(state, ROWS, schema)
        old.load_all()
        held = old.keys.take(pa.array(np.flatnonzero(old.live)))
        ids = table.ids_of(held.select(key), held.num_rows)
        current = np.full(len(table), -1, np.int64)
        current[ids] = np.arange(len(ids))
        _save(table, held, current, ids)
    state.chunks.pop(ROWS, None)
    return table


def _rows(table: KeyedTable, ids: Ints, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of some keys."""
    found = {n: table.keys.column(n).take(pa.array(ids)) for n in table.keys.schema.names} | table.values(ids)
    return pa.RecordBatch.from_arrays([found[n] for n in schema.names], schema=schema)


def _numbered(parts: list[pa.RecordBatch]) -> tuple[pa.RecordBatch, Ints]:
    """The distinct rows of all parts, and of each row which of them it is."""
    whole = concat_rows(parts)
    ids, _, first = key_ids(whole.columns, whole.num_rows)
    return whole.take(pa.array(first)), ids


def _save(table: KeyedTable, rows: pa.RecordBatch, current: Ints, changed: Ints) -> None:
    """Write the keys whose row is another one now; ``current``: by key which of ``rows`` it has (-1: none)."""
    table.live[changed] = current[changed] >= 0
    full = changed[current[changed] >= 0]
    chosen = rows.take(pa.array(current[full]))
    table.put(full, {n: chosen.column(n) for n in chosen.schema.names if n not in table.keys.schema.names})
    table.save(changed)


def _signed(rows: pa.RecordBatch, ts: Ints, gone: Ints, come: Ints) -> Batch:
    """Rows that go and come as signed rows, those that go first in their update."""
    pairs = np.stack([gone, come], axis=1).reshape(-1)
    sign = np.tile(np.array([-1, 1], np.int8), len(gone))
    real = pairs >= 0
    found = rows.take(pa.array(pairs[real]))
    return Batch(found, np.repeat(ts, 2)[real], forever(int(real.sum())), sign[real])


def _not_there(op: TableFeed, update: Batch) -> DataError:
    shown = update.columns.select(op.key) if op.key else update.columns
    names = dict(zip(update.columns.schema.names, op.columns or update.columns.schema.names, strict=True))
    row = ", ".join(f"{names[k]} = {v!r}" for k, v in shown.to_pylist()[0].items())
    what = "key" if op.key else "row"
    return DataError(
        f"table {op.table!r}: an update at {_instant(int(update.ts[0]))} takes away a {what} that is not there "
        f'({row}); mend the feed, or register the table with on_bad_update="drop" to count and skip such updates'
    )


def _instant(us: int) -> str:
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)).isoformat()
    except OverflowError:  # years that datetime cannot hold
        return f"{us} microseconds"
