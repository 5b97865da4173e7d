"""Periodic reports of a continual evaluation that lose nothing short-lived (thesis 3.3.4).

Rows that come and go between two evaluation instants are reported at the second. State: the current answer, the answer
at the last evaluation, and how many of each row have gone since, all by row; between two instants only rows that
change are read and written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, forever
from muntin.core.time import FOREVER
from muntin.operators.context import Context
from muntin.operators.operator import Begins, Described, Show
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Ticks
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START, entering, insert, int64s, timed


@dataclass(frozen=True)
class Restore(Described):
    """A continual evaluation, reported at evaluation instants without losing what came and went (thesis 3.3.4).

    Takes signed rows. ``whole``: at each instant the answer, and the rows inserted and deleted since the one before
    (Rstream-restore); otherwise every insertion since (Istream-restore).
    """

    ticks: Ticks
    whole: bool
    begins: Begins = ()  # type: ignore[misc]

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return restore(self, state, inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows are only added."""
        return Pattern.MON

    def words(self, show: Show) -> str:
        shown = "answers" if self.whole else "insertions"
        return f"restore what came and went between instants, emit {shown}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "what came and went since the last evaluation instant"


Ints = NDArray[np.int64]


def restore(op: Restore, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Changes of the continual answer in; rows reported at evaluation instants out."""
    return _answers(op, state, batch, ctx) if op.whole else _insertions(op, state, batch, ctx)


def _insertions(op: Restore, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Every insertion, at the next evaluation instant."""
    assert batch.sign is not None
    new = batch.where(batch.sign > 0)
    at = op.ticks.at_or_after(new.ts)
    structure = "waiting"
    waited = entering(state, structure, ctx.low, ctx.until)
    now = at < ctx.until
    later = Batch(new.columns, at, forever(len(new))).where(~now)
    insert(state, structure, timed(later.columns, later.ts, later.exp))
    state.keep(structure, lambda c: c.meta["max_start"] >= ctx.until)
    names = batch.columns.schema.names
    back = [Batch(r.select(names), int64s(r, START), int64s(r, EXP)) for r in waited]
    shown = Batch.concat([Batch(new.columns, at, forever(len(new))).where(now), *back])
    return Batch(shown.columns, shown.ts, shown.exp, np.ones(len(shown), np.int8))


def _answers(op: Restore, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """At each evaluation instant the answer, and what was inserted and deleted since the one before."""
    assert batch.sign is not None
    table = KeyedTable(state, "rows", batch.columns.schema)
    began = ctx.low if ctx.first == FOREVER else max(ctx.low, int(op.ticks.at_or_after(np.array([ctx.first]))[0]))
    ticks = _ticks(op, table, batch, began, ctx)
    ids = table.ids_of(batch.columns, len(batch))
    if ticks:
        table.load_all()  # each of them is shown
    live, start, gone = table.counter("now"), table.counter("start"), table.counter("gone")
    before = [a.copy() for a in (live, start, gone)]
    reported: list[tuple[int, Ints]] = []
    done = 0
    for tick in ticks:
        upto = int(np.searchsorted(batch.ts, tick, side="right"))
        _apply(live, gone, ids[done:upto], batch.sign[done:upto])
        done = upto
        reported.append((tick, live + np.maximum(gone - start, 0)))
        start[:] = live
        gone[:] = 0
    _apply(live, gone, ids[done:], batch.sign[done:])
    table.live[:] = live + start + gone  # a row is remembered while any of them matters
    table.save(np.flatnonzero(np.any([a != b for a, b in zip((live, start, gone), before, strict=True)], axis=0)))
    return _rows(table, reported)


def _ticks(op: Restore, table: KeyedTable, batch: Batch, began: int, ctx: Context) -> list[int]:
    """Evaluation instants of the step at which there is, or may have been, something to report."""
    moments = batch.ts[(batch.ts >= began) & (batch.ts < ctx.until)]
    found = set(op.ticks.at_or_after(moments).tolist()) if len(moments) else set()
    begin = began if table.alive > 0 else (int(batch.ts[0]) if len(batch) else FOREVER)
    end = min(ctx.until, ctx.high)
    tick = int(op.ticks.at_or_after(np.array([min(begin, FOREVER - 1)]))[0]) if begin < end else end
    while tick < end:
        found.add(tick)
        tick = int(op.ticks.at_or_after(np.array([tick + 1]))[0])
    return sorted(t for t in found if began <= t < end)


def _apply(live: Ints, gone: Ints, ids: Ints, sign: NDArray[np.int8]) -> None:
    """Changes of one evaluation interval; a row that leaves and comes back at one instant was netted before."""
    np.add.at(live, ids, sign)
    np.add.at(gone, ids[sign < 0], 1)


def _rows(table: KeyedTable, reported: list[tuple[int, Ints]]) -> Batch:
    index = [np.repeat(np.arange(len(counts)), counts) for _, counts in reported]
    flat = np.concatenate(index) if index else np.empty(0, np.int64)
    times = np.repeat(np.array([t for t, _ in reported], np.int64), [len(i) for i in index])
    return Batch(table.keys.take(pa.array(flat)), times, forever(len(flat)))
