"""Holistic aggregates: each group's values with their multiplicities, in order (thesis 2.2.2, 2.3.4f).

Serves MEDIAN and QUANTILE, MIN and MAX where rows may be taken away early, FIRST and LAST, COLLECT and user-defined
aggregates. State: rows by (group, value), written for the pairs that changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Replay
from muntin.aggregates.extremes import order_keys
from muntin.kernels.hashing import validity_of
from muntin.kernels.ordered import contents, quantiles
from muntin.state.keyed_table import KeyedTable

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Ordered:
    """Pairs of one step in order. ``place`` by event; ``begin``: first place by group; ``pair``: the pair at each
    place."""

    pairs: KeyedTable
    ids: Ints
    valid: NDArray[np.bool_]
    place: Ints
    begin: Ints
    pair: Ints


def _ordered(replay: Replay, structure: str, columns: list[str]) -> _Ordered:
    """The pairs of a step: those remembered and those that it brings. ``columns``: the value, most significant
    first."""
    ev = replay.events
    value = [ev.rows.column(c) for c in columns]
    keys = pa.RecordBatch.from_arrays([*ev.keys.columns, *value], names=[*ev.keys.schema.names, *columns])
    pairs = KeyedTable(replay.state, structure, keys.schema)
    ids = pairs.ids_of(keys, len(ev.time))
    group = replay.groups.ids_of(pairs.keys.select(ev.keys.schema.names), len(pairs))
    order = np.lexsort([*(k for c in reversed(columns) for k in _sort_keys(pairs.keys.column(c))), group])
    place_of = np.empty(len(pairs), np.int64)
    place_of[order] = np.arange(len(pairs))
    begin = np.zeros(len(replay.groups) + 1, np.int64)
    np.cumsum(np.bincount(group, minlength=len(replay.groups)), out=begin[1:])
    return _Ordered(pairs, ids, validity_of(value[0]), place_of[ids], begin, order)


def _sort_keys(column: pa.Array) -> tuple[Ints, Ints]:
    """Order of the values, least significant key first: NULLs before all others."""
    there = np.asarray(column.is_valid(), np.int64)
    return np.where(there > 0, order_keys(column, "max"), 0), there


def _finish(found: _Ordered, replay: Replay) -> None:
    """Apply the step's events to the counts and write the pairs that they touched."""
    valid = np.ones(len(found.ids), np.bool_) if len(found.valid) == 0 else found.valid
    np.add.at(found.pairs.live, found.ids[valid], replay.events.sign[valid])
    found.pairs.save(np.unique(found.ids[valid]))


@dataclass(frozen=True)
class OrderStatistic:
    """The value at quantile ``q`` (0: MIN, 0.5: MEDIAN, 1: MAX); ``blend``: between two values, a mean in proportion.

    ``pair``: the argument is a struct of event time and value, ordered by both; the value is shown (FIRST and LAST; of
    rows of one instant the least and the greatest value).
    """

    name: str
    arg: str
    q: float
    blend: bool = False
    pair: str | None = None

    def values(self, replay: Replay) -> pa.Array:
        ev, plan = replay.events, replay.schedule
        if self.pair is not None:
            replay = _opened(replay, self.pair)
        columns = [self.arg] if self.pair is None else ["at", self.arg]
        found = _ordered(replay, f"{self.name}.values", columns)
        schedule = (plan.ev_end, plan.em_end, plan.group)
        events = (ev.group, found.place, ev.sign, found.valid)
        low, high, total = quantiles(events, schedule, (found.begin, found.pairs.live[found.pair]), self.q)
        column = found.pairs.keys.column(self.arg)
        _finish(found, replay)
        lower = _at(column, found.pair, low)
        if not self.blend:
            return lower
        upper = _at(column, found.pair, high)
        share = np.asarray(self.q * (total - 1) % 1.0, np.float64)
        return _between(lower.cast(pa.float64()), upper.cast(pa.float64()), share)


def _opened(replay: Replay, pair: str) -> Replay:
    """The events with the parts of a struct column as the columns "at" and "value"."""
    whole = replay.events.rows.column(pair)
    rows = pa.RecordBatch.from_arrays([whole.field(0), whole.field(1)], names=["at", "value"])
    return replace(replay, events=replace(replay.events, rows=rows))


def _at(column: pa.Array, pair: Ints, place: Ints) -> pa.Array:
    """The values at places in the order; NULL where the place is -1."""
    none = place < 0
    index = np.zeros(len(place), np.int64)
    index[~none] = pair[place[~none]]
    return column.take(pa.array(index, mask=none))


def _between(lower: pa.Array, upper: pa.Array, share: NDArray[np.float64]) -> pa.Array:
    """lower + share * (upper - lower), exactly lower where both are equal (also for infinities)."""
    mixed = pc.add(pc.multiply(lower, pa.array(1.0 - share)), pc.multiply(upper, pa.array(share)))
    return pc.if_else(pc.fill_null(pc.equal(lower, upper), False), lower, mixed)


@dataclass(frozen=True)
class Collect:
    """COLLECT: the values of the group as an array, in order of value."""

    name: str
    arg: str

    def values(self, replay: Replay) -> pa.Array:
        offsets, items = lists(replay, f"{self.name}.values", self.arg)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


def lists(replay: Replay, structure: str, arg: str) -> tuple[Ints, pa.Array]:
    """The values of the group at each emission, in order: offsets by emission, and the values."""
    ev, plan = replay.events, replay.schedule
    found = _ordered(replay, structure, [arg])
    counts = found.pairs.live[found.pair].copy()
    schedule = (plan.ev_end, plan.em_end, plan.group)
    offsets, places = contents((found.place, ev.sign, found.valid), schedule, (found.begin, counts))
    items = found.pairs.keys.column(arg).take(pa.array(found.pair[places]))
    _finish(found, replay)
    return offsets, items
