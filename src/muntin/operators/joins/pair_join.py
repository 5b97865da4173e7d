"""The window join of two inputs: chunk against chunk, results written once.

As ``window_join`` says: a row that starts in this step meets the other input's rows that have started by now (or, for
the first input, that had started before). Where it is done slice by slice (``slices``) it meets rows that are no newer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns, unending
from muntin.kernels.hashing import buffer_values, exact
from muntin.kernels.keys import columns_equal
from muntin.kernels.spans import earlier, later, probe_spans
from muntin.operators.context import Context
from muntin.operators.joins.assemble import Part, Partners, Probing, column, int64_room
from muntin.operators.joins.hot_keys import ELSEWHERE, MINE, ROLE
from muntin.operators.joins.indexed_window import OpenChunk, Side
from muntin.operators.joins.join_statistics import JoinMonitor
from muntin.operators.joins.narrow import Narrowed
from muntin.operators.joins.room import Room
from muntin.operators.joins.slices import entered, near, starts_before
from muntin.operators.joins.window_order import Pairs, pairs_in_order, results_in_order
from muntin.state.window_rows import WEIGHT

if TYPE_CHECKING:
    from muntin.operators.joins.window_join import WindowJoin


Windows = list[list[OpenChunk]]
"""Of two inputs; where hot keys are split, then their spread rows."""


@dataclass(frozen=True)
class Origins:
    """Rows of a chunk that start in this step, and the windows in which they look for partners."""

    chunk: OpenChunk
    rows: NDArray[np.bool_]
    partners: list[OpenChunk]


def _origins(i: int, windows: list[list[OpenChunk]], ctx: Context) -> Iterator[Origins]:
    """New rows of input i of a binary join: all rows meet all partners, but spread ones only where it is their turn,
    and on their home shard the plain partners otherwise."""
    plain = windows[1 - i]
    everything = plain + windows[3 - i] if len(windows) == 4 else plain
    for chunk in windows[i]:
        rows = chunk.starting(ctx)
        if rows is not None:
            yield Origins(chunk, rows, everything)
    for chunk in windows[i + 2] if len(windows) == 4 else ():
        rows = chunk.starting(ctx)
        if rows is None:
            continue
        role = buffer_values(chunk.rows.column(ROLE), np.int8)
        for wanted, partners in ((MINE, everything), (ELSEWHERE, plain)):
            if (rows & (role == wanted)).any():
                yield Origins(chunk, rows & (role == wanted), partners)


@dataclass(frozen=True)
class Met:
    """Pairs of one chunk of input ``i`` (which probed) and one of the other: rows, and both sides' hash, start and
    expiry. ``metas``: what is known of both chunks."""

    i: int
    mine: Probing
    theirs: Partners
    side: Side
    partner: Side
    metas: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})

    def __len__(self) -> int:
        return len(self.mine)

    def starts(self, out: NDArray[np.int64], at: int) -> None:
        """When pairs begin, into ``out`` from place ``at`` on."""
        s = self.mine.spans
        later(s.rows, s.first, s.count, self.side[1], self.partner[1], out, at)

    def expiries(self, out: NDArray[np.int64], at: int) -> None:
        """When they end."""
        s = self.mine.spans
        earlier(s.rows, s.first, s.count, self.side[2], self.partner[2], out, at)


def pair_join(
    op: WindowJoin, windows: Windows, schemas: list[pa.Schema], ctx: Context, monitor: JoinMonitor
) -> list[Batch]:
    """The results of this step, at most one batch."""
    met: list[Met] = []
    room, total = Room(windows, ctx), 0
    for i in (0, 1):
        tried, had = 0, total
        for origins in _origins(i, windows, ctx):
            tried += int(origins.rows.sum())
            for pairs in _probed(i, origins, ctx, room):
                met.append(pairs)
                total += len(pairs)
                room.check(total)
        if ctx.apart is None:
            monitor.hop(frozenset([i]), 1 - i, tried, total - had)
    monitor.state.looked += room.looked
    if not met:
        return []
    if ctx.narrowed is not None and _came_in_time(met, ctx.narrowed):
        return [_results_in_order(met, schemas, op, ctx.narrowed)]
    return [results_of_pairs(met, schemas, op, ctx.expires)]


def _probed(i: int, origins: Origins, ctx: Context, room: Room) -> Iterator[Met]:
    chunk, rows = origins.chunk, origins.rows
    limit = ctx.low if i == 0 and ctx.apart is None else ctx.high
    whole = bool(rows.all())
    h, start, exp = (a if whole else a[rows] for a in chunk.probe_side())
    until = exp if ctx.apart is None else starts_before(start, start, i, ctx.apart)
    upto = limit if ctx.apart is None else int(until.max())
    place = np.flatnonzero(rows).astype(np.int32)
    reading = None if ctx.harvest is None else ctx.harvest.reading(i, 1 - i, start)
    for _, other in entered(origins.partners, ctx.apart, int(start.min()), upto, reading):
        partner = other.probe_side()
        since, c_exp = near(other, start, partner[1:], ctx.apart)
        args = (h, since, until), (*partner[:2], c_exp), other.directory(), limit, ctx.fifo[1 - i]
        spans = room.spans(partial(probe_spans, *args, gone=other.meta["max_exp"]))
        if reading is not None:
            reading.gave(spans.looked, spans.pairs)
        if spans.pairs:
            mine = Probing(chunk.rows, spans, None if whole else place)
            yield Met(i, mine, Partners(other.rows, spans), (h, start, exp), partner, (chunk.meta, other.meta))


def results_of_pairs(met: list[Met], schemas: list[pa.Schema], op: WindowJoin, expires: bool) -> Batch:
    """Pairs (there are some) as rows with the columns of both inputs; they never end where nobody reads when they do
    (``expires``)."""
    total, at = sum(map(len, met)), 0
    starts, exps = int64_room(total), int64_room(total) if expires else unending(total)
    for m in met:
        m.starts(starts, at)
        if expires:
            m.expiries(exps, at)
        at += len(m)
    inputs: list[list[Part]] = [[m.mine if m.i == side else m.theirs for m in met] for side in (0, 1)]
    named = [(n, parts) for s, parts in zip(schemas, inputs, strict=True) for n in s.names]
    columns = {n: column(parts, n, total) for n, parts in named}
    rows = pa.RecordBatch.from_pydict(columns) if columns else no_columns(total)
    return confirmed(Batch(rows, starts, exps, _signs(inputs, total)), schemas, op)


def _sure(schemas: list[pa.Schema], op: WindowJoin) -> bool:
    """Whether equal hashes prove equal keys."""
    return exact([schemas[0].field(k).type for k in op.keys[0]]) and not op.null_safe


def confirmed(result: Batch, schemas: list[pa.Schema], op: WindowJoin) -> Batch:
    """The results whose keys are equal, as their hashes are."""
    if _sure(schemas, op):
        return result
    same = np.ones(len(result), np.bool_)
    for keys in op.keys[1:]:
        for first, other in zip(op.keys[0], keys, strict=True):
            same &= columns_equal(result.columns.column(first), result.columns.column(other))
    return result.where(same)


def _came_in_time(met: list[Met], narrowed: Narrowed) -> bool:
    """Whether all rows of these chunks start at their event time, which is what their windows are counted from.

    Rows that a new vertex takes up (``local.history``) start when it does, and leave as early as ever; no row of its
    state starts before them, so the least start and expiry of a chunk show them."""
    for m in met:
        for meta, side in zip(m.metas, (m.i, 1 - m.i), strict=True):
            if meta["min_exp"] - meta["min_start"] != narrowed.lengths[side]:
                return False
    return not any(WEIGHT in p.rows.schema.names for m in met[:1] for p in (m.mine, m.theirs))


def _results_in_order(met: list[Met], schemas: list[pa.Schema], op: WindowJoin, narrowed: Narrowed) -> Batch:
    """As ``results_of_pairs``, in order of the windows that hold them, and with the columns alone that are read."""
    pairs = [
        Pairs(m.mine.rows, m.theirs.rows, m.mine.spans, m.mine.found, m.side[1], m.partner[1], m.i == 1) for m in met
    ]
    read = narrowed.read if _sure(schemas, op) else narrowed.read | {*op.keys[0], *op.keys[1]}
    names = [[n for n in s.names if n in read] for s in schemas]
    ordered = pairs_in_order(pairs, narrowed.windows, narrowed.expires)
    return confirmed(results_in_order(ordered, names, narrowed.windows), schemas, op)


def _signs(inputs: Sequence[Sequence[Part]], total: int) -> NDArray[np.int8] | None:
    """Weights of results: the product over the inputs that have weights; None if none has."""
    weighted = [parts for parts in inputs if WEIGHT in parts[0].rows.schema.names]
    if not weighted:
        return None
    found = [np.concatenate([_weights(p) for p in parts]) for parts in weighted]
    return np.multiply.reduce(found).astype(np.int8)


def _weights(part: Part) -> NDArray[np.int8]:
    return np.asarray(part.rows.column(WEIGHT).to_numpy(), np.int8)[part.index]
