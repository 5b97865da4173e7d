"""Multisets in order, as runs of counted rows: which rows can be at a rank is found without reading the others.

A row has a group (a number), a coarse key in the order of its values (``kernels.coarse``) and a count; counts add up
over the runs, so a step appends what it changed and looks nothing up. Each run carries its running totals: how many
values of a group lie below a key is known from one bisection a run. Cost of a step: what it changes, and groups asked
for x runs x logarithm (``state.runs``), whatever the multisets hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import concat_rows
from muntin.kernels.coarse import is_fine
from muntin.kernels.keys import key_ids
from muntin.kernels.runs import by_key, by_rank
from muntin.state.runs import add_run
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import int64s

GROUP, KEY, TOTAL = "__g", "__k", "__c"

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """Rows of several multisets. ``rows`` (None: there are none), ``asked``: which of the groups asked for each is of,
    ``count``: what its run says of it. By group asked for: ``least`` and ``greatest``: all rows with a key between them
    are here; ``below``: how many values come before those; ``size``: how many there are."""

    rows: pa.RecordBatch | None
    asked: Ints
    count: Ints
    least: Ints
    greatest: Ints
    below: Ints
    size: Ints


def around(state: ShardState, structure: str, number: Ints, changes: tuple[Ints, Ints], q: float) -> Found:
    """What can be at quantile ``q`` of the groups (ascending numbers) while at most ``changes`` (more, fewer) values
    come and go."""
    runs = [c.load() for c in state.list(structure)] if len(number) else []
    totals = [int64s(r, TOTAL) for r in runs]
    (asked, run, place), (least, greatest, below, size) = by_rank(
        [int64s(r, GROUP) for r in runs], [int64s(r, KEY) for r in runs], totals, number, changes, q
    )
    rows, order = gathered(runs, run, place)
    state.looked += len(place)
    count = np.empty(len(run), np.int64)
    for r in np.unique(run).tolist():
        here = run == r
        at = place[here]
        count[here] = totals[r][at] - np.where(at > 0, totals[r][at - 1], 0)
    return Found(rows, asked[order], count[order], least, greatest, below, size)


def between(
    state: ShardState, structure: str, key: str, ranges: tuple[Ints, Ints, Ints], further: int = 0
) -> tuple[pa.RecordBatch | None, Ints]:
    """Rows of groups (ascending numbers) with keys in closed ``ranges`` (number, low, high), and which range each is
    of.

    Runs are in order of group and of the column ``key``; ``further``: how many more rows of each run to take.
    """
    runs = [c.load() for c in state.list(structure)] if len(ranges[0]) else []
    groups, keys = [int64s(r, GROUP) for r in runs], [int64s(r, key) for r in runs]
    asked, run, place = by_key(groups, keys, *ranges, further)
    rows, order = gathered(runs, run, place)
    state.looked += len(place)
    return rows, asked[order]


def gathered(runs: Sequence[pa.RecordBatch], run: Ints, place: Ints) -> tuple[pa.RecordBatch | None, Ints]:
    """Rows at places of runs, run by run, and in which order of the arguments they are."""
    order = np.argsort(run, kind="stable")
    if len(order) == 0:
        return None, order
    number, first = np.unique(run[order], return_index=True)
    parts = np.split(place[order], first[1:])
    return concat_rows([runs[r].take(pa.array(p)) for r, p in zip(number.tolist(), parts, strict=True)]), order


def count_rows(state: ShardState, structure: str, values: pa.RecordBatch, group: Ints, key: Ints, count: Ints) -> None:
    """Add ``count`` of each row of ``values`` to the multiset of its ``group``; ``key``: coarse, in the rows' order."""
    add_run(state, structure, _run(values, group, key, count), _merged)


def counted_rows(state: ShardState, structure: str) -> tuple[pa.RecordBatch | None, Ints]:
    """All rows of the multisets (None: there are none), and how often each is there. Cost: all of them."""
    runs = [c.load() for c in state.list(structure)]
    if not runs:
        return None, np.empty(0, np.int64)
    whole = _merged(runs, True)
    return whole.drop_columns([GROUP, KEY, TOTAL]), np.diff(int64s(whole, TOTAL), prepend=0)


def _run(values: pa.RecordBatch, group: Ints, key: Ints, count: Ints) -> pa.RecordBatch:
    order = np.lexsort([key, group])
    columns = [c.take(pa.array(order)) for c in values.columns]
    own = [pa.array(group[order]), pa.array(key[order]), pa.array(np.cumsum(count[order]))]
    return pa.RecordBatch.from_arrays([*columns, *own], names=[*values.schema.names, GROUP, KEY, TOTAL])


def _merged(runs: list[pa.RecordBatch], every: bool) -> pa.RecordBatch:
    """Runs as one: equal rows with their counts added up, without those that come to nothing."""
    whole = concat_rows(runs)
    count = np.concatenate([np.diff(int64s(r, TOTAL), prepend=0) for r in runs])
    group, key = int64s(whole, GROUP), int64s(whole, KEY)
    values = whole.drop_columns([GROUP, KEY, TOTAL])
    if values.num_columns == 1 and is_fine(values.column(0).type) and values.column(0).null_count == 0:
        order = np.lexsort([key, group])
        new = np.append(True, (np.diff(group[order]) != 0) | (np.diff(key[order]) != 0))
        first, total = order[new], np.add.reduceat(count[order], np.flatnonzero(new))
    else:
        ids, kinds, first = key_ids([whole.column(GROUP), *values.columns], whole.num_rows)
        total = np.zeros(kinds, np.int64)
        np.add.at(total, ids, count)
    kept = first[total != 0]
    return _run(values.take(pa.array(kept)), group[kept], key[kept], total[total != 0])
