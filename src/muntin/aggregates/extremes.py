"""MIN and MAX over expiring rows: each group keeps the rows that can still become its answer (thesis 2.2.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Replay
from muntin.core.batch import concat_rows
from muntin.kernels.extremes import maxima, sortable_bits, survivors
from muntin.kernels.hashing import as_float64, as_int64, validity_of
from muntin.state.window_rows import EXP, int64s

_BEFORE = np.int64(-(2**62))


@dataclass(frozen=True)
class Extreme:
    """MIN or MAX of any ordered type. State: candidate rows by group; the newest chunk that has a group is its
    truth."""

    name: str
    arg: str
    fn: str

    def values(self, replay: Replay) -> pa.Array:
        ev, plan, table = replay.events, replay.schedule, replay.groups
        if len(plan.time) == 0:  # nothing happens and nothing is shown: leave the candidates as they are
            return ev.rows.column(self.arg).slice(0, 0)
        old, old_group = self._stored(replay)
        new, index = self._entering(replay)
        rows = concat_rows([old, new]) if old is not None else new
        group = np.append(old_group, ev.group[index])
        time = np.append(np.full(len(old_group), _BEFORE), ev.time[index])
        exp = int64s(rows, EXP)
        key = order_keys(rows.column(self.arg), self.fn)
        picked, head, nxt = maxima((group, key, exp, time), (plan.time, plan.em_end, plan.group), len(table))
        self._save(replay, rows, group, survivors(head, nxt, exp, replay.high - 1))
        return rows.column(self.arg).take(pa.array(picked, mask=picked < 0))

    def _entering(self, replay: Replay) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
        """Entering rows with a value, and their places among the events."""
        ev = replay.events
        fresh = ev.sign > 0
        valid = validity_of(ev.rows.column(self.arg))
        if len(valid):
            fresh &= valid
        index = np.flatnonzero(fresh)
        columns = [*ev.keys.columns, ev.rows.column(self.arg), pa.array(ev.exp)]
        rows = pa.RecordBatch.from_arrays(columns, names=[*ev.keys.schema.names, self.arg, EXP])
        return rows.take(pa.array(index)), index

    def _stored(self, replay: Replay) -> tuple[pa.RecordBatch | None, NDArray[np.int64]]:
        """Candidates left by earlier steps, without those that a newer chunk replaced or that have expired."""
        chunks = [c.load() for c in replay.state.list(self._structure)]
        if not chunks:
            return None, np.empty(0, np.int64)
        rows = concat_rows(chunks)
        number = np.repeat(np.arange(len(chunks)), [c.num_rows for c in chunks])
        valid = np.flatnonzero(int64s(rows, EXP) >= replay.low)
        rows, number = rows.take(pa.array(valid)), number[valid]
        keys = rows.select(replay.events.keys.schema.names)
        group = replay.groups.ids_of(keys, rows.num_rows)
        newest = np.full(len(replay.groups), -1, np.int64)
        np.maximum.at(newest, group, number)
        current = np.flatnonzero(number == newest[group])
        return rows.take(pa.array(current)), group[current]

    def _save(self, replay: Replay, rows: pa.RecordBatch, group: NDArray[np.int64], kept: NDArray[np.int64]) -> None:
        """Write the staircases of the groups that changed, or all when the replaced ones have outgrown them."""
        state = replay.state
        touched = np.zeros(len(replay.groups), np.bool_)
        touched[replay.events.group] = True
        changed = kept[touched[group[kept]]]
        written = sum(c.meta["n"] for c in state.list(self._structure))
        if written + len(changed) > 2 * len(kept) + 64:
            state.replace(self._structure, list(state.list(self._structure)), None)
            changed = kept
        if len(changed):
            state.append(self._structure, rows.take(pa.array(changed)))

    @property
    def _structure(self) -> str:
        return f"{self.name}.stairs"


def order_keys(column: pa.Array, fn: str) -> NDArray[np.int64]:
    """int64 keys that order the values (greatest first for MAX, least first for MIN); NULLs get any key.

    Numbers and instants keep their own order; other types are ranked among the values at hand.
    """
    t = column.type
    if pa.types.is_floating(t):
        key = sortable_bits(as_float64(column))
    elif pa.types.is_integer(t) or pa.types.is_boolean(t) or (pa.types.is_temporal(t) and not pa.types.is_interval(t)):
        key = as_int64(column)
    else:
        key = np.asarray(pc.rank(column, tiebreaker="dense").to_numpy(), np.int64)
    return ~key if fn == "min" else key


def sort_keys(column: pa.Array, descending: bool, nulls_first: bool) -> list[NDArray[np.int64]]:
    """Two int64 keys, the first the more important, that sort the column as ORDER BY does."""
    null = np.asarray(column.is_null(), np.int64)
    key = order_keys(column, "min" if descending else "max")
    return [1 - null if nulls_first else null, np.where(null > 0, 0, key)]
