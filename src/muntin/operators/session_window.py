"""Windows of sessions (``[SESSION g]``, ``[PARTITION BY k SESSION g]``): the rows of a session are there when it ends.

A session is a run of rows of one key in which each comes at most the gap after the one before (as Spark and Flink have
it); it ends a gap after its last row. Rows are taken up in order of time, once their instant is complete, so no session
is ever joined with another. State: of each open session its first and last row (a keyed table), its rows (in runs by
key and time), and when it would end if nothing more came (timers, in order of that time). A step reads the keys that it
gets rows of or whose timer is due, and the rows of the sessions that end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows, no_columns
from muntin.core.time import MICROSECOND
from muntin.operators.context import Context, Cut
from muntin.operators.operator import Described, Show
from muntin.operators.rows_window import released
from muntin.optimizer.plan_text import window_text
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Session
from muntin.state.keyed_table import KeyedTable
from muntin.state.runs import add_run
from muntin.state.shard_state import ShardState
from muntin.state.sorted_runs import GROUP, between
from muntin.state.window_rows import EXP, START, expire, insert, int64s, leaving, merge_closed, timed

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SessionWindow(Described):
    """Rows of an unbounded stream become the rows of the sessions (of each combination of the columns ``by``) that end:
    valid at that one instant, the last row's time and ``gap`` microseconds."""

    gap: int
    by: tuple[str, ...]

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return session_window(self, state, inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows come when their session ends, and go at once."""
        return Pattern.WKS

    def words(self, show: Show) -> str:
        return f"put rows into sessions, given when they end: {window_text(Session(self.gap, show.columns(self.by)))}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "the rows of open sessions, until they end"


@dataclass(frozen=True)
class _Sessions:
    """The sessions that a step touches, in order of key and time: the key of each (an id), its first and last row and
    how many of its rows are new. Those with ``held`` began in an earlier step."""

    key: Ints
    first: Ints
    last: Ints
    fresh: Ints
    held: NDArray[np.bool_]


def session_window(op: SessionWindow, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Rows of an unbounded stream in; the rows of the sessions that end before ``ctx.high`` out, with their end."""
    names = batch.columns.schema.names
    fresh = released(None, state, "waiting", batch, ctx)
    due = _due(op, state, fresh.schema, ctx)
    if not fresh.num_rows and not due.num_rows:
        return Batch.empty(batch.columns.schema)
    table = KeyedTable(state, "open", _keys(op, fresh).schema)
    both = concat_rows([_keys(op, fresh), _keys(op, due)]) if op.by else no_columns(fresh.num_rows + due.num_rows)
    ids = table.ids_of(both, both.num_rows)
    order = np.lexsort([int64s(fresh, START), ids[: fresh.num_rows]])
    fresh, key = fresh.take(pa.array(order)), ids[: fresh.num_rows][order]
    found = _sessions(op.gap, table, key, int64s(fresh, START), np.unique(ids[fresh.num_rows :]))
    ends = found.last + op.gap
    closed = ends < ctx.high
    old, old_session = _held_rows(state, table, found, np.flatnonzero(closed & found.held))
    session = np.repeat(np.arange(len(found.key)), found.fresh)
    _remember(op, state, table, found, ~closed, fresh, session, ctx)
    going = np.flatnonzero(closed[session])
    rows = concat_rows([*([old.select(names)] if old is not None and names else []),
                        fresh.select(names).take(pa.array(going))]) if names else None  # fmt: skip
    return _ended(rows, ends[np.append(old_session, session[going])], ctx)


def _keys(op: SessionWindow, rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.select(list(op.by)) if op.by else no_columns(rows.num_rows)


def _due(op: SessionWindow, state: ShardState, schema: pa.Schema, ctx: Context) -> pa.RecordBatch:
    """The keys with a session that would end in this step if nothing more came."""
    found = leaving(state, "timers", ctx.low, ctx.high)
    expire(state, "timers", ctx.high, keep_forever=False)
    merge_closed(state, "timers", ctx.high, None)
    wanted = pa.schema([*(schema.field(n) for n in op.by), schema.field(START), schema.field(EXP)])
    return concat_rows([pa.RecordBatch.from_pylist([], wanted), *found])


def _sessions(gap: int, table: KeyedTable, key: Ints, at: Ints, due: Ints) -> _Sessions:
    """The sessions of rows in order of ``key`` and time, and the open ones of the keys that are ``due``."""
    first, last = table.counter("first"), table.counter("last")
    lead = np.append(True, key[1:] != key[:-1]) if len(key) else np.empty(0, np.bool_)
    before = np.where(lead, last[key], np.append(0, at[:-1])) if len(key) else at
    known = ~lead | (table.live[key] > 0)
    begins = ~known | (at - before > gap)
    goes_on = lead & ~begins
    starts = np.flatnonzero(begins | goes_on)
    count = np.diff(np.append(starts, len(key)))
    new_key, held = key[starts], goes_on[starts]
    new_first = np.where(held, first[new_key], at[starts])
    new_last = at[starts + count - 1] if len(starts) else at
    # open sessions that get no row: of keys that are due, and of those whose rows all begin new ones
    quiet = np.setdiff1d(np.union1d(due, key[lead & begins]), new_key[held])
    quiet = quiet[table.live[quiet] > 0]
    zero, there = np.zeros(len(quiet), np.int64), np.ones(len(quiet), np.bool_)
    return _Sessions(  # those without rows stand last: repeating by ``fresh`` gives the rows' sessions in their order
        np.append(new_key, quiet), np.append(new_first, first[quiet]), np.append(new_last, last[quiet]),
        np.append(count, zero), np.append(held, there),
    )  # fmt: skip


def _held_rows(
    state: ShardState, table: KeyedTable, found: _Sessions, which: Ints
) -> tuple[pa.RecordBatch | None, Ints]:
    """The rows of earlier steps of some sessions, and the session of each."""
    number = table.numbers()[found.key[which]]
    order = np.argsort(number, kind="stable")
    which, number = which[order], number[order]
    rows, asked = between(state, "held", START, (number, found.first[which], found.last[which]))
    return rows, which[asked]


def _remember(
    op: SessionWindow, state: ShardState, table: KeyedTable, found: _Sessions, stays: NDArray[np.bool_],
    fresh: pa.RecordBatch, session: Ints, ctx: Context,
) -> None:  # fmt: skip
    """Keep what is open: a key has one such session at most, its last."""
    touched = np.unique(found.key[~stays | (found.fresh > 0)])  # not those whose timer came before their end
    table.live[touched] = 0
    staying = np.flatnonzero(stays)
    open_ = found.key[staying]
    table.live[open_] = 1
    table.counter("first")[open_], table.counter("last")[open_] = found.first[staying], found.last[staying]
    numbers = table.numbers()
    table.save(touched)
    moved = staying[found.fresh[staying] > 0]
    keys = table.keys.take(pa.array(found.key[moved])) if op.by else no_columns(len(moved))
    insert(state, "timers", timed(keys, found.last[moved], found.last[moved] + op.gap))
    kept = np.flatnonzero(stays[session])
    marked = fresh.take(pa.array(kept)).append_column(GROUP, pa.array(numbers[found.key[session[kept]]]))

    def merged(runs: list[pa.RecordBatch], every: bool) -> pa.RecordBatch:
        """Several runs as one, without rows of sessions that have ended."""
        whole = concat_rows(runs)
        keys = _keys(op, whole)
        known = KeyedTable(state, "open", keys.schema)
        of = known.ids_of(keys, whole.num_rows)
        live = (known.live[of] > 0) & (int64s(whole, START) >= known.counter("first")[of])
        return _by_key(whole.take(pa.array(np.flatnonzero(live))))

    if not table.alive:
        state.keep("held", lambda _: False)
    add_run(state, "held", _by_key(marked), merged)


def _by_key(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.take(pa.array(np.lexsort([int64s(rows, START), int64s(rows, GROUP)])))


def _ended(rows: pa.RecordBatch | None, end: Ints, ctx: Context) -> Batch:
    """The rows of sessions at their end, in order of time. Raises Cut where there are more than the step may give."""
    order = np.argsort(end, kind="stable")
    end = end[order]
    if ctx.most is not None and len(end) > ctx.most and end[ctx.most] > end[0]:
        raise Cut(int(end[ctx.most]))
    columns = no_columns(len(end)) if rows is None else rows.take(pa.array(order))
    return Batch(columns, end, end + MICROSECOND)
