"""Values of a pane in less than all of them: what APPROX_* aggregates read of a synopsis.

A sketch is a list of values with weights, like frequency counts, so the same passes answer from either; what it leaves
out is written beside it, and the answer has bounds by that. What is kept depends on the values of a pane alone: neither
on how they were cut into batches nor on shards, restarts or chance. (KLL sketches throw coins, and the ones of Apache
DataSketches cannot be told which: a batch that runs again would give other answers.)

* hashes: of few values their hashes; of many a HyperLogLog sketch, as numbers of registers and what they hold.
* ranks: values in equal distances of rank, each for those around it (as Arasu and Manku 2004 keep them by block).
* tops: the most frequent values (as the lists of Golab 2006, 6.2).

Ranks and tops are made when a pane is whole; until then its values wait, counted.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from datasketches import hll_sketch
from numpy.typing import NDArray

from muntin.kernels.hashing import hash_columns
from muntin.kernels.keys import key_ids
from muntin.operators.synopsis_values import VALUE, coded
from muntin.state.pane_partials import Partials

Ints = NDArray[np.int64]

ERROR, CUT = "s.error", "s.cut"
"""Columns of sketches that add up: by how many rows a rank, or a count that is not kept, is wrong (once a cell); how
often a value that is not kept occurs at most (in each row of the cell)."""


def exact_up_to(registers: int) -> int:
    """How many values of a window are counted by their hashes; ``registers``: the logarithm of their number."""
    return (1 << registers) // 8


def hashes_of(values: pa.Array) -> pa.Array:
    """Hashes of 63 bits; NULL for NULL."""
    found = hash_columns([values], len(values)) & np.int64(0x7FFF_FFFF_FFFF_FFFF)
    return pa.array(found, mask=np.asarray(values.is_null()) if values.null_count else None)


def slots(values: Ints, registers: int) -> tuple[Ints, Ints]:
    """(register, what it is to hold at least) of hashes, and of what became of hashes (below 0)."""
    code, rest = -1 - values, values >> registers
    first = np.frexp((rest & -rest).astype(np.float64))[1].astype(np.int64)
    rank = np.where(rest == 0, 64 - registers, first)
    plain = values >= 0
    return np.where(plain, values & ((1 << registers) - 1), code >> 6), np.where(plain, rank, code & 63)


def _cells(p: Partials) -> tuple[Ints, int]:
    """The pane, signature and group of each row, as a number."""
    groups = [p.groups.column(n) for n in p.groups.schema.names if n != VALUE]
    ids, count, _ = key_ids([pa.array(p.pane), pa.array(p.sig), *groups], len(p.pane))
    return ids, count


def registered(registers: int) -> Callable[[Partials], Partials]:
    """Hashes, those of cells with many of them as the registers that they set."""

    def made(p: Partials) -> Partials:
        cell, cells = _cells(p)
        values = np.array(p.groups.column(VALUE).to_numpy(), np.int64)
        many = np.bincount(cell, minlength=cells) > 2 * exact_up_to(registers)
        many[cell[values < 0]] = True
        if not many.any():
            return p
        rows = np.flatnonzero(many[cell])
        slot, rank = slots(values[rows], registers)
        order = np.lexsort([rank, slot, cell[rows]])
        key = np.stack([cell[rows][order], slot[order]])
        last = np.append((key[:, 1:] != key[:, :-1]).any(axis=0), True)
        values[rows] = -1 - ((slot << 6) | rank)
        kept = np.sort(np.append(np.flatnonzero(~many[cell]), rows[order[last]]))
        at = p.groups.schema.get_field_index(VALUE)
        return p.with_groups(p.groups.set_column(at, VALUE, pa.array(values))).where(kept)

    return made


def ranks(p: Partials, accuracy: int) -> Partials:
    """Counts of whole panes, those of cells with many values as some of these: no rank in what is left is wrong by more
    than 1 / ``accuracy`` of the cell's rows."""
    cell, cells = _cells(p)
    code, _ = coded([p.groups.column(VALUE)], p.groups.schema.field(VALUE).type)
    rows = np.zeros(cells, np.int64)
    np.add.at(rows, cell, p.n)
    step = np.maximum(2 * rows // accuracy, 1)
    thinned = (np.bincount(cell, minlength=cells) > accuracy // 2 + 3) & (step > 1)
    if not thinned.any():
        return p
    own = np.flatnonzero(thinned[cell])
    order = own[np.lexsort([code[own], cell[own]])]
    which, rank, weight, least = _representatives(rows[thinned], step[thinned])
    upto = np.cumsum(p.n[order])
    start = np.append(0, np.cumsum(rows[thinned]))[:-1]
    kept = order[np.searchsorted(upto, start[which] + rank, side="right")]
    error = np.where(least, (step[thinned] // 2)[which], 0)
    rest = np.flatnonzero(~thinned[cell])
    whole = p.where(np.append(rest, kept))
    counts, errors = np.append(p.n[rest], weight), np.append(np.zeros(len(rest), np.int64), error)
    return Partials(whole.pane, whole.sig, whole.groups, counts, {ERROR: errors}).folded()


def _representatives(rows: Ints, step: Ints) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """(cell, rank, weight, whether it is the first of its cell): of each ``step`` ranks the one in the middle, the
    least and the greatest for themselves."""
    chunks = -(-rows // step)
    which = np.repeat(np.arange(len(rows)), chunks)
    number = np.arange(len(which)) - np.repeat(np.cumsum(chunks) - chunks, chunks)
    begin = number * step[which]
    weight = np.minimum(step[which], rows[which] - begin)
    rank = begin + weight // 2
    weight = weight - (number == 0) - (number == chunks[which] - 1)
    ends = np.arange(len(rows))
    zero, one = np.zeros(len(rows), np.int64), np.ones(len(rows), np.int64)
    some = weight > 0
    parts = (ends, zero, one), (which[some], rank[some], weight[some]), (ends, rows - 1, one)
    cells, at, by = (np.concatenate(x) for x in zip(*parts, strict=True))
    least: NDArray[np.bool_] = np.arange(len(cells)) < len(rows)
    return cells, at, by, least


def tops(p: Partials, most: int) -> Partials:
    """Counts of whole panes, of cells with more than ``most`` values those of the most frequent ones."""
    cell, cells = _cells(p)
    cut = np.bincount(cell, minlength=cells) > most
    if not cut.any():
        return p
    code, _ = coded([p.groups.column(VALUE)], p.groups.schema.field(VALUE).type)
    order = np.lexsort([code, -p.n, cell])
    begin = np.searchsorted(cell[order], np.arange(cells))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - begin[cell[order]]
    left_out = np.zeros(cells, np.int64)
    left_out[cut] = p.n[order[begin[cut] + most]]
    kept = np.flatnonzero(place < most)
    found = p.where(kept)
    error = np.where(place[kept] == 0, left_out[cell[kept]], 0)
    return Partials(found.pane, found.sig, found.groups, found.n, {ERROR: error, CUT: left_out[cell[kept]]})


_HEADER = struct.Struct("<8B3d2I")
"""Of a HyperLogLog sketch of Apache DataSketches in its widest form."""


class Estimates:
    """Estimates of how many values set the registers of HyperLogLog sketches, with bounds of three standard errors, by
    Apache DataSketches. A sketch is told by the sums of 2**-r over its registers (r below 32, and the others) and how
    many hold nothing, which is what its estimate depends on."""

    def __init__(self, registers: int) -> None:
        self._registers = registers
        self._known: dict[tuple[float, float, int], tuple[int, int, int]] = {}

    def of(self, near: float, far: float, nothing: int) -> tuple[int, int, int]:
        """(estimate, low, high), rounded."""
        key = near, far, nothing
        if key not in self._known:
            merged, form = 16, 10  # a union, so that no order of arrival matters; eight bits a register
            told = _HEADER.pack(10, 1, 7, self._registers, 0, merged, 0, form, 0.0, near, far, nothing, 0)
            sketch = hll_sketch.deserialize(told + bytes(1 << self._registers))
            low, high = sketch.get_lower_bound(3), sketch.get_upper_bound(3)
            self._known[key] = round(sketch.get_estimate()), int(np.floor(low)), int(np.ceil(high))
        return self._known[key]
