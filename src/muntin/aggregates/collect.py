"""COLLECT: the values as an array, in order of value; COLLECT_SET, each value once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.aggregates.accumulators import Replay
from muntin.aggregates.description import VALUES, Aggregate, Keeps
from muntin.aggregates.multisets import lists


@dataclass(frozen=True)
class Collect:
    """COLLECT: the values of the group as an array, in order of value."""

    name: str
    arg: str

    def values(self, replay: Replay) -> pa.Array:
        offsets, items = lists(replay, f"{self.name}.values", self.arg)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


COLLECT = Aggregate(
    "collect",
    ("collect", "array_agg", "collect_list"),
    spark="COLLECT_LIST",
    takes=VALUES,
    type=pa.list_,
    build=lambda name, agg, arg, functions: Collect(name, arg),
    keeps=Keeps.MULTISET,
    distinct="yes",
    empty=(),
)
COLLECT_SET = replace(COLLECT, names=("collect_set", "array_unique_agg"), distinct="always", listed="")
