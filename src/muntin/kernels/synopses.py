"""Many sliding windows over one synopsis of panes (Golab 2006, sections 2.3.4 and 8.3).

A *cell* is what is told apart below time: a group and a signature. The partials of a cell stand in order of their pane;
what adds up is kept as running totals, so a window of any length costs two of them (the running synopsis), and of what
does not (MIN, MAX) the best of the window's panes slides with it.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from muntin.kernels.index import first_above
from muntin.kernels.lazy import kernel
from muntin.kernels.sums import _accumulate, _carry, _double, _round
from muntin.kernels.types import B1, F64, I64, MF64, MI64, MI64x2

_I64x2 = nb.types.Array(nb.int64, 2, "C", readonly=True)
_MB1x2 = nb.types.Array(nb.boolean, 2, "C")
_B1x2 = nb.types.Array(nb.boolean, 2, "C", readonly=True)

LEAST = np.iinfo(np.int64).min
"""The key of no value: below every other."""

BLOCK = 64
"""Instants of a window that are worked out together."""


@kernel(_MB1x2(_I64x2, I64, I64, I64), cache=True)
def fulfilled(codes, terms, begins, atoms):  # type: ignore[no-untyped-def]
    """By predicate and combination of ``codes`` (attribute by combination) whether it is fulfilled.

    Predicate p has the terms [terms[p], terms[p + 1]), a term the atoms [begins[t], begins[t + 1]), four numbers each:
    attribute, first code, last code, whether it is any other code but 0. Loops over combinations are the inner ones.
    """
    n = codes.shape[1]
    out = np.zeros((len(terms) - 1, n), np.bool_)
    holds = np.empty(n, np.bool_)
    for p in range(len(terms) - 1):
        for t in range(terms[p], terms[p + 1]):
            holds[:] = True
            for a in range(begins[t], begins[t + 1]):
                code, low, high = codes[atoms[4 * a]], atoms[4 * a + 1], atoms[4 * a + 2]
                if atoms[4 * a + 3]:
                    for i in range(n):
                        holds[i] &= (code[i] > 0) & ((code[i] < low) | (code[i] > high))
                else:
                    for i in range(n):
                        holds[i] &= (code[i] >= low) & (code[i] <= high)
            for i in range(n):
                out[p, i] |= holds[i]
    return out


@kernel(nb.types.Tuple((MI64, MI64))(_B1x2, I64), cache=True)
def cells_of(holds, cell_signature):  # type: ignore[no-untyped-def]
    """(where each predicate's cells begin, the cells), cells of one predicate ascending. ``holds``: signature by
    predicate."""
    predicates = holds.shape[1]
    begin = np.zeros(predicates + 1, np.int64)
    for c in range(len(cell_signature)):
        for p in range(predicates):
            if holds[cell_signature[c], p]:
                begin[p + 1] += 1
    for p in range(predicates):
        begin[p + 1] += begin[p]
    out = np.empty(begin[predicates], np.int64)
    used = begin[:-1].copy()
    for c in range(len(cell_signature)):
        for p in range(predicates):
            if holds[cell_signature[c], p]:
                out[used[p]] = c
                used[p] += 1
    return begin, out


@kernel(nb.types.Tuple((MI64, MI64))(I64, nb.int64), cache=True)
def by_cell(cell, cells):  # type: ignore[no-untyped-def]
    """(where each cell's rows begin, the rows by cell), rows of one cell as they stand."""
    begin = np.zeros(cells + 1, np.int64)
    for c in cell:
        begin[c + 1] += 1
    for c in range(cells):
        begin[c + 1] += begin[c]
    order = np.empty(len(cell), np.int64)
    used = begin[:-1].copy()
    for i in range(len(cell)):
        order[used[cell[i]]] = i
        used[cell[i]] += 1
    return begin, order


@kernel(nb.void(I64, MI64x2), cache=True)
def running(begin, adds):  # type: ignore[no-untyped-def]
    """Make totals since the beginning of each cell of what adds up, in place."""
    for c in range(len(begin) - 1):
        for i in range(begin[c] + 1, begin[c + 1]):
            for a in range(adds.shape[1]):
                adds[i, a] += adds[i - 1, a]


@nb.njit(cache=True)
def _tick(time, slide, origin):  # type: ignore[no-untyped-def]
    """The first multiple of the slide at or after a time."""
    return -((origin - time) // slide) * slide + origin


@nb.njit(cache=True)
def _next_pane(cells, begin, pane, after):  # type: ignore[no-untyped-def]
    """The first pane after an instant over some cells; the largest number where there is none."""
    found = np.iinfo(np.int64).max
    for c in cells:
        at = first_above(pane, begin[c], begin[c + 1], after)
        if at < begin[c + 1] and pane[at] < found:
            found = pane[at]
    return found


@nb.njit(cache=True)
def _additions(cells, local, begin, pane, adds, columns, start, slide, length, ticks, out):  # type: ignore[no-untyped-def]
    """Add to ``out[instant, group, column]`` what the windows that end at some instants hold."""
    for at in range(len(cells)):
        c, g = cells[at], local[at]
        low, high = begin[c], begin[c + 1]
        i = first_above(pane, low, high, start - length)
        j = first_above(pane, i, high, start)
        for k in range(ticks):
            time = start + k * slide
            while j < high and pane[j] <= time:
                j += 1
            while i < high and pane[i] <= time - length:
                i += 1
            if i >= j:
                continue
            for x in range(len(columns)):
                a = columns[x]
                out[k, g, x] += adds[j - 1, a] - (adds[i - 1, a] if i > low else 0)


@nb.njit(cache=True)
def _extremes(cells, local, begin, pane, keys, columns, start, slide, length, ticks, out):  # type: ignore[no-untyped-def]
    """Raise ``out[instant, group, column]`` to the greatest key of the windows that end at some instants."""
    longest = 0
    for c in cells:
        longest = max(longest, begin[c + 1] - begin[c])
    queue = np.empty(longest, np.int64)
    for at in range(len(cells)):
        c, g = cells[at], local[at]
        low, high = begin[c], begin[c + 1]
        for x in range(len(columns)):
            e = columns[x]
            head = tail = 0
            i = first_above(pane, low, high, start - length)
            for k in range(ticks):
                time = start + k * slide
                while i < high and pane[i] <= time:
                    while tail > head and keys[queue[tail - 1], e] <= keys[i, e]:
                        tail -= 1
                    queue[tail] = i
                    tail += 1
                    i += 1
                while head < tail and pane[queue[head]] <= time - length:
                    head += 1
                if head < tail and keys[queue[head], e] > out[k, g, x]:
                    out[k, g, x] = keys[queue[head], e]


@nb.njit(cache=True)
def _cells_read(own, usable, cell_layout, cell_group):  # type: ignore[no-untyped-def]
    """(those of a predicate's cells that a reader can read, the place of each one's group, the groups)."""
    cells = np.empty(len(own), np.int64)
    local = np.empty(len(own), np.int64)
    groups = np.empty(len(own), np.int64)
    n = g = 0
    for c in own:
        if usable[cell_layout[c]]:
            if g == 0 or groups[g - 1] != cell_group[c]:
                groups[g] = cell_group[c]
                g += 1
            cells[n] = c
            local[n] = g - 1
            n += 1
    return cells[:n], local[:n], groups[:g]


@nb.njit(cache=True)
def _block(cells, begin, pane, time, length, slide, origin, until, ungrouped):  # type: ignore[no-untyped-def]
    """(the first instant from ``time`` on that has something to show, how many are worked out together: 0 for none).
    Grouped, instants without rows are passed over."""
    if time >= until:
        return time, 0
    if ungrouped:
        return time, min(BLOCK, (until - 1 - time) // slide + 1)
    after = _next_pane(cells, begin, pane, time - length)
    if after == np.iinfo(np.int64).max:
        return time, 0
    if after > time:
        time = _tick(after, slide, origin)
        if time >= until:
            return time, 0
    last = LEAST
    for c in cells:
        if begin[c + 1] > begin[c] and pane[begin[c + 1] - 1] > last:
            last = pane[begin[c + 1] - 1]
    ticks = min(BLOCK, (until - 1 - time) // slide + 1)
    return time, min(ticks, max(1, (last + length - 1 - time) // slide + 1))


@nb.njit(cache=True)
def _put(total, greatest, reader, time, slide, groups, add, key, ungrouped, where, sums, best, used):  # type: ignore[no-untyped-def]
    """Write what a reader shows at some instants behind the rows used; how many are used then."""
    for k in range(total.shape[0]):
        for h in range(len(groups)):
            if ungrouped or total[k, h, 0] > 0:
                where[used, 0], where[used, 1], where[used, 2] = reader, time + k * slide, groups[h]
                for x in range(len(add)):
                    sums[used, add[x]] = total[k, h, x]
                for x in range(len(key)):
                    best[used, key[x]] = greatest[k, h, x]
                used += 1
    return used


@nb.njit(cache=True)
def _room(rows, more):  # type: ignore[no-untyped-def]
    """The matrix with room for more rows."""
    wide = np.zeros((max(2 * rows.shape[0], rows.shape[0] + more), rows.shape[1]), np.int64)
    wide[: rows.shape[0]] = rows
    return wide


@kernel(
    nb.types.Tuple((MI64x2, MI64x2, MI64x2, nb.int64))(
        I64, I64, I64, I64, _I64x2, _I64x2, I64, I64, _B1x2, _I64x2, I64, I64, I64, I64, nb.boolean, nb.int64
    ),
    cache=True,
)
def answers(  # type: ignore[no-untyped-def]
    begin, cell_group, cell_layout, pane, adds, keys, predicate_begin, predicate_cells, usable, readers, add_begin,
    add_columns, key_begin, key_columns, ungrouped, most
):  # fmt: skip
    """The windows of all readers at all of their instants.

    ``begin``: where each cell's rows of ``pane`` (its end, ascending), ``adds`` (running totals; the first counts
    rows) and ``keys`` begin. ``usable``: reader by layout, whether it can read panes of it. ``readers``: rows of
    (predicate, length, slide, origin, first instant, end of instants). ``add_begin``, ``add_columns``, ``key_...``: the
    columns that each reader wants. An ungrouped reader has an answer at every instant, a group where it has rows.

    Returns rows of (reader, instant, group), their sums and greatest keys (``LEAST``: none) and how many readers were
    finished: fewer than all where there were more than ``most`` rows.
    """
    where = np.zeros((1024, 3), np.int64)
    sums = np.zeros((1024, adds.shape[1]), np.int64)
    best = np.zeros((1024, keys.shape[1]), np.int64)
    used = 0
    for m in range(readers.shape[0]):
        p, length, slide, origin = readers[m, 0], readers[m, 1], readers[m, 2], readers[m, 3]
        own = predicate_cells[predicate_begin[p] : predicate_begin[p + 1]]
        cells, local, groups = _cells_read(own, usable[m], cell_layout, cell_group)
        if ungrouped:
            groups = np.zeros(1, np.int64)
        add = add_columns[add_begin[m] : add_begin[m + 1]]
        key = key_columns[key_begin[m] : key_begin[m + 1]]
        time, until = _tick(readers[m, 4], slide, origin), readers[m, 5]
        while True:
            time, ticks = _block(cells, begin, pane, time, length, slide, origin, until, ungrouped)
            if ticks == 0:
                break
            total = np.zeros((ticks, len(groups), len(add)), np.int64)
            greatest = np.full((ticks, len(groups), len(key)), LEAST)
            _additions(cells, local, begin, pane, adds, add, time, slide, length, ticks, total)
            if len(key):
                _extremes(cells, local, begin, pane, keys, key, time, slide, length, ticks, greatest)
            more = ticks * len(groups)
            if used + more > where.shape[0]:
                where, sums, best = _room(where, more), _room(sums, more), _room(best, more)
            used = _put(total, greatest, m, time, slide, groups, add, key, ungrouped, where, sums, best, used)
            if used > most:
                return where[:used], sums[:used], best[:used], m
            time += ticks * slide
    return where[:used], sums[:used], best[:used], readers.shape[0]


@kernel(MI64(I64, nb.int64, B1, I64), cache=True)
def fold_sum(ids, count, valid, values):  # type: ignore[no-untyped-def]
    """Sums of what adds up inside 64 bits (of all where ``valid`` is empty)."""
    out = np.zeros(count, np.int64)
    masked = len(valid) > 0
    for i in range(len(ids)):
        if not masked or valid[i]:
            out[ids[i]] += values[i]
    return out


@kernel(MI64(I64, nb.int64, B1, I64), cache=True)
def fold_key(ids, count, valid, keys):  # type: ignore[no-untyped-def]
    """The greatest key of each id; ``LEAST`` where there is none."""
    out = np.full(count, LEAST)
    masked = len(valid) > 0
    for i in range(len(ids)):
        if (not masked or valid[i]) and keys[i] > out[ids[i]]:
            out[ids[i]] = keys[i]
    return out


@kernel(nb.void(I64, B1, F64, MI64x2, nb.int64, MI64x2), cache=True)
def fold_doubles(ids, valid, values, limbs, offset, odd):  # type: ignore[no-untyped-def]
    """Add doubles to the limbs of their ids (``kernels.sums``); ``odd``: how many are NaN, +Inf and -Inf."""
    masked = len(valid) > 0
    for i in range(len(ids)):
        if masked and not valid[i]:
            continue
        v, k = values[i], ids[i]
        if np.isnan(v):
            odd[k, 0] += 1
        elif np.isinf(v):
            odd[k, 1 if v > 0 else 2] += 1
        else:
            _accumulate(limbs, k, offset, v, 1)
    for k in range(limbs.shape[0]):
        _carry(limbs, k)


@kernel(nb.void(MI64x2, nb.int64, _I64x2, MF64, MF64), cache=True)
def round_doubles(limbs, offset, odd, out, rest):  # type: ignore[no-untyped-def]
    """The doubles nearest to sums in limbs, by the NaNs and infinities among them (changes the limbs' form). ``rest``
    (filled unless empty): what rounding left over, itself rounded."""
    work = np.empty(limbs.shape[1] + 1, np.int64)
    for i in range(len(out)):
        out[i] = _double(limbs, i, offset, work, odd[i, 0], odd[i, 1], odd[i, 2])
        if len(rest) > 0:
            rest[i] = 0.0
            if np.isfinite(out[i]) and out[i] != 0.0:
                _accumulate(limbs, i, offset, out[i], -1)
                rest[i] = _round(limbs, i, offset, work)
