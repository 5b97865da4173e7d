"""Partners as spans of consecutive rows: what a probe finds in a chunk in bucket order lies side by side there.

A row that looks for partners by key and time finds them in one piece, unless other keys share the bucket. So a span (a
probing row, the first of its partners, how many there are) says what as many pairs would, and columns of results are
written span by span: one value again and again, or a piece as it lies. Places are unsigned: of a signed index Numba
asks whether it counts from the end, and such loops are then not done several values at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.core.time import FOREVER
from muntin.kernels.index import bucket_bits, first_above
from muntin.kernels.joining import UNBOUNDED
from muntin.kernels.lazy import inlined, kernel
from muntin.kernels.types import I32, I64, MI32, MI64

Ints = NDArray[np.int64]
Side = tuple[Ints, Ints, Ints]
"""Hash, start and expiry of rows."""


@dataclass(frozen=True)
class Spans:
    """Pairs of rows of two chunks, in order: row ``rows[k]`` of the one with the rows ``first[k]`` to ``first[k] +
    count[k]`` of the other (int32 all three). ``pairs``: the sum of the counts; ``looked``: rows of the second chunk
    that were looked at."""

    rows: NDArray[np.int32]
    first: NDArray[np.int32]
    count: NDArray[np.int32]
    pairs: int
    looked: int

    def __len__(self) -> int:
        return self.pairs

    def pair_rows(self) -> NDArray[np.int32]:
        """The first chunk's row of each pair."""
        return np.repeat(self.rows, self.count)

    def pair_partners(self) -> NDArray[np.int32]:
        """The second chunk's row of each pair."""
        out = np.empty(self.pairs, np.int32)
        _count_up(self.first, self.count, out)
        return out


@inlined
def _between(low, high):  # type: ignore[no-untyped-def]
    return nb.int64(high - low)


@kernel(
    nb.void(
        I64, I64, I64, I64, I64, I64, I32, nb.int64, nb.int64, nb.boolean, nb.int64, nb.int64, MI32, MI32, MI32, MI64
    ),
    cache=True,
)  # fmt: skip
def _probe_spans(  # type: ignore[no-untyped-def]
    h, start, exp, c_h, c_start, c_exp, c_dir, bits, limit, fifo, most, gone, rows, first, count, stand
):
    """As ``probe_spans``, until rows, ``most`` or the room of ``rows``, ``first`` and ``count`` has come to an end;
    ``stand`` says where it stands and is where the next call goes on."""
    mask = (1 << bits) - 1
    i, used, pairs, looked, at, key, last, upto, others = (
        stand[0], stand[1], stand[2], stand[3], stand[4], stand[5], stand[6], stand[7], stand[8]
    )  # fmt: skip
    alive, end, stop = nb.uintp(stand[9]), nb.uintp(stand[10]), nb.uintp(stand[11])
    one = nb.uintp(1)
    while i < len(h) and pairs <= most:
        if start[i] >= gone:
            i += 1
            continue
        mine, since, before = h[i], start[i], limit
        if exp[i] < before:
            before = exp[i]
        b = mine & mask
        # probes of one bucket, and in it of one key, mostly come in order of time: each goes on where the last stood
        anew = b != at or since < last
        if anew:
            stop = nb.uintp(c_dir[b + 1]) if b + 1 < len(c_dir) else nb.uintp(len(c_h))
            alive = nb.uintp(c_dir[b])
            if fifo:  # rows of a bucket expire in order
                alive = nb.uintp(first_above(c_exp, nb.int64(alive), nb.int64(stop), since))
        if anew or mine != key or before < upto:
            end, others = alive, 0
        at, key, last, upto = b, mine, since, before
        while alive < stop and c_exp[alive] <= since:
            if alive < end and c_h[alive] != mine:
                others -= 1
            alive += one
            looked += 1
        if end < alive:
            end = alive
        while end < stop and c_start[end] < before:  # rows of a bucket start in order
            others += c_h[end] != mine
            end += one
        here = _between(alive, end)
        if used + here > len(rows):
            break
        looked += here
        apart = others > 0
        if not fifo:
            for j in range(alive, end):
                apart |= c_exp[j] <= since
        open_ = False
        for j in range(alive, end):
            meets = not apart or (c_h[j] == mine and c_exp[j] > since)
            if meets and not open_:
                rows[used], first[used], count[used] = i, j, 0
                used += 1
                if not apart:
                    count[used - 1] = here
                    pairs += here
                    break
            if meets:
                count[used - 1] += 1
                pairs += 1
            open_ = meets
        i += 1
    stand[0], stand[1], stand[2], stand[3], stand[4], stand[5] = i, used, pairs, looked, at, key
    stand[6], stand[7], stand[8], stand[9], stand[10], stand[11] = last, upto, others, alive, end, stop


def probe_spans(
    new: Side,
    chunk: Side,
    directory: NDArray[np.int32],
    limit: int,
    fifo: bool,
    most: int = UNBOUNDED,
    gone: int = FOREVER,
) -> Spans:
    """Pairs with equal hashes whose validity intervals meet, the chunk's row started before ``limit``.

    The chunk is in bucket order (``index.bucket_order``) and by start inside a bucket; ``fifo``: also by expiry. Where
    there are more than ``most`` pairs, only some more than that are found. ``gone``: no row of the chunk expires after
    it, so rows that start later look for nothing. Cheapest where ``new`` is in bucket order too.

    Cost: one access to the directory for each change of bucket among the new rows; a step for each row of the chunk
    that enters or leaves between two new rows of a bucket, and the hashes of the partners, which lie side by side.
    """
    asked = (*new, *chunk, directory, bucket_bits(len(chunk[0])), limit, fifo, most, gone)
    stand = np.array([0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0])
    found = tuple(np.empty(max(16, len(new[0])), np.int32) for _ in range(3))
    _probe_spans(*asked, *found, stand)
    while stand[0] < len(new[0]) and stand[2] <= most:
        room = max(2 * len(found[0]), int(stand[1] + stand[10] - stand[9]))
        found = tuple(_wider(part, room) for part in found)
        _probe_spans(*asked, *found, stand)
    _, used, pairs, looked, *_ = stand.tolist()
    rows, first, count = (part[:used] for part in found)
    return Spans(rows, first, count, pairs, looked)


def _wider(values: NDArray[np.int32], room: int) -> NDArray[np.int32]:
    wider = np.empty(room, np.int32)
    wider[: len(values)] = values
    return wider


@kernel(nb.void(I32, I32, MI32), cache=True)
def _count_up(first, count, out):  # type: ignore[no-untyped-def]
    at = 0
    for k in range(len(first)):
        for m in range(count[k]):
            out[at + m] = first[k] + m
        at += count[k]


_OF_WIDTHS = [nb.void(I64, I32, I32, MI64, nb.int64), nb.void(I32, I32, I32, MI32, nb.int64)]


@kernel(_OF_WIDTHS, cache=True)
def fill(values, rows, count, out, at):  # type: ignore[no-untyped-def]
    """From place ``at`` of ``out`` on each ``values[rows[k]]``, ``count[k]`` times."""
    place = nb.uintp(at)
    for k in range(len(rows)):
        value, n = values[rows[k]], nb.uintp(count[k])
        for m in range(n):
            out[place + m] = value
        place += n


@kernel(_OF_WIDTHS, cache=True)
def copy(values, first, count, out, at):  # type: ignore[no-untyped-def]
    """From place ``at`` of ``out`` on the ``count[k]`` values from ``values[first[k]]`` on, one piece after another."""
    place = nb.uintp(at)
    for k in range(len(first)):
        begin, n = nb.uintp(first[k]), nb.uintp(count[k])
        for m in range(n):
            out[place + m] = values[begin + m]
        place += n


@kernel(nb.void(I32, I32, I32, I64, I64, MI64, nb.int64), cache=True)
def later(rows, first, count, start, c_start, starts, at):  # type: ignore[no-untyped-def]
    """When both rows of each pair have started, from place ``at`` on."""
    place = nb.uintp(at)
    for k in range(len(rows)):
        mine, begin, n = start[rows[k]], nb.uintp(first[k]), nb.uintp(count[k])
        for m in range(n):
            theirs = c_start[begin + m]
            starts[place + m] = theirs if theirs > mine else mine
        place += n


@kernel(nb.void(I32, I32, I32, I64, I64, MI64, nb.int64), cache=True)
def earlier(rows, first, count, exp, c_exp, exps, at):  # type: ignore[no-untyped-def]
    """When the first row of each pair expires, from place ``at`` on."""
    place = nb.uintp(at)
    for k in range(len(rows)):
        mine, begin, n = exp[rows[k]], nb.uintp(first[k]), nb.uintp(count[k])
        for m in range(n):
            theirs = c_exp[begin + m]
            exps[place + m] = theirs if theirs < mine else mine
        place += n


@kernel(nb.void(I64, I32, I32, MI64), cache=True)
def count_spans(origins, rows, count, counts):  # type: ignore[no-untyped-def]
    """Add to ``counts``, by origin, how many partners spans have; row r of those that probed is ``origins[r]``."""
    for k in range(len(rows)):
        counts[origins[rows[k]]] += count[k]


@kernel(nb.void(I64, I32, I32, I32, I64, I64, nb.int64, MI64, MI64, MI64, MI64, MI64, MI64), cache=True)
def place_spans(  # type: ignore[no-untyped-def]
    origins, rows, first, count, c_start, c_exp, chunk, places, origin, chunks, row, start, exp
):
    """Write the partners of spans where ``places`` says for their origin, and move that on: origin, number of the
    chunk, row in it, start and expiry."""
    for k in range(len(rows)):
        o = origins[rows[k]]
        place, begin = nb.uintp(places[o]), nb.uintp(first[k])
        for m in range(nb.uintp(count[k])):
            origin[place + m] = o
            chunks[place + m] = chunk
            row[place + m] = nb.int64(begin + m)
            start[place + m] = c_start[begin + m]
            exp[place + m] = c_exp[begin + m]
        places[o] += count[k]
