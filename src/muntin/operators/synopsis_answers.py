"""Answers of many windows out of one synopsis of panes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.sum import SumExact
from muntin.core.batch import concat_rows, no_columns
from muntin.kernels import synopses
from muntin.kernels.keys import key_ids
from muntin.operators.context import Context
from muntin.plan.exprs import Agg
from muntin.state.pane_partials import Layout, PaneStore, Partials

if TYPE_CHECKING:
    from muntin.operators.synopsis import Synopsis

Ints = NDArray[np.int64]

_HALF = 32
_MASK = (1 << _HALF) - 1


@dataclass(frozen=True)
class Answers:
    """Rows of (``window``, ``time``, group), in this order; ``sums`` and ``keys``: by column of ``columns``. ``cut``:
    where a step would have to end that has room for its rows (None: this one has)."""

    window: Ints
    time: Ints
    groups: pa.RecordBatch
    sums: Ints
    keys: Ints
    columns: Columns
    cut: int | None = None

    def sum_of(self, column: str) -> Ints:
        """A column that was added up."""
        return np.ascontiguousarray(self.sums[:, self.columns.sums.index(column)])


@dataclass(frozen=True)
class Columns:
    """Where sums and keys stand: ``sums`` the columns that add up, "n" (rows) first, ``keys`` those of which the
    greatest wins; by their names in the synopsis. A 128-bit sum has two: ``a.low`` its lower 32 bits, ``a.high`` the
    rest; added up apart both stay inside 64 bits."""

    sums: tuple[str, ...]
    keys: tuple[str, ...]

    def of(self, agg: Agg, argument: str) -> tuple[list[int], list[int]]:
        """The places of the columns that an aggregate reads."""
        if agg.arg is None:
            return [], []
        added = [f"{argument}.n"]
        if agg.fn in ("sum", "avg"):
            parts = ("low", "high", "l", "odd")
            added += [c for c in self.sums if c.startswith(tuple(f"{argument}.{p}" for p in parts))]
        keys = [self.keys.index(f"{argument}.{agg.fn}")] if agg.fn in ("min", "max") else []
        return [self.sums.index(c) for c in added], keys


def answered(op: Synopsis, panes: PaneStore, readers: Ints, ctx: Context) -> Answers:
    """What the windows show at their instants of this step; ``readers``: the first of each."""
    if not (readers < ctx.until).any():
        return _nothing(op, panes)
    due = np.flatnonzero(readers < ctx.until)
    held = _Held.of(op, panes, due, int((readers - op.clocks[0])[due].min()))
    wanted = op.wanted.setdefault(held.columns, {})
    wants = [wanted.get(w) or wanted.setdefault(w, _wanted(op, held.columns, w)) for w in due.tolist()]
    lengths, slides, origins = op.clocks
    table = np.column_stack([op.predicate_of, lengths, slides, origins, readers])[due]
    where, sums, keys, done = synopses.answers(
        held.begin, held.cell_group, held.cell_layout, held.pane, held.sums, held.keys, *held.by_predicate,
        held.usable[due], np.ascontiguousarray(table),
        *_lists([w[0] for w in wants]), *_lists([w[1] for w in wants]),
        ctx.until, not op.groups, np.iinfo(np.int64).max if ctx.most is None else ctx.most,
    )  # fmt: skip
    time = np.ascontiguousarray(where[:, 1])
    if done < len(due):
        cut = _cut(time, done / len(due), ctx)
        if cut is not None:
            return Answers(time, time, held.groups, sums, keys, held.columns, cut)
        return answered(op, panes, readers, replace(ctx, most=None))
    rows = held.groups.take(pa.array(where[:, 2])) if held.groups.num_columns else no_columns(len(where))
    return Answers(due[where[:, 0]], time, rows, sums, keys, held.columns)


def _cut(time: Ints, done: float, ctx: Context) -> int | None:
    """Up to where about so many rows fit as were found when only a part of the readers was done; None where all are of
    one instant."""
    ordered = np.sort(time)
    at = int(ordered[int(done * (len(ordered) - 1))])
    at = max(at, int(ordered[0]) + 1)
    return at if ctx.low < at < ctx.high else None


def _nothing(op: Synopsis, panes: PaneStore) -> Answers:
    none, columns = np.empty(0, np.int64), _columns([], op)
    wide = (np.empty((0, len(columns.sums)), np.int64), np.empty((0, len(columns.keys)), np.int64))
    return Answers(none, none, _no_groups(panes), *wide, columns)


def _no_groups(panes: PaneStore) -> pa.RecordBatch:
    if not panes.groups.names:
        return no_columns(0)
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in panes.groups], schema=panes.groups)


def _wanted(op: Synopsis, columns: Columns, window: int) -> tuple[list[int], list[int]]:
    """The columns that a window reads: rows first."""
    sums, keys = [0], []
    for a in op.windows[window].aggs:
        more = columns.of(op.aggs[a], op.argument(a))
        sums += [c for c in more[0] if c not in sums]
        keys += [c for c in more[1] if c not in keys]
    return sums, keys


def _lists(lists: list[list[int]]) -> tuple[Ints, Ints]:
    """Where each list begins, and all of them in a row."""
    begin = np.cumsum([0, *map(len, lists)])
    return begin.astype(np.int64), np.array([x for own in lists for x in own], np.int64)


@dataclass(frozen=True)
class _Held:
    """All partials by cell (group and signature), in order of panes."""

    columns: Columns
    groups: pa.RecordBatch
    begin: Ints
    cell_group: Ints
    cell_layout: Ints
    pane: Ints
    sums: Ints
    keys: Ints
    by_predicate: tuple[Ints, Ints]
    usable: NDArray[np.bool_]

    @staticmethod
    def of(op: Synopsis, panes: PaneStore, due: Ints, after: int) -> _Held:
        """Those of panes after ``after`` that windows at some places (``due``) read."""
        signatures = _Signatures(op, panes, panes.layouts)
        numbers, parts = [], []
        for number, partials in panes.chunks(after, signatures.of_predicates(np.unique(op.predicate_of[due]))):
            numbers.append(number)
            parts.append(partials)
        columns = _columns(parts, op)
        sig = _joined([p.sig + signatures.first[n] for n, p in zip(numbers, parts, strict=True)])
        pane, groups = _joined([p.pane for p in parts]), [p.groups for p in parts]
        whole = concat_rows([_no_groups(panes), *groups]) if panes.groups.names else no_columns(len(pane))
        group, count, first = (
            key_ids(whole.columns, len(pane)) if panes.groups.names else (np.zeros(len(pane), np.int64), 1, None)
        )
        kept = whole if first is None else whole.take(pa.array(first))
        cell, cells, cell_row = _cells(group, count, sig, signatures.count)
        order = np.argsort(pane, kind="stable") if (pane[1:] < pane[:-1]).any() else np.arange(len(pane))
        begin, rows = synopses.by_cell(cell[order], cells)
        rows = order[rows]
        added = np.empty((len(pane), len(columns.sums)), np.int64)
        for k, name in enumerate(columns.sums):
            added[:, k] = _joined([_added(p, name) for p in parts])[rows]
        keys = np.empty((len(pane), len(columns.keys)), np.int64)
        for k, name in enumerate(columns.keys):
            keys[:, k] = _joined([_key(p, name) for p in parts])[rows]
        synopses.running(begin, added)
        cell_sig = sig[cell_row]
        by_predicate = synopses.cells_of(signatures.holds, cell_sig)
        return _Held(
            columns, kept, begin, group[cell_row], signatures.layout[cell_sig], pane[rows], added, keys, by_predicate,
            signatures.usable,
        )  # fmt: skip


def _cells(group: Ints, groups: int, sig: Ints, signatures: int) -> tuple[Ints, int, Ints]:
    """(the cell of each row, how many there are, a row of each), cells of one group in a row."""
    key = group * max(1, signatures) + sig
    if groups * signatures <= max(8 * len(key), 1 << 12):
        there = np.full(max(1, groups * signatures), -1, np.int64)
        there[key] = np.arange(len(key))
        full = there >= 0
        return (np.cumsum(full) - 1)[key], int(full.sum()), there[full]
    _, row, cell = np.unique(key, return_index=True, return_inverse=True)
    return cell.astype(np.int64), len(row), row.astype(np.int64)


class _Signatures:
    """The signatures of all layouts one after another, and what they tell of the present predicates.

    ``first``: by number of a layout where its own begin; ``layout``: place of each one's layout; ``holds``: signature
    by predicate; ``usable``: window by layout, whether its panes tell what the window asks.
    """

    def __init__(self, op: Synopsis, panes: PaneStore, layouts: dict[int, Layout]) -> None:
        self.first: dict[int, int] = {}
        place, holds, self.count = [], [], 0
        for at, (number, layout) in enumerate(layouts.items()):
            own = panes.signatures(number)
            self.first[number] = self.count
            self.count += len(own)
            place += [at] * len(own)
            holds.append(_truth(own, layout, op.names))
        self.layout = np.array(place, np.int64)
        self.holds = np.ascontiguousarray(np.concatenate(holds)) if holds else np.zeros((0, len(op.names)), np.bool_)
        told = np.stack([_tell(layout, op) for layout in layouts.values()], axis=1)
        since = np.logical_and.accumulate(told[:, ::-1], axis=1)  # without a gap from some layout on
        self.usable = np.ascontiguousarray(since[:, ::-1])


    def of_predicates(self, predicates: Ints) -> dict[int, NDArray[np.bool_]]:
        """By layout which of its signatures fulfil one of some predicates."""
        some: NDArray[np.bool_] = np.asarray(self.holds[:, predicates].any(axis=1))
        ends = [*list(self.first.values())[1:], self.count]
        return {n: some[low:high] for (n, low), high in zip(self.first.items(), ends, strict=True)}


def _truth(signatures: list[bytes], layout: Layout, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Whether each signature says that each named predicate is fulfilled; one that the layout does not know is not."""
    width = (len(layout.predicates) + 7) // 8
    packed = np.frombuffer(b"".join(signatures), np.uint8).reshape(len(signatures), width)
    bits = np.unpackbits(packed, axis=1).astype(np.bool_)
    if layout.predicates == names:
        return bits[:, : len(names)]
    place = {n: i for i, n in enumerate(layout.predicates)}
    known = [place.get(n, -1) for n in names]
    wide = np.append(bits[:, : len(layout.predicates)], np.zeros((len(signatures), 1), np.bool_), axis=1)
    return wide[:, known]


def _tell(layout: Layout, op: Synopsis) -> NDArray[np.bool_]:
    """By window whether panes of a layout tell what it asks."""
    if layout == op.layout:
        return np.ones(len(op.windows), np.bool_)
    return np.array([_tells(layout, op, w) for w in range(len(op.windows))], np.bool_)


def _tells(layout: Layout, op: Synopsis, window: int) -> bool:
    """Whether panes of a layout tell what a window asks: its ends are ends of panes, and predicate and parts are
    there."""
    w = op.windows[window]
    fits = all(x % layout.grid == 0 for x in (w.length, w.slide, w.origin - layout.base))
    parts = {f"{op.arguments[op.of[a]].name}.{p}" for a in w.aggs if op.of[a] >= 0 for p in parts_of(op.aggs[a])}
    return fits and op.names[w.predicate] in layout.predicates and parts <= set(layout.parts)


def parts_of(agg: Agg) -> tuple[str, ...]:
    """The parts of its argument that an aggregate reads."""
    match agg.fn:
        case "sum" | "avg":
            return ("n", "sum")
        case "min" | "max":
            return ("n", agg.fn)
        case _:
            return () if agg.arg is None else ("n",)


def _columns(parts: list[Partials], op: Synopsis) -> Columns:
    """What is added up and compared of all parts."""
    there = {n for p in parts for n in p.columns}
    for a in op.arguments:  # what no chunk has is asked for all the same
        there |= {f"{a.name}.n", *(f"{a.name}.{p}" for p in a.parts if p in ("min", "max"))}
        if "sum" in a.parts:
            there |= {f"{a.name}.l0", f"{a.name}.odd0"} if _floats(a.type) else {f"{a.name}.low", f"{a.name}.high"}
    keys = sorted(n for n in there if n.endswith((".min", ".max")))
    return Columns(("n", *sorted(there - set(keys))), tuple(keys))


def _floats(t: pa.DataType) -> bool:
    return bool(pa.types.is_floating(t))


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _added(p: Partials, name: str) -> Ints:
    """A column that adds up without leaving 64 bits."""
    if name == "n":
        return p.n
    argument, _, part = name.rpartition(".")
    if part in ("low", "high") and f"{argument}.low" in p.columns:
        low, high = p.columns[f"{argument}.low"], p.columns[f"{argument}.high"]
        upper = (low.view(np.uint64) >> np.uint64(_HALF)).astype(np.int64)
        return low & _MASK if part == "low" else (high << _HALF) + upper
    return p.columns.get(name, p.n if part == "n" else np.zeros(len(p.n), np.int64))


def _key(p: Partials, name: str) -> Ints:
    found = p.columns.get(name)
    return np.full(len(p.n), synopses.LEAST, np.int64) if found is None else found


def shown(op: Synopsis, rows: Answers) -> pa.RecordBatch:
    """The columns of the answers: groups, a column an aggregate, the place of the window.

    Raises DataError where a sum leaves its type.
    """
    made = [_value(agg, op.argument(a), rows) for a, agg in enumerate(op.aggs)]
    arrays = [*rows.groups.columns, *made, pa.array(rows.window.astype(np.int32))]
    return pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _value(agg: Agg, argument: str, rows: Answers) -> pa.Array:
    """An aggregate by row; of windows that do not ask for it, anything."""
    if agg.arg is None:
        return pa.array(rows.sum_of("n"))
    count = rows.sum_of(f"{argument}.n")
    none = count == 0
    if agg.fn in ("min", "max"):
        key = rows.keys[:, rows.columns.keys.index(f"{argument}.{agg.fn}")]
        return _of_keys(~key if agg.fn == "min" else key, agg.type, none)
    if agg.fn == "count":
        return pa.array(count)
    if _floats(agg.arg.type):
        total = _doubles(argument, rows)
        with np.errstate(invalid="ignore", divide="ignore"):
            return pa.array(total / count if agg.fn == "avg" else total, mask=none)
    words = _words(rows.sum_of(f"{argument}.low"), rows.sum_of(f"{argument}.high"))
    over = np.zeros(len(count), np.int64)
    exact = SumExact("", argument, agg.fn, agg.type)
    return exact.average(*words, over, count, agg.arg.type) if agg.fn == "avg" else exact.sum(*words, over, none)


def _words(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The 128-bit words of ``high * 2**32 + low``, where ``low`` is not negative."""
    carried = high + (low >> _HALF)
    return (carried << _HALF) | (low & _MASK), carried >> _HALF


def _of_keys(keys: Ints, type: pa.DataType, none: NDArray[np.bool_]) -> pa.Array:
    """Values out of their order keys (``aggregates.order``)."""
    if pa.types.is_floating(type):
        bits = keys ^ ((keys >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
        return pa.array(bits.view(np.float64), mask=none).cast(type)
    if pa.types.is_boolean(type):
        return pa.array(keys == 1, mask=none)
    plain = pa.array(np.where(none, 0, keys), mask=none)
    if pa.types.is_temporal(type) and type.bit_width == 32:
        plain = plain.cast(pa.int32())
    return plain.cast(type)


def _doubles(argument: str, rows: Answers) -> NDArray[np.float64]:
    """Sums of doubles, rounded once."""
    mark = f"{argument}.l"
    limbs = {int(n.removeprefix(mark)): i for i, n in enumerate(rows.columns.sums) if n.startswith(mark)}
    first, last = min(limbs), max(limbs)
    wide = np.zeros((len(rows.time), last - first + 3), np.int64)
    for limb, at in limbs.items():
        wide[:, limb - first] = rows.sums[:, at]
    odd = np.zeros((len(rows.time), 3), np.int64)
    for k in range(3):
        if f"{argument}.odd{k}" in rows.columns.sums:
            odd[:, k] = rows.sums[:, rows.columns.sums.index(f"{argument}.odd{k}")]
    out = np.empty(len(rows.time))
    synopses.round_doubles(wide, first, odd, out)
    return out
