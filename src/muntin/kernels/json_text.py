"""Values on a tape of JSON as text: strings without escapes, and whole values as Jackson writes them again.

Doubles are written as Java does. Those that need more than their own digits are left out (``Holes``) and put in later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numba as nb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.errors import DataError
from muntin.kernels.json_tape import (
    ARRAY,
    ESCAPED_BY,
    FALSE,
    FLOAT,
    INFINITY,
    INT,
    MINUS_INFINITY,
    MU8,
    NAN,
    OBJECT,
    ODD,
    STRING,
    TRUE,
    Bytes,
    Ints,
    Tape,
    hexadecimal,
    spans,
)
from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MI64, U8

RAW, QUOTED, ESCAPED = 0, 1, 2
"""How strings are written: as they are; between quotes; between quotes, characters beyond 16 bits as two escapes."""
GROWTH = 6
"""Bytes that one byte of JSON becomes at most, when it is written again."""

POS, HOLES, BEHIND, SPLIT = range(4)
"""What writers keep: bytes written, numbers left out, whether a value stands before in this array, and whether half a
surrogate pair was met that UTF-8 has no bytes for."""
_HEX = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_LETTERS = np.array([{8: 98, 9: 116, 10: 110, 12: 102, 13: 114, 34: 34, 92: 92}.get(c, 0) for c in range(93)], np.uint8)
"""By character the letter that stands for it behind a backslash, where it is written so."""
_LITERALS = np.frombuffer(b'null true false "NaN" "Infinity" "-Infinity" ', np.uint8)


@kernel(nb.int64(MU8, nb.int64, nb.int64), cache=True)
def _unit(out, p, u):  # type: ignore[no-untyped-def]
    """Backslash, u and four digits."""
    out[p], out[p + 1] = 92, 117
    for k in range(4):
        out[p + 2 + k] = _HEX[(u >> (12 - 4 * k)) & 15]
    return p + 6


@kernel(nb.int64(MU8, nb.int64, nb.int64), cache=True)
def _utf8(out, p, c):  # type: ignore[no-untyped-def]
    """The bytes of a character; of half a pair three that no UTF-8 has."""
    if c < 0x80:
        out[p] = c
        return p + 1
    if c < 0x800:
        out[p], out[p + 1] = 0xC0 | (c >> 6), 0x80 | (c & 63)
        return p + 2
    if c < 0x10000:
        out[p], out[p + 1], out[p + 2] = 0xE0 | (c >> 12), 0x80 | ((c >> 6) & 63), 0x80 | (c & 63)
        return p + 3
    out[p], out[p + 1] = 0xF0 | (c >> 18), 0x80 | ((c >> 12) & 63)
    out[p + 2], out[p + 3] = 0x80 | ((c >> 6) & 63), 0x80 | (c & 63)
    return p + 4


@kernel(nb.int64(MU8, nb.int64, nb.int64, nb.int64), cache=True)
def _character(out, p, c, style):  # type: ignore[no-untyped-def]
    """One character in a style."""
    if style == RAW:
        return _utf8(out, p, c)
    if c < len(_LETTERS) and _LETTERS[c]:
        out[p], out[p + 1] = 92, _LETTERS[c]
        return p + 2
    if c < 32:
        return _unit(out, p, c)
    if style == ESCAPED and c >= 0x10000:
        return _unit(out, _unit(out, p, 0xD800 + ((c - 0x10000) >> 10)), 0xDC00 + ((c - 0x10000) & 0x3FF))
    if style == ESCAPED and 0xD800 <= c < 0xE000:
        return _unit(out, p, c)
    return _utf8(out, p, c)


@kernel(nb.int64(U8, nb.int64), cache=True)
def _four(data, p):  # type: ignore[no-untyped-def]
    u = 0
    for k in range(4):
        u = u * 16 + hexadecimal(data[p + k])
    return u


@kernel(nb.types.UniTuple(nb.int64, 2)(U8, nb.int64), cache=True)
def _bare(data, p):  # type: ignore[no-untyped-def]
    """The character of UTF-8 at p, and where the next is."""
    c = nb.int64(data[p])
    if c < 0x80:
        return c, p + 1
    if c < 0xE0:
        return ((c & 31) << 6) | (nb.int64(data[p + 1]) & 63), p + 2
    if c < 0xF0:
        return ((c & 15) << 12) | ((nb.int64(data[p + 1]) & 63) << 6) | (nb.int64(data[p + 2]) & 63), p + 3
    high = ((c & 7) << 18) | ((nb.int64(data[p + 1]) & 63) << 12)
    return high | ((nb.int64(data[p + 2]) & 63) << 6) | (nb.int64(data[p + 3]) & 63), p + 4


@kernel(nb.types.UniTuple(nb.int64, 2)(U8, nb.int64, nb.int64), cache=True)
def _next(data, p, stop):  # type: ignore[no-untyped-def]
    """The character at p of a string (half a surrogate pair where the other is not there), and where the next is."""
    c = nb.int64(data[p])
    if c == 92:
        if data[p + 1] != 117:
            return nb.int64(ESCAPED_BY[data[p + 1]]), p + 2
        u = _four(data, p + 2)
        p += 6
        if 0xD800 <= u < 0xDC00 and p + 5 < stop and data[p] == 92 and data[p + 1] == 117:
            low = _four(data, p + 2)
            if 0xDC00 <= low < 0xE000:
                return 0x10000 + (((u - 0xD800) << 10) | (low - 0xDC00)), p + 6
        return u, p
    return _bare(data, p)


@kernel(nb.boolean(U8, nb.int64, nb.int64, nb.int64, U8, nb.int64, nb.int64), cache=True)
def same_text(data, kind, p, stop, names, low, high):  # type: ignore[no-untyped-def]
    """Whether a string on a tape is the name between ``low`` and ``high`` of ``names``."""
    if kind == STRING:
        if stop - p != high - low:
            return False
        for k in range(stop - p):  # noqa: SIM110
            if data[p + k] != names[low + k]:
                return False
        return True
    while p < stop and low < high:
        c, p = _next(data, p, stop)
        wanted, low = _bare(names, low)
        if c != wanted:
            return False
    return p == stop and low == high


@kernel(nb.void(U8, nb.int64, nb.int64, nb.int64, MU8, MI64, nb.int64), cache=True)
def write_string(data, kind, p, stop, out, held, style):  # type: ignore[no-untyped-def]
    """The string from p to ``stop``, in a style."""
    at = held[POS]
    if style != RAW:
        out[at] = 34
        at += 1
    if kind == STRING:
        for k in range(p, stop):
            out[at] = data[k]
            at += 1
    else:
        while p < stop:
            c, p = _next(data, p, stop)
            if style != ESCAPED and 0xD800 <= c < 0xE000:
                held[SPLIT] = 1
            at = _character(out, at, c, style)
    if style != RAW:
        out[at] = 34
        at += 1
    held[POS] = at


@kernel(nb.boolean(U8, nb.int64, nb.int64, MU8, MI64), cache=True)
def _plain_double(data, p, stop, out, held):  # type: ignore[no-untyped-def]
    """Writes a number with a fraction that Java writes by its own digits; False if it is none.

    It has no exponent, is at least 0.001 and below 10^7, and has so few digits that a double keeps them all."""
    low = p + 1 if data[p] == 45 else p
    dot = low
    while dot < stop and 48 <= data[dot] <= 57:
        dot += 1
    if dot == stop or data[dot] != 46:
        return False
    last = dot
    for k in range(dot + 1, stop):
        if not 48 <= data[k] <= 57:
            return False
        if data[k] != 48:
            last = k
    small = data[low] == 48 and last > dot and last - dot > 2
    if small and data[dot + 1] == 48 and data[dot + 2] == 48 and data[dot + 3] == 48:
        return False
    if dot - low > 7 or last - low > 15:
        return False
    at = held[POS]
    for k in range(p, max(last, dot + 1) + 1):
        out[at] = data[k]
        at += 1
    held[POS] = at
    return True


@kernel(nb.void(MU8, MI64, nb.int64), cache=True)
def _literal(out, held, word):  # type: ignore[no-untyped-def]
    at = held[POS]
    while _LITERALS[word] != 32:
        out[at] = _LITERALS[word]
        at, word = at + 1, word + 1
    held[POS] = at


@kernel(nb.void(U8, nb.uint8, nb.int64, nb.int64, MU8, MI64, nb.int64, MI64), cache=True)
def _leaf(data, kind, p, stop, out, held, style, holes):  # type: ignore[no-untyped-def]
    """A value that has no parts. ``holes``: of each number left out its place in ``out``, its start and its end."""
    if kind == STRING or kind == ODD:  # noqa: SIM109
        write_string(data, kind, p, stop, out, held, style)
    elif kind == INT:
        at = held[POS]
        if not (data[p] == 45 and data[p + 1] == 48):  # -0 is 0
            for k in range(p, stop):
                out[at] = data[k]
                at += 1
        else:
            out[at] = 48
            at += 1
        held[POS] = at
    elif kind == FLOAT:
        if not _plain_double(data, p, stop, out, held):
            n = 3 * held[HOLES]
            holes[n], holes[n + 1], holes[n + 2] = held[POS], p, stop
            held[HOLES] += 1
    elif kind == TRUE:
        _literal(out, held, 5)
    elif kind == FALSE:
        _literal(out, held, 10)
    elif kind == NAN:
        _literal(out, held, 16)
    elif kind == INFINITY:
        _literal(out, held, 22)
    elif kind == MINUS_INFINITY:
        _literal(out, held, 33)
    else:
        _literal(out, held, 0)


@kernel(nb.void(U8, U8, I64, I64, I64, nb.int64, MU8, MI64, nb.int64, MI64, MI64), cache=True)
def write_value(data, kinds, starts, ends, after, node, out, held, style, holes, stack):  # type: ignore[no-untyped-def]
    """A value with all that is in it; ``stack`` has room for three numbers a level."""
    depth, stop = 0, after[node]
    i = node
    while True:
        while depth > 0 and after[stack[3 * depth - 3]] == i:
            depth -= 1
            out[held[POS]] = 125 if kinds[stack[3 * depth]] == OBJECT else 93
            held[POS] += 1
        if i >= stop:
            return
        if depth > 0:
            count = stack[3 * depth - 2]
            if count > 0:
                named = kinds[stack[3 * depth - 3]] == OBJECT
                out[held[POS]] = 58 if named and count % 2 else 44
                held[POS] += 1
            stack[3 * depth - 2] = count + 1
        kind = kinds[i]
        if kind == OBJECT or kind == ARRAY:  # noqa: SIM109
            out[held[POS]] = 123 if kind == OBJECT else 91
            held[POS] += 1
            stack[3 * depth], stack[3 * depth + 1] = i, 0
            depth += 1
        else:
            _leaf(data, kind, starts[i], ends[i], out, held, style, holes)
        i += 1


@kernel(nb.int64(U8, U8, I64, I64, I64, I64, nb.int64, nb.int64, MI64, MI64, MU8, MI64, MI64), cache=True)
def _values(data, kinds, starts, ends, after, nodes, row, style, places, counts, out, held, holes):  # type: ignore[no-untyped-def]
    """Writes values from ``row`` on while they surely fit; the row at which it stopped."""
    stack = np.empty(3_000, np.int64)
    while row < len(nodes):
        node = nodes[row]
        places[row], counts[row] = held[POS], held[HOLES]
        if node >= 0:
            if held[POS] + GROWTH * (ends[node] - starts[node] + 4) > len(out):
                return row
            write_value(data, kinds, starts, ends, after, node, out, held, style, holes, stack)
        row += 1
        places[row], counts[row] = held[POS], held[HOLES]
    return row


@kernel(nb.void(U8, U8, I64, I64, I64, MI64, MU8), cache=True)
def _strings(data, kinds, starts, ends, nodes, places, out):  # type: ignore[no-untyped-def]
    """Strings as they are, numbers and words as they stand; half a surrogate pair is a question mark."""
    at = 0
    for row in range(len(nodes)):
        node = nodes[row]
        places[row] = at
        if node < 0:
            continue
        p, stop = starts[node], ends[node]
        if kinds[node] == ODD:
            while p < stop:
                c, p = _next(data, p, stop)
                at = _utf8(out, at, 63 if 0xD800 <= c < 0xE000 else c)
        else:
            for k in range(p, stop):
                out[at] = data[k]
                at += 1
    places[len(nodes)] = at


@kernel(nb.void(U8, I64, I64, I64, U8, I64, MI64, MU8), cache=True)
def _filled(out, places, counts, holes, fill, offsets, new, made):  # type: ignore[no-untyped-def]
    """``out`` with texts put in at the holes, and the rows' new places."""
    at = 0
    for r in range(len(new) - 1):
        new[r] = at
        i = places[r]
        for h in range(counts[r], counts[r + 1]):
            for k in range(i, holes[3 * h]):
                made[at] = out[k]
                at += 1
            i = holes[3 * h]
            for k in range(offsets[h], offsets[h + 1]):
                made[at] = fill[k]
                at += 1
        for k in range(i, places[r + 1]):
            made[at] = out[k]
            at += 1
    new[len(new) - 1] = at


DoubleTexts = Callable[[pa.Array], pa.Array]
"""Doubles as Java writes them (``scalars`` knows how)."""


@dataclass
class Writing:
    """What a kernel writes for some rows: bytes, places of rows, and the numbers left out."""

    out: Bytes
    places: Ints
    counts: Ints
    holes: Ints
    held: Ints

    @staticmethod
    def of(t: Tape, nodes: Ints) -> Writing:
        """Room for the values at ``nodes`` as they are mostly written; ``widen`` gives more."""
        there = nodes[nodes >= 0]
        sizes = t.ends[there] - t.starts[there]
        room = int(sizes.sum()) + GROWTH * int(sizes.max(initial=0) + 8)
        holes = np.empty(3 * int(np.count_nonzero(t.kinds == FLOAT)), np.int64)
        places, counts = (np.zeros(len(nodes) + 1, np.int64) for _ in range(2))
        return Writing(np.empty(room, np.uint8), places, counts, holes, np.zeros(8, np.int64))

    def widen(self) -> None:
        """Twice the room."""
        self.out = np.concatenate([self.out, np.empty(len(self.out), np.uint8)])

    def texts(self, data: Bytes, there: NDArray[np.bool_], doubles: DoubleTexts) -> pa.Array:
        """The rows as strings, NULL where not ``there``."""
        n = int(self.held[HOLES])
        if not n:
            return as_strings(self.places, self.out, there)
        starts, ends = self.holes[1 : 3 * n : 3], self.holes[2 : 3 * n : 3]
        numbers = pc.cast(slices(data, starts, ends), pa.float64())
        plain = doubles(numbers)
        fill = pc.if_else(pc.is_finite(numbers), plain, pc.binary_join_element_wise('"', plain, '"', ""))
        offsets, more = spans(fill)
        made, new = np.empty(int(self.places[-1] + offsets[-1] - offsets[0]), np.uint8), np.empty_like(self.places)
        _filled(self.out, self.places, self.counts, self.holes, more, offsets, new, made)
        return as_strings(new, made, there)


def slices(data: Bytes, starts: Ints, ends: Ints) -> pa.Array:
    """Texts between places of ``data``."""
    places = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int64)
    at = np.arange(places[-1]) + np.repeat(starts - places[:-1], ends - starts)
    return as_strings(places, data[at], np.ones(len(starts), np.bool_))


def as_strings(places: Ints, out: Bytes, there: NDArray[np.bool_]) -> pa.Array:
    """An array of strings over bytes."""
    if places[-1] >= 2**31:
        raise DataError("the texts of one batch have more than 2 GB: give smaller batches")
    valid = None if there.all() else pa.array(there).buffers()[1]
    offsets = pa.py_buffer(places.astype(np.int32))
    return pa.Array.from_buffers(pa.string(), len(there), [valid, offsets, pa.py_buffer(out[: places[-1]])])


def values(t: Tape, nodes: Ints, doubles: DoubleTexts) -> pa.Array:
    """The values as compact JSON; NULL for what is not there."""
    w, row = Writing.of(t, nodes), 0
    while (
        row := _values(
            t.data, t.kinds, t.starts, t.ends, t.after, nodes, row, ESCAPED, w.places, w.counts, w.out, w.held, w.holes
        )
    ) < len(nodes):
        w.widen()
    return w.texts(t.data, nodes >= 0, doubles)


def strings(t: Tape, nodes: Ints) -> pa.Array:
    """Strings without escapes, numbers and words as they stand; NULL for what is not there."""
    there = nodes >= 0
    found = nodes[there]
    out = np.empty(int((t.ends[found] - t.starts[found]).sum()), np.uint8)
    places = np.empty(len(nodes) + 1, np.int64)
    _strings(t.data, t.kinds, t.starts, t.ends, nodes, places, out)
    return as_strings(places, out, there)
