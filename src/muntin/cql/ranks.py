"""ROW_NUMBER, RANK and DENSE_RANK: calls in the select list, and the bounds that QUALIFY puts on them.

The first k of each group are ``QUALIFY ROW_NUMBER() OVER (PARTITION BY g ORDER BY x) <= k``, or the same condition in a
query around it, which ``bounds_moved_in`` moves inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.cql.context import Context
from muntin.cql.limits import MOST, Limit, whole_number
from muntin.cql.select_list import Item
from muntin.plan.nodes import RankKind

KINDS: dict[type[exp.Expr], RankKind] = {
    exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank",
}  # fmt: skip
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ,
}  # fmt: skip
UNBOUNDED = (
    "ROW_NUMBER, RANK and DENSE_RANK are there for the first rows only, since else each new row would change the "
    "number of every row behind it: add QUALIFY ... <= k, or ORDER BY ... LIMIT k with the same order"
)


@dataclass(frozen=True)
class RankCall:
    """One call: what it counts, its PARTITION BY and ORDER BY, and where it stands."""

    kind: RankKind
    by: tuple[exp.Expr, ...]
    order: tuple[exp.Expr, ...]
    node: exp.Expr


def is_rank(node: exp.Expr) -> bool:
    """Whether the node is a call of a rank with OVER."""
    return isinstance(node, exp.Window) and type(node.this) in KINDS


def call_of(ctx: Context, node: exp.Expr) -> RankCall:
    """The parts of a rank call.

    Raises:
        QueryError: no ORDER BY.
        UnsupportedError: a named window, a frame, an argument.
    """
    at = ctx.at(node.this)
    if node.args.get("alias") or node.args.get("spec"):
        raise at.unsupported("write the order where the rank stands: RANK() OVER (PARTITION BY g ORDER BY x DESC)")
    order = node.args.get("order")
    if order is None:
        raise at.error("a rank needs an order: write OVER (ORDER BY x), or OVER (PARTITION BY g ORDER BY x)")
    number = next((o.this for o in order.expressions if whole_number(o.this) is not None), None)
    if number is not None:
        raise ctx.at(number).error("inside OVER a number is no position: name the column")
    by = tuple(node.args.get("partition_by") or ())
    return RankCall(KINDS[type(node.this)], by, tuple(order.expressions), node)


@dataclass(frozen=True)
class Qualified:
    """What QUALIFY asks: the rows of ``limit`` by the order of ``call``."""

    limit: Limit
    call: RankCall


def qualified(ctx: Context, select: exp.Select, items: list[Item]) -> Qualified | None:
    """The bounds of QUALIFY as one limit; None without QUALIFY.

    Raises:
        QueryError: a condition that is no bound of a rank, bounds that leave no row, or of different ranks.
    """
    clause = select.args.get("qualify")
    if clause is None:
        return None
    ranks = {i.name.lower(): i.node for i in items if is_rank(i.node)}
    found = [_bound(ctx, part, ranks) for part in _conjuncts(clause.this)]
    calls = {ctx_text(node) for node, _, _ in found}
    if len(calls) > 1:
        raise ctx.at(clause.this).unsupported(
            "QUALIFY bounds one rank: put the other bound into a query around this one, on its column"
        )
    node = found[0][0]
    low, high = max(low for _, low, _ in found), min(high for _, _, high in found)
    call = call_of(ctx, node)
    if high >= MOST:
        raise ctx.at(clause.this).error(f"QUALIFY needs an upper bound: {UNBOUNDED}")
    if low > high:
        raise ctx.at(clause.this).error("no row has such a rank: ranks count from 1")
    return Qualified(_limit(ctx, call, low, high), call)


def _limit(ctx: Context, call: RankCall, low: int, high: int) -> Limit:
    match call.kind:
        case "row_number":
            return Limit(high - low + 1, low - 1, False, call.by)
        case "rank" if low == 1:
            return Limit(high, 0, True, call.by)
        case "rank":
            raise ctx.at(call.node.this).unsupported(
                f"RANK() has an upper bound alone: write QUALIFY RANK() ... <= {high}, and the lower bound in a query "
                "around it, on the column of the rank"
            )
        case "dense_rank":
            raise ctx.at(call.node.this).unsupported(
                "DENSE_RANK() is no bound: as many rows may have it as there are. Bound RANK() or ROW_NUMBER() and "
                "show DENSE_RANK(), or write x IN (SELECT DISTINCT x FROM ... ORDER BY x LIMIT k)"
            )


def ctx_text(node: exp.Expr) -> str:
    """A call as text, to tell equal ones."""
    return node.sql(dialect="spark").lower()


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _bound(ctx: Context, node: exp.Expr, ranks: dict[str, exp.Expr]) -> tuple[exp.Expr, int, int]:
    """(the rank, least, greatest) that a condition allows."""
    found = _bounds(node, ranks)
    if found is None:
        raise _not_a_bound(ctx, node)
    return found


def _not_a_bound(ctx: Context, node: exp.Expr) -> QueryError:
    return ctx.at(node).error(
        "QUALIFY takes bounds of a rank, as in ROW_NUMBER() OVER (PARTITION BY g ORDER BY x) <= 3, RANK() ... < 4 or "
        "rn BETWEEN 1 AND 3 for a column rn of the select list: other conditions belong in WHERE, in HAVING, or in a "
        "query around this one"
    )


def _bounds(node: exp.Expr, ranks: dict[str, exp.Expr]) -> tuple[exp.Expr, int, int] | None:
    match node:
        case exp.Between(this=this):
            rank, low, high = _rank(this, ranks), whole_number(node.args["low"]), whole_number(node.args["high"])
            return None if rank is None or low is None or high is None else (rank, max(low, 1), high)
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.EQ():
            kind: type[exp.Expr] = type(node)
            left, right = node.this, node.expression
            if whole_number(left) is not None:
                kind, left, right = _FLIPPED[kind], right, left
            rank, n = _rank(left, ranks), whole_number(right)
            if rank is None or n is None:
                return None
            least: dict[type[exp.Expr], int] = {exp.EQ: n, exp.GTE: n, exp.GT: n + 1}
            most: dict[type[exp.Expr], int] = {exp.EQ: n, exp.LTE: n, exp.LT: n - 1}
            return rank, max(least.get(kind, 1), 1), most.get(kind, MOST)
        case _:
            return None


def _rank(node: exp.Expr, ranks: dict[str, exp.Expr]) -> exp.Expr | None:
    node = node.unnest()
    if is_rank(node):
        return node
    return ranks.get(node.name.lower()) if isinstance(node, exp.Column) and not node.table else None


def bounds_moved_in(select: exp.Select) -> None:
    """``WHERE t.rn <= 3`` around a sub-query t whose column rn is a rank becomes a QUALIFY inside; the tree changes."""
    where, items = select.args.get("where"), list(_plain_items(select))
    if where is None:
        return
    parts, alone = list(_conjuncts(where.this)), not select.args.get("joins")
    for item in items:
        inner = item.this
        if not isinstance(inner, exp.Select) or any(inner.args.get(k) for k in ("qualify", "limit", "distinct")):
            continue
        ranks = {n.alias.lower(): n.this for n in inner.expressions if isinstance(n, exp.Alias) and is_rank(n.this)}
        inside, outside = _divided(parts, item.alias, ranks, alone)
        if inside:
            inner.set("qualify", exp.Qualify(this=exp.and_(*inside, copy=False)))
            parts = outside
            select.set("where", exp.Where(this=exp.and_(*parts, copy=False)) if parts else None)


def _divided(
    parts: list[exp.Expr], alias: str, ranks: dict[str, exp.Expr], alone: bool
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Upper bounds of the ranks as the sub-query says them, and the conditions that stay outside."""
    inside, outside = [], []
    for part in parts:
        own = _unqualified(part, alias, alone)
        found = None if own is None else _bounds(own, ranks)
        kind = None if found is None else KINDS[type(found[0].this)]
        if own is None or found is None or found[2] >= MOST or kind == "dense_rank":
            outside.append(part)
        elif kind == "row_number" or found[1] == 1:
            inside.append(own)
        else:  # RANK() = 2 is among those up to 2
            inside.append(exp.LTE(this=found[0].copy(), expression=exp.Literal.number(found[2])))
            outside.append(part)
    return inside, outside


def _plain_items(select: exp.Select) -> Iterator[exp.Subquery]:
    """Sub-queries in FROM that no outer join pads with NULLs."""
    clause = select.args.get("from_")
    joins = select.args.get("joins") or []
    if clause is None or any(j.args.get("side") or j.args.get("kind") in ("SEMI", "ANTI") for j in joins):
        return
    for item in (clause.this, *(j.this for j in joins)):
        if isinstance(item, exp.Subquery) and not item.args.get("window"):
            yield item


def _unqualified(node: exp.Expr, alias: str, alone: bool) -> exp.Expr | None:
    """The condition with columns of ``alias`` as plain names; None where it has others (``alone``: plain names are of
    ``alias``)."""
    columns = list(node.find_all(exp.Column))
    if any((c.table.lower() != alias.lower()) if c.table else not alone for c in columns):
        return None
    made = node.copy()
    for column in made.find_all(exp.Column):
        column.set("table", None)
    return made
