"""What holistic aggregates share: each group's values with their multiplicities, in order (thesis 2.2.2, 2.3.4f).

Serves MEDIAN and QUANTILE, MIN and MAX where rows may be taken away early, FIRST and LAST, COLLECT and user-defined
aggregates. State: counted values by group in sorted runs (``state.sorted_runs``). An order statistic reads of them what
its rank can reach: as many values on either side of it as come and go in the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Replay
from muntin.aggregates.order import order_keys
from muntin.core.batch import concat_rows
from muntin.kernels.coarse import coarse_keys
from muntin.kernels.hashing import validity_of
from muntin.kernels.keys import key_ids
from muntin.kernels.ordered import ABOVE, BELOW, contents, quantiles
from muntin.state.sorted_runs import Found, around, count_rows

Ints = NDArray[np.int64]

ALL = 1 << 60
"""So many changes that every value is in reach."""


@dataclass(frozen=True)
class _Ordered:
    """Values of one step in order. ``place`` by event (``BELOW``, ``ABOVE``: outside what the step can show);
    ``begin``: first place by group; ``row``: the row of ``values`` at each place; ``count``: how many there are at each
    place before the step; ``below`` and ``size``: by group, values before the first place, and all."""

    values: pa.RecordBatch
    valid: NDArray[np.bool_]
    place: Ints
    begin: Ints
    row: Ints
    count: Ints
    below: Ints
    size: Ints


def _ordered(replay: Replay, structure: str, columns: list[str], q: float, most: int = 0) -> _Ordered:
    """The values that the step can show of the groups that it shows, and its events, whose counts are written.

    ``columns``: the value, most significant first; ``most``: how many more changes than the step's events are reckoned
    with.
    """
    ev = replay.events
    groups = len(replay.groups)
    valid = validity_of(ev.rows.column(columns[0]))
    index = np.arange(len(ev.time)) if len(valid) == 0 else np.flatnonzero(valid)
    group, sign = ev.group[index], ev.sign[index].astype(np.int64)
    event_values = ev.rows.select(columns).take(pa.array(index))
    key = coarse_keys(event_values.column(0))
    found, stored_group, (least, greatest, below, size) = _stored(replay, structure, group, sign, q, most)
    rows = event_values if found.rows is None else concat_rows([found.rows.select(columns), event_values])
    known = rows.num_rows - len(index)
    of = np.append(stored_group, group)
    ids, kinds, first = key_ids([pa.array(of), *rows.columns], rows.num_rows)
    values, of = rows.take(pa.array(first)), of[first]
    order = np.lexsort([*(k for c in reversed(columns) for k in _sort_keys(values.column(c))), of])
    place_of = np.empty(kinds, np.int64)
    place_of[order] = np.arange(kinds)
    begin = np.zeros(groups + 1, np.int64)
    np.cumsum(np.bincount(of, minlength=groups), out=begin[1:])
    count = np.zeros(kinds, np.int64)
    np.add.at(count, place_of[ids[:known]], found.count)
    mine = place_of[ids[known:]]
    _write(replay, structure, values.take(pa.array(order)), of[order], mine, sign)
    mine = np.where(key < least[group], BELOW, np.where(key > greatest[group], ABOVE, mine))
    place = np.zeros(len(ev.time), np.int64)
    place[index] = mine
    return _Ordered(values, valid, place, begin, order, count, below, size)


def _stored(
    replay: Replay, structure: str, group: Ints, sign: Ints, q: float, most: int
) -> tuple[Found, Ints, tuple[Ints, Ints, Ints, Ints]]:
    """What the runs hold around quantile ``q`` of the groups that are shown, the group of each of these rows, and by
    group the least and greatest key in reach, how many values come before, and how many there are."""
    groups = len(replay.groups)
    number = replay.groups.numbers()
    shown = np.unique(replay.schedule.group)
    shown = shown[np.argsort(number[shown])]
    more, fewer = (np.bincount(group[sign * s > 0], minlength=groups)[shown] + most for s in (1, -1))
    found = around(replay.state, structure, number[shown], (more.astype(np.int64), fewer.astype(np.int64)), q)
    by_group = [np.full(groups, v, np.int64) for v in (-ALL * 8, ALL * 8 - 1, 0, 0)]
    for array, part in zip(by_group, (found.least, found.greatest, found.below, found.size), strict=True):
        array[shown] = part
    least, greatest, below, size = by_group
    return found, shown[found.asked], (least, greatest, below, size)


def _write(replay: Replay, structure: str, values: pa.RecordBatch, group: Ints, place: Ints, sign: Ints) -> None:
    """Add what the events change to the counts; ``values`` and ``group`` by place."""
    change = np.zeros(values.num_rows, np.int64)
    np.add.at(change, place, sign)
    changed = np.flatnonzero(change)
    values = values.take(pa.array(changed))
    number = replay.groups.numbers()[group[changed]]
    count_rows(replay.state, structure, values, number, coarse_keys(values.column(0)), change[changed])


def _sort_keys(column: pa.Array) -> tuple[Ints, Ints]:
    """Order of the values, least significant key first: NULLs before all others."""
    there = np.asarray(column.is_valid(), np.int64)
    return np.where(there > 0, order_keys(column, "max"), 0), there


@dataclass(frozen=True)
class OrderStatistic:
    """The value at quantile ``q`` (0: MIN, 0.5: MEDIAN, 1: MAX); ``blend``: between two values, a mean in proportion;
    ``share``: ``q`` exactly, for the first value with that share of the values up to it.

    ``pair``: the argument is a struct of what orders the rows (a NULL leaves the row out) and a value (NULL least),
    ordered by both; the value is shown. So of rows of one rank at quantile 0 the least value is, at 1 the greatest.
    """

    name: str
    arg: str
    q: float
    blend: bool = False
    pair: str | None = None
    share: Fraction | None = None

    def values(self, replay: Replay) -> pa.Array:
        if self.pair is not None:
            replay = _opened(replay, self.pair)
        ev, plan = replay.events, replay.schedule
        columns = [self.arg] if self.pair is None else ["at", self.arg]
        found = _ordered(replay, f"{self.name}.values", columns, self.q)
        schedule = (plan.ev_end, plan.em_end, plan.group)
        events = (ev.group, found.place, ev.sign, found.valid)
        multiset = (found.begin, found.count, found.below, found.size)
        low, high, total = quantiles(events, schedule, multiset, self.q, self.share)
        column = found.values.column(self.arg)
        lower = _at(column, found.row, low)
        if not self.blend:
            return lower
        upper = _at(column, found.row, high)
        share = np.asarray(self.q * (total - 1) % 1.0, np.float64)
        return between(lower, upper, share)


def _opened(replay: Replay, pair: str) -> Replay:
    """The events with the parts of a struct column as the columns "at" and "value"."""
    rows = pa.RecordBatch.from_arrays(replay.events.rows.column(pair).flatten(), names=["at", "value"])
    return replace(replay, events=replace(replay.events, rows=rows))


def _at(column: pa.Array, row: Ints, place: Ints) -> pa.Array:
    """The values at places in the order; NULL where the place is -1."""
    none = place < 0
    index = np.zeros(len(place), np.int64)
    index[~none] = row[place[~none]]
    return column.take(pa.array(index, mask=none))


def _doubles(column: pa.Array) -> pa.Array:
    """Numbers as doubles; integers beyond 2**53 are rounded to the nearest."""
    return column.cast(pa.float64(), safe=False)


def between(lower: pa.Array, upper: pa.Array, share: NDArray[np.float64]) -> pa.Array:
    """lower + share * (upper - lower) as doubles, exactly lower where both are equal (also for infinities)."""
    lower, upper = _doubles(lower), _doubles(upper)
    mixed = pc.add(pc.multiply(lower, pa.array(1.0 - share)), pc.multiply(upper, pa.array(share)))
    return pc.if_else(pc.fill_null(pc.equal(lower, upper), False), lower, mixed)


def lists(replay: Replay, structure: str, arg: str) -> tuple[Ints, pa.Array]:
    """The values of the group at each emission, in order: offsets by emission, and the values. Cost: the groups that
    are shown."""
    ev, plan = replay.events, replay.schedule
    found = _ordered(replay, structure, [arg], 0.0, most=ALL)
    schedule = (plan.ev_end, plan.em_end, plan.group)
    offsets, places = contents((found.place, ev.sign, found.valid), schedule, (found.begin, found.count))
    return offsets, found.values.column(arg).take(pa.array(found.row[places]))


def counted(replay: Replay, structure: str, arg: str) -> Iterator[tuple[pa.Array, Ints]]:
    """The distinct values of the group at each emission, in order, and how often each is there. Cost: the values of the
    groups that are shown, once for each emission."""
    ev, plan = replay.events, replay.schedule
    found = _ordered(replay, structure, [arg], 0.0, most=ALL)
    count, values = found.count.copy(), found.values.column(arg)
    counts = found.valid if len(found.valid) else np.ones(len(ev.time), np.bool_)
    shown, at = iter(plan.group.tolist()), 0
    for upto, emitted in zip(plan.ev_end.tolist(), np.diff(plan.em_end, prepend=0).tolist(), strict=True):
        mine = np.arange(at, upto)[counts[at:upto] & (found.place[at:upto] >= 0)]
        np.add.at(count, found.place[mine], ev.sign[mine].astype(np.int64))
        at = upto
        for _ in range(emitted):
            group = next(shown)
            there = np.arange(found.begin[group], found.begin[group + 1])
            replay.state.looked += len(there)
            there = there[count[there] > 0]
            yield values.take(pa.array(found.row[there])), count[there]
