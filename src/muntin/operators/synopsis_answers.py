"""Answers of many windows out of one synopsis of panes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.moments import Moments, series_names
from muntin.aggregates.order import values_of
from muntin.aggregates.registry import described
from muntin.aggregates.sum import SumExact
from muntin.core.batch import no_columns
from muntin.kernels import synopses
from muntin.kernels.moments import Total
from muntin.operators.context import Context
from muntin.operators.synopsis_clock import instants, runs, too_far
from muntin.operators.synopsis_held import HALF, MASK, Columns, Held, Signatures, columns_of, is_double, no_groups
from muntin.operators.synopsis_holistic import holistic
from muntin.operators.synopsis_kept import Kept
from muntin.plan.exprs import Agg
from muntin.state.pane_partials import PaneStore

if TYPE_CHECKING:
    from muntin.operators.synopsis import Synopsis

Ints = NDArray[np.int64]


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
    group: Ints
    held_groups: pa.RecordBatch
    """All groups, by their numbers in ``group``."""
    pane: Ints
    """``time`` on the clock of the panes."""
    length: Ints
    """How far the window reaches back there."""
    signatures: Signatures | None = None
    cut: int | None = None

    def sum_of(self, column: str) -> Ints:
        """A column that was added up."""
        return np.ascontiguousarray(self.sums[:, self.columns.sums.index(column)])


def answered(op: Synopsis, panes: PaneStore, readers: Ints, ctx: Context) -> Answers:
    """What the windows show at their instants of this step; ``readers``: the first of each."""
    if not (readers < ctx.until).any():
        return _nothing(op, panes)
    cut = None if ctx.most is None else too_far(op, readers.tolist(), ctx.until, panes.ends)
    if cut is not None:
        return replace(_nothing(op, panes), cut=cut)
    due = runs(op, readers.tolist(), ctx.until, panes.ends)
    if len(due.table) == 0:
        return _nothing(op, panes)
    held = Held.of(op, panes, np.unique(due.window), due.after)
    wanted = op.wanted.setdefault(held.columns, {})
    wants = [wanted.get(w) or wanted.setdefault(w, _wanted(op, held.columns, w)) for w in due.window.tolist()]
    table = due.table.copy()
    table[:, 0] = op.predicate_of[due.window]
    where, sums, keys, done = synopses.answers(
        held.begin, held.cell_group, held.cell_layout, held.pane, held.sums, held.keys, *held.by_predicate,
        held.signatures.usable[due.window], table,
        *_lists([w[0] for w in wants]), *_lists([w[1] for w in wants]),
        not op.groups, np.iinfo(np.int64).max if ctx.most is None else ctx.most,
    )  # fmt: skip
    pane = np.ascontiguousarray(where[:, 1])
    time = instants(op, pane)
    if done < len(due.table):
        cut = _cut(time, done / len(due.table), ctx)
        if cut is not None:
            return Answers(time, time, held.groups, sums, keys, held.columns, time, held.groups, pane, pane, cut=cut)
        return answered(op, panes, readers, replace(ctx, most=None))
    rows = held.groups.take(pa.array(where[:, 2])) if held.groups.num_columns else no_columns(len(where))
    group = np.ascontiguousarray(where[:, 2])
    window, length = due.window[where[:, 0]], due.length[where[:, 0]]
    return Answers(
        window, time, rows, sums, keys, held.columns, group, held.groups, pane, length, held.signatures
    )  # fmt: skip


def _cut(time: Ints, done: float, ctx: Context) -> int | None:
    """Up to where about so many rows fit as were found when only a part of the readers was done; None where all are of
    one instant."""
    ordered = np.sort(time)
    at = int(ordered[int(done * (len(ordered) - 1))])
    at = max(at, int(ordered[0]) + 1)
    return at if ctx.low < at < ctx.high else None


def _nothing(op: Synopsis, panes: PaneStore) -> Answers:
    none, columns = np.empty(0, np.int64), columns_of([], op)
    wide = (np.empty((0, len(columns.sums)), np.int64), np.empty((0, len(columns.keys)), np.int64))
    return Answers(none, none, no_groups(panes), *wide, columns, none, no_groups(panes), none, none)


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


def shown(op: Synopsis, rows: Answers, stores: Sequence[Kept]) -> pa.RecordBatch:
    """The columns of the answers: groups, a column an aggregate, the place of the window. ``stores``: what is
    kept of values.

    Raises DataError where a sum leaves its type.
    """
    valued = holistic(op, rows, stores)
    made = [valued[a] if a in valued else _value(agg, op.argument(a), rows) for a, agg in enumerate(op.aggs)]
    arrays = [*rows.groups.columns, *made, pa.array(rows.window.astype(np.int32))]
    return pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _value(agg: Agg, argument: str, rows: Answers) -> pa.Array:
    """An aggregate by row; of windows that do not ask for it, anything."""
    if agg.arg is None:
        return pa.array(rows.sum_of("n"))
    count, what = rows.sum_of(f"{argument}.n"), described(agg)
    none = count == 0
    if what.of_moments is not None:
        names = series_names(what.terms)
        return what.of_moments(agg, Moments(count, {s: _doubles(f"{argument}:{s}", rows, rest=True) for s in names}))
    if agg.fn in ("min", "max"):
        key = rows.keys[:, rows.columns.keys.index(f"{argument}.{agg.fn}")]
        return values_of(key, agg.fn, agg.type, none)
    if agg.fn in ("count", "regr_count"):
        return pa.array(count)
    fn = agg.fn.removeprefix("try_")
    if is_double(agg.arg.type):
        total = _doubles(argument, rows).near
        with np.errstate(invalid="ignore", divide="ignore"):
            return pa.array(total / count if fn == "avg" else total, mask=none)
    words = _words(rows.sum_of(f"{argument}.low"), rows.sum_of(f"{argument}.high"))
    over = np.zeros(len(count), np.int64)
    exact = SumExact("", argument, fn, agg.type, tries=fn != agg.fn)
    return exact.average(*words, over, count, agg.arg.type) if fn == "avg" else exact.sum(*words, over, none)


def _words(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The 128-bit words of ``high * 2**32 + low``, where ``low`` is not negative."""
    carried = high + (low >> HALF)
    return (carried << HALF) | (low & MASK), carried >> HALF


def _doubles(name: str, rows: Answers, rest: bool = False) -> Total:
    """Sums of doubles, rounded once; with what that left over where it is asked for. ``name``: of their columns."""
    mark = f"{name}.l"
    limbs = {int(n.removeprefix(mark)): i for i, n in enumerate(rows.columns.sums) if n.startswith(mark)}
    first, last = min(limbs), max(limbs)
    wide = np.zeros((len(rows.time), last - first + 3), np.int64)
    for limb, at in limbs.items():
        wide[:, limb - first] = rows.sums[:, at]
    odd = np.zeros((len(rows.time), 3), np.int64)
    for k in range(3):
        if f"{name}.odd{k}" in rows.columns.sums:
            odd[:, k] = rows.sums[:, rows.columns.sums.index(f"{name}.odd{k}")]
    out, left = np.empty(len(rows.time)), np.empty(len(rows.time) if rest else 0)
    synopses.round_doubles(wide, first, odd, out, left)
    return Total(out, left)
