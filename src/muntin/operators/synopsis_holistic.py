"""Answers that take a window's values and not just sums of them, out of the frequency counts of a synopsis: the number
of distinct values, values at ranks, and the most frequent ones.

All windows, slides and predicates that ask for something of one argument are answered together: what is read is read
once for them (``kernels.frequencies``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.frequent import EXACT as GUARANTEE
from muntin.aggregates.frequent import answer_type
from muntin.aggregates.multisets import between
from muntin.kernels import frequencies
from muntin.operators.synopsis_held import HOLISTIC
from muntin.operators.synopsis_values import Values, View
from muntin.plan.exprs import Agg
from muntin.state.pane_partials import PaneStore

if TYPE_CHECKING:
    from muntin.operators.synopsis import Synopsis
    from muntin.operators.synopsis_answers import Answers

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """The rows of the answers in which an aggregate is shown (``at``), with the window and the group of each."""

    agg: Agg
    at: Ints
    window: Ints
    predicate: Ints
    group: Ints
    time: Ints
    length: Ints


def holistic(op: Synopsis, rows: Answers, stores: dict[str, PaneStore]) -> dict[int, pa.Array]:
    """By place the aggregates that take values, one value by row of the answers; NULL for windows that do not ask.
    ``stores``: the counts by argument."""
    found: dict[int, pa.Array] = {}
    for argument, store in stores.items():
        places = [a for a, agg in enumerate(op.aggs) if agg.fn in HOLISTIC and op.argument(a) == argument]
        asked = {a: _asked(op, a, rows) for a in places}
        some = {a: own for a, own in asked.items() if len(own.at)}
        values = _values(op, rows, store, list(some.values())) if some else None
        shown = {} if values is None else _shown(values, some, rows.sum_of(f"{argument}.n"))
        for a in places:
            found[a] = _spread(shown[a], asked[a].at, len(rows.time)) if a in shown else _none(op.aggs[a], rows)
    return found


def _asked(op: Synopsis, agg: int, rows: Answers) -> Asked:
    wants = np.array([agg in w.aggs for w in op.windows], np.bool_)
    at = np.flatnonzero(wants[rows.window])
    window = rows.window[at]
    lengths = op.clocks[0]
    return Asked(op.aggs[agg], at, window, op.predicate_of[window], rows.group[at], rows.time[at], lengths[window])


def _values(op: Synopsis, rows: Answers, store: PaneStore, asked: Sequence[Asked]) -> Values:
    assert rows.signatures is not None
    predicates = np.unique(np.concatenate([a.predicate for a in asked]))
    after = min(int((a.time - a.length).min()) for a in asked)
    return Values.of(store, rows.signatures, rows, predicates, after)


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
    ranks = {a: own for a, own in asked.items() if own.agg.fn in ("median", "quantile", "percentile_disc")}
    found = dict(zip(ranks, _at_ranks(values, list(ranks.values()), count), strict=True)) if ranks else {}
    for a, own in asked.items():
        match own.agg.fn:
            case "count_distinct":
                found[a] = pa.array(_by_view(values, own, _distinct))
            case "frequent":
                found[a] = _frequent(values, own, count[own.at])
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
    return np.asarray(frequencies.distinct(codes, len(values.order), view.begin, view.pane, asked))


# --- values at ranks --------------------------------------------------------------------------------------------------


def _at_ranks(values: Values, asked: Sequence[Asked], count: Ints) -> list[pa.Array]:
    """The values at quantiles: all of them in one pass over the counts."""
    sizes = [count[own.at] for own in asked]
    ranks = [_ranks(own.agg, size) for own, size in zip(asked, sizes, strict=True)]
    table = [_table(own, size > 0) for own, size in zip(asked, sizes, strict=True)]
    wanted = [np.concatenate([low[size > 0], high[size > 0]]) for (low, high), size in zip(ranks, sizes, strict=True)]
    found = _ranked(values, np.concatenate([t for t in table for _ in range(2)]), np.concatenate(wanted))
    out, at = [], 0
    for own, size in zip(asked, sizes, strict=True):
        there = size > 0
        some = int(there.sum())
        low, high = (_placed(values, found[at + k * some : at + (k + 1) * some], there) for k in range(2))
        at += 2 * some
        if own.agg.fn == "percentile_disc":
            out.append(low)
        else:
            q = 0.5 if own.agg.param is None else own.agg.param
            out.append(between(low, high, np.asarray(q * (size - 1) % 1.0, np.float64)))
    return out


def _ranks(agg: Agg, size: Ints) -> tuple[Ints, Ints]:
    """The ranks, from 0, between which the answer over so many values lies."""
    q = 0.5 if agg.param is None else agg.param
    if agg.fn == "percentile_disc":
        share = Fraction(str(q)).limit_denominator(10**9)
        rank = np.maximum(-((-share.numerator * size) // share.denominator) - 1, 0)
        return rank, rank
    at = q * (size - 1)
    return np.floor(at).astype(np.int64), np.ceil(at).astype(np.int64)


def _table(own: Asked, there: NDArray[np.bool_]) -> Ints:
    columns = (own.window, own.predicate, own.group, own.time, own.length)
    return np.column_stack([c[there] for c in columns])


def _ranked(values: Values, asked: Ints, ranks: Ints) -> Ints:
    """The codes of the values with some ranks."""
    if len(ranks) == 0:
        return ranks
    rows, starts, spans = values.spans(asked)
    levels = max(1, int(len(values.order) - 1).bit_length())
    return np.asarray(frequencies.ranked(values.codes[rows], values.count[rows], levels, starts, spans, ranks.copy()))


def _placed(values: Values, codes: Ints, there: NDArray[np.bool_]) -> pa.Array:
    """The values with some codes, where they are there; else NULL."""
    index = np.zeros(len(there), np.int64)
    index[there] = codes
    return values.order.take(pa.array(index, mask=~there))


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
        added = values.more[more][view.rows] if more else np.empty(0, np.int64)
        begin, code, n, extra = frequencies.most_frequent(
            values.codes[view.rows], len(values.order), values.count[view.rows], added,
            np.ascontiguousarray(spans[order]), fresh, np.full(len(order), k, np.int64),
        )  # fmt: skip
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
