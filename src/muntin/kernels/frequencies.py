"""Many sliding windows over frequency counts: values with their counts by pane (Golab 2006, sections 2.3.4f and 8.3).

Rows of a group, or of a cell of it, stand in order of their panes, so what a window holds of it is a *span* of rows.
Windows of any length and slide are spans of the same rows, and are answered from one pass over them.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from muntin.kernels.index import first_above
from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MB1, MI64, MI64x2

MF64x2 = nb.types.Array(nb.float64, 2, "C")
_I64x2 = nb.types.Array(nb.int64, 2, "C", readonly=True)
_B1x2 = nb.types.Array(nb.boolean, 2, "C", readonly=True)


@nb.njit(cache=True)
def _cells_of_group(cells, cell_group, group):  # type: ignore[no-untyped-def]
    """The first of some cells (ascending, and so by group) that is of a group."""
    low, high = 0, len(cells)
    while low < high:
        middle = (low + high) // 2
        if cell_group[cells[middle]] < group:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(
    nb.types.Tuple((MI64, MI64x2))(_I64x2, I64, I64, I64, I64, _B1x2, I64, I64),
    cache=True,
)
def cell_spans(asked, predicate_begin, predicate_cells, cell_group, cell_layout, usable, begin, pane):  # type: ignore[no-untyped-def]
    """(where the spans of each answer begin, spans as (low, high)): what windows hold of the cells of their predicate.

    ``asked``: rows of (window, predicate, group, instant, length); ``usable``: window by layout; ``begin``: where each
    cell's rows of ``pane`` begin. Cost: a bisection a cell of the group.
    """
    starts = np.zeros(len(asked) + 1, np.int64)
    spans = np.empty((max(1024, len(asked)), 2), np.int64)
    used = 0
    for a in range(len(asked)):
        w, p, g, time, length = asked[a, 0], asked[a, 1], asked[a, 2], asked[a, 3], asked[a, 4]
        own = predicate_cells[predicate_begin[p] : predicate_begin[p + 1]]
        at = _cells_of_group(own, cell_group, g)
        while at < len(own) and cell_group[own[at]] == g:
            c = own[at]
            at += 1
            if not usable[w, cell_layout[c]]:
                continue
            low = first_above(pane, begin[c], begin[c + 1], time - length)
            high = first_above(pane, low, begin[c + 1], time)
            if high > low:
                if used == len(spans):
                    wider = np.empty((2 * used, 2), np.int64)
                    wider[:used] = spans
                    spans = wider
                spans[used, 0], spans[used, 1] = low, high
                used += 1
        starts[a + 1] = used
    return starts, spans[:used]


@kernel(MI64x2(_I64x2, I64, I64), cache=True)
def group_spans(asked, begin, pane):  # type: ignore[no-untyped-def]
    """Spans as (low, high) of rows by group: ``asked``: rows of (group, instant, length)."""
    out = np.empty((len(asked), 2), np.int64)
    for a in range(len(asked)):
        g, time, length = asked[a, 0], asked[a, 1], asked[a, 2]
        out[a, 0] = first_above(pane, begin[g], begin[g + 1], time - length)
        out[a, 1] = first_above(pane, out[a, 0], begin[g + 1], time)
    return out


@kernel(MI64(I64, _I64x2, I64), cache=True)
def totals(starts, spans, weight):  # type: ignore[no-untyped-def]
    """By answer what the rows of its spans weigh together."""
    before = np.zeros(len(weight) + 1, np.int64)
    for i in range(len(weight)):
        before[i + 1] = before[i] + weight[i]
    out = np.zeros(len(starts) - 1, np.int64)
    for a in range(len(out)):
        for s in range(starts[a], starts[a + 1]):
            out[a] += before[spans[s, 1]] - before[spans[s, 0]]
    return out


@nb.njit(cache=True)
def _selected(code, weight, spans, rank, levels, codes, weights):  # type: ignore[no-untyped-def]
    """The code of the value with a rank among the rows of some spans: of what is left, the half in which it lies is
    kept, bit by bit. Cost: twice the rows. ``codes``, ``weights``: room for these."""
    n = 0
    for s in range(len(spans)):
        for i in range(spans[s, 0], spans[s, 1]):
            codes[n], weights[n] = code[i], weight[i]
            n += 1
    for level in range(levels - 1, -1, -1):
        if n == 1:
            break
        below = 0
        for i in range(n):
            below += (1 - ((codes[i] >> level) & 1)) * weights[i]
        bit = 0 if rank < below else 1
        rank -= bit * below
        kept = 0
        for i in range(n):
            codes[kept], weights[kept] = codes[i], weights[i]
            kept += ((codes[i] >> level) & 1) == bit
        n = kept
    return codes[0]


@nb.njit(cache=True)
def _followed(code, weight, levels, asked, starts, spans, rank, out):  # type: ignore[no-untyped-def]
    """Write the codes of the values with the ranks of some answers (``asked``), whose spans are within these rows.

    Rows are parted by one bit of their codes after another, most significant first, and all spans are followed through
    the parts (a wavelet matrix that is made and read level by level). Changes its arguments.
    """
    n = len(code)
    zeros, lighter = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    codes, weights = np.empty(n, np.int64), np.empty(n, np.int64)
    for level in range(levels - 1, -1, -1):
        for i in range(n):
            low = 1 - ((code[i] >> level) & 1)
            zeros[i + 1] = zeros[i] + low
            lighter[i + 1] = lighter[i] + low * weight[i]
        ones = zeros[n]
        for a in asked:
            below = 0
            for s in range(starts[a], starts[a + 1]):
                below += lighter[spans[s, 1]] - lighter[spans[s, 0]]
            if rank[a] < below:
                for s in range(starts[a], starts[a + 1]):
                    spans[s, 0], spans[s, 1] = zeros[spans[s, 0]], zeros[spans[s, 1]]
            else:
                rank[a] -= below
                out[a] |= 1 << level
                for s in range(starts[a], starts[a + 1]):
                    spans[s, 0] += ones - zeros[spans[s, 0]]
                    spans[s, 1] += ones - zeros[spans[s, 1]]
        low, high = 0, ones
        for i in range(n):
            if (code[i] >> level) & 1:
                codes[high], weights[high] = code[i], weight[i]
                high += 1
            else:
                codes[low], weights[low] = code[i], weight[i]
                low += 1
        code, codes = codes, code
        weight, weights = weights, weight


@kernel(MI64(MI64, MI64, nb.int64, I64, I64, I64, I64, MI64x2, MI64), cache=True)
def ranked(code, weight, levels, begin, asked_begin, asked, starts, spans, rank):  # type: ignore[no-untyped-def]
    """By answer the code of the value with a rank (from 0, by weight) among the rows of its spans.

    Rows and answers stand by group (``begin``; ``asked``: answers, those of a group from ``asked_begin`` on); codes are
    below ``2**levels``. Changes its arguments. Cost of a group: twice the rows of all spans, or ``levels`` times its
    rows and spans, whichever is less.
    """
    out = np.zeros(len(rank), np.int64)
    longest = 0
    for g in range(len(begin) - 1):
        longest = max(longest, begin[g + 1] - begin[g])
    codes, weights = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for g in range(len(begin) - 1):
        own = asked[asked_begin[g] : asked_begin[g + 1]]
        low, high = begin[g], begin[g + 1]
        size = 0
        for a in own:
            for s in range(starts[a], starts[a + 1]):
                size += spans[s, 1] - spans[s, 0]
        if 2 * size <= levels * (high - low):
            for a in own:
                mine = spans[starts[a] : starts[a + 1]]
                out[a] = _selected(code, weight, mine, rank[a], levels, codes, weights)
        elif len(own):
            for a in own:
                for s in range(starts[a], starts[a + 1]):
                    spans[s, 0] -= low
                    spans[s, 1] -= low
            _followed(code[low:high], weight[low:high], levels, own, starts, spans, rank, out)
    return out


@kernel(MI64(I64, nb.int64, I64, I64, _I64x2), cache=True)
def distinct(code, kinds, begin, pane, asked):  # type: ignore[no-untyped-def]
    """By answer how many values its rows have.

    Rows by group, in order of panes; ``asked``: rows of (group, instant, length), in order of group and instant;
    ``kinds``: codes are below it. Each value counts where it was last, which moves on with time: windows of all lengths
    read the same counts. Cost: rows and answers, each times the logarithm of the panes.
    """
    out = np.zeros(len(asked), np.int64)
    last = np.full(kinds, -1, np.int64)
    place = np.empty(len(code), np.int64)
    a = 0
    while a < len(asked):
        g = asked[a, 0]
        low, high = begin[g], begin[g + 1]
        panes = 0
        for i in range(low, high):
            if i > low and pane[i] != pane[i - 1]:
                panes += 1
            place[i] = panes
        tree = np.zeros(panes + 2, np.int64)
        first = first_above(pane, low, high, asked[a, 1])
        seen = 0
        for i in range(low, first):  # by value the last place, before any is asked for
            seen += last[code[i]] < 0
            last[code[i]] = i
        for i in range(low, first):
            if last[code[i]] == i:
                tree[place[i] + 1] += 1
        for i in range(1, panes + 2):
            above = i + (i & -i)
            if above < panes + 2:
                tree[above] += tree[i]
        while a < len(asked) and asked[a, 0] == g:
            upto = first_above(pane, first, high, asked[a, 1])
            for i in range(first, upto):
                before = last[code[i]]
                if before < 0:
                    seen += 1
                else:
                    _count(tree, place[before] + 1, -1)
                _count(tree, place[i] + 1, 1)
                last[code[i]] = i
            first = upto
            start = first_above(pane, low, first, asked[a, 1] - asked[a, 2])
            out[a] = seen - _upto(tree, place[start]) if start < first else 0
            a += 1
        for i in range(low, first):
            last[code[i]] = -1
    return out


@kernel(nb.void(MI64, nb.int64, nb.int64), cache=True)
def _count(tree, place, by):  # type: ignore[no-untyped-def]
    while place < len(tree):
        tree[place] += by
        place += place & -place


@kernel(nb.int64(MI64, nb.int64), cache=True)
def _upto(tree, place):  # type: ignore[no-untyped-def]
    found = 0
    while place > 0:
        found += tree[place]
        place -= place & -place
    return found


@kernel(nb.int64(I64, I64, nb.int64, nb.int64, nb.int64, MI64, MI64, I64, MI64, MI64, nb.int64), cache=True)
def _move(code, weight, low, high, sign, count, extra, more, there, at, used):  # type: ignore[no-untyped-def]
    """Add or take away some rows; how many values are there then. ``there``: those that are; ``at``: their places."""
    for i in range(low, high):
        c = code[i]
        count[c] += sign * weight[i]
        if len(extra):
            extra[c] += sign * more[i]
        if at[c] < 0:
            at[c] = used
            there[used] = c
            used += 1
        elif count[c] == 0:
            used -= 1
            moved = there[used]
            there[at[c]] = moved
            at[moved] = at[c]
            at[c] = -1
    return used


@kernel(MI64(MI64, MI64, nb.int64), cache=True)
def _greatest(count, there, k):  # type: ignore[no-untyped-def]
    """At most k of the values that are there: those with the greatest counts, of equal ones the least codes."""
    if len(there) <= k:
        return there.copy()
    counts = np.empty(len(there), np.int64)
    for i in range(len(there)):
        counts[i] = count[there[i]]
    least = np.partition(counts, len(there) - k)[len(there) - k]
    out = np.empty(k, np.int64)
    used = equal = 0
    same = np.empty(len(there), np.int64)
    for i in range(len(there)):
        if counts[i] > least:
            out[used] = there[i]
            used += 1
        elif counts[i] == least:
            same[equal] = there[i]
            equal += 1
    out[used:] = np.sort(same[:equal])[: k - used]
    return out


@kernel(nb.boolean(nb.int64, nb.int64, nb.int64, nb.int64), cache=True)
def _beats(n, c, least, code):  # type: ignore[no-untyped-def]
    """Whether a value with code ``c`` that came ``n`` times goes before one with ``code`` that came ``least`` times."""
    return n > least or (n == least and c < code)


@kernel(nb.int64(MI64, MI64, MB1, nb.int64, nb.int64, MI64), cache=True)
def _keep(best, count, held, size, keep, least):  # type: ignore[no-untyped-def]
    """Of the candidates ``best[:size]`` keep the greatest alone, the last of which ``least`` is; how many they are."""
    kept = _greatest(count, best[:size], keep)
    for i in range(size):
        held[best[i]] = False
    least[0] = least[1] = -1
    for i in range(len(kept)):
        c = kept[i]
        best[i], held[c] = c, True
        if least[0] < 0 or _beats(least[0], least[1], count[c], c):
            least[0], least[1] = count[c], c
    if len(kept) < keep:
        least[0] = least[1] = -1
    return len(kept)


@kernel(nb.types.UniTuple(nb.int64, 2)(I64, nb.int64, nb.int64, MI64, MI64, MB1, nb.int64, nb.int64, MI64), cache=True)
def _note(code, low, high, count, best, held, size, keep, least):  # type: ignore[no-untyped-def]
    """Take those of some rows' values for candidates that now go before the last of the greatest; (how many candidates
    there are, how many were gone through to keep them few). What no row adds to stays behind."""
    touched = 0
    for i in range(low, high):
        c = code[i]
        if not held[c] and (least[0] < 0 or _beats(count[c], c, least[0], least[1])):
            if size == len(best):
                touched += size
                size = _keep(best, count, held, size, keep, least)
                if not _beats(count[c], c, least[0], least[1]):
                    continue
            best[size], held[c] = c, True
            size += 1
    return size, touched


@kernel(nb.void(MI64, MI64, MI64, MB1, MI64, MI64), cache=True)
def _forget(there, count, at, held, extra, least):  # type: ignore[no-untyped-def]
    """Begin counting anew: of the values ``there`` none has come."""
    for c in there:
        count[c], at[c], held[c] = 0, -1, False
        if len(extra):
            extra[c] = 0
    least[:] = -1


@kernel(nb.int64(MI64, MI64, MI64, MB1, nb.int64, nb.int64, MI64), cache=True)
def _among_all(there, best, count, held, size, keep, least):  # type: ignore[no-untyped-def]
    """Take the greatest of all values for the candidates, in place of those that are; how many they are."""
    for i in range(size):
        held[best[i]] = False
    kept = _greatest(count, there, keep)
    best[: len(kept)] = kept
    for c in kept:
        held[c] = True
    return _keep(best, count, held, len(kept), keep, least)


@kernel(
    nb.types.Tuple((MI64, MI64, MI64, MI64, nb.int64))(I64, nb.int64, I64, I64, _I64x2, I64, I64),
    cache=True,
)
def most_frequent(code, kinds, weight, more, spans, fresh, k):  # type: ignore[no-untyped-def]
    """(where the values of each answer begin, codes, counts, sums of ``more``, how many rows and values were gone
    through): at most ``k`` values with the greatest counts of each span, in no order.

    Spans are visited as they stand, and what lies between one and the next is added or taken away; where ``fresh``,
    counting begins anew. While rows are only added, the greatest are among few candidates: those before and the values
    that rows were added to and that go before the last of them. Cost: the rows between spans, and of each span some
    times ``k`` values, or all of its values where rows were taken away.
    """
    count, at, there = np.zeros(kinds, np.int64), np.full(kinds, -1, np.int64), np.empty(kinds, np.int64)
    extra = np.zeros(kinds if len(more) else 0, np.int64)
    starts = np.zeros(len(spans) + 1, np.int64)
    codes, counts, extras = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    keep = 1
    for a in range(len(spans)):
        keep = max(keep, min(k[a], kinds))
    best, held = np.empty(2 * keep + 16, np.int64), np.zeros(kinds, np.bool_)
    least, size = np.full(2, -1, np.int64), 0
    low = high = used = filled = 0
    touched = 0
    for a in range(len(spans)):
        start, end = spans[a, 0], spans[a, 1]
        if fresh[a] or start >= high or end <= low:
            _forget(there[:used], count, at, held, extra, least)
            used, low, high, size = 0, start, start, 0
        touched += max(end - high, 0) + max(low - start, 0) + max(start - low, 0) + max(high - end, 0)
        used = _move(code, weight, high, end, 1, count, extra, more, there, at, used)
        used = _move(code, weight, start, low, 1, count, extra, more, there, at, used)
        used = _move(code, weight, low, start, -1, count, extra, more, there, at, used)
        used = _move(code, weight, end, high, -1, count, extra, more, there, at, used)
        if start > low or end < high:
            touched += used
            size = _among_all(there[:used], best, count, held, size, keep, least)
        else:
            size, more_touched = _note(code, high, end, count, best, held, size, keep, least)
            touched += more_touched
            size, more_touched = _note(code, start, low, count, best, held, size, keep, least)
            touched += more_touched
        low, high = start, end
        touched += size
        found = _greatest(count, best[:size], k[a])
        while filled + len(found) > len(codes):
            codes, counts = np.append(codes, codes), np.append(counts, counts)
            extras = np.append(extras, extras)
        for c in found:
            codes[filled], counts[filled] = c, count[c]
            extras[filled] = extra[c] if len(extra) else 0
            filled += 1
        starts[a + 1] = filled
    return starts, codes[:filled], counts[:filled], extras[:filled], touched


@kernel(nb.types.Tuple((MF64x2, MI64))(I64, I64, nb.int64, _I64x2, I64), cache=True)
def register_sums(slot, rank, registers, spans, fresh):  # type: ignore[no-untyped-def]
    """By span what the estimate of a HyperLogLog sketch goes by: the sums of 2**-r over registers that hold r below 32,
    and over the others, and how many registers hold nothing.

    ``slot``, ``rank``: by row a register and what it is to hold at least. Spans that follow one that is not ``fresh``
    end where that one does and begin no later: a register never falls. Sums are exact. Cost: the rows of the longest
    span of each end.
    """
    out, nothing = np.empty((len(spans), 2)), np.empty(len(spans), np.int64)
    held = np.zeros(registers, np.int64)
    near, far, empty, low = 0.0, 0.0, registers, 0
    for a in range(len(spans)):
        if fresh[a]:
            held[:] = 0
            near, far, empty, low = float(registers), 0.0, registers, spans[a, 1]
        for i in range(spans[a, 0], low):
            s = slot[i]
            if rank[i] > held[s]:
                if held[s] < 32:
                    near -= 0.5 ** held[s]
                else:
                    far -= 0.5 ** held[s]
                empty -= held[s] == 0
                held[s] = rank[i]
                if held[s] < 32:
                    near += 0.5 ** held[s]
                else:
                    far += 0.5 ** held[s]
        low = min(low, spans[a, 0])
        out[a, 0], out[a, 1], nothing[a] = near, far, empty
    return out, nothing
