"""Texts of JSON as tapes: all values of all texts in the order in which they stand, found in one pass over the bytes.

What is JSON is what Jackson takes as Spark sets it up: strings in single quotes too, at most 1,000 levels and 1,000
digits, no comments, no bare names; what follows the value of a text is not looked at, except right behind a number or
a word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import B1, I64, MI64, U8

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

MU8 = nb.types.Array(nb.types.uint8, 1, "C")
NULL, FALSE, TRUE, INT, FLOAT, STRING, ODD, ARRAY, OBJECT, NAN, INFINITY, MINUS_INFINITY = range(12)
"""Kinds of values. ODD: a string that has an escape, a control character, a quote or a character beyond 16 bits."""
MALFORMED, MISSING = -1, -2
"""In place of a text's first value: the text is no JSON; it is NULL or blank."""
CONTROLS, NON_NUMBERS = 1, 2
"""What a reader allows: control characters inside of strings (Spark's functions of paths), NaN and Infinity (its
``from_json``)."""

_DEEPEST, _DIGITS = 1_000, 1_000


def _escapes() -> Bytes:
    found = np.zeros(256, np.uint8)
    for letter, meant in zip(b"\"'/\\bfnrt", b"\"'/\\\b\f\n\r\t", strict=True):
        found[letter] = meant
    return found


ESCAPED_BY = _escapes()
"""By letter behind a backslash the character that both stand for; 0 where it is no escape (u has digits of its own)."""


@dataclass(frozen=True)
class Tape:
    """``data``: the bytes; of each value its kind, where its text starts and ends there (of a string without quotes),
    and the value after it and all that is in it. The values in an object are names and values by turns.

    ``roots``: the first value of each text, or MALFORMED or MISSING.
    """

    data: Bytes
    kinds: Bytes
    starts: Ints
    ends: Ints
    after: Ints
    roots: Ints

    def kinds_at(self, nodes: Ints) -> Bytes:
        """Kinds of values; NULL for what is not there (below 0)."""
        return self.kinds[nodes] if not len(nodes) or nodes.min() >= 0 else _kinds_at(self.kinds, nodes)


def _kinds_at(kinds: Bytes, nodes: Ints) -> Bytes:
    if not len(kinds):
        return np.zeros(len(nodes), np.uint8)
    found: Bytes = np.where(nodes < 0, np.uint8(NULL), kinds[np.maximum(nodes, 0)])
    return found


def tape(texts: pa.Array, allowed: int) -> Tape:
    """The tape of an array of strings. Cost: one pass over the bytes; 25 bytes a value while it is held."""
    offsets, data = spans(texts)
    there = np.ascontiguousarray(texts.is_valid().to_numpy(zero_copy_only=False))
    marks = np.zeros(256, np.int64)
    held = data[offsets[0] : offsets[-1]] if len(offsets) > 1 else data[:0]
    for c in b"[{,:":
        marks[c] = np.count_nonzero(held == c)
    most = int(marks.sum()) + len(there) + 1  # before every value there is one of these, or the start of a text
    kinds = np.empty(most, np.uint8)
    starts, ends, after = (np.empty(most, np.int64) for _ in range(3))
    roots = np.empty(len(there), np.int64)
    n = _tape(data, offsets, there, allowed, kinds, starts, ends, after, roots)
    return Tape(data, kinds[:n], starts[:n], ends[:n], after[:n], roots)


def spans(texts: pa.Array) -> tuple[Ints, Bytes]:
    """Offsets and bytes of an array of strings."""
    texts = texts.cast(pa.string()) if texts.type != pa.string() else texts
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    places = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return places, np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)


@kernel(nb.boolean(nb.uint8), cache=True)
def _blank(c):  # type: ignore[no-untyped-def]
    return c == 32 or c == 9 or c == 10 or c == 13


@kernel(nb.boolean(nb.uint8), cache=True)
def _digit(c):  # type: ignore[no-untyped-def]
    return 48 <= c <= 57


@kernel(nb.int64(nb.uint8), cache=True)
def hexadecimal(c):  # type: ignore[no-untyped-def]
    """The value of a digit; -1 for none."""
    if 48 <= c <= 57:
        return c - 48
    if 65 <= c <= 70:
        return c - 55
    return c - 87 if 97 <= c <= 102 else -1


@kernel(nb.types.UniTuple(nb.int64, 2)(U8, nb.int64, nb.int64, nb.int64), cache=True)
def _string(data, p, stop, allowed):  # type: ignore[no-untyped-def]
    """The closing quote of the string that opens at p (-1: none, or not well formed), and its kind."""
    quote, kind = data[p], STRING
    p += 1
    while p < stop:
        c = data[p]
        if c == quote:
            return p, kind
        if c == 92:
            kind = ODD
            p += 1
            if p >= stop:
                return -1, kind
            e = data[p]
            if e == 117:
                if p + 4 >= stop:
                    return -1, kind
                for k in range(1, 5):
                    if hexadecimal(data[p + k]) < 0:
                        return -1, kind
                p += 4
            elif ESCAPED_BY[e] == 0:
                return -1, kind
        elif c < 32:
            kind = ODD
            if not allowed & CONTROLS:
                return -1, kind
        elif c == 34 or c >= 0xF0:
            kind = ODD
        p += 1
    return -1, kind


@kernel(nb.int64(U8, nb.int64, nb.int64), cache=True)
def _behind_digits(data, p, stop):  # type: ignore[no-untyped-def]
    while p < stop and _digit(data[p]):
        p += 1
    return p


@kernel(nb.types.UniTuple(nb.int64, 2)(U8, nb.int64, nb.int64), cache=True)
def _number(data, p, stop):  # type: ignore[no-untyped-def]
    """The end of the number that begins at p (-1: it is none), and its kind."""
    kind = INT
    if data[p] == 45:
        p += 1
    low, p = p, _behind_digits(data, p, stop)
    digits = p - low
    if digits == 0 or (digits > 1 and data[low] == 48):
        return -1, kind
    if p < stop and data[p] == 46:
        kind, low = FLOAT, p + 1
        p = _behind_digits(data, low, stop)
        if p == low:
            return -1, kind
        digits += p - low
    if p < stop and (data[p] == 101 or data[p] == 69):
        kind, p = FLOAT, p + 1
        if p < stop and (data[p] == 43 or data[p] == 45):
            p += 1
        low, p = p, _behind_digits(data, p, stop)
        if p == low:
            return -1, kind
        digits += p - low
    return (p if digits <= _DIGITS else -1), kind


_WORDS = np.frombuffer(b"true false null NaN Infinity INF ", np.uint8)


@kernel(nb.boolean(U8, nb.int64, nb.int64, nb.int64), cache=True)
def _says(data, p, stop, word):  # type: ignore[no-untyped-def]
    """Whether the word at that place of ``_WORDS`` stands at p, and no letter or digit follows."""
    while _WORDS[word] != 32:
        if p >= stop or data[p] != _WORDS[word]:
            return False
        p, word = p + 1, word + 1
    if p == stop:
        return True
    c = data[p]
    return not (48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122 or c == 95 or c >= 127)


@kernel(nb.types.UniTuple(nb.int64, 2)(U8, nb.int64, nb.int64, nb.int64), cache=True)
def _word(data, p, stop, allowed):  # type: ignore[no-untyped-def]
    """The end of the word at p (-1: there is none that is known), and its kind."""
    if _says(data, p, stop, 0):
        return p + 4, TRUE
    if _says(data, p, stop, 5):
        return p + 5, FALSE
    if _says(data, p, stop, 11):
        return p + 4, NULL
    if not allowed & NON_NUMBERS:
        return -1, NULL
    if _says(data, p, stop, 16):
        return p + 3, NAN
    if _says(data, p, stop, 20):
        return p + 8, INFINITY
    kind = MINUS_INFINITY if data[p] == 45 else INFINITY
    if data[p] == 45 or data[p] == 43:
        if _says(data, p + 1, stop, 29):
            return p + 4, kind
        if _says(data, p + 1, stop, 20):
            return p + 9, kind
    return -1, NULL


@kernel(nb.types.UniTuple(nb.int64, 4)(U8, nb.int64, nb.int64, nb.int64), cache=True)
def _scalar(data, p, stop, allowed):  # type: ignore[no-untyped-def]
    """(where reading goes on or -1, kind, start, end) of the string, number or word at p."""
    c = data[p]
    if c == 34 or c == 39:
        end, kind = _string(data, p, stop, allowed)
        return (end + 1 if end >= 0 else -1), kind, p + 1, end
    if _digit(c) or (c == 45 and p + 1 < stop and _digit(data[p + 1])):
        end, kind = _number(data, p, stop)
    else:
        end, kind = _word(data, p, stop, allowed)
    return end, kind, p, end


@kernel(nb.int64(U8, nb.int64, nb.int64, nb.int64, MU8, MI64, MI64, MI64, nb.int64, MI64), cache=True)
def _one(data, p, stop, allowed, kinds, starts, ends, after, n, stack):  # type: ignore[no-untyped-def]
    """Puts the value of one text on the tape, from place n on; the place after it, -1 if the text is no JSON."""
    depth = 0
    value, name, closing, behind = True, False, False, False  # what may come now
    while True:
        while p < stop and _blank(data[p]):
            p += 1
        if p >= stop:
            return -1
        c = data[p]
        inside = kinds[stack[depth - 1]] if depth > 0 else NULL
        if closing and c == (125 if inside == OBJECT else 93):
            depth -= 1
            ends[stack[depth]], after[stack[depth]] = p + 1, n
            if depth == 0:
                return n
            value, name, closing, behind = False, False, True, True
            p += 1
        elif behind:
            if c != 44:
                return -1
            value, name, closing, behind = inside == ARRAY, inside == OBJECT, False, False
            p += 1
        elif name:
            if c != 34 and c != 39:
                return -1
            end, kind = _string(data, p, stop, allowed)
            if end < 0:
                return -1
            kinds[n], starts[n], ends[n], after[n] = kind, p + 1, end, n + 1
            n += 1
            p = end + 1
            while p < stop and _blank(data[p]):
                p += 1
            if p >= stop or data[p] != 58:
                return -1
            value, name, closing = True, False, False
            p += 1
        elif not value:
            return -1
        elif c == 123 or c == 91:
            if depth == _DEEPEST:
                return -1
            kinds[n], starts[n] = (OBJECT if c == 123 else ARRAY), p
            stack[depth] = n
            depth += 1
            n += 1
            value, name, closing = c == 91, c == 123, True
            p += 1
        else:
            p, kind, start, end = _scalar(data, p, stop, allowed)
            if p < 0:
                return -1
            kinds[n], starts[n], ends[n], after[n] = kind, start, end, n + 1
            n += 1
            if depth == 0:
                bare = INT <= kind <= FLOAT
                return -1 if bare and p < stop and not _blank(data[p]) else n
            value, closing, behind = False, True, True


@kernel(nb.int64(U8, I64, B1, nb.int64, MU8, MI64, MI64, MI64, MI64), cache=True)
def _tape(data, offsets, there, allowed, kinds, starts, ends, after, roots):  # type: ignore[no-untyped-def]
    stack = np.empty(_DEEPEST, np.int64)
    n = 0
    for r in range(len(roots)):
        roots[r] = MISSING
        blank = True
        p = offsets[r]
        while there[r] and blank and p < offsets[r + 1]:
            blank = data[p] <= 32
            p += 1
        if blank:
            continue
        m = _one(data, offsets[r], offsets[r + 1], allowed, kinds, starts, ends, after, n, stack)
        roots[r] = MALFORMED if m < 0 else n
        n = n if m < 0 else m
    return n
