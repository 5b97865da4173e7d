"""Rows of a window in chunks: what arrived is written once, what expired is dropped whole.

A structure is a list of chunks (``ShardState.list``), each a record batch with the columns ``__start`` and ``__exp``
beside the operator's own. Chunk metadata (min and max of both) tells which chunks an instant can concern, so a batch
opens only chunks in which rows enter or leave, whatever the length of the window. Small chunks are merged once, when
the pane that they began in closes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.core.time import FOREVER
from muntin.kernels.keys import key_ids
from muntin.state.runs import due
from muntin.state.shard_state import Chunk, ShardState

START, EXP = "__start", "__exp"

WEIGHT = "__w"
"""+1, or -1 for a negative tuple; only in structures of signed rows."""

PANES = 16
"""Panes to a window: about so many merged chunks live at a time."""

TIER = 16
"""Chunks of a pane that become one while it is open."""

CLOSED = -1

LEAST_TRIMMED = 256
"""Chunks of fewer rows are left as they are until all have expired."""

ARRIVAL = "arrival"
"""In the metadata of a chunk whose rows stand as they came, not ordered by expiry."""

Rebuild = Callable[[pa.RecordBatch], pa.RecordBatch]


def int64s(rows: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    """A NULL-free int64 column as an array, without a copy."""
    column = rows.column(name)
    if len(column) == 0:
        return np.empty(0, np.int64)
    return np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column)]


def timed(columns: pa.RecordBatch, start: NDArray[np.int64], exp: NDArray[np.int64]) -> pa.RecordBatch:
    """The columns with ``__start`` and ``__exp`` added."""
    return pa.RecordBatch.from_arrays(
        [*columns.columns, pa.array(start), pa.array(exp)], names=[*columns.schema.names, START, EXP]
    )


def stored(batch: Batch) -> pa.RecordBatch:
    """A batch as its rows are kept: with ``__start``, ``__exp`` and, where it is signed, ``__w``."""
    rows = timed(batch.columns, batch.ts, batch.exp)
    return rows if batch.sign is None else rows.append_column(WEIGHT, pa.array(batch.sign))


def as_batch(rows: pa.RecordBatch, schema: pa.Schema) -> Batch:
    """Kept rows as a batch with the columns of ``schema``."""
    columns = rows.select(schema.names) if schema.names else no_columns(rows.num_rows)
    sign = np.asarray(rows.column(WEIGHT).to_numpy(), np.int8) if WEIGHT in rows.schema.names else None
    return Batch(columns, int64s(rows, START), int64s(rows, EXP), sign)


def bounds(rows: pa.RecordBatch) -> dict[str, int]:
    """Chunk metadata: the extremes of start and exp."""
    start, exp = int64s(rows, START), int64s(rows, EXP)
    return {
        "min_start": int(start.min()),
        "max_start": int(start.max()),
        "min_exp": int(exp.min()),
        "max_exp": int(exp.max()),
    }


def by_expiry(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows in order of expiry (unchanged when they are)."""
    exp = int64s(rows, EXP)
    if len(exp) < 2 or (exp[1:] >= exp[:-1]).all():
        return rows
    return rows.take(pa.array(np.argsort(exp, kind="stable")))


def insert(state: ShardState, name: str, rows: pa.RecordBatch, arrival: bool = False) -> None:
    """Append the rows as a chunk: ordered by expiry, or as they came (``arrival``; nothing is sorted then, and who
    looks for expired rows reads all)."""
    if rows.num_rows:
        ordered = rows if arrival else by_expiry(rows)
        state.append(name, ordered, level=0, **bounds(ordered), **in_order_of(arrival))


def in_order_of(arrival: bool) -> dict[str, int]:
    """Chunk metadata: whether the rows stand as they came."""
    return {ARRIVAL: 1} if arrival else {}


def entering(state: ShardState, name: str, low: int, high: int) -> list[pa.RecordBatch]:
    """Stored rows with ``low <= start < high``: those that waited for the watermark."""
    found = []
    for chunk in state.list(name):
        if chunk.meta["max_start"] >= low and chunk.meta["min_start"] < high:
            rows = chunk.load()
            state.looked += rows.num_rows
            start = int64s(rows, START)
            found.append(rows.take(pa.array(np.flatnonzero((start >= low) & (start < high)))))
    return found


def leaving(state: ShardState, name: str, low: int, high: int, scan: bool = False) -> list[pa.RecordBatch]:
    """Stored rows with ``low <= exp < high``, by bisection in chunks ordered by expiry.

    ``scan``: look at every stored row instead (a list in order of arrival, thesis 2.3.3, to be compared with).
    """
    found = []
    for chunk in state.list(name):
        if scan or ARRIVAL in chunk.meta:
            rows = chunk.load()
            state.looked += rows.num_rows
            exp = int64s(rows, EXP)
            found.append(rows.take(pa.array(np.flatnonzero((exp >= low) & (exp < high)))))
            continue
        if chunk.meta["max_exp"] >= low and chunk.meta["min_exp"] < high:
            rows = chunk.load()
            first, last = np.searchsorted(int64s(rows, EXP), [low, high])
            state.looked += int(last - first) + 2 * rows.num_rows.bit_length()
            if last > first:
                found.append(rows.slice(int(first), int(last - first)))
    return found


def alive(state: ShardState, name: str, low: int) -> list[pa.RecordBatch]:
    """All stored rows of chunks that have any with ``exp > low``."""
    found = [c.load() for c in state.list(name) if c.meta["max_exp"] > low]
    state.looked += sum(rows.num_rows for rows in found)
    return found


def valid_rows(state: ShardState, name: str, schema: pa.Schema, at: int) -> Batch:
    """Stored rows with ``start <= at < exp``, in the columns of ``schema``. Cost: the chunks that have any."""
    chunks = [c for c in state.list(name) if c.meta["min_start"] <= at < c.meta["max_exp"]]
    found = [as_batch(c.load(), schema) for c in chunks]
    live = [b.where((b.ts <= at) & (b.exp > at)) for b in found]
    return Batch.concat(live) if live else Batch.empty(schema)


def expire(state: ShardState, name: str, until: int, keep_forever: bool) -> int:
    """Drop chunks whose rows all left before ``until``; without ``keep_forever`` also those that have entered and never
    leave. Returns the number of rows dropped. Cost: the number of chunks."""

    def wanted(chunk: Chunk) -> bool:
        settled = chunk.meta["min_exp"] == FOREVER and chunk.meta["max_start"] < until
        return chunk.meta["max_exp"] >= until and (keep_forever or not settled)

    return state.keep(name, wanted)


def merge_closed(
    state: ShardState, name: str, watermark: int, pane: int | None, rebuild: Rebuild = by_expiry, **meta: int
) -> None:
    """Merge the small chunks of each closed pane, dropping rows that have expired.

    With ``pane`` (microseconds) each row is merged when its pane has closed, and before that once for each power of
    ``TIER`` among the pane's chunks, so that a long pane has few of them; without one (windows that never end,
    rows that negative tuples take away) chunks of like size are merged as runs are (``state.runs``). ``meta``: what
    else the metadata of merged chunks says.
    """
    if watermark == FOREVER or len(state.list(name)) < 2:
        return
    if pane is None:
        _merge_tiers(state, name, watermark, rebuild, meta)
        return
    panes: dict[tuple[int, int], list[Chunk]] = {}
    for chunk in state.list(name):
        number = chunk.meta["max_start"] // pane
        if chunk.meta["level"] > 0 or chunk.meta["max_start"] >= watermark:
            continue
        tier = CLOSED if number < watermark // pane else chunk.meta.get("tier", 0)
        panes.setdefault((number, tier), []).append(chunk)
    for (_, tier), small in panes.items():
        if tier == CLOSED and len(small) > 1:
            _merge(state, name, small, watermark, rebuild, level=1, **meta)
        elif len(small) >= TIER:
            _merge(state, name, small, watermark, rebuild, level=0, tier=tier + 1, **meta)


def _merge_tiers(state: ShardState, name: str, watermark: int, rebuild: Rebuild, meta: dict[str, int]) -> None:
    while True:
        past = [c for c in state.list(name) if c.meta["max_start"] < watermark]
        count = due([c.meta["n"] for c in past])
        if count == 0:
            return
        _merge(state, name, past[-count:], watermark, rebuild, level=0, **meta)


def _merge(state: ShardState, name: str, chunks: list[Chunk], watermark: int, rebuild: Rebuild, **meta: int) -> None:
    table = pa.Table.from_batches([c.load() for c in chunks]).combine_chunks()
    rows = table.to_batches()[0]
    state.looked += rows.num_rows
    kept = rows.take(pa.array(np.flatnonzero(int64s(rows, EXP) >= watermark)))
    if kept.num_rows == 0:
        state.replace(name, chunks, None)
        return
    ordered = rebuild(kept)
    if ordered.num_rows:
        state.replace(name, chunks, ordered, **meta, **bounds(ordered))
    else:
        state.replace(name, chunks, None)


def scan_out(state: ShardState, name: str, until: int, rebuild: Rebuild) -> None:
    """Look at every row for those that left before ``until``, and drop them from the chunks of which they are half.

    What strategy "direct" does in place of ``expire``, which asks the metadata of chunks alone. Cost: all rows held.
    """
    for chunk in list(state.list(name)):
        _without_gone(state, name, chunk, until, rebuild, chunk.meta["max_start"] < until)


def trim(state: ShardState, name: str, until: int, rebuild: Rebuild) -> None:
    """Of chunks that are not written yet, and half of whose rows have left before ``until`` by what their bounds say,
    keep the others: of a batch that is longer than the window most rows need never be written.

    Cost: each time half of a chunk's time has passed, its rows.
    """
    for chunk in list(state.list(name)):
        low, high = chunk.meta["min_exp"], chunk.meta["max_exp"]
        if chunk.address is None and chunk.meta["n"] >= LEAST_TRIMMED and low < until and high - until <= until - low:
            _without_gone(state, name, chunk, until, rebuild)


def _without_gone(
    state: ShardState, name: str, chunk: Chunk, until: int, rebuild: Rebuild, wanted: bool = True
) -> None:
    """Look for the rows of a chunk that are left; if it is ``wanted`` and they are at most half, put them in its
    place."""
    rows = chunk.load()
    state.looked += rows.num_rows
    live = np.flatnonzero(int64s(rows, EXP) >= until)
    if not wanted or 2 * len(live) > rows.num_rows:
        return
    meta = {k: v for k, v in chunk.meta.items() if k not in ("n", "bytes")}
    kept = rebuild(rows.take(pa.array(live))) if len(live) else None
    if kept is not None and kept.num_rows:
        state.replace(name, [chunk], kept, **(meta | bounds(kept)))
    else:
        state.replace(name, [chunk], None)


def cancel(rows: pa.RecordBatch, weight: str) -> pa.RecordBatch:
    """Past rows without those that a negative tuple took away: equal rows with one expiry and opposite ``weight``.

    What remains has the same effect on every later instant. Start times are those of the rows that remain.
    """
    columns = [rows.column(n) for n in rows.schema.names if n not in (START, weight)]
    ids, count, _ = key_ids(columns, rows.num_rows)
    signs = np.asarray(rows.column(weight).to_numpy(), np.int64)
    balance = np.bincount(ids, weights=signs, minlength=count).astype(np.int64)
    return rows.take(pa.array(np.flatnonzero(remaining(ids, signs, balance))))


def remaining(ids: NDArray[np.int64], sign: NDArray[np.integer], balance: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of the rows of each id the first |balance| that have the balance's sign."""
    order = np.argsort(ids, kind="stable")
    wanted = np.sign(balance[ids[order]]) == sign[order]
    counted = np.cumsum(wanted)
    starts = np.flatnonzero(np.append(True, np.diff(ids[order]) != 0))
    before = np.repeat(counted[starts] - wanted[starts], np.diff(np.append(starts, len(ids))))
    result = np.empty(len(ids), np.bool_)
    result[order] = wanted & (counted - before <= np.abs(balance[ids[order]]))
    return result
