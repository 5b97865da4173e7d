"""How many rows of an ordered answer are shown: LIMIT, FETCH FIRST, OFFSET, WITH TIES, LIMIT k BY."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.cql.context import Context

_NO_ORDER = "rows of a stream have no order beyond time"
MOST = 2**31 - 1


@dataclass(frozen=True)
class Limit:
    """``count`` rows behind the first ``offset``; ``ties``: and those with the keys of the last; ``by``: of each group
    of equal expressions."""

    count: int
    offset: int = 0
    ties: bool = False
    by: tuple[exp.Expr, ...] = ()


def limit_of(ctx: Context, query: exp.Expr) -> Limit | None:
    """What a query says beside ORDER BY; None when it has neither that nor a limit.

    Raises:
        QueryError: one without the other, or a limit that is no positive number.
    """
    order, limit, offset = (query.args.get(k) for k in ("order", "limit", "offset"))
    if limit is None:
        _no_limit(ctx, order, offset)
        return None
    if order is None:
        raise ctx.at(limit).error(f"LIMIT without ORDER BY: {_NO_ORDER}. Write ORDER BY ... LIMIT k")
    options = limit.args.get("limit_options")
    if options is not None and options.args.get("percent"):
        raise ctx.at(limit).unsupported("PERCENT is not supported: LIMIT and FETCH FIRST take a number of rows")
    given = limit.expression if isinstance(limit, exp.Limit) else limit.args.get("count")
    count = 1 if given is None else _number(ctx, given, limit, "LIMIT", 1)
    ties = options is not None and bool(options.args.get("with_ties"))
    by = tuple(limit.expressions) if isinstance(limit, exp.Limit) else ()
    skipped = 0 if offset is None else _number(ctx, offset.expression, offset, "OFFSET", 0)
    return Limit(count, skipped, ties, by)


def _no_limit(ctx: Context, order: exp.Expr | None, offset: exp.Expr | None) -> None:
    if offset is not None:
        raise ctx.at(offset).error("OFFSET without LIMIT: all rows but the first change with every row. Add LIMIT k")
    if order is not None:
        raise ctx.at(order.expressions[0]).error(
            f"ORDER BY without LIMIT: {_NO_ORDER}. Write ORDER BY ... LIMIT k for the first k, or leave it out"
        )


def _number(ctx: Context, node: exp.Expr | None, around: exp.Expr, word: str, least: int) -> int:
    found = whole_number(node)
    if found is None or not least <= found <= MOST:
        raise _wrong(ctx, node if node is not None else around, word, least)
    return found


def whole_number(node: exp.Expr | None) -> int | None:
    """The number that a literal without sign or point is; None for all else."""
    plain = isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit()
    return int(node.this) if plain and node is not None else None


def _wrong(ctx: Context, node: exp.Expr, word: str, least: int) -> QueryError:
    kind = "a positive number" if least else "a number"
    return ctx.at(node).error(f"{word} takes {kind} of rows (at most {MOST}), as in {word} 10")
