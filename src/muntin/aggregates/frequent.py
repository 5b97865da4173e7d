"""FREQUENT(item, k [, share]): the most frequent items, exactly, from sub-window lists, or from sketches.

The answer is a struct: ``items`` (an array of item, count and at_most, the most frequent first, then by item),
``threshold``, ``rows`` (how many items there are) and ``guarantee``. Every item shown occurs at least ``count`` and at
most ``at_most`` times, and more often than ``threshold``; ``share`` raises the threshold to that part of ``rows``.

* FREQUENT: the k most frequent, from a counter for each value ("exact"; ties by value).
* FREQUENT_LISTS: Algorithm 6 of Golab (2006), chapter 6: of each sub-window (rows that enter and leave together: what
  comes between two instants of SLIDE) the k most frequent values are kept. ``threshold`` is delta, the sum of the k-th
  counts (0 where a sub-window has fewer values); every value whose counts in the lists exceed it is shown. A value that
  is not shown may occur more often ("no false positives").
* FREQUENT_SKETCH: a sketch of frequent items of each sub-window (Apache DataSketches), merged; ``threshold`` is at
  least its error. The k most frequent of those that surely exceed it ("no false positives"). It depends on what came
  in which order only where there are more values than its map holds (``32 k`` and more).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasketches import frequent_items_error_type, frequent_strings_sketch
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Accumulator, Replay
from muntin.aggregates.description import ORDERED, Aggregate, Functions, Keeps, Parameter
from muntin.aggregates.multisets import counted
from muntin.aggregates.state_runs import StateRuns
from muntin.plan.aggregates import Evaluate
from muntin.plan.exprs import Agg

EXACT, NO_FALSE_POSITIVES = "exact", "no false positives"
MOST_K = 10_000

Ints = NDArray[np.int64]


def answer_type(item: pa.DataType) -> pa.DataType:
    """The answer over items of a type."""
    one = pa.struct([("item", item), ("count", pa.int64()), ("at_most", pa.int64())])
    whole = [("items", pa.list_(one)), ("threshold", pa.int64()), ("rows", pa.int64()), ("guarantee", pa.string())]
    return pa.struct(whole)


def item_type(answer: pa.DataType) -> pa.DataType:
    """The type of the items of an answer."""
    return answer.field("items").type.value_type.field("item").type


def _answer(items: list[dict[str, Any]], threshold: int, rows: int, guarantee: str) -> dict[str, Any] | None:
    if not rows:
        return None
    return {"items": items, "threshold": threshold, "rows": rows, "guarantee": guarantee}


def _least(agg_share: float | None, rows: int) -> int:
    """The threshold that a share of the rows sets."""
    return 0 if agg_share is None else math.floor(agg_share * rows)


@dataclass(frozen=True)
class FrequentExact:
    """The k values with the greatest counts. Cost: the values of the groups that are shown, and what changes."""

    name: str
    arg: str
    agg: Agg

    def values(self, replay: Replay) -> pa.Array:
        found = [self._top(items, counts) for items, counts in counted(replay, f"{self.name}.values", self.arg)]
        return pa.array(found, self.agg.type)

    def _top(self, items: pa.Array, counts: Ints) -> dict[str, Any] | None:
        rows = int(counts.sum())
        least = _least(self.agg.share, rows)
        order = np.argsort(-counts, kind="stable")[: int(self.agg.param or 1)]
        order = order[counts[order] > least]
        shown = zip(items.take(pa.array(order)).to_pylist(), counts[order].tolist(), strict=True)
        return _answer([{"item": v, "count": n, "at_most": n} for v, n in shown], least, rows, EXACT)


# --- sub-window lists -------------------------------------------------------------------------------------------------


def list_type(item: pa.DataType) -> pa.DataType:
    """A summary of a sub-window: its most frequent values with their counts, the k-th count, and its rows."""
    one = pa.struct([("item", item), ("count", pa.int64())])
    return pa.struct([("items", pa.list_(one)), ("delta", pa.int64()), ("rows", pa.int64())])


@dataclass
class Counters:
    """Global counters of Algorithm 6: by value what its lists add up to, and the k-th counts of these lists."""

    by: dict[Any, list[Any]] = field(default_factory=dict)
    delta: int = 0
    rows: int = 0

    def move(self, summary: dict[str, Any], sign: int) -> None:
        """Add the list of a sub-window, or take it away; a counter at zero goes."""
        self.delta += sign * summary["delta"]
        self.rows += sign * summary["rows"]
        for entry in summary["items"]:
            key = _key(entry["item"])
            counter = self.by.setdefault(key, [entry["item"], 0, 0])
            counter[1] += sign * entry["count"]
            counter[2] += sign * summary["delta"]
            if counter[1] == 0:
                del self.by[key]

    def answer(self, share: float | None) -> dict[str, Any] | None:
        """All values whose counters exceed the threshold. A value occurs in a sub-window that does not list it at most
        as often as the k-th does."""
        least = max(self.delta, _least(share, self.rows))
        shown = [
            {"item": value, "count": count, "at_most": count + self.delta - listed}
            for value, count, listed in self.by.values()
            if count > least
        ]
        shown.sort(key=lambda x: (-x["count"], _order(x["item"])))
        return _answer(shown, least, self.rows, NO_FALSE_POSITIVES)

    def pack(self, item: pa.DataType) -> bytes:
        """As bytes (Arrow IPC)."""
        columns = list(zip(*self.by.values(), strict=True)) or [(), (), ()]
        types = (item, pa.int64(), pa.int64())
        rows = pa.record_batch([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=["v", "n", "d"])
        told = rows.replace_schema_metadata({"delta": str(self.delta), "rows": str(self.rows)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, told.schema) as writer:
            writer.write_batch(told)
        return bytes(sink.getvalue().to_pybytes())


def unpack(stored: bytes | None) -> Counters:
    """What ``Counters.pack`` made; None: no counters."""
    if stored is None:
        return Counters()
    rows = pa.ipc.open_stream(stored).read_all()
    told = rows.schema.metadata
    by = {_key(v): [v, n, d] for v, n, d in zip(*(c.to_pylist() for c in rows.columns), strict=True)}
    return Counters(by, int(told[b"delta"]), int(told[b"rows"]))


def _key(value: Any) -> Any:
    """Equal for values that are one: NaN is one value."""
    return "NaN" if value != value else (type(value), value)


def _order(value: Any) -> tuple[bool, Any]:
    return (True, 0) if value != value else (False, value)


@dataclass(frozen=True)
class FrequentLists:
    """Algorithm 6 over the lists of sub-windows, which enter and leave. Cost: their entries."""

    name: str
    arg: str
    agg: Agg

    def values(self, replay: Replay) -> pa.Array:
        ev, plan = replay.events, replay.schedule
        stored = replay.groups.blob(self.name)
        counters: dict[int, Counters] = {}
        moved: set[int] = set()
        lists, groups, signs = ev.rows.column(self.arg).to_pylist(), ev.group.tolist(), ev.sign.tolist()
        shown, found, at = iter(plan.group.tolist()), [], 0
        for upto, emitted in zip(plan.ev_end.tolist(), np.diff(plan.em_end, prepend=0).tolist(), strict=True):
            for group, summary, sign in zip(groups[at:upto], lists[at:upto], signs[at:upto], strict=True):
                if summary is not None:
                    _of(group, counters, stored).move(summary, sign)
                    moved.add(group)
            at = upto
            found += [_of(next(shown), counters, stored).answer(self.agg.share) for _ in range(emitted)]
        item = item_type(self.agg.type)
        for group in moved:
            stored[group] = counters[group].pack(item) if counters[group].rows else None
        return pa.array(found, self.agg.type)


def _of(group: int, counters: dict[int, Counters], stored: NDArray[np.object_]) -> Counters:
    if group not in counters:
        counters[group] = unpack(stored[group])
    return counters[group]


# --- sketches ---------------------------------------------------------------------------------------------------------


def map_size(k: int) -> int:
    """Logarithm of the places of a sketch's map."""
    return max(8, math.ceil(math.log2(32 * k)) + 1)


def to_texts(items: pa.Array) -> list[str]:
    """Items as the texts that sketches hold."""
    if pa.types.is_binary(items.type):
        return [v.hex() for v in items.to_pylist()]
    if pa.types.is_timestamp(items.type) or pa.types.is_duration(items.type):
        items = items.cast(pa.int64())
    if pa.types.is_floating(items.type):
        items = pc.add(items, pa.scalar(0, items.type))  # one zero
    return [str(v) for v in items.cast(pa.string()).to_pylist()]


def from_texts(texts: list[str], type: pa.DataType) -> pa.Array:
    """What ``to_texts`` was made of."""
    if pa.types.is_binary(type):
        return pa.array([bytes.fromhex(t) for t in texts], type)
    if pa.types.is_timestamp(type) or pa.types.is_duration(type):
        return pa.array([int(t) for t in texts], pa.int64()).cast(type)
    return pa.array(texts, pa.string()).cast(type)


@dataclass(frozen=True)
class Sketches:
    """A sketch of frequent items as an aggregate's state (``plan.aggregates.UserAggregate``)."""

    agg: Agg

    def init(self) -> Any:
        return frequent_strings_sketch(map_size(int(self.agg.param or 1)))

    def add(self, state: Any, value: bytes) -> Any:
        state.merge(frequent_strings_sketch.deserialize(value))
        return state

    def merge(self, a: Any, b: Any) -> Any:
        a.merge(b)
        return a

    def finish(self, state: Any) -> Any:
        rows = int(state.total_weight)
        top = state.get_frequent_items(frequent_items_error_type.NO_FALSE_POSITIVES, 0)
        error = max((upper - lower for _, _, lower, upper in top), default=0)
        least = max(error, _least(self.agg.share, rows))
        sure = [(text, lower, upper) for text, _, lower, upper in top if lower > least]
        items = from_texts([text for text, _, _ in sure], item_type(self.agg.type)).to_pylist()
        shown = [
            {"item": v, "count": int(low), "at_most": int(high)} for v, (_, low, high) in zip(items, sure, strict=True)
        ]
        shown.sort(key=lambda x: (-x["count"], _order(x["item"])))
        return _answer(shown[: int(self.agg.param or 1)], int(least), rows, NO_FALSE_POSITIVES)


class SketchState(Evaluate):
    """Stores sketches in their own form."""

    def pack(self, state: Any) -> bytes:
        return bytes(state.serialize())

    def unpack(self, stored: bytes) -> Any:
        return frequent_strings_sketch.deserialize(stored)


@dataclass(frozen=True)
class FrequentSketch:
    """Sketches of sub-windows, merged beforehand (``aggregates.state_runs``)."""

    name: str
    arg: str
    agg: Agg

    def values(self, replay: Replay) -> pa.Array:
        code = Sketches(self.agg)
        runs = StateRuns(f"{self.name}.states", SketchState(code), code.add)
        return pa.array(runs.answers(replay, replay.events.rows.column(self.arg)), self.agg.type)


def _exact(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return FrequentExact(name, arg, agg)


def _lists(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return FrequentLists(name, arg, agg)


def _sketches(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return FrequentSketch(name, arg, agg)


FREQUENT = Aggregate(
    "frequent",
    ("frequent",),
    listed="FREQUENT[_LISTS|_SKETCH]",
    takes=ORDERED,
    parameter=Parameter(1, MOST_K, "how many items as its second argument, as in FREQUENT(x, 10)", whole=True),
    share=Parameter(0, 1, "a share of the rows from 0 to 1 as its third argument, as in FREQUENT(x, 10, 0.01)"),
    type=answer_type,
    build=_exact,
    keeps=Keeps.MULTISET,
)
FREQUENT_LISTS = replace(
    FREQUENT, fn="frequent_lists", names=("frequent_lists",), listed="", build=_lists, keeps=Keeps.COUNTERS,
    summary="lists", exact=False,
)  # fmt: skip
FREQUENT_SKETCH = replace(
    FREQUENT, fn="frequent_sketch", names=("frequent_sketch",), listed="", build=_sketches, keeps=Keeps.STATES,
    summary="sketches", exact=False,
)  # fmt: skip
