"""Which calls are aggregates, and what each is called in the plan."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from muntin.aggregates.description import Aggregate
from muntin.aggregates.registry import AGGREGATES as BUILT_IN
from muntin.aggregates.user_defined import PREFIX, USER_DEFINED
from muntin.cql.dialect import CqlParser
from muntin.plan.catalog import AggregateFunction, Catalog

AGGREGATES: dict[type[exp.Expr], Aggregate] = {}
"""By the node that sqlglot makes of a call."""
_NAMED: dict[str, Aggregate] = {}
"""By the name of a call of which the parser makes no node."""
_PARSED = {**CqlParser.FUNCTIONS, **CqlParser.FUNCTION_PARSERS}
for _what in BUILT_IN:
    for _name in _what.names:
        _kind = exp.FUNCTION_BY_NAME.get(_name.upper()) if _name.upper() in _PARSED else None
        _NAMED.setdefault(_name, _what)
        if _kind is not None:
            AGGREGATES.setdefault(_kind, _what)
_AROUND = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)


def bare(node: exp.Expr) -> exp.Expr:
    """The call without FILTER (WHERE ...) and IGNORE NULLS around it."""
    while isinstance(node, _AROUND):
        node = node.this
    return node


def function_of(node: exp.Expr, catalog: Catalog) -> Aggregate | None:
    """The function of an aggregate call, FILTER included; None for everything else."""
    node = bare(node)
    if type(node) in AGGREGATES:
        return AGGREGATES[type(node)]
    known = registered(node, catalog)
    if known is not None:
        return replace(USER_DEFINED, fn=f"{PREFIX}{known.name}", names=(known.name,))
    return _NAMED.get(str(node.this).lower()) if isinstance(node, exp.Anonymous) else None


def registered(node: exp.Expr, catalog: Catalog) -> AggregateFunction | None:
    """The user-defined aggregate that a call names, also where sqlglot has a node of its own for the name."""
    if not isinstance(node, exp.Func):
        return None
    return catalog.function(str(node.this if isinstance(node, exp.Anonymous) else node.meta.get("called", "")))


def function_name(node: exp.Expr, catalog: Catalog) -> str | None:
    """An aggregate's name for messages; None for everything else."""
    what, node = function_of(node, catalog), bare(node)
    if what is None or isinstance(node, exp.Anonymous):
        return None if what is None else str(node.this).upper()
    return what.shown


def arguments_read(kind: type[exp.Expr]) -> tuple[str, ...]:
    """The arguments that binding reads of a node of an aggregate, in the order in which they are written."""
    first = [k for k in kind.arg_types if k != "expressions"][: AGGREGATES[kind].arity]
    return (*first, *(k for k in ("expressions",) if k in kind.arg_types))


def arguments_of(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of an aggregate call, as they are written."""
    if type(node) not in AGGREGATES:
        return [*([] if isinstance(node, exp.Anonymous) else [node.this]), *node.expressions]
    parts = (node.args.get(k) for k in arguments_read(type(node)))
    return [a for part in parts for a in (part if isinstance(part, list) else [part]) if a is not None]


def has_aggregate(node: exp.Expr, catalog: Catalog) -> bool:
    """Whether an aggregate is called in the expression, outside its sub-queries."""
    found = node.walk(prune=lambda n: isinstance(n, exp.Query))
    return any(function_of(n, catalog) is not None for n in found)
