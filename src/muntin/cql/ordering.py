"""ORDER BY ... LIMIT k to ``TopK``: the keys as output columns, with hidden ones where the select list lacks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.core.schema import Schema
from muntin.cql.context import Context
from muntin.cql.expressions import ExprBinder
from muntin.cql.operators import describe
from muntin.cql.scopes import listing
from muntin.cql.select_list import Item
from muntin.cql.types import family
from muntin.plan.exprs import Column, Expr
from muntin.plan.nodes import Node, Project, TopK

_NO_ORDER = "rows of a stream have no order beyond time"
Key = tuple[Expr, bool, bool]


def limit_of(ctx: Context, query: exp.Expr) -> int | None:
    """k of ORDER BY ... LIMIT k; None when the query has neither.

    Raises:
        QueryError: one without the other, or a limit that is no positive number.
    """
    order, limit = query.args.get("order"), query.args.get("limit")
    if limit is None:
        if order is None:
            return None
        raise ctx.at(order.expressions[0]).error(
            f"ORDER BY without LIMIT: {_NO_ORDER}. Write ORDER BY ... LIMIT k for the first k, or leave it out"
        )
    if order is None:
        raise ctx.at(limit).error(f"LIMIT without ORDER BY: {_NO_ORDER}. Write ORDER BY ... LIMIT k")
    count = limit.expression if isinstance(limit, exp.Limit) else None
    if not isinstance(count, exp.Literal) or count.is_string or not str(count.this).isdigit() or int(count.this) < 1:
        raise ctx.at(limit).error("LIMIT takes a positive number of rows, as in LIMIT 10")
    return int(count.this)


@dataclass
class Ordering:
    """ORDER BY and LIMIT of one SELECT block."""

    ctx: Context
    select: exp.Select
    items: list[Item]
    count: int | None = None
    found: list[Key] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.count = limit_of(self.ctx, self.select)

    def keys(
        self, exprs: list[Expr], binder: ExprBinder, lift: Callable[[Expr, exp.Expr], Expr]
    ) -> list[tuple[str, Expr]]:
        """Resolve the keys; gives the hidden columns that the projection must have for them."""
        order = self.select.args.get("order")
        hidden: list[tuple[str, Expr]] = []
        for ordered in order.expressions if order is not None else []:
            at = self._position(ordered.this, binder)
            if at is not None:
                key: Expr = Column(self.items[at].name, exprs[at].type)
            else:
                key = self._computed(ordered.this, exprs, hidden, binder, lift)
            self.found.append(_key(self.ctx, ordered, key))
        return hidden

    def _position(self, node: exp.Expr, binder: ExprBinder) -> int | None:
        """The output column that the key names: by number, by alias, or by its plain name."""
        at = _ordinal(self.ctx, node, len(self.items))
        if at is None and isinstance(node, exp.Column) and not node.table:
            names = [i.name.lower() for i in self.items]
            at = names.index(node.name.lower()) if node.name.lower() in names else None
        return at

    def _computed(
        self,
        node: exp.Expr,
        exprs: list[Expr],
        hidden: list[tuple[str, Expr]],
        binder: ExprBinder,
        lift: Callable[[Expr, exp.Expr], Expr],
    ) -> Expr:
        aliases = {i.alias.lower(): i.node for i in self.items if i.alias}
        e = lift(replace(binder, subqueries=None, aliases=aliases).bind(node), node)
        _check_plain(self.ctx, ordered_at=node, key=e)
        if e in exprs:
            return Column(self.items[exprs.index(e)].name, e.type)
        if self.select.args.get("distinct"):
            raise self.ctx.at(node).error("with DISTINCT, ORDER BY takes columns of the select list")
        known = next((n for n, h in hidden if h == e), None)
        if known is None:
            known = self._free_name(len(hidden))
            hidden.append((known, e))
        return Column(known, e.type)

    def _free_name(self, n: int) -> str:
        taken, name = {i.name.lower() for i in self.items}, f"o{n}"
        while name in taken:
            name += "_"
        return name

    def top(self, node: Node, shown: int) -> Node:
        """The first rows, without the hidden columns."""
        if self.count is None:
            return node
        top = TopK(node, tuple(self.found), self.count)
        fields = top.schema.fields
        if len(fields) == shown:
            return top
        return Project(top, tuple((f.name, Column(f.name, f.type)) for f in fields[:shown]))


def top_of_set(ctx: Context, query: exp.Expr, node: Node) -> Node:
    """ORDER BY and LIMIT of a set operation or a query in parentheses: keys are output columns."""
    count = limit_of(ctx, query)
    if count is None:
        return node
    return TopK(node, tuple(_output_key(ctx, o, node.schema) for o in query.args["order"].expressions), count)


def _output_key(ctx: Context, ordered: exp.Expr, schema: Schema) -> Key:
    node = ordered.this
    at = _ordinal(ctx, node, len(schema.fields))
    if at is None and isinstance(node, exp.Column) and not node.table:
        names = [n.lower() for n in schema.names]
        at = names.index(node.name.lower()) if node.name.lower() in names else None
    if at is None:
        raise _unknown(ctx, node, schema)
    field_ = schema.fields[at]
    return _key(ctx, ordered, Column(field_.name, field_.type))


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
