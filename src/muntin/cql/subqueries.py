"""Sub-queries in WHERE, HAVING and SELECT: EXISTS and IN to semi-joins, scalar sub-queries to ``Apply``.

Each clause collects steps that stand on the node below it, in text order: a semi-join, or aggregates of a sub-query
(``Apply``) with the condition that uses them; EXISTS and IN inside an expression (under OR, in SELECT, in CASE) are
counts. The part of a sub-query's WHERE that names columns of the enclosing query becomes the predicate of the step; the
rest stays inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal as OneOf
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from muntin.cql.aggregates import Aggregation
from muntin.cql.calls import has_aggregate
from muntin.cql.carry import Domains
from muntin.cql.context import Context
from muntin.cql.expressions import ExprBinder
from muntin.cql.from_clause import SemiItem
from muntin.cql.operators import BOOL, TypeClash, choose, compare, logic
from muntin.cql.scopes import Scope, free_alias
from muntin.cql.shape import unwrapped
from muntin.cql.sources import renamed
from muntin.cql.steps import ApplyStep, FilterStep, SemiStep, Step
from muntin.plan.exprs import TRUE, Agg, Call, Column, Expr, Literal, columns_of, conjunction, map_columns
from muntin.plan.nodes import Filter, Node

_ONE_LEVEL = "a sub-query in this place may use columns of the query right around it, not of one further out"
_PLAIN = (
    "a correlated sub-query is a plain SELECT ... FROM ... WHERE: GROUP BY, HAVING, DISTINCT, LIMIT and set operations "
    "only go into sub-queries without columns of the enclosing query"
)
_PLAIN_KEYS = {"expressions", "from_", "joins", "where"}
ONE, ZERO = Literal(1, pa.int64()), Literal(0, pa.int64())
FALSE = Literal(False, BOOL)
_COUNT = Agg("count", None, pa.int64())

Which = OneOf["equal", "possible", "any"]


@dataclass(frozen=True)
class Inner:
    """A plain sub-query: what it reads, the conditions that name outer columns, and its names."""

    node: Node
    correlated: list[Expr]
    scope: Scope


class Queries(Protocol):
    """What sub-queries need of the binder of queries."""

    def relation_within(self, tree: exp.Expr, outer: Scope, barrier: str) -> Node:
        """The relation of a query that uses no outer columns."""

    def inner(self, select: exp.Select, outer: Scope, extra: Callable[[Scope], list[Expr]], domains: Domains) -> Inner:
        """FROM and WHERE of a plain sub-query, with ``extra`` conditions."""

    def item(self, tree: exp.Expr, outer: Scope, on: exp.Expr, alias: str) -> Inner:
        """An item of FROM with a condition, as a plain sub-query."""


def split_where(node: exp.Expr | None) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The conditions that AND connects: those without sub-queries, and those with, each in text order."""
    if node is None:
        return [], []
    if not any(isinstance(n, exp.Query) for n in node.walk()):
        return [node], []
    match node:
        case exp.And():
            left, right = split_where(node.this), split_where(node.expression)
            return left[0] + right[0], left[1] + right[1]
        case exp.Paren(this=exp.And() | exp.Paren()):
            return split_where(node.this)
        case _:
            return [], [node]


def by_correlation(e: Expr, local: set[str]) -> tuple[list[Expr], list[Expr]]:
    """The conditions that only use ``local`` columns, and those that use others."""
    if all(c.name in local for c in columns_of(e)):
        return ([] if e == TRUE else [e]), []
    match e:
        case Call("and", args):
            pairs = [by_correlation(a, local) for a in args]
            return [p for a, _ in pairs for p in a], [p for _, b in pairs for p in b]
        case _:
            return [], [e]


@dataclass
class SubQueries:
    """The sub-queries of one SELECT, clause by clause. ``lift`` turns columns of the scope into columns of the node
    that the current clause stands on (after GROUP BY). ``carried``: columns of enclosing queries that steps may use;
    ``domains``: those that steps of the sub-queries' own sub-queries may use."""

    ctx: Context
    queries: Queries
    scope: Scope
    carried: Domains
    domains: Domains = field(default_factory=dict)
    lift: Callable[[Expr, exp.Expr], Expr] = lambda e, _: e
    steps: list[Step] = field(default_factory=list)
    count: int = 0
    _applied: list[ApplyStep] = field(default_factory=list)
    _plain_true: set[int] = field(default_factory=set)

    def take(self) -> list[Step]:
        """The steps collected so far; starts over."""
        self.flush()
        steps, self.steps = self.steps, []
        return steps

    def flush(self) -> None:
        """End the current condition: its scalar sub-queries become steps."""
        self.steps += self._applied
        self._applied = []

    def condition(self, node: exp.Expr, binder: ExprBinder) -> None:
        """Collect one condition with a sub-query in it."""
        anti, bare = False, node
        while isinstance(bare, exp.Paren | exp.Not):
            anti ^= isinstance(bare, exp.Not)
            bare = bare.this
        match bare:
            case exp.Exists():
                self._exists(bare, anti)
            case exp.In() if bare.args.get("query"):
                self._member(bare, anti, binder)
            case _:
                self._plain_true = set(_plain_true(node))
                predicate = self.lift(binder.condition(node), node)
                self._plain_true = set()
                self.flush()
                self.steps.append(FilterStep(predicate))

    def semi_join(self, item: SemiItem) -> None:
        """Collect a SEMI or ANTI JOIN."""
        alias = free_alias(self.queries_alias(item.item), set(self.scope.aliases()))
        found = self.queries.item(item.item, self.scope, item.on, alias)
        self._semi(found, item.item, item.anti)

    def queries_alias(self, item: exp.Expr) -> str:
        """What a sub-query in FROM is called, by itself where it has no alias."""
        return str(item.alias or item.name or "q")

    def scalar(self, node: exp.Expr) -> Expr:
        """The value of a sub-query, over columns that the coming ``Apply`` exposes."""
        tree = unwrapped(node)
        if not _is_plain(tree):
            alias = self._alias()
            right = renamed(self.queries.relation_within(tree, self.scope, _PLAIN), alias)
            self._one_column(len(right.exprs), node)
            name, column = right.exprs[0][0], right.exprs[0][1]
            return self._apply(right, [], [("v", Agg("single", Column(name, column.type), column.type))], node)["v"]
        assert isinstance(tree, exp.Select)
        self._one_column(len(tree.expressions), node)
        inner = self.queries.inner(tree, self.scope, lambda _: [], self.domains)
        return self._value(tree, inner, node)

    def exists(self, node: exp.Exists) -> Expr:
        """EXISTS inside an expression: whether the count of its rows, a column of the coming ``Apply``, is above 0."""
        return _some(self._counted(self._existing(unwrapped(node.this)), node))

    def member(self, node: exp.In, binder: ExprBinder) -> Expr:
        """``x IN (SELECT y ...)`` inside an expression, from counts of rows: those with ``y = x``, all, and those
        without a y. Where it makes no difference whether it is false or NULL, the first will do."""
        xs = self._listed(node, binder)
        equal, _ = self._candidates(node, xs, "equal")
        found = _some(self._counted(equal, node))
        if id(node) in self._plain_true:
            return found
        unknown_ = Literal(None, BOOL)
        if len(xs) > 1:
            possible, _ = self._candidates(node, xs, "possible")
            return choose([(found, TRUE), (_some(self._counted(possible, node)), unknown_)], FALSE)
        (x,), (inner, (y,)) = xs, self._candidates(node, xs, "any")
        self._only(y, {f.name for f in inner.node.schema}, node)
        unknown = Agg("count", Call("only", (Call("is_null", (y,), BOOL), ONE), ONE.type), ONE.type)
        counts = self._apply(inner.node, inner.correlated, [("n", _COUNT), ("z", unknown)], node)
        none = Call("eq", (counts["n"], ZERO), BOOL)
        open_ = logic("or", Call("is_null", (x,), BOOL), _some(counts["z"]))
        return choose([(found, TRUE), (none, FALSE), (open_, unknown_)], FALSE)

    def _counted(self, inner: Inner, node: exp.Expr) -> Column:
        return self._apply(inner.node, inner.correlated, [("n", _COUNT)], node)["n"]

    def _value(self, tree: exp.Select, inner: Inner, node: exp.Expr) -> Expr:
        item = tree.expressions[0]
        item = item.this if isinstance(item, exp.Alias) else item
        zone = self.ctx.options.zone
        if has_aggregate(item, self.ctx.catalog):
            agg = Aggregation(inner.scope, self.ctx.text, zone, catalog=self.ctx.catalog)
            bound = ExprBinder(inner.scope, self.ctx.text, "SELECT", zone, agg, catalog=self.ctx.catalog).bind(item)
            value, aggs = agg.lift(bound, item), list(agg.aggs)
        else:
            value = ExprBinder(inner.scope, self.ctx.text, "SELECT", zone, catalog=self.ctx.catalog).bind(item)
            aggs = [("a0", Agg("single", value, value.type))]
            value = Column("a0", value.type)
        for _, a in aggs:
            self._only(a.arg, inner.scope.local(), item)
        named = self._apply(inner.node, inner.correlated, aggs, node)
        return map_columns(value, lambda c: named.get(c.name, c))

    def _apply(
        self, right: Node, correlated: list[Expr], aggs: list[tuple[str, Agg]], node: exp.Expr
    ) -> dict[str, Column]:
        """The columns that hold the aggregates; sub-queries of one condition with equal inputs share a step."""
        predicate = self._predicate(conjunction(correlated), right, node)
        at = next((i for i, s in enumerate(self._applied) if (s.right, s.predicate) == (right, predicate)), None)
        step = self._applied[at] if at is not None else ApplyStep(right, predicate, ())
        named: dict[str, Column] = {}
        for name, agg in aggs:
            known = next((n for n, a in step.aggs if a == agg), None)
            if known is None:
                known = self._name()
                step = replace(step, aggs=(*step.aggs, (known, agg)))
            named[name] = Column(known, agg.type)
        if at is None:
            self._applied.append(step)
        else:
            self._applied[at] = step
        return named

    def _name(self) -> str:
        depth, self.count = self.scope.depth, self.count + 1
        return f"s{depth}_{self.count - 1}" if depth else f"s{self.count - 1}"

    def _alias(self) -> str:
        return free_alias("q", set(self.scope.aliases()))

    def _exists(self, node: exp.Exists, anti: bool) -> None:
        tree = unwrapped(node.this)
        self._semi(self._existing(tree), tree, anti)

    def _existing(self, tree: exp.Expr) -> Inner:
        """The rows of the sub-query of EXISTS. What it selects makes no difference, but must be there."""
        inner = self._rows(tree, lambda _: [])
        if inner.scope is not self.scope:
            binder = ExprBinder(inner.scope, self.ctx.text, "SELECT", self.ctx.options.zone, catalog=self.ctx.catalog)
            for item in tree.expressions:
                if not item.is_star and not any(isinstance(n, exp.Query) for n in item.walk()):
                    binder.bind(item.this if isinstance(item, exp.Alias) else item)
        return inner

    def _rows(self, tree: exp.Expr, extra: Callable[[Scope], list[Expr]]) -> Inner:
        """The rows of a sub-query for EXISTS: its SELECT list does not matter, unless it aggregates."""
        if _is_plain(tree, distinct=True) and not _aggregating(tree, self.ctx):
            assert isinstance(tree, exp.Select)
            return self.queries.inner(tree, self.scope, extra, self.domains)
        return Inner(renamed(self.queries.relation_within(tree, self.scope, _PLAIN), self._alias()), [], self.scope)

    def _semi(self, inner: Inner, node: exp.Expr, anti: bool) -> None:
        predicate = self._predicate(conjunction(inner.correlated), inner.node, node)
        self.flush()
        self.steps.append(SemiStep(inner.node, predicate, anti))

    def _member(self, node: exp.In, anti: bool, binder: ExprBinder) -> None:
        """``x [NOT] IN (SELECT y ...)``, alone."""
        xs = [self.lift(x, node.this) for x in self._listed(node, binder)]
        if not anti:
            return self._semi(self._candidates(node, xs, "equal")[0], node, False)
        if len(xs) > 1:
            return self._semi(self._candidates(node, xs, "possible")[0], node, True)
        inner, ys = self._candidates(node, xs, "any")
        pair = self._equal(xs[0], ys[0], node)
        assert isinstance(pair, Call)
        predicate = self._predicate(conjunction(inner.correlated), inner.node, node)
        self.flush()
        self.steps.append(SemiStep(inner.node, predicate, True, (pair.args[0], pair.args[1])))

    def _listed(self, node: exp.In, binder: ExprBinder) -> list[Expr]:
        """x of ``x IN (SELECT ...)``; of ``(x1, x2) IN ...`` all of them."""
        return [binder.bind(x) for x in (node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this])]

    def _candidates(self, node: exp.In, xs: list[Expr], which: Which) -> tuple[Inner, list[Expr]]:
        """Rows of ``IN (SELECT y ...)`` and their ys: those with ``y = x``, those where that is not false, or any."""
        tree = unwrapped(node.args["query"])
        ys: list[Expr] = []

        def listed(scope: Scope) -> list[Expr]:
            assert isinstance(tree, exp.Select)
            items = [i.this if isinstance(i, exp.Alias) else i for i in tree.expressions]
            self._as_many(-1 if any(i.is_star for i in items) else len(items), xs, node)
            binder = ExprBinder(scope, self.ctx.text, "SELECT", self.ctx.options.zone, catalog=self.ctx.catalog)
            ys.extend(map(binder.bind, items))
            return self._matching(xs, ys, which, node)

        inner = self._rows(tree, listed)
        if not ys:
            fields = inner.node.schema.fields
            self._as_many(len(fields), xs, node)
            ys.extend(Column(f.name, f.type) for f in fields)
            condition = conjunction(self._matching(xs, ys, which, node))
            inside, outside = by_correlation(condition, {f.name for f in fields})
            right = Filter(inner.node, conjunction(inside)) if inside else inner.node
            inner = replace(inner, node=right, correlated=outside)
        return inner, ys

    def _matching(self, xs: list[Expr], ys: list[Expr], which: Which, node: exp.Expr) -> list[Expr]:
        pairs = [self._equal(x, y, node) for x, y in zip(xs, ys, strict=True)]
        match which:
            case "equal":
                return pairs
            case "possible":
                return [Call("coalesce", (conjunction(pairs), TRUE), BOOL)]
            case "any":
                return []

    def _equal(self, x: Expr, y: Expr, node: exp.Expr) -> Expr:
        try:
            return compare("eq", x, y)
        except TypeClash as e:
            raise self.ctx.at(node).error(str(e)) from None

    def _predicate(self, e: Expr, right: Node, node: exp.Expr) -> Expr:
        """The condition over the current node and ``right``; outer columns must belong to the query right around."""
        lifted, inside = self.lift(e, node), {f.name for f in right.schema}
        further = (self.scope.outer.every() if self.scope.outer is not None else set()) - set(self.carried)
        stray = next((c for c in columns_of(lifted) if c.name not in inside and c.name in further), None)
        if stray is not None:
            raise self.ctx.at(node).unsupported(f"{stray.name} cannot be used here: {_ONE_LEVEL}")
        return lifted

    def _only(self, e: Expr | None, local: set[str], node: exp.Expr) -> None:
        stray = next((c for c in columns_of(e) if c.name not in local), None) if e is not None else None
        if stray is not None:
            raise self.ctx.at(node).unsupported(
                f"{stray.name} belongs to the enclosing query: here a sub-query computes over its own columns; "
                "compute with it outside"
            )

    def _as_many(self, n: int, xs: list[Expr], node: exp.Expr) -> None:
        """``n``: columns of the sub-query (-1: * stands for them)."""
        if len(xs) == 1:
            self._one_column(n, node)
        elif n != len(xs):
            raise self.ctx.at(node).error(
                f"left of IN are {len(xs)} values, the sub-query has "
                + ("*: name its columns" if n < 0 else f"{n} column{'s' if n > 1 else ''}")
            )

    def _one_column(self, n: int, node: exp.Expr) -> None:
        if n != 1:
            raise self.ctx.at(node).error("a sub-query used as a value, or in IN, has one column")


def _some(count: Expr) -> Expr:
    return Call("gt", (count, ZERO), BOOL)


def _plain_true(node: exp.Expr) -> Iterator[int]:
    """The ``id`` of each IN (SELECT ...) of a condition that only AND and OR stand around: false and NULL are one."""
    match node:
        case exp.And() | exp.Or():
            yield from _plain_true(node.this)
            yield from _plain_true(node.expression)
        case exp.Paren():
            yield from _plain_true(node.this)
        case exp.In():
            yield id(node)


def _is_plain(tree: exp.Expr, distinct: bool = False) -> bool:
    keys = _PLAIN_KEYS | ({"distinct"} if distinct else set())
    plain = isinstance(tree, exp.Select) and all(k in keys for k, v in tree.args.items() if v)
    return plain and "to_stream" not in tree.expressions[0].meta


def _aggregating(tree: exp.Expr, ctx: Context) -> bool:
    return any(has_aggregate(n, ctx.catalog) for n in tree.expressions)
