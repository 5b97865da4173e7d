"""The partials of a synopsis as its windows read them: running totals and keys by cell (group and signature)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.approximate import sketch_of
from muntin.aggregates.moments import series_names
from muntin.aggregates.registry import described
from muntin.core.batch import concat_rows, no_columns
from muntin.core.zones import grid_of
from muntin.kernels import synopses
from muntin.kernels.keys import key_ids
from muntin.plan.exprs import Agg
from muntin.state.pane_partials import Layout, PaneStore, Partials

if TYPE_CHECKING:
    from muntin.operators.synopsis import Synopsis

Ints = NDArray[np.int64]

HALF = 32
"""Bits of the lower part of a 128-bit sum, which is added up apart."""

MASK = (1 << HALF) - 1

SUMS = frozenset(["sum", "avg", "try_sum", "try_avg"])
"""Aggregates of sums in the argument's own type."""

EXACT = "values"
"""The part of an argument that is each of its values with its count."""

TERMS = frozenset(["x", "y", "xx", "yy", "xy"])
"""The parts of an argument that are sums of doubles (``aggregates.moments``)."""

_OVER_VALUES = frozenset(["count_distinct", "median", "quantile", "percentile_disc", "frequent"])


def value_part(agg: Agg) -> str:
    """The part of its argument that an aggregate over values reads (``operators.synopsis_values``): the values, or a
    sketch of them; "" for the others."""
    return EXACT if agg.fn in _OVER_VALUES else sketch_of(agg)


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
        summed = [argument] if agg.fn in SUMS else of_series(argument, parts_of(agg))
        marks = tuple(f"{s}.{p}" for s in summed for p in ("low", "high", "l", "odd"))
        added += [c for c in self.sums if c.startswith(marks)]
        keys = [self.keys.index(f"{argument}.{agg.fn}")] if agg.fn in ("min", "max") else []
        return [self.sums.index(c) for c in added], keys


def no_groups(panes: PaneStore) -> pa.RecordBatch:
    """No rows of the groups' columns."""
    if not panes.groups.names:
        return no_columns(0)
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in panes.groups], schema=panes.groups)


@dataclass(frozen=True)
class Held:
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
    signatures: Signatures

    @staticmethod
    def of(op: Synopsis, panes: PaneStore, due: Ints, after: int) -> Held:
        """Those of panes after ``after`` that windows at some places (``due``) read."""
        signatures = Signatures(op, panes, panes.layouts)
        found = list(panes.chunks(after, signatures.of_predicates(np.unique(op.predicate_of[due]))))
        parts = [p for _, p in found]
        columns = columns_of(parts, op)
        sig = joined([p.sig + signatures.first[n] for n, p in found])
        pane, groups = joined([p.pane for p in parts]), [p.groups for p in parts]
        whole = concat_rows([no_groups(panes), *groups]) if panes.groups.names else no_columns(len(pane))
        group, count, first = (
            key_ids(whole.columns, len(pane)) if panes.groups.names else (np.zeros(len(pane), np.int64), 1, None)
        )
        kept = whole if first is None else whole.take(pa.array(first))
        cell, cells, cell_row = cells_of(group, count, sig, signatures.count)
        begin, rows = in_order(cell, cells, pane)
        added, keys = _table(parts, columns.sums, _added, rows), _table(parts, columns.keys, _key, rows)
        synopses.running(begin, added)
        cell_sig = sig[cell_row]
        by_predicate = synopses.cells_of(signatures.holds, cell_sig)
        return Held(
            columns, kept, begin, group[cell_row], signatures.layout[cell_sig], pane[rows], added, keys, by_predicate,
            signatures,
        )  # fmt: skip


def cells_of(group: Ints, groups: int, sig: Ints, signatures: int) -> tuple[Ints, int, Ints]:
    """(the cell of each row, how many there are, a row of each), cells of one group in a row."""
    key = group * max(1, signatures) + sig
    if groups * signatures <= max(8 * len(key), 1 << 12):
        there = np.full(max(1, groups * signatures), -1, np.int64)
        there[key] = np.arange(len(key))
        full = there >= 0
        return (np.cumsum(full) - 1)[key], int(full.sum()), there[full]
    _, row, cell = np.unique(key, return_index=True, return_inverse=True)
    return cell.astype(np.int64), len(row), row.astype(np.int64)


def in_order(cell: Ints, cells: int, pane: Ints) -> tuple[Ints, Ints]:
    """(where each cell's rows begin, the rows by cell), those of a cell in order of panes."""
    order = np.argsort(pane, kind="stable") if (pane[1:] < pane[:-1]).any() else np.arange(len(pane))
    begin, rows = synopses.by_cell(cell[order], cells)
    return begin, order[rows]


class Signatures:
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
    pane = layout.hours or (2 * layout.grid if op.granule else layout.grid)
    origin = grid_of(pane, w.origin, op.zone).base if op.of_hours and op.zone is not None else w.origin
    fits = all(x % pane == 0 for x in (w.length, w.slide, origin - layout.base))
    parts = {f"{op.arguments[op.of[a]].name}.{p}" for a in w.aggs if op.of[a] >= 0 for p in parts_of(op.aggs[a])}
    return fits and op.names[w.predicate] in layout.predicates and parts <= set(layout.parts)


def of_series(argument: str, parts: Iterable[str]) -> list[str]:
    """What columns of the sums of an argument's terms begin with, before the dot."""
    return [f"{argument}:{s}" for s in series_names(p for p in parts if p in TERMS)]


def parts_of(agg: Agg) -> tuple[str, ...]:
    """The parts of its argument that an aggregate reads."""
    match agg.fn:
        case _ if agg.fn in SUMS:
            return ("n", "sum")
        case _ if not agg.distinct and described(agg).terms:
            return ("n", *described(agg).terms)
        case "min" | "max":
            return ("n", agg.fn)
        case _ if value_part(agg):
            return ("n", value_part(agg))
        case _:
            return () if agg.arg is None else ("n",)


def columns_of(parts: list[Partials], op: Synopsis) -> Columns:
    """What is added up and compared of all parts."""
    there = {n for p in parts for n in p.columns}
    for a in op.arguments:  # what no chunk has is asked for all the same
        there |= {f"{a.name}.n", *(f"{a.name}.{p}" for p in a.parts if p in ("min", "max"))}
        if "sum" in a.parts and not is_double(a.type):
            there |= {f"{a.name}.low", f"{a.name}.high"}
        for own in (*([a.name] if "sum" in a.parts and is_double(a.type) else []), *of_series(a.name, a.parts)):
            there |= {f"{own}.odd0", *([] if any(n.startswith(f"{own}.l") for n in there) else [f"{own}.l0"])}
    keys = sorted(n for n in there if n.endswith((".min", ".max")))
    return Columns(("n", *sorted(there - set(keys))), tuple(keys))


def is_double(t: pa.DataType) -> bool:
    """Whether sums of values are kept in limbs."""
    return bool(pa.types.is_floating(t))


def joined(parts: list[Ints]) -> Ints:
    """Arrays one after another; there may be none."""
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _table(
    parts: list[Partials], names: tuple[str, ...], column: Callable[[Partials, str], Ints], rows: Ints
) -> Ints:
    """Some rows of all parts: a matrix of row by name."""
    out = np.empty((len(rows), len(names)), np.int64)
    for k, name in enumerate(names):
        out[:, k] = joined([column(p, name) for p in parts])[rows]
    return out


def _added(p: Partials, name: str) -> Ints:
    """A column that adds up without leaving 64 bits."""
    if name == "n":
        return p.n
    argument, _, part = name.rpartition(".")
    if part in ("low", "high") and f"{argument}.low" in p.columns:
        low, high = p.columns[f"{argument}.low"], p.columns[f"{argument}.high"]
        upper = (low.view(np.uint64) >> np.uint64(HALF)).astype(np.int64)
        return low & MASK if part == "low" else (high << HALF) + upper
    return p.columns.get(name, p.n if part == "n" else np.zeros(len(p.n), np.int64))


def _key(p: Partials, name: str) -> Ints:
    found = p.columns.get(name)
    return np.full(len(p.n), synopses.LEAST, np.int64) if found is None else found
