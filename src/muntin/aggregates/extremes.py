"""MIN and MAX, and BOOL_AND and BOOL_OR, which they are of truth values.

Over expiring rows each group keeps the rows that can still become its answer (thesis 2.2.2). State: runs of candidates,
in each by group and expiry, so that their values worsen (``state.runs``). The best of a group is the best of its runs'
first rows; of a run a step reads what expires in it and one row more, and what a step adds it does not compare with the
runs before: a merge does. Where rows may be taken away early every value is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Accumulator, Replay
from muntin.aggregates.description import CONDITIONS, ORDERED, Aggregate, Functions, Keeps, partial_name, same
from muntin.aggregates.multisets import OrderStatistic
from muntin.aggregates.order import order_keys
from muntin.core.batch import concat_rows
from muntin.kernels.extremes import maxima, survivors
from muntin.kernels.hashing import validity_of
from muntin.plan.exprs import Agg
from muntin.state.runs import add_run
from muntin.state.sorted_runs import GROUP, between
from muntin.state.window_rows import EXP, int64s

_BEFORE = np.int64(-(2**62))

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Extreme:
    """MIN or MAX of any ordered type. State: candidate rows by group, in runs."""

    name: str
    arg: str
    fn: str

    def values(self, replay: Replay) -> pa.Array:
        ev, plan, table = replay.events, replay.schedule, replay.groups
        if len(plan.time) == 0:  # nothing happens and nothing is shown: leave the candidates as they are
            return ev.rows.column(self.arg).slice(0, 0)
        new, index = self._entering(replay)
        old, old_group = self._stored(replay)
        rows = concat_rows([old, new]) if old is not None else new
        group = np.append(old_group, ev.group[index])
        time = np.append(np.full(len(old_group), _BEFORE), ev.time[index])
        exp = int64s(rows, EXP)
        key = order_keys(rows.column(self.arg), self.fn)
        picked, head, nxt = maxima((group, key, exp, time), (plan.time, plan.em_end, plan.group), len(table))
        kept = survivors(head, nxt, exp, replay.high - 1)
        self._save(replay, rows, group, kept[kept >= len(old_group)])
        return rows.column(self.arg).take(pa.array(picked, mask=picked < 0))

    def _entering(self, replay: Replay) -> tuple[pa.RecordBatch, Ints]:
        """Entering rows with a value, and their places among the events."""
        ev = replay.events
        fresh = ev.sign > 0
        valid = validity_of(ev.rows.column(self.arg))
        if len(valid):
            fresh &= valid
        index = np.flatnonzero(fresh)
        rows = pa.RecordBatch.from_arrays([ev.rows.column(self.arg), pa.array(ev.exp)], names=[self.arg, EXP])
        return rows.take(pa.array(index)), index

    def _stored(self, replay: Replay) -> tuple[pa.RecordBatch | None, Ints]:
        """Candidates of the groups that are shown: those that expire in the step and, of each run, the next one."""
        number = replay.groups.numbers()
        shown = np.unique(replay.schedule.group)
        shown = shown[np.argsort(number[shown])]
        span = [np.full(len(shown), t, np.int64) for t in (replay.low, replay.high - 1)]
        rows, asked = between(replay.state, self._structure, EXP, (number[shown], span[0], span[1]), further=1)
        if rows is None:
            return None, np.empty(0, np.int64)
        order = np.argsort(int64s(rows, EXP), kind="stable")
        return rows.take(pa.array(order)).select([self.arg, EXP]), shown[asked[order]]

    def _save(self, replay: Replay, rows: pa.RecordBatch, group: Ints, kept: Ints) -> None:
        """Add the step's own candidates; runs in which all have expired go."""
        replay.state.keep(self._structure, lambda c: c.meta["max_exp"] >= replay.high)
        number = replay.groups.numbers()[group[kept]]
        fresh = _by_group(rows.take(pa.array(kept)).append_column(GROUP, pa.array(number)))
        add_run(replay.state, self._structure, fresh, lambda runs, _: self._merged(runs, replay.high), _latest)

    def _merged(self, runs: list[pa.RecordBatch], low: int) -> pa.RecordBatch:
        """The rows of several runs that can still become an answer after ``low``."""
        whole = _by_group(concat_rows(runs))
        _, group = np.unique(int64s(whole, GROUP), return_inverse=True)
        key, exp = order_keys(whole.column(self.arg), self.fn), int64s(whole, EXP)
        groups = int(group.max()) + 1
        at_once = np.zeros(len(exp), np.int64)
        instant = (np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64))
        _, head, nxt = maxima((group, key, exp, at_once), instant, groups)
        return whole.take(pa.array(survivors(head, nxt, exp, low - 1)))

    @property
    def _structure(self) -> str:
        return f"{self.name}.candidates"


def _by_group(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.take(pa.array(np.lexsort([int64s(rows, EXP), int64s(rows, GROUP)])))


def _latest(rows: pa.RecordBatch) -> dict[str, int]:
    return {"max_exp": int(int64s(rows, EXP).max())}


def _candidates(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return Extreme(name, arg, agg.fn)


def _over_panes(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return Extreme(name, partial_name(arg, agg.fn), agg.fn)


def _all_values(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return OrderStatistic(name, arg, 0.0 if agg.fn == "min" else 1.0)


MIN = Aggregate(
    "min",
    ("min",),
    takes=ORDERED,
    type=same,
    build=_candidates,
    keeps=Keeps.CANDIDATES,
    signed=_all_values,
    distinct="no difference",
    known="like its argument",
    parts=lambda agg: (agg.fn,),
    merged=_over_panes,
)
MAX = replace(MIN, fn="max", names=("max",))
BOOL_OR = replace(MAX, names=("bool_or", "logical_or", "boolor_agg", "some"), takes=CONDITIONS)
BOOL_AND = replace(MIN, names=("bool_and", "logical_and", "booland_agg"), takes=CONDITIONS)
EVERY = replace(MIN, names=("every",), takes=CONDITIONS, listed="")
