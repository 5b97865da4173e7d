"""States of a user-defined aggregate that can only be added to: merged beforehand, so that an answer merges few.

Items (values, or states of panes) lie in runs by group and expiry (``state.runs``). At place i of its group's items in
a run is stored the merged state of the items from i to the end of a block: of ``FAN`` items, or of the greatest power
of it that i begins. So the items of a run that have not expired, which are its last ones, are a state for each power;
what a step brings is added to a running state. (A tree of partials, as in Tangwongsan et al. 2015, laid out by place.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Replay
from muntin.core.batch import concat_rows
from muntin.kernels.hashing import validity_of
from muntin.kernels.runs import spans
from muntin.plan.aggregates import Evaluate, UserAggregate
from muntin.state.runs import add_run
from muntin.state.sorted_runs import GROUP
from muntin.state.window_rows import EXP, int64s

FAN = 8

_ITEM, _STATE = "__item", "__state"

Ints = NDArray[np.int64]
Join = Callable[[Any, Any], Any]
"""A state, which may change, and an item to the state of both."""


def block_end(place: int, count: int) -> int:
    """Up to which place the state at ``place`` of ``count`` items reaches."""
    size = FAN
    while size < count and place % size == 0:
        size *= FAN
    return min(place - place % size + size, count)


@dataclass
class _Tail:
    """The items of one group in one run that have not expired: from ``place`` on."""

    rows: pa.RecordBatch
    exp: Ints
    begin: int
    place: int
    end: int

    def states(self, now: int) -> Iterator[bytes]:
        """The stored states of the items that are valid after ``now``, which does not go back."""
        while self.place < self.end and self.exp[self.place] <= now:
            self.place += 1
        at, count = self.place - self.begin, self.end - self.begin
        stored = self.rows.column(_STATE)
        while at < count:
            yield stored[self.begin + at].as_py()
            at = block_end(at, count)


@dataclass
class _Fresh:
    """The items that entered a group in this step: those that are valid, and their state."""

    items: list[tuple[int, Any]] = field(default_factory=list)
    state: Any = None
    next_exp: int = 0
    """Before it the state is right."""

    def add(self, exp: int, item: Any, join: Join) -> None:
        self.next_exp = min(self.next_exp, exp) if self.items else exp
        self.items.append((exp, item))
        self.state = join(self.state, item)

    def at(self, now: int, init: Callable[[], Any], join: Join) -> Any:
        """The state of the items valid after ``now``; None for none."""
        if self.items and self.next_exp <= now:
            left, self.items, self.state = self.items, [], init()
            for exp, item in left:
                if exp > now:
                    self.add(exp, item, join)
        return self.state if self.items else None


@dataclass(frozen=True)
class StateRuns:
    """The items of an aggregate's groups, kept in runs under ``structure``."""

    structure: str
    code: Evaluate
    join: Join

    @property
    def aggregate(self) -> UserAggregate:
        return self.code.aggregate

    def answers(self, replay: Replay, items: pa.Array) -> list[Any]:
        """One answer an emission; ``items``: by event, NULLs are left out. Only rows that leave at their expiry."""
        ev, plan = replay.events, replay.schedule
        valid = validity_of(items)
        index = np.flatnonzero(ev.entering & valid if len(valid) else ev.entering)
        group, exp, values = ev.group[index], ev.exp[index], items.take(pa.array(index))
        tails = self._tails(replay)
        fresh: dict[int, _Fresh] = {}
        entering = zip(group.tolist(), exp.tolist(), values.to_pylist(), strict=True)
        upto = np.searchsorted(index, plan.ev_end)  # events of an instant to entering ones
        shown, done, results = iter(plan.group.tolist()), 0, []
        emitted = np.diff(plan.em_end, prepend=0)
        for now, end, count in zip(plan.time.tolist(), upto.tolist(), emitted.tolist(), strict=True):
            for _ in range(end - done):
                g, until, item = next(entering)
                fresh.setdefault(g, _Fresh(state=self.aggregate.init())).add(until, item, self.join)
            done = end
            for g in (next(shown) for _ in range(count)):
                results.append(self._answer(now, tails.get(g, ()), fresh.get(g)))
        self._keep(replay, group, exp, values)
        return results

    def _answer(self, now: int, tails: Sequence[_Tail], fresh: _Fresh | None) -> Any:
        state = self.aggregate.init()
        for tail in tails:
            for stored in tail.states(now):  # read anew: a merge may hand on its second state, which the next changes
                state = self.aggregate.merge(state, self.code.unpack(stored))
        new = fresh.at(now, self.aggregate.init, self.join) if fresh is not None else None
        if new is not None:
            state = self.aggregate.merge(state, new)
        return deepcopy(self.aggregate.finish(state))  # an answer may be (part of) the state, which moves on

    def _tails(self, replay: Replay) -> dict[int, list[_Tail]]:
        """What the runs hold of the groups that are shown."""
        number = replay.groups.numbers()
        shown = np.unique(replay.schedule.group)
        shown = shown[np.argsort(number[shown])]
        runs = [c.load() for c in replay.state.list(self.structure)] if len(shown) else []
        exps = [int64s(r, EXP) for r in runs]
        begin, first, end = spans([int64s(r, GROUP) for r in runs], exps, number[shown], replay.low)
        found: dict[int, list[_Tail]] = {}
        for at in np.flatnonzero(first < end).tolist():
            r = at % len(runs)
            tail = _Tail(runs[r], exps[r], int(begin[at]), int(first[at]), int(end[at]))
            found.setdefault(int(shown[at // len(runs)]), []).append(tail)
        return found

    def _keep(self, replay: Replay, group: Ints, exp: Ints, items: pa.Array) -> None:
        """Add the step's items that outlive it as a run; runs in which all have expired go."""
        replay.state.keep(self.structure, lambda c: c.meta["max_exp"] >= replay.high)
        later = np.flatnonzero(exp >= replay.high)
        number = replay.groups.numbers()[group[later]]
        run = self._run(items.take(pa.array(later)), number, exp[later])
        add_run(replay.state, self.structure, run, lambda runs, _: self._merged(runs, replay.high), _latest)

    def _merged(self, runs: list[pa.RecordBatch], low: int) -> pa.RecordBatch:
        whole = concat_rows(runs)
        kept = whole.take(pa.array(np.flatnonzero(int64s(whole, EXP) >= low)))
        return self._run(kept.column(_ITEM), int64s(kept, GROUP), int64s(kept, EXP))

    def _run(self, items: pa.Array, number: Ints, exp: Ints) -> pa.RecordBatch:
        order = np.lexsort([exp, number])
        items, number, exp = items.take(pa.array(order)), number[order], exp[order]
        ends = np.append(np.flatnonzero(np.diff(number)) + 1, len(number)) if len(number) else np.empty(0, np.int64)
        states: list[bytes] = []
        values, begin = items.to_pylist(), 0
        for end in ends.tolist():
            states += self._states(values[begin:end])
            begin = end
        columns = [pa.array(number), pa.array(exp), items, pa.array(states, pa.large_binary())]
        return pa.RecordBatch.from_arrays(columns, names=[GROUP, EXP, _ITEM, _STATE])

    def _states(self, items: list[Any]) -> list[bytes]:
        """The stored state at each place of a group's items."""
        count = len(items)
        states = [b""] * count
        for place in reversed(range(count)):
            state = self.join(self.aggregate.init(), items[place])
            at, end = place + 1, block_end(place, count)
            while at < end:
                state = self.aggregate.merge(state, self.code.unpack(states[at]))
                at = block_end(at, count)
            states[place] = self.code.pack(state)
        return states


def _latest(rows: pa.RecordBatch) -> dict[str, int]:
    return {"max_exp": int(int64s(rows, EXP).max())}
