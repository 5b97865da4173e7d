"""ORDER BY ... LIMIT k and QUALIFY to ``TopK``: the keys as output columns, hidden ones where the select list lacks
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.core.schema import Schema
from muntin.cql.context import Context
from muntin.cql.expressions import ExprBinder
from muntin.cql.limits import Limit, limit_of
from muntin.cql.operators import describe
from muntin.cql.ranks import UNBOUNDED, Qualified, RankCall, call_of, is_rank, qualified
from muntin.cql.scopes import listing
from muntin.cql.select_list import Item
from muntin.cql.types import family
from muntin.plan.exprs import Column, Expr
from muntin.plan.nodes import Node, Project, TopK, column

Key = tuple[Expr, bool, bool]
Lift = Callable[[Expr, exp.Expr], Expr]


@dataclass
class Ordering:
    """ORDER BY and LIMIT, or QUALIFY, of one SELECT block, and the ranks that it shows. ``items``: the select list."""

    ctx: Context
    select: exp.Select
    items: list[Item]
    limit: Limit | None = None
    found: list[Key] = field(default_factory=list)
    by: list[Expr] = field(default_factory=list)
    qualify: Qualified | None = None

    def __post_init__(self) -> None:
        self.ranks = [(i.name, call_of(self.ctx, i.node)) for i in self.items if is_rank(i.node)]
        self.qualify = qualified(self.ctx, self.select, self.items)
        self.limit = self.qualify.limit if self.qualify is not None else limit_of(self.ctx, self.select)
        if self.ranks and self.limit is None:
            raise self.ctx.at(self.ranks[0][1].node.this).unsupported(UNBOUNDED)
        if (self.ranks or self.qualify) and self.select.args.get("distinct"):
            at = self.qualify.call.node if self.qualify is not None else self.ranks[0][1].node
            raise self.ctx.at(at.this).unsupported("ranks of DISTINCT rows: put the SELECT DISTINCT into a sub-query")

    @property
    def shown(self) -> list[Item]:
        """The select list without the ranks."""
        return [i for i in self.items if not is_rank(i.node)]

    def keys(self, exprs: list[Expr], binder: ExprBinder, lift: Lift) -> list[tuple[str, Expr]]:
        """Resolve the keys; gives the hidden columns that the projection must have for them. ``exprs``: of the columns
        ``shown``."""
        if self.limit is None:
            return []
        hidden: list[tuple[str, Expr]] = []
        keys = _Keys(self, exprs, binder, lift, hidden)
        call = self.qualify.call if self.qualify is not None else self._ordered_by_rank()
        order = call.order if call is not None else tuple(self.select.args["order"].expressions)
        self.found = keys.order(order)
        self.by = list(dict.fromkeys(keys.column(n) for n in self.limit.by))
        for _, rank in self.ranks:
            if keys.order(rank.order) != self.found or set(map(keys.column, rank.by)) != set(self.by):
                raise self.ctx.at(rank.node.this).error(
                    "a rank goes by the order in which the first rows are chosen: write the PARTITION BY and ORDER BY "
                    + ("of QUALIFY" if self.qualify is not None else "of LIMIT (PARTITION BY g with LIMIT k BY g)")
                )
        return hidden

    def _ordered_by_rank(self) -> RankCall | None:
        """The rank that ORDER BY names alone: its order is meant."""
        (first, *more) = self.select.args["order"].expressions
        if more or first.args.get("desc") or not isinstance(first.this, exp.Column) or first.this.table:
            return None
        return next((r for n, r in self.ranks if n.lower() == first.this.name.lower()), None)

    def top(self, node: Node) -> Node:
        """The first rows with the columns of the select list, in its order."""
        if self.limit is None:
            return node
        ranks = tuple((n, r.kind) for n, r in self.ranks)
        limit, by = self.limit, tuple(self.by)
        grouped = self.qualify is not None
        top = TopK(node, tuple(self.found), limit.count, by, limit.offset, limit.ties, ranks, grouped)
        names = self._names(node)
        if top.schema.names == names:
            return top
        return Project(top, tuple((n, column(top.schema, n)) for n in names))

    def _names(self, node: Node) -> tuple[str, ...]:
        """The columns of the answer: the input's without hidden ones, ranks where they stand in the list."""
        plain = iter(node.schema.names)
        return tuple(i.name if is_rank(i.node) else next(plain) for i in self.items)


@dataclass(frozen=True)
class _Keys:
    """Binds keys of an order to output columns, hidden ones where the select list lacks them."""

    of: Ordering
    exprs: list[Expr]
    binder: ExprBinder
    lift: Lift
    hidden: list[tuple[str, Expr]]

    def order(self, nodes: Sequence[exp.Expr]) -> list[Key]:
        return [_key(self.of.ctx, ordered, self.column(ordered.this)) for ordered in nodes]

    def column(self, node: exp.Expr) -> Expr:
        at = self._position(node)
        if at is not None:
            return Column(self.of.shown[at].name, self.exprs[at].type)
        return self._computed(node)

    def _position(self, node: exp.Expr) -> int | None:
        """The output column that the key names: by number, by alias, or by its plain name."""
        ctx, items, shown = self.of.ctx, self.of.items, self.of.shown
        at = _ordinal(ctx, node, len(items))
        if at is None and isinstance(node, exp.Column) and not node.table:
            names = [i.name.lower() for i in items]
            at = names.index(node.name.lower()) if node.name.lower() in names else None
        if at is not None and is_rank(items[at].node):
            raise ctx.at(node).error("a rank cannot be a key beside others: write the columns that it is by")
        return None if at is None else shown.index(items[at])

    def _computed(self, node: exp.Expr) -> Expr:
        ctx, shown = self.of.ctx, self.of.shown
        aliases = {i.alias.lower(): i.node for i in shown if i.alias}
        e = self.lift(replace(self.binder, subqueries=None, aliases=aliases).bind(node), node)
        _check_plain(ctx, ordered_at=node, key=e)
        if e in self.exprs:
            return Column(shown[self.exprs.index(e)].name, e.type)
        if self.of.select.args.get("distinct"):
            raise ctx.at(node).error("with DISTINCT, ORDER BY takes columns of the select list")
        known = next((n for n, h in self.hidden if h == e), None)
        if known is None:
            known = self._free_name()
            self.hidden.append((known, e))
        return Column(known, e.type)

    def _free_name(self) -> str:
        taken, name = {i.name.lower() for i in self.of.items}, f"o{len(self.hidden)}"
        while name in taken:
            name += "_"
        return name


def top_of_set(ctx: Context, query: exp.Expr, node: Node) -> Node:
    """ORDER BY and LIMIT of a set operation, a query in parentheses or one with QUALIFY: keys are output columns."""
    limit = limit_of(ctx, query)
    if limit is None:
        return node
    keys = tuple(_key(ctx, o, _output_column(ctx, o.this, node.schema)) for o in query.args["order"].expressions)
    by = tuple(dict.fromkeys(_output_column(ctx, n, node.schema) for n in limit.by))
    return TopK(node, keys, limit.count, by, limit.offset, limit.ties)


def _output_column(ctx: Context, node: exp.Expr, schema: Schema) -> Column:
    at = _ordinal(ctx, node, len(schema.fields))
    if at is None and isinstance(node, exp.Column) and not node.table:
        names = [n.lower() for n in schema.names]
        at = names.index(node.name.lower()) if node.name.lower() in names else None
    if at is None:
        raise _unknown(ctx, node, schema)
    return Column(schema.fields[at].name, schema.fields[at].type)


def _unknown(ctx: Context, node: exp.Expr, schema: Schema) -> QueryError:
    return ctx.at(node).error(
        f"ORDER BY after a set operation takes output columns by name or number: {listing(list(schema.names))}"
    )


def _ordinal(ctx: Context, node: exp.Expr, n: int) -> int | None:
    if not isinstance(node, exp.Literal) or node.is_string or not str(node.this).isdigit():
        return None
    if not 1 <= int(node.this) <= n:
        raise ctx.at(node).error(f"ORDER BY {node.this}: the select list has positions 1 to {n}")
    return int(node.this) - 1


def _check_plain(ctx: Context, ordered_at: exp.Expr, key: Expr) -> None:
    if family(key.type) == "nested":
        raise ctx.at(ordered_at).error(f"ORDER BY takes plain values, not {describe(key)}")


def _key(ctx: Context, ordered: exp.Expr, key: Expr) -> Key:
    _check_plain(ctx, ordered.this, key)
    return key, bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first"))
