"""The shape of a query: which clauses it has, and what is beyond the language, each with its place."""

from __future__ import annotations

from sqlglot import exp

from muntin.cql.calls import has_aggregate
from muntin.cql.places import place_of
from muntin.plan.catalog import Catalog

SUPPORTED = "supported is SELECT [DISTINCT] ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT"
_CLAUSES = {"expressions", "from_", "joins", "where", "group", "having", "distinct", "order", "limit"}
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_WORDS = {
    "offset": "OFFSET", "with_": "WITH", "qualify": "QUALIFY", "windows": "a WINDOW clause",
    "laterals": "LATERAL VIEW", "sort": "SORT BY", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY",
    "hint": "a hint", "into": "INTO", "pivots": "PIVOT", "sample": "TABLESAMPLE", "kind": "SELECT AS STRUCT",
    "exclude": "EXCEPT columns", "by_name": "BY NAME", "fetch": "FETCH", "alias": "an alias",
}  # fmt: skip


def unwrapped(tree: exp.Expr) -> exp.Expr:
    """The query inside parentheses that carry nothing of their own."""
    while isinstance(tree, exp.Subquery | exp.Paren) and not any(v for k, v in tree.args.items() if k != "this"):
        tree = tree.this
    return tree


def check_plain(tree: exp.Expr, text: str, allowed: frozenset[str]) -> None:
    """Raise for clauses of a query in parentheses or a set operation other than ``allowed``."""
    extra = next((k for k, v in tree.args.items() if v and k not in allowed), None)
    if extra is not None:
        word = _WORDS.get(extra, extra.strip("_").upper())
        raise place_of(tree, text).unsupported(f"{word} is not supported here; {SUPPORTED}")


def check_clauses(select: exp.Select, text: str, catalog: Catalog) -> None:
    """Raise for clauses of SELECT that the language does not have, and for HAVING without aggregates."""
    for key, value in select.args.items():
        if value and key not in _CLAUSES:
            at = value[0] if isinstance(value, list) else value
            place = place_of(at, text) if isinstance(at, exp.Expr) else place_of(select, text)
            hint = "; register it as a view" if key == "with_" else ""
            raise place.unsupported(f"{_WORDS.get(key, key.strip('_').upper())} is not supported{hint}; {SUPPORTED}")
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise place_of(distinct, text).unsupported("DISTINCT ON is not supported: use [PARTITION BY k ROWS 1]")
    _check_group(select, text)
    having = select.args.get("having")
    if having is not None and not has_aggregates(select, catalog):
        at = place_of(having.this, text)
        raise at.error("HAVING needs GROUP BY or an aggregate: a condition on rows belongs in WHERE")


def _check_group(select: exp.Select, text: str) -> None:
    group = select.args.get("group")
    if group is None:
        return
    odd = next((k for k, v in group.args.items() if v and k != "expressions"), None)
    if odd is not None:
        raise place_of(group, text).unsupported(f"GROUP BY {odd.upper()} is not supported: list the expressions")
    sets = next((n for n in group.expressions if isinstance(n, _SETS)), None)
    if sets is not None:
        word = {"Rollup": "ROLLUP", "Cube": "CUBE"}.get(type(sets).__name__, "GROUPING SETS")
        raise place_of(sets, text).unsupported(f"GROUP BY {word} is not supported: list the expressions")


def has_aggregates(select: exp.Select, catalog: Catalog) -> bool:
    """Whether the query groups or aggregates."""
    order = select.args.get("order")
    nodes = [*select.expressions, *(n for n in (select.args.get("having"), order) if n is not None)]
    return bool(select.args.get("group")) or any(has_aggregate(n, catalog) for n in nodes)
