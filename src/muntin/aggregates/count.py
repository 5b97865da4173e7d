"""COUNT: of rows, of values that are not NULL, of distinct values; COUNT_IF, which counts the rows of a condition."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, Replay, weights_of
from muntin.aggregates.description import ANYTHING, Aggregate, Functions, Keeps, partial_name
from muntin.aggregates.distinct_values import pairs_of
from muntin.kernels import sums
from muntin.kernels.hashing import validity_of
from muntin.plan.exprs import Agg


@dataclass(frozen=True)
class CountRows:
    """COUNT(*): the live rows of the group."""

    def values(self, replay: Replay) -> pa.Array:
        return pa.array(replay.schedule.live)


@dataclass(frozen=True)
class CountValues:
    """COUNT(x): rows whose ``arg`` is not NULL; ``weights``: over pane partials, the column with how many each has."""

    name: str
    arg: str
    weights: str = ""

    def values(self, replay: Replay) -> pa.Array:
        ev, plan = replay.events, replay.schedule
        valid, weight = validity_of(ev.rows.column(self.arg)), weights_of(ev.rows, self.weights)
        counter, schedule = replay.groups.counter(self.name), (plan.ev_end, plan.em_end, plan.group)
        return pa.array(sums.count_valid(ev.group, ev.sign, valid, weight, schedule, counter))


@dataclass(frozen=True)
class CountDistinct:
    """COUNT(DISTINCT x): rows by (group, value), and per group how many values have any."""

    name: str
    arg: str

    def values(self, replay: Replay) -> pa.Array:
        ev, plan = replay.events, replay.schedule
        column = ev.rows.column(self.arg)
        pairs, ids = pairs_of(self.name, replay, column)
        valid = validity_of(column)
        distinct = replay.groups.counter(self.name)
        out = np.empty(len(plan.group), np.int64)
        sums.count_distinct(
            ev.group, ev.sign, ids, valid, plan.ev_end, plan.em_end, pairs.live, distinct, plan.group, out
        )
        pairs.save(np.unique(ids[valid] if len(valid) else ids))
        return pa.array(out)


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return CountRows() if agg.arg is None else CountValues(name, arg)


def _over_panes(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    column = partial_name(arg, "count")
    return CountValues(name, column, column)


COUNT = Aggregate(
    "count",
    ("count",),
    takes=ANYTHING,
    type=lambda t: pa.int64(),
    build=_build,
    keeps=Keeps.COUNTERS,
    distinct="yes",
    of_distinct=lambda name, agg, arg, functions: CountDistinct(name, arg),
    counts="rows",
    empty=0,
    known="always",
    parts=lambda agg: ("count",),
    merged=_over_panes,
)
COUNT_IF = replace(COUNT, names=("count_if", "countif"), counts="conditions", distinct="no")
