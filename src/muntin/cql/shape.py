"""The shape of a query: what stands around it, and what its clauses need of each other, each with its place."""

from __future__ import annotations

from sqlglot import exp

from muntin.cql.calls import has_aggregate
from muntin.cql.instead import for_node
from muntin.cql.places import place_of
from muntin.cql.ranks import is_rank
from muntin.plan.catalog import Catalog

SUPPORTED = (
    "supported is SELECT [DISTINCT] ... FROM ... WHERE ... GROUP BY ... HAVING ... QUALIFY ... ORDER BY ... LIMIT ... "
    "OFFSET"
)
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)

def unwrapped(tree: exp.Expr) -> exp.Expr:
    """The query inside parentheses that carry nothing of their own."""
    while isinstance(tree, exp.Subquery | exp.Paren) and not any(v for k, v in tree.args.items() if k != "this"):
        tree = tree.this
    return tree


def check_plain(tree: exp.Expr, text: str, allowed: frozenset[str]) -> None:
    """Raise for clauses of a query in parentheses or a set operation other than ``allowed``."""
    extra = next((k for k, v in tree.args.items() if v and k not in allowed), None)
    if extra is not None:
        word = {"alias": "an alias", "window": "a window"}.get(extra, extra.strip("_").upper())
        raise place_of(tree, text).unsupported(f"{word} is not supported here; {SUPPORTED}")


def check_clauses(select: exp.Select, text: str, catalog: Catalog) -> None:
    """Raise for OVER and groupings that the language does not have, and for HAVING without aggregates."""
    over = next((n for e in select.expressions for n in e.walk() if isinstance(n, exp.Window)), None)
    if over is not None and not is_rank(over):  # else its aggregate would be taken for one of the query
        raise place_of(over, text).unsupported(str(for_node(over)))
    _check_group(select, text)
    having = select.args.get("having")
    if having is not None and not has_aggregates(select, catalog):
        at = place_of(having.this, text)
        raise at.error("HAVING needs GROUP BY or an aggregate: a condition on rows belongs in WHERE")


def _check_group(select: exp.Select, text: str) -> None:
    group = select.args.get("group")
    if group is None:
        return
    sets = next((n for n in group.expressions if isinstance(n, _SETS)), None)
    if sets is not None:
        word = {"Rollup": "ROLLUP", "Cube": "CUBE"}.get(type(sets).__name__, "GROUPING SETS")
        raise place_of(sets, text).unsupported(
            f"GROUP BY {word} is not supported: one query for each set of keys, or UNION ALL of them"
        )


def has_aggregates(select: exp.Select, catalog: Catalog) -> bool:
    """Whether the query groups or aggregates."""
    order = select.args.get("order")
    others = (select.args.get("having"), select.args.get("qualify"), order)
    nodes = [*select.expressions, *(n for n in others if n is not None)]
    return bool(select.args.get("group")) or any(has_aggregate(n, catalog) for n in nodes)
