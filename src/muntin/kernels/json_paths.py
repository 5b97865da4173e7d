"""Parts of JSON by paths, as Spark's ``get_json_object`` finds and writes them (``JsonExpressionEvalUtils``), and by
names; children of objects and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba as nb
import numpy as np
import pyarrow as pa

from muntin.kernels.json_tape import ARRAY, MU8, NULL, OBJECT, ODD, STRING, Bytes, Ints, Tape, spans
from muntin.kernels.json_text import (
    BEHIND,
    ESCAPED,
    GROWTH,
    HOLES,
    POS,
    QUOTED,
    RAW,
    SPLIT,
    DoubleTexts,
    Writing,
    same_text,
    write_string,
    write_value,
)
from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MB1, MI64, U8

NAME, PLACE, ALL = range(3)
"""Steps of a path: ``.name``, ``[n]``, ``[*]``."""
_ALONE, _LISTED, _SPREAD = range(3)
"""How what is found is written: a string alone without quotes; as one of a list; arrays as their elements."""
_OPEN = 4
"""Beside ``POS`` and the others: how many lists are open."""


@dataclass(frozen=True)
class Path:
    """Steps, and of each the number of the element or of the name."""

    steps: Ints
    numbers: Ints
    offsets: Ints
    names: Bytes

    @staticmethod
    def of(parts: Sequence[str | int | None]) -> Path:
        """``parts``: a name, the place of an element, or None for all of them."""
        kinds = [NAME if isinstance(p, str) else ALL if p is None else PLACE for p in parts]
        names = [p if isinstance(p, str) else "" for p in parts]
        numbers = [p if isinstance(p, int) else 0 for p in parts]
        offsets, data = spans(pa.array(names, pa.string()))
        return Path(np.array(kinds, np.int64), np.array(numbers, np.int64), offsets, data)


@kernel(nb.void(MU8, MI64, nb.uint8), cache=True)
def _put(out, held, c):  # type: ignore[no-untyped-def]
    out[held[POS]] = c
    held[POS] += 1


@kernel(nb.void(MU8, MI64), cache=True)
def _between(out, held):  # type: ignore[no-untyped-def]
    """What stands between two values."""
    if held[BEHIND]:
        _put(out, held, 44 if held[_OPEN] else 32)


@kernel(nb.void(MU8, MI64, MI64, nb.int64, nb.int64), cache=True)
def _unwrap(out, held, holes, body, first_hole):  # type: ignore[no-untyped-def]
    """The one value of a list, without its brackets."""
    for i in range(body + 1, held[POS] - 1):
        out[i - 1] = out[i]
    held[POS] -= 2
    for h in range(first_hole, held[HOLES]):
        holes[3 * h] -= 1


STATE, NODE, STEP, FLOW, STYLE, CHILD, WAITS, COUNT, BEGIN, FIRST_HOLE, BEFORE, BODY = range(12)
"""A frame: where in a path at which value, which child is next, whether one is under way, how many found something; of
a list what was written when it began."""
_FRAME = 12
_ENTERED, _NAMES, _ITEMS, _FLAT = range(4)


@kernel(nb.void(MI64, nb.int64, nb.int64, nb.int64, nb.int64, nb.int64), cache=True)
def _enter(frames, f, node, step, flow, style):  # type: ignore[no-untyped-def]
    frames[f + STATE], frames[f + NODE], frames[f + STEP] = _ENTERED, node, step
    frames[f + FLOW], frames[f + STYLE], frames[f + WAITS], frames[f + COUNT] = flow, style, 0, 0
    frames[f + CHILD] = node + 1


@kernel(nb.void(MI64, nb.int64, nb.boolean, MU8, MI64), cache=True)
def _open_list(frames, f, apart, out, held):  # type: ignore[no-untyped-def]
    frames[f + STATE], frames[f + BODY] = _ITEMS, -1
    frames[f + BEGIN], frames[f + FIRST_HOLE], frames[f + BEFORE] = held[POS], held[HOLES], held[BEHIND]
    _between(out, held)
    if apart:
        frames[f + BODY] = held[POS]
    _put(out, held, 91)
    held[BEHIND] = 0
    held[_OPEN] += 1


@kernel(nb.void(MI64, nb.int64, MU8, MI64, MI64), cache=True)
def _close_list(frames, f, out, held, holes):  # type: ignore[no-untyped-def]
    """Of a list that Spark writes to a buffer of its own: nothing for no values, and one without brackets."""
    _put(out, held, 93)
    held[BEHIND] = 1
    held[_OPEN] -= 1
    count, body = frames[f + COUNT], frames[f + BODY]
    if body >= 0 and count == 0:
        held[POS], held[HOLES], held[BEHIND] = frames[f + BEGIN], frames[f + FIRST_HOLE], frames[f + BEFORE]
    elif body >= 0 and count == 1:
        _unwrap(out, held, holes, body, frames[f + FIRST_HOLE])


@kernel(nb.int64(I64, nb.int64, nb.int64, nb.int64), cache=True)
def _element(after, node, stop, n):  # type: ignore[no-untyped-def]
    """The n-th element of an array; -1 for none."""
    child = node + 1
    while child < stop and n > 0:
        child, n = after[child], n - 1
    return child if child < stop else -1


@kernel(nb.int64(U8, U8, I64, I64, I64, U8, nb.int64, nb.int64, nb.int64, nb.int64), cache=True)
def _next_named(data, kinds, starts, ends, after, names, low, high, child, stop):  # type: ignore[no-untyped-def]
    """The place of the next name between ``low`` and ``high`` whose value is not null; ``stop`` for none."""
    while child < stop:
        if kinds[child + 1] != NULL and same_text(data, kinds[child], starts[child], ends[child], names, low, high):
            return child
        child = after[child + 1]
    return stop


@kernel(nb.void(U8, U8, I64, I64, I64, nb.int64, MU8, MI64, MI64, MI64, nb.int64, nb.int64), cache=True)
def _write_found(data, kinds, starts, ends, after, node, out, held, holes, stack, flow, style):  # type: ignore[no-untyped-def]
    """Writes a value at the end of a path."""
    if flow == _ALONE and (kinds[node] == STRING or kinds[node] == ODD):
        write_string(data, kinds[node], starts[node], ends[node], out, held, RAW)
        return
    _between(out, held)
    write_value(data, kinds, starts, ends, after, node, out, held, style, holes, stack)
    held[BEHIND] = 1


@kernel(nb.int64(MI64, nb.int64, nb.boolean, nb.int64, nb.int64), cache=True)
def _enter_child(frames, top, many, child, k):  # type: ignore[no-untyped-def]
    """The frame of an element of the array whose frame is on top; the new top."""
    f = top * _FRAME
    flow, style = frames[f + FLOW], frames[f + STYLE]
    top += 1
    if frames[f + STATE] == _FLAT:
        _enter(frames, top * _FRAME, child, k, _SPREAD, style)
    elif many:
        _enter(frames, top * _FRAME, child, k + 2, _SPREAD, style)
    else:
        below = _SPREAD if flow == _SPREAD else _LISTED
        _enter(frames, top * _FRAME, child, k + 1, below, QUOTED if frames[f + BODY] >= 0 else style)
    return top


@kernel(
    nb.boolean(U8, U8, I64, I64, I64, nb.int64, I64, I64, I64, U8, MU8, MI64, MI64, MI64, MI64),
    cache=True,
)
def _find(data, kinds, starts, ends, after, root, steps, numbers, offsets, names, out, held, holes, stack, frames):  # type: ignore[no-untyped-def]  # fmt: skip
    """Writes what the path finds below a value; whether it found something. (Numba's cache holds no recursion.)"""
    top, last, found = 0, len(steps), False
    _enter(frames, 0, root, 0, _ALONE, ESCAPED)
    while top >= 0:
        f = top * _FRAME
        state, node, k = frames[f + STATE], frames[f + NODE], frames[f + STEP]
        flow, style, stop = frames[f + FLOW], frames[f + STYLE], after[node]
        kind, many = kinds[node], k + 1 < last and steps[k + 1] == ALL
        if state == _ENTERED and k == last:
            if flow == _SPREAD and kind == ARRAY:
                frames[f + STATE] = _FLAT
                continue
            _write_found(data, kinds, starts, ends, after, node, out, held, holes, stack, flow, style)
            found = True
            top -= 1
        elif state == _ENTERED:
            if steps[k] == NAME and kind == OBJECT:
                frames[f + STATE] = _NAMES
            elif steps[k] == PLACE and kind == ARRAY:
                child = _element(after, node, stop, numbers[k])
                if child < 0:
                    found = False
                    top -= 1
                else:
                    _enter(frames, f, child, k + 1, _LISTED if many else flow, style)
            elif steps[k] == ALL and kind == ARRAY:
                _open_list(frames, f, not many and flow != _LISTED, out, held)
            else:
                found = False
                top -= 1
        elif state == _NAMES:
            child = stop
            if not (frames[f + WAITS] and found):
                child = _next_named(
                    data, kinds, starts, ends, after, names, offsets[k], offsets[k + 1], frames[f + CHILD], stop
                )
                found = False
            if child < stop:
                frames[f + CHILD], frames[f + WAITS] = after[child + 1], 1
                top += 1
                _enter(frames, top * _FRAME, child + 1, k + 1, flow, style)
            else:
                top -= 1
        else:
            if frames[f + WAITS] and found:
                frames[f + COUNT] += 1
            child = frames[f + CHILD]
            if child < stop:
                frames[f + CHILD], frames[f + WAITS] = after[child], 1
                top = _enter_child(frames, top, many, child, k)
            else:
                if state == _ITEMS:
                    _close_list(frames, f, out, held, holes)
                found = frames[f + COUNT] > 0
                top -= 1
    return found


@kernel(
    nb.int64(U8, U8, I64, I64, I64, I64, nb.int64, I64, I64, I64, U8, MI64, MI64, MU8, MI64, MI64, MB1), cache=True
)
def _paths(data, kinds, starts, ends, after, nodes, row, steps, numbers, offsets, names, places, counts, out, held, holes, there):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """Writes what the path finds in rows from ``row`` on while it surely fits; the row at which it stopped."""
    stack, frames = np.empty(3_000, np.int64), np.empty((len(steps) + 1_002) * _FRAME, np.int64)
    while row < len(nodes):
        node = nodes[row]
        places[row], counts[row] = held[POS], held[HOLES]
        there[row] = False
        if node >= 0:
            if held[POS] + GROWTH * (ends[node] - starts[node] + 8) > len(out):
                return row
            held[SPLIT], held[BEHIND], held[_OPEN] = 0, 0, 0
            found = _find(data, kinds, starts, ends, after, node, steps, numbers, offsets, names, out, held, holes, stack, frames)  # fmt: skip  # noqa: E501
            there[row] = found and not held[SPLIT]
            if not there[row]:
                held[POS], held[HOLES] = places[row], counts[row]
        row += 1
        places[row], counts[row] = held[POS], held[HOLES]
    return row


def at_path(t: Tape, path: Path, doubles: DoubleTexts) -> pa.Array:
    """What the path finds in each text: a string as it is, all else as compact JSON; NULL where it finds nothing."""
    nodes = t.roots
    w, row, there = Writing.of(t, nodes), 0, np.zeros(len(nodes), np.bool_)
    while (
        row := _paths(
            t.data, t.kinds, t.starts, t.ends, t.after, nodes, row, path.steps, path.numbers, path.offsets, path.names,
            w.places, w.counts, w.out, w.held, w.holes, there,
        )
    ) < len(nodes):  # fmt: skip
        w.widen()
    return w.texts(t.data, there, doubles)


@kernel(nb.void(U8, U8, I64, I64, I64, I64, I64, U8, MI64), cache=True)
def _named(data, kinds, starts, ends, after, nodes, offsets, names, found):  # type: ignore[no-untyped-def]
    """``found[n * names + i]``: in, the place before which to look; out, the last value of the name, or -1."""
    count = len(offsets) - 1
    for row in range(len(nodes)):
        node = nodes[row]
        base = row * count
        limits = found[base : base + count].copy()
        for i in range(count):
            found[base + i] = -1
        if node < 0:
            continue
        child = node + 1
        while child < after[node]:
            value = child + 1
            for i in range(count):
                if value < limits[i] and same_text(
                    data, kinds[child], starts[child], ends[child], names, offsets[i], offsets[i + 1]
                ):
                    found[base + i] = value
            child = after[value]


def named(t: Tape, nodes: Ints, names: Sequence[str], before: Ints | None = None) -> Ints:
    """Of each object (-1: none) the value of each name, the last where there are several, -1 where there is none: rows
    by names. ``before``: of the same shape, places before which a value must stand."""
    offsets, data = spans(pa.array(names, pa.string()))
    found = np.full((len(nodes), len(names)), np.iinfo(np.int64).max) if before is None else before.copy()
    _named(t.data, t.kinds, t.starts, t.ends, t.after, nodes, offsets, data, found.reshape(-1))
    return found


@kernel(nb.int64(U8, I64, I64, nb.int64, MI64, MI64, MI64), cache=True)
def _children(kinds, after, nodes, kind, offsets, first, second):  # type: ignore[no-untyped-def]
    n = 0
    for row in range(len(nodes)):
        node = nodes[row]
        offsets[row] = n
        if node < 0 or kinds[node] != kind:
            continue
        child = node + 1
        while child < after[node]:
            first[n] = child
            child = after[child]
            if kind == OBJECT:
                second[n] = child
                child = after[child]
            n += 1
    offsets[len(nodes)] = n
    return n


def children(t: Tape, nodes: Ints, kind: int) -> tuple[Ints, Ints, Ints]:
    """Of each array the elements, or of each object names and values (``kind``): offsets of the rows, and places."""
    held = nodes[nodes >= 0]
    most = int((t.after[held] - held).sum())
    offsets, first, second = np.empty(len(nodes) + 1, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    n = _children(t.kinds, t.after, nodes, kind, offsets, first, second)
    return offsets, first[:n], second[:n]
