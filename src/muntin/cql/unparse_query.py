"""Bound queries back to CQL text that binds to an equal plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.cql.durations import format_duration
from muntin.cql.unparse import Renderer, quote
from muntin.plan.exprs import TRUE, Agg, Call, Column, Expr, Literal, columns_of
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    BoundQuery,
    Distinct,
    Filter,
    Join,
    Node,
    OuterJoin,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
    TopK,
    WindowEdge,
)
from muntin.plan.windows import Now, Range, Rows, Session, Unbounded, Window

_SETS = {
    "union_all": "UNION ALL", "except": "EXCEPT", "except_all": "EXCEPT ALL", "intersect": "INTERSECT",
    "intersect_all": "INTERSECT ALL",
}  # fmt: skip
Names = Mapping[str, str]
Text = Callable[[Expr], str]
Step = SemiJoin | Apply | Filter


def to_cql(query: BoundQuery) -> str:
    """CQL text that binds to an equal plan under the same catalog (its views are written out) and options."""
    body = relation_text(query.root.input, query.root.edges)
    return body if query.root.kind == "changes" else _wrapped(query.root.kind, body)


def _wrapped(kind: str, body: str) -> str:
    name, *restore = kind.split("_")
    return f"{'-'.join([name.capitalize(), *restore])}({body})"


def relation_text(node: Node, edges: tuple[WindowEdge, ...] = ()) -> str:
    """Text of the query that computes a relation, with the edges of its windows in the select list."""
    match node:
        case SetOp(kind, left, right):
            return f"({relation_text(left)}) {_SETS[kind]} ({relation_text(right)})"
        case Distinct(SetOp("union_all", left, right)):
            return f"({relation_text(left)}) UNION ({relation_text(right)})"
        case TopK(SetOp() | Distinct(SetOp()) as inner):
            return f"{relation_text(inner)} {_limited(node, _output)}"
        case TopK(TopK() | Project(TopK()) as inner):
            return f"({relation_text(inner, edges)}) {_limited(node, _output)}"
        case _:
            return _Block(node).text(edges)


def _output(e: Expr) -> str:
    assert isinstance(e, Column)
    return quote(e.name)


def _keys(top: TopK, text: Text) -> str:
    """ORDER BY, with ``text`` for each key."""
    keys = (f"{text(e)} {'DESC' if d else 'ASC'} NULLS {'FIRST' if n else 'LAST'}" for e, d, n in top.keys)
    return f"ORDER BY {', '.join(keys)}"


def _limited(top: TopK, text: Text) -> str:
    """ORDER BY and LIMIT."""
    count = f"LIMIT {top.count}{' WITH TIES' if top.ties else ''}"
    by = f" BY {', '.join(map(text, top.by))}" if top.by else ""
    return f"{_keys(top, text)} {count}{by}{f' OFFSET {top.offset}' if top.offset else ''}"


def _rank(top: TopK, kind: str, text: Text) -> str:
    """The call of a rank in the order of ``top``."""
    by = f"PARTITION BY {', '.join(map(text, top.by))} " if top.by else ""
    return f"{kind.upper()}() OVER ({by}{_keys(top, text)})"


def _qualified(top: TopK, text: Text) -> str:
    """QUALIFY."""
    first, last = top.offset + 1, top.offset + top.count
    return f"QUALIFY {_rank(top, 'rank' if top.ties else 'row_number', text)} BETWEEN {first} AND {last}"


class _Block:
    """A SELECT block taken apart: ``[Project] TopK? Distinct? Project`` over what FROM to HAVING give."""

    def __init__(self, node: Node) -> None:
        names: tuple[str, ...] | None = None
        if isinstance(node, Project) and isinstance(node.input, TopK):
            names, node = node.schema.names, node.input
        self.top = node if isinstance(node, TopK) else None
        self.names = names if names is not None else node.schema.names
        node = node.input if isinstance(node, TopK) else node
        self.distinct = isinstance(node, Distinct)
        node = node.input if isinstance(node, Distinct) else node
        assert isinstance(node, Project), node
        self.exprs = dict(node.exprs)
        self.ranks = dict(self.top.ranks) if self.top is not None else {}
        self.input = node.input

    def text(self, edges: tuple[WindowEdge, ...] = ()) -> str:
        body = _Rows.of(self.input, {})

        def key(e: Expr) -> str:
            assert isinstance(e, Column)
            return quote(e.name) if e.name in self.names else _not_ordinal(self.exprs[e.name], body.above)

        items = [f"{self._item(n, body.above, key)} AS {quote(n)}" for n in self.names]
        for edge in edges:
            which = "START" if edge.back or edge.since else "END"
            items.insert(edge.position, f"WINDOW_{which}() AS {quote(edge.name)}")
        columns = ", ".join(items)
        word = "SELECT DISTINCT" if self.distinct else "SELECT"
        parts = [f"{word} {columns}", *body.clauses()]
        if self.top is not None:
            parts.append((_qualified if self.top.grouped else _limited)(self.top, key))
        return " ".join(parts)

    def _item(self, name: str, above: Renderer, key: Text) -> str:
        kind = self.ranks.get(name)
        return above.expr(self.exprs[name]) if kind is None or self.top is None else _rank(self.top, kind, key)


def _not_ordinal(e: Expr, renderer: Renderer) -> str:
    """An expression of GROUP BY or ORDER BY; a bare number would be read as a position."""
    bare = isinstance(e, Literal) and pa.types.is_int32(e.type) and e.value is not None and e.value >= 0
    return f"CAST({renderer.expr(e)} AS INT)" if bare else renderer.expr(e)


@dataclass
class _Rows:
    """What FROM, WHERE, GROUP BY and HAVING give: their texts, and the texts of the columns above them."""

    source: str
    where: list[str]
    below: Renderer
    above: Renderer
    groups: list[str] = field(default_factory=list)
    having: list[str] = field(default_factory=list)

    @staticmethod
    def of(node: Node, outer: Names, predicate: Expr = TRUE) -> _Rows:
        """``predicate``: the conditions of a sub-query that name columns of ``outer``."""
        core, steps = _peel(node)
        aggregate = core.input if isinstance(core, Filter) and isinstance(core.input, Aggregate) else core
        if not isinstance(aggregate, Aggregate):
            return _Rows._plain(core, steps, outer, predicate)
        rows = _Rows._plain(*_peel(aggregate.input), outer, TRUE)
        names = {n: rows.below.expr(e) for n, e in aggregate.groups}
        names |= {n: rows.below.agg(a) for n, a in aggregate.aggs}
        rows.groups = [_not_ordinal(e, rows.below) for _, e in aggregate.groups]
        plain = core.predicate if isinstance(core, Filter) else TRUE
        conditions = _Conditions({**outer, **names})
        rows.having = list(conditions.texts(plain, steps, TRUE))
        rows.above = conditions.renderer
        return rows

    @staticmethod
    def _plain(core: Node, steps: list[Step], outer: Names, predicate: Expr) -> _Rows:
        plain = core.predicate if isinstance(core, Filter | Join) else TRUE
        leaves = core.input if isinstance(core, Filter) else core
        parts = leaves.parts if isinstance(leaves, Join) else (leaves,)
        names = {f.name: ".".join(map(quote, f.name.split(".", 1))) for f in leaves.schema}
        conditions = _Conditions({**outer, **names})
        where = list(conditions.texts(plain, steps, predicate))
        source = ", ".join(_item(p, conditions.renderer) for p in parts)
        return _Rows(source, where, conditions.renderer, conditions.renderer)

    def clauses(self) -> list[str]:
        """FROM ... HAVING."""
        parts = [f"FROM {self.source}"]
        if self.where:
            parts.append("WHERE " + " AND ".join(self.where))
        if self.groups:
            parts.append("GROUP BY " + ", ".join(self.groups))
        if self.having:
            parts.append("HAVING " + " AND ".join(self.having))
        return parts


def _peel(node: Node) -> tuple[Node, list[Step]]:
    """The node below the steps of sub-queries, and the steps, the lowest first."""
    steps: list[Step] = []
    while isinstance(node, SemiJoin | Apply) or (isinstance(node, Filter) and isinstance(node.input, SemiJoin | Apply)):
        steps.append(node)
        node = node.input if isinstance(node, Filter) else node.left
    return node, steps[::-1]


class _Conditions:
    """The texts of conditions, and of the values that sub-queries add to the columns."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.renderer = Renderer(names.__getitem__)

    def texts(self, plain: Expr, steps: list[Step], predicate: Expr) -> Iterator[str]:
        """The plain condition, those of the steps, and each conjunct of ``predicate`` once its columns are there."""
        if plain != TRUE:
            yield self.renderer.expr(plain)
        waiting = _conjuncts(predicate)
        yield from self._ready(waiting)
        for step in steps:
            yield from self._step(step)
            yield from self._ready(waiting)

    def _ready(self, waiting: list[Expr]) -> Iterator[str]:
        for e in list(waiting):
            if all(c.name in self.names for c in columns_of(e)):
                waiting.remove(e)
                yield self.renderer.expr(e)

    def _step(self, step: Step) -> Iterator[str]:
        match step:
            case Filter(_, predicate):
                yield self.renderer.expr(predicate)
            case SemiJoin():
                yield self._semi(step)
            case Apply(_, right, predicate, aggs):
                added = {n: f"({self._sub(right, predicate, a)})" for n, a in aggs}
                self.names.update(added)

    def _semi(self, step: SemiJoin) -> str:
        rows = _Rows.of(step.right, self.names, step.predicate)
        clauses = " ".join(rows.clauses())
        if step.null_aware is not None:
            x, y = step.null_aware
            return f"({self.renderer.expr(x)} NOT IN (SELECT {rows.above.expr(y)} {clauses}))"
        return f"({'NOT ' if step.anti else ''}EXISTS (SELECT 1 {clauses}))"

    def _sub(self, right: Node, predicate: Expr, agg: Agg) -> str:
        rows = _Rows.of(right, self.names, predicate)
        return f"SELECT {rows.above.agg(agg)} {' '.join(rows.clauses())}"


def _conjuncts(e: Expr) -> list[Expr]:
    match e:
        case Call("and", args):
            return [c for a in args for c in _conjuncts(a)]
        case _:
            return [] if e == TRUE else [e]


def _item(node: Node, renderer: Renderer) -> str:
    """Text of one item of FROM, with the joins that belong to it."""
    match node:
        case Scan(stream, alias, window):
            return f"{quote(stream.name)} {window_text(window)} AS {quote(alias)}"
        case TableScan(table, alias):
            return f"{quote(table.name)} AS {quote(alias)}"
        case OuterJoin(left, right, predicate, side):
            on = renderer.expr(predicate)
            return f"{_item(left, renderer)} {side.upper()} JOIN {_item(right, renderer)} ON {on}"
        case Join(parts, predicate):
            joined = " CROSS JOIN ".join(_item(p, renderer) for p in parts[:-1])
            return f"{joined} JOIN {_item(parts[-1], renderer)} ON {renderer.expr(predicate)}"
        case Project(inner, exprs):
            alias = quote(exprs[0][0].split(".", 1)[0])
            if isinstance(inner, Rewindow):
                windowed = _wrapped(inner.input.kind, relation_text(inner.input.input))
                return f"({windowed}) {window_text(inner.window)} AS {alias}"
            return f"({relation_text(inner)}) AS {alias}"
        case _:
            raise AssertionError(node)


def window_text(window: Window) -> str:
    """CQL text of a window, brackets included."""
    match window:
        case Unbounded(internal):
            parts = ["UNBOUNDED"]
        case Now(internal, delay):
            parts = ["NOW", *([f"DELAY {format_duration(delay)}"] if delay else [])]
        case Range(length, slide, internal):
            parts = [f"RANGE {format_duration(length)}"]
            parts += [f"SLIDE {format_duration(slide)}"] if slide is not None else []
            parts += [f"SLIDE {window.rows}"] if window.rows is not None else []
            parts += ["CUMULATE"] if window.cumulative else []
            parts += [f"DELAY {format_duration(window.delay)}"] if window.delay else []
        case Session(gap, by, internal):
            parts = [f"PARTITION BY {', '.join(map(quote, by))}"] if by else []
            parts += [f"SESSION {format_duration(gap)}"]
        case Rows(count, slide, by, internal):
            parts = [f"PARTITION BY {', '.join(map(quote, by))}"] if by else []
            parts += [f"ROWS {count}"] + ([f"SLIDE {slide}"] if slide is not None else [])
            parts += [f"SLIDE {format_duration(window.every)}"] if window.every is not None else []
    return f"[{' '.join([*parts, 'INTERNAL'] if internal else parts)}]"
