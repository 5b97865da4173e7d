"""The law (Definition 3.1): at every instant the answer is the one-time SQL answer over the window contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from muntin.core.errors import DataError
from muntin.plan.exprs import Expr, columns_of, conjuncts
from muntin.plan.nodes import Aggregate, BoundQuery, Filter, Join, Node, Output, Project, Scan
from muntin.reference.aggregates import aggregate
from muntin.reference.membership import holds, instants
from muntin.reference.scalar import eval_expr
from muntin.reference.values import canonical, from_outside, to_micros

Row = dict[str, Any]
Answer = tuple[int, list[tuple[Any, ...]]]
"""An instant and the bag of rows that answers it."""
ResultRow = tuple[int, str | None, tuple[Any, ...]]
"""(instant in microseconds, '+' or '-' for change streams, the query's columns: see ``reference.values``)."""

_Loaded = dict[str, list[tuple[int, Row]]]


def answers(
    query: BoundQuery, streams: Mapping[str, Sequence[Mapping[str, Any]]], until: int | None = None
) -> list[Answer]:
    """The query's relation at every instant at which it answers, in time order; empty answers are listed too.

    ``streams``: rows by stream name, in any order, a row being a mapping from column to value; event times are
    datetimes or integers in the stream's ``ts_unit``; a stream may be left out when it has no rows. ``until``: answer
    instants at or before it (microseconds), time then running on to it; None: the rule for the end of input. Rows
    without event time are in no window. Cost: instants x the query over the window contents. Raises DataError on
    integer overflow.
    """
    loaded = {s.stream.name: _load(s, streams) for s in query.scans}
    times = {name: [ts for ts, _ in rows] for name, rows in loaded.items()}
    return [(t, _answer(query, loaded, t)) for t in instants(query, times, until)]


def run(
    query: BoundQuery, streams: Mapping[str, Sequence[Mapping[str, Any]]], until: int | None = None
) -> list[ResultRow]:
    """The result rows as the user sees them, in time order, '-' before '+' in an instant (arguments: ``answers``)."""
    out: list[ResultRow] = []
    before: Counter[tuple[Any, ...]] = Counter()
    for t, rows in answers(query, streams, until):
        now = Counter(rows)
        gone, come = (before - now).elements(), (now - before).elements()
        match query.root.kind:
            case "rstream":
                out += [(t, None, r) for r in rows]
            case "istream":
                out += [(t, None, r) for r in come]
            case "dstream":
                out += [(t, None, r) for r in gone]
            case "changes":
                out += [(t, "-", r) for r in gone] + [(t, "+", r) for r in come]
        before = now
    return out


def _load(scan: Scan, streams: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[tuple[int, Row]]:
    stream = scan.stream
    loaded = []
    for given in streams.get(stream.name, ()):
        moment = given[stream.ts]
        if moment is None:
            if stream.on_bad_time == "fail":
                raise DataError(f"stream {stream.name!r}: a row has no event time in {stream.ts!r}: {dict(given)}")
            continue
        ts = moment * stream.ts_unit if isinstance(moment, int) else to_micros(moment)
        loaded.append((ts, {f.name: from_outside(given.get(f.name), f.type) for f in stream.schema}))
    return loaded


def _answer(query: BoundQuery, loaded: _Loaded, t: int) -> list[tuple[Any, ...]]:
    names = query.root.schema.names
    return [tuple(canonical(r[n]) for n in names) for r in _relation(query.root, query, loaded, t)]


def _relation(node: Node, query: BoundQuery, loaded: _Loaded, t: int) -> list[Row]:
    """The bag of rows of ``node`` over the window contents at ``t``."""
    match node:
        case Scan(stream, alias, window):
            there = [row for ts, row in loaded[stream.name] if holds(window, t, ts, query.options)]
            return [{f"{alias}.{c}": v for c, v in row.items()} for row in there]
        case Filter(below, predicate):
            return [r for r in _relation(below, query, loaded, t) if eval_expr(predicate, r) is True]
        case Join(parts, predicate):
            rows = [_relation(p, query, loaded, t) for p in parts]
            return _join(rows, [set(p.schema.names) for p in parts], predicate)
        case Aggregate(below, groups, aggs):
            return _aggregate(_relation(below, query, loaded, t), groups, aggs)
        case Project(below, exprs):
            return [{n: eval_expr(e, r) for n, e in exprs} for r in _relation(below, query, loaded, t)]
        case Output(below, _):
            return _relation(below, query, loaded, t)
    raise TypeError(f"not a plan node: {node!r}")


def _join(parts: list[list[Row]], names: list[set[str]], predicate: Expr) -> list[Row]:
    """Every combination for which every conjunct is true; a conjunct is asked as soon as its columns are there."""
    waiting = conjuncts(predicate)
    rows: list[Row] = [{}]
    known: set[str] = set()
    for part, columns in zip(parts, names, strict=True):
        known |= columns
        ready = [c for c in waiting if {col.name for col in columns_of(c)} <= known]
        waiting = [c for c in waiting if c not in ready]
        pairs = (left | right for left in rows for right in part)
        rows = [r for r in pairs if all(eval_expr(c, r) is True for c in ready)]
    return rows


def _aggregate(rows: list[Row], groups: Any, aggs: Any) -> list[Row]:
    """One row per group that has rows; exactly one when there is no GROUP BY, over no rows too."""
    members: dict[tuple[Any, ...], list[Row]] = {} if groups else {(): []}
    for r in rows:
        members.setdefault(tuple(canonical(eval_expr(e, r)) for _, e in groups), []).append(r)
    out = []
    for key, group in members.items():
        row = {name: value for (name, _), value in zip(groups, key, strict=True)}
        for name, agg in aggs:
            values = group if agg.arg is None else [v for v in (eval_expr(agg.arg, r) for r in group) if v is not None]
            row[name] = aggregate(agg.fn, values, agg.type)
        out.append(row)
    return out
