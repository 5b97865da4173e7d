"""User-defined aggregates as accumulators: one running state a group, states merged beforehand, or all values anew."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Accumulator, Replay
from muntin.aggregates.description import ANYTHING, Aggregate, Functions, Keeps, partial_name, same
from muntin.aggregates.multisets import lists
from muntin.aggregates.state_runs import StateRuns
from muntin.kernels.hashing import validity_of
from muntin.plan.aggregates import Evaluate
from muntin.plan.exprs import Agg

PREFIX = "udaf:"
"""How ``Agg.fn`` begins; the registered name follows."""


@dataclass(frozen=True)
class UserDefined:
    """An aggregate that can only be added to: states merged beforehand."""

    name: str
    arg: str
    code: Evaluate
    type: pa.DataType

    def values(self, replay: Replay) -> pa.Array:
        runs = StateRuns(f"{self.name}.states", self.code, self.code.aggregate.add)
        return pa.array(runs.answers(replay, replay.events.rows.column(self.arg)), self.type)


@dataclass(frozen=True)
class OverAllValues:
    """An aggregate that can only be added to, over rows that may be taken away before their expiry: all values of the
    group, in order, for each answer."""

    name: str
    arg: str
    code: Evaluate
    type: pa.DataType

    def values(self, replay: Replay) -> pa.Array:
        offsets, items = lists(replay, f"{self.name}.values", self.arg)
        results = [self.code(items.slice(a, b - a)) for a, b in pairwise(offsets.tolist())]
        return pa.array(results, self.type)


@dataclass(frozen=True)
class MergedStates:
    """An aggregate over pane partials: the states of a group's live panes, merged. ``arg``: the column of states."""

    name: str
    arg: str
    code: Evaluate
    type: pa.DataType

    def values(self, replay: Replay) -> pa.Array:
        runs = StateRuns(f"{self.name}.states", self.code, self._merge)
        return pa.array(runs.answers(replay, replay.events.rows.column(self.arg)), self.type)

    def _merge(self, state: Any, stored: bytes) -> Any:
        return self.code.aggregate.merge(state, self.code.unpack(stored))


@dataclass(frozen=True)
class RunningState:
    """An aggregate that can take values away: one state a group, kept between steps. Cost: the events."""

    name: str
    arg: str
    code: Evaluate
    type: pa.DataType

    def values(self, replay: Replay) -> pa.Array:
        plan, code = replay.schedule, self.code.aggregate
        stored, counts = replay.groups.blob(self.name), replay.groups.counter(f"{self.name}.n")
        states: dict[int, Any] = {}
        results: list[Any] = []
        shown = iter(plan.group.tolist())
        changes, at = [*self._changes(replay)], 0
        for upto, emitted in zip(plan.ev_end.tolist(), np.diff(plan.em_end, prepend=0).tolist(), strict=True):
            # at one instant what enters goes first: no state is ever asked for a value that it does not hold
            for _, group, value, times in sorted(changes[at:upto], key=lambda c: (c[0], -c[3])):
                if times:
                    states[group] = self._moved(group, states, stored, value, times)
                    counts[group] += times
                    if counts[group] == 0:
                        states[group] = code.init()
            at = upto
            # a copy: an answer may be (part of) the state, which moves on
            results += [deepcopy(code.finish(self._state(next(shown), states, stored))) for _ in range(emitted)]
        for group, state in states.items():
            stored[group] = self.code.pack(state) if counts[group] else None
        return pa.array(results, self.type)

    def _changes(self, replay: Replay) -> Iterator[tuple[int, int, Any, int]]:
        """Instant, group, value and how often it comes (goes: less than 0) of each event; 0 times for NULL."""
        ev = replay.events
        column = ev.rows.column(self.arg)
        valid = validity_of(column)
        times = np.where(valid, ev.sign, 0) if len(valid) else ev.sign
        return zip(ev.time.tolist(), ev.group.tolist(), column.to_pylist(), times.tolist(), strict=True)

    def _state(self, group: int, states: dict[int, Any], stored: NDArray[np.object_]) -> Any:
        if group not in states:
            states[group] = self.code.aggregate.init() if stored[group] is None else self.code.unpack(stored[group])
        return states[group]

    def _moved(self, group: int, states: dict[int, Any], stored: NDArray[np.object_], value: Any, times: int) -> Any:
        state = self._state(group, states, stored)
        step = self.code.aggregate.add if times > 0 else self.code.aggregate.subtract  # type: ignore[attr-defined]
        for _ in range(abs(times)):
            state = step(state, value)
        return state


def name_of(fn: str) -> str:
    """The registered name in ``Agg.fn``."""
    return fn.removeprefix(PREFIX)


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    how = RunningState if agg.inverse else UserDefined
    return how(name, arg, functions[name_of(agg.fn)], agg.type)


def _over_signed(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    how = RunningState if agg.inverse else OverAllValues
    return how(name, arg, functions[name_of(agg.fn)], agg.type)


def _over_panes(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return MergedStates(name, partial_name(arg, agg.fn), functions[name_of(agg.fn)], agg.type)


USER_DEFINED = Aggregate(
    PREFIX,
    (),
    listed="",
    takes=ANYTHING,
    type=same,
    build=_build,
    signed=_over_signed,
    keeps=Keeps.STATES,
    ordered=True,
    parts=lambda agg: () if agg.inverse else (agg.fn,),  # taking values away costs less than merging panes
    merged=_over_panes,
)
"""All of them; what each takes and gives is in the catalog (``plan.catalog.AggregateFunction``). One that can take
values away keeps one state a group instead."""
