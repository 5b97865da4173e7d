"""Answers that take a window's values and not just sums of them, out of the frequency counts of a synopsis: the number
of distinct values, values at ranks, and the most frequent ones.

All windows, slides and predicates that ask for something of one argument are answered together: what is read is read
once for them (``kernels.frequencies``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.approximate import BOUNDS, registers, with_bounds
from muntin.aggregates.frequent import EXACT as GUARANTEE
from muntin.aggregates.frequent import answer_type
from muntin.kernels import frequencies
from muntin.operators.synopsis_held import value_part
from muntin.operators.synopsis_kept import Kept
from muntin.operators.synopsis_ranks import RANKED, at_ranks
from muntin.operators.synopsis_sketches import CUT, ERROR, Estimates, exact_up_to, slots
from muntin.operators.synopsis_values import Values, View
from muntin.plan.exprs import Agg

if TYPE_CHECKING:
    from muntin.operators.synopsis import Synopsis
    from muntin.operators.synopsis_answers import Answers

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """The rows of the answers in which an aggregate is shown (``at``), with the window and the group of each;
    ``time`` and ``length`` on the clock of the panes."""

    agg: Agg
    at: Ints
    window: Ints
    predicate: Ints
    group: Ints
    time: Ints
    length: Ints

    def where(self, kept: NDArray[np.bool_]) -> Asked:
        """Some of its rows."""
        parts = (self.at, self.window, self.predicate, self.group, self.time, self.length)
        return Asked(self.agg, *(p[kept] for p in parts))


def holistic(op: Synopsis, rows: Answers, stores: Sequence[Kept]) -> dict[int, pa.Array]:
    """By place the aggregates that take values, one value by row of the answers; NULL for windows that do not ask.
    ``stores``: what is kept of arguments."""
    found: dict[int, pa.Array] = {}
    for own in stores:
        places = [a for a, g in enumerate(op.aggs) if (op.argument(a), value_part(g)) == (own.name, own.part)]
        asked = {a: _asked(op, a, rows) for a in places}
        some = {a: rows_asked for a, rows_asked in asked.items() if len(rows_asked.at)}
        values = _values(op, rows, own, list(some.values())) if some else None
        shown = {} if values is None else _shown(values, some, rows.sum_of(f"{own.name}.n"))
        own.store.looked_at(0 if values is None else sum(values.touched))
        for a in places:
            found[a] = _spread(shown[a], asked[a].at, len(rows.time)) if a in shown else _none(op.aggs[a], rows)
    return found


def _asked(op: Synopsis, agg: int, rows: Answers) -> Asked:
    at = np.flatnonzero(op.asks[:, agg][rows.window])
    window = rows.window[at]
    ends = np.ascontiguousarray(rows.pane[at])
    return Asked(op.aggs[agg], at, window, op.predicate_of[window], rows.group[at], ends, rows.length[at])


def _values(op: Synopsis, rows: Answers, kept: Kept, asked: Sequence[Asked]) -> Values:
    assert rows.signatures is not None
    predicates = np.unique(np.concatenate([a.predicate for a in asked]))
    after = min(int((a.time - a.length).min()) for a in asked)
    return Values.of(kept.store, rows.signatures, rows, predicates, after)


def _none(agg: Agg, rows: Answers) -> pa.Array:
    return pa.nulls(len(rows.time), agg.type)


def _spread(values: pa.Array, at: Ints, count: int) -> pa.Array:
    """Values at some of ``count`` places, NULL at the others."""
    if len(at) == count:
        return values
    index = np.full(count, -1, np.int64)
    index[at] = np.arange(len(at))
    return values.take(pa.array(index, mask=index < 0))


def _shown(values: Values, asked: dict[int, Asked], count: Ints) -> dict[int, pa.Array]:
    """The answers of all aggregates; ``count``: by row of the answers how many values there are."""
    ranked = {a: own for a, own in asked.items() if own.agg.fn.removesuffix(BOUNDS) in RANKED}
    found = dict(zip(ranked, at_ranks(values, list(ranked.values()), count), strict=True)) if ranked else {}
    for a, own in asked.items():
        match own.agg.fn:
            case "count_distinct":
                found[a] = pa.array(_by_view(values, own, _distinct))
            case "approx_count" | "approx_count_bounds":
                found[a] = _near_distinct(values, own)
            case "frequent":
                found[a] = _frequent(values, own, count[own.at])
            case "approx_top_k":
                found[a] = _near_top(values, own, count[own.at])
    return found


# --- distinct values --------------------------------------------------------------------------------------------------


def _by_view(values: Values, own: Asked, count: Callable[[Values, View, Ints], Ints]) -> Ints:
    """A number by answer, view by view: ``count`` gets rows of (group, instant, length) in order."""
    out = np.zeros(len(own.at), np.int64)
    for view, mine in _views(values, own):
        order = mine[np.lexsort([own.length[mine], own.time[mine], own.group[mine]])]
        out[order] = count(values, view, _triples(own, order))
    return out


def _views(values: Values, own: Asked) -> list[tuple[View, Ints]]:
    """The views that answers read, each with the places of its answers."""
    windows = np.unique(own.window)
    views = {w: values.view(int(own.predicate[own.window == w][0]), w) for w in windows.tolist()}
    number = {id(v): i for i, v in enumerate({id(v): v for v in views.values()}.values())}
    of = np.array([number[id(views[w])] for w in windows.tolist()])[np.searchsorted(windows, own.window)]
    each = {number[id(v)]: v for v in views.values()}
    return [(each[i], np.flatnonzero(of == i)) for i in sorted(each)]


def _triples(own: Asked, order: Ints) -> Ints:
    return np.ascontiguousarray(np.column_stack([own.group[order], own.time[order], own.length[order]]))


def _distinct(values: Values, view: View, asked: Ints) -> Ints:
    codes = values.codes[view.rows]
    values.touched.append(len(codes) + len(asked))
    return np.asarray(frequencies.distinct(codes, len(values.order), view.begin, view.pane, asked))


def _near_distinct(values: Values, own: Asked) -> pa.Array:
    """Few values by their hashes, many by HyperLogLog sketches."""
    size = registers(own.agg)
    estimate = _by_view(values, own, _distinct)
    low, high = estimate.copy(), estimate.copy()
    many = estimate > exact_up_to(size)
    if many.any():
        estimates = Estimates(size)
        for view, mine in _views(values, own.where(many)):
            place = np.flatnonzero(many)[mine]
            order = place[np.lexsort([own.length[place], own.time[place], own.group[place]])]
            triples = _triples(own, order)
            spans = frequencies.group_spans(triples, view.begin, view.pane)
            fresh = np.append(True, (np.diff(triples[:, :2], axis=0) != 0).any(axis=1)).astype(np.int64)
            values.touched.append(int(np.maximum.reduceat(spans[:, 1] - spans[:, 0], np.flatnonzero(fresh)).sum()))
            slot, rank = slots(np.asarray(values.order.to_numpy(), np.int64), size)
            code = values.codes[view.rows]
            sums, nothing = frequencies.register_sums(slot[code], rank[code], 1 << size, spans, fresh)
            for at, (near, far), none in zip(order.tolist(), sums.tolist(), nothing.tolist(), strict=True):
                estimate[at], low[at], high[at] = estimates.of(near, far, none)
    if not own.agg.fn.endswith(BOUNDS):
        return pa.array(estimate)
    return with_bounds(pa.array(estimate), pa.array(low), pa.array(high), own.agg.type)


# --- the most frequent values -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Top:
    """The most frequent values by answer, in order: where those of each begin, their codes and counts."""

    begin: Ints
    codes: Ints
    counts: Ints
    more: Ints


def top(values: Values, own: Asked, k: int, more: str = "") -> Top:
    """The k values with the greatest counts, of equal ones the least; ``more``: a column that is added up of them."""
    found: list[tuple[Ints, Ints, Ints, Ints]] = []
    for view, mine in _views(values, own):
        asked = _triples(own, mine)
        spans = frequencies.group_spans(asked, view.begin, view.pane)
        order, fresh = _cheapest(asked, spans)
        added = values.added(more)[view.rows] if more else np.empty(0, np.int64)
        begin, code, n, extra, touched = frequencies.most_frequent(
            values.codes[view.rows], len(values.order), values.count[view.rows], added,
            np.ascontiguousarray(spans[order]), fresh, np.full(len(order), k, np.int64),
        )  # fmt: skip
        values.touched.append(touched)
        found.append((np.repeat(mine[order], np.diff(begin)), code, n, extra))
    whole = [np.concatenate(x) for x in zip(*found, strict=True)]
    place = np.lexsort([whole[1], -whole[2], whole[0]])
    begin = np.searchsorted(whole[0][place], np.arange(len(own.at) + 1)).astype(np.int64)
    return Top(begin, *(x[place] for x in whole[1:]))


def _cheapest(asked: Ints, spans: Ints) -> tuple[Ints, Ints]:
    """(an order of spans, where counting begins anew): group by group from the latest start to the earliest at each
    instant (the windows that end there from the shortest to the longest), or window by window, whichever moves less."""
    group, time, length = asked.T
    orders = [np.lexsort([length, time, group]), np.lexsort([time, length, group])]
    cost = [_moved(group[o], spans[o]) for o in orders]
    best = orders[0] if cost[0] <= cost[1] else orders[1]
    fresh = np.append(True, np.diff(group[best]) != 0).astype(np.int64)[: len(best)]
    return best, fresh


def _moved(group: Ints, spans: Ints) -> int:
    """How many rows come and go from span to span."""
    low, high = spans.T
    size, both = high - low, np.minimum(high[1:], high[:-1]) - np.maximum(low[1:], low[:-1])
    both = np.where(np.diff(group) == 0, np.maximum(both, 0), 0)
    return int(size.sum() + size[:-1].sum() - 2 * both.sum())


def _frequent(values: Values, own: Asked, rows: Ints) -> pa.Array:
    """FREQUENT's answers; NULL over no values."""
    found = top(values, own, int(own.agg.param or 1))
    share = own.agg.share
    least = np.zeros(len(rows), np.int64) if share is None else np.floor(share * rows).astype(np.int64)
    of = np.repeat(np.arange(len(rows)), np.diff(found.begin))
    kept = np.flatnonzero(found.counts > least[of])
    counts, begin = pa.array(found.counts[kept]), np.searchsorted(of[kept], np.arange(len(rows) + 1))
    item = values.order.take(pa.array(found.codes[kept]))
    entries = pa.StructArray.from_arrays([item, counts, counts], names=["item", "count", "at_most"])
    lists = pa.ListArray.from_arrays(pa.array(begin, pa.int32()), entries)
    whole = [lists, pa.array(least), pa.array(rows), pa.repeat(GUARANTEE, len(rows))]
    kind = answer_type(values.order.type)
    made = pa.StructArray.from_arrays(whole, names=kind.names, mask=pa.array(rows == 0))
    return made.cast(kind)


def _near_top(values: Values, own: Asked, rows: Ints) -> pa.Array:
    """APPROX_TOP_K's answers; NULL over no values."""
    found = top(values, own, int(own.agg.param or 1), CUT)
    error = np.zeros(len(rows), np.int64)
    for view, mine in _views(values, own):
        spans = frequencies.group_spans(_triples(own, mine), view.begin, view.pane)
        error[mine] = frequencies.totals(np.arange(len(mine) + 1), spans, values.added(ERROR)[view.rows])
    of = np.repeat(np.arange(len(rows)), np.diff(found.begin))
    item = values.order.take(pa.array(found.codes))
    most = pa.array(found.counts + error[of] - found.more)
    entries = pa.StructArray.from_arrays([item, pa.array(found.counts), most], names=["item", "count", "at_most"])
    begin = pa.array(found.begin, pa.int32(), mask=np.append(rows == 0, False))  # a NULL begins no list
    return pa.ListArray.from_arrays(begin, entries).cast(own.agg.type)
