"""The window join of three inputs and more: what starts in a step is extended window by window, without intermediates.

As ``window_join`` says; ``pair_join`` is the same of two inputs. Where it is done slice by slice (``slices``) rows meet
none that are newer, and in the last window those alone that make a combination of these slices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.kernels.joining import extend
from muntin.kernels.spans import Spans, count_spans, place_spans, probe_spans
from muntin.operators.context import Context
from muntin.operators.joins.gather import Ints, Refs, gather, product, starting
from muntin.operators.joins.harvest import Reading
from muntin.operators.joins.indexed_window import HASH, OpenChunk, Side
from muntin.operators.joins.join_statistics import JoinMonitor
from muntin.operators.joins.pair_join import confirmed
from muntin.operators.joins.room import Room
from muntin.operators.joins.slices import entered, near, starts_before
from muntin.state.window_rows import EXP, START

if TYPE_CHECKING:
    from muntin.operators.joins.window_join import WindowJoin


@dataclass(frozen=True)
class Fresh:
    """Rows of input i that start in this step, with what a probe needs."""

    refs: Refs
    hash: Ints
    start: Ints
    exp: Ints


def many_join(
    op: WindowJoin, windows: list[list[OpenChunk]], schemas: list[pa.Schema], ctx: Context, monitor: JoinMonitor
) -> list[Batch]:
    """The results of this step, a batch for each input of which rows are new; rows are gathered at the end."""
    results: list[Batch] = []
    room = Room(windows, ctx)
    for i, order in enumerate(monitor.orders(ctx.low)):
        found = _new_combinations(i, order, windows, ctx, monitor, room)
        if found is not None:
            refs, start, exp = found
            room.check(sum(map(len, results)) + len(start))
            gathered = [gather(r, w, s.names) for r, w, s in zip(refs, windows, schemas, strict=True)]
            sign = product(list(zip(windows, refs, strict=True)))
            results.append(_emit(gathered, start, exp, sign, schemas, op))
    monitor.state.looked += room.looked
    return results


def _new_combinations(
    i: int, order: tuple[int, ...], windows: list[list[OpenChunk]], ctx: Context, monitor: JoinMonitor, room: Room
) -> tuple[list[Refs], Ints, Ints] | None:
    """The combinations whose part of input i starts now: rows by input, aligned, and when they start and end; None if
    there are none."""
    new = starting(windows[i], ctx, (HASH, START, EXP))
    if new is None:
        return None
    fresh = Fresh(new[0], *new[1])
    held = Held({}, np.arange(len(fresh.start)), fresh.start, fresh.exp, None if ctx.apart is None else fresh.start)
    for j in order:
        hop = Hop(i, j, fresh, windows[j], ctx, room)
        if ctx.apart is not None and ctx.apart[0] and j == order[-1]:
            held = Held.concat([hop.extended(h, low)[0] for h, low in held.by_age(ctx.apart[0])])
        else:
            bound = frozenset([i, *held.parts])
            held, tried, found = hop.extended(held, 0)
            if ctx.apart is None:
                monitor.hop(bound, j, tried, found)
        if len(held.origin) == 0:
            return None
    parts = {**held.parts, i: fresh.refs.take(held.origin)}
    return [parts[j] for j in range(len(windows))], held.start, held.exp


@dataclass(frozen=True)
class Held:
    """Combinations under construction, aligned: rows by input, the origin that they began from, the interval in which
    all are valid, and when their oldest row started (of a join that is done in slices)."""

    parts: dict[int, Refs]
    origin: Ints
    start: Ints
    exp: Ints
    oldest: Ints | None

    def take(self, index: Ints) -> Held:
        parts = {k: r.take(index) for k, r in self.parts.items()}
        oldest = None if self.oldest is None else self.oldest[index]
        return Held(parts, self.origin[index], self.start[index], self.exp[index], oldest)

    def by_age(self, low: int) -> list[tuple[Held, int]]:
        """Those with a row that is ``low`` older than the newest, which need no other one, and those without."""
        assert self.oldest is not None
        old = self.start - self.oldest >= low
        groups = (self.take(np.flatnonzero(old)), 0), (self.take(np.flatnonzero(~old)), low)
        return [g for g in groups if len(g[0].origin)]

    @staticmethod
    def concat(many: list[Held]) -> Held:
        """Those of several; when their oldest rows started is left out."""
        if len(many) == 1:
            return many[0]
        parts = {k: Refs.concat([h.parts[k] for h in many]) for k in many[0].parts}
        origin, start, exp = (np.concatenate([getattr(h, n) for h in many]) for n in ("origin", "start", "exp"))
        return Held(parts, origin, start, exp, None)


@dataclass(frozen=True)
class Hop:
    """Window ``j`` entered by combinations that began from new rows of input ``i``."""

    i: int
    j: int
    fresh: Fresh
    window: list[OpenChunk]
    ctx: Context
    room: Room

    def extended(self, held: Held, low: int) -> tuple[Held, int, int]:
        """The combinations with each partner that they have here and that is ``low`` older than the newest row, if that
        is not 0; how many origins looked for partners, and how many they found."""
        fresh, ctx = self.fresh, self.ctx
        probing = np.flatnonzero(np.bincount(held.origin, minlength=len(fresh.start))) if held.parts else held.origin
        reading = None if ctx.harvest is None else ctx.harvest.reading(self.i, self.j, fresh.start[probing])
        found = self._candidates(probing, low, reading)
        partners = len(found.start)
        if held.parts:
            left, right = extend((held.origin, held.start, held.exp), (found.begin, found.start, found.exp))
            found = found.take(right)
        else:  # a candidate is one for its validity and its origin's meet
            left = found.origin
        self.room.check(len(left))
        grown = held.take(left)
        oldest = None if grown.oldest is None else np.minimum(grown.oldest, found.start)
        start, exp = np.maximum(grown.start, found.start), np.minimum(grown.exp, found.exp)
        return Held({**grown.parts, self.j: found.refs}, grown.origin, start, exp, oldest), len(probing), partners

    def _candidates(self, probing: Ints, low: int, reading: Reading | None) -> Candidates:
        """Partners of the ``probing`` origins."""
        fresh, apart, n = self.fresh, self.ctx.apart, len(self.fresh.start)
        h, start, until = fresh.hash, fresh.start, fresh.exp
        if len(probing) < n:
            h, start, until = h[probing], start[probing], until[probing]
        limit = self.ctx.high if self.j < self.i or apart is not None else self.ctx.low
        if apart is not None:
            until = starts_before(start, start, int(self.j < self.i), (low, apart[1]))
        upto = limit if apart is None else int(until.max())
        found: list[tuple[int, Side, Spans]] = []
        counts, total = np.zeros(n, np.int64), 0
        for number, chunk in entered(self.window, apart, int(start.min()), upto, reading):
            other = chunk.probe_side()
            since, c_exp = near(chunk, start, other[1:], apart)
            sides = (h, since, until), (*other[:2], c_exp)
            args = *sides, chunk.directory(), limit, self.ctx.fifo[self.j]
            find = partial(probe_spans, *args, gone=chunk.meta["max_exp"])
            spans = self.room.spans(find, before=total)
            if reading is not None:
                reading.gave(spans.looked, spans.pairs)
            count_spans(probing, spans.rows, spans.count, counts)
            found.append((number, other, spans))
            total += spans.pairs
        return Candidates.of(probing, found, counts)


@dataclass(frozen=True)
class Candidates:
    """Partners of origins in one window, in order of ``origin``: those of o at ``[begin[o], begin[o + 1])``."""

    begin: Ints
    origin: Ints
    refs: Refs
    start: Ints
    exp: Ints

    @staticmethod
    def of(probing: Ints, found: list[tuple[int, Side, Spans]], counts: Ints) -> Candidates:
        """What the ``probing`` origins found, chunk by chunk: its number, its side, spans of its rows; ``counts``: by
        origin how many."""
        begin = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=begin[1:])
        places = begin[:-1].copy()
        origin, chunk_of, row, starts, exps = (np.empty(begin[-1], np.int64) for _ in range(5))
        for number, (_, c_start, c_exp), s in found:
            args = probing, s.rows, s.first, s.count, c_start, c_exp, number
            place_spans(*args, places, origin, chunk_of, row, starts, exps)
        return Candidates(begin, origin, Refs(chunk_of, row), starts, exps)

    def take(self, index: Ints) -> Candidates:
        """Those at ``index``; where origins begin is no longer true."""
        return replace(self, refs=self.refs.take(index), start=self.start[index], exp=self.exp[index])


def _emit(
    gathered: list[pa.RecordBatch],
    start: Ints,
    exp: Ints,
    sign: NDArray[np.int8] | None,
    schemas: list[pa.Schema],
    op: WindowJoin,
) -> Batch:
    columns = [g.column(n) for g, s in zip(gathered, schemas, strict=True) for n in s.names]
    names = [n for s in schemas for n in s.names]
    rows = pa.RecordBatch.from_arrays(columns, names=names) if names else no_columns(len(start))
    return confirmed(Batch(rows, start, exp, sign), schemas, op)
