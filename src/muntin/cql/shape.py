"""The shape of a query: which wrapper, which clauses, and what is beyond this version, each with its place."""

from __future__ import annotations

from typing import cast

from sqlglot import exp

from muntin.cql.aggregates import AGGREGATES
from muntin.cql.dialect import ToStream
from muntin.cql.places import place_of
from muntin.plan.nodes import OutputKind

_SUPPORTED = (
    "supported is one SELECT ... FROM ... WHERE ... GROUP BY ... HAVING over streams, "
    "alone or in Istream(...), Dstream(...) or Rstream(...)"
)
_CLAUSES = {"expressions", "from_", "joins", "where", "group", "having"}
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_WORDS = {
    "distinct": "SELECT DISTINCT", "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "with_": "WITH",
    "qualify": "QUALIFY", "windows": "a WINDOW clause", "laterals": "LATERAL VIEW", "sort": "SORT BY",
    "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY", "hint": "a hint", "into": "INTO", "pivots": "PIVOT",
    "sample": "TABLESAMPLE", "kind": "SELECT AS STRUCT", "exclude": "EXCEPT columns", "fetch": "FETCH",
}  # fmt: skip


def body_of(tree: exp.Expr, text: str) -> tuple[exp.Select, OutputKind | None]:
    """The SELECT inside an optional relation-to-stream wrapper, and the wrapper's kind.

    Raises:
        UnsupportedError: set operations, Wstream, wrappers inside wrappers.
    """
    kind: OutputKind | None = None
    if isinstance(tree, ToStream):
        if tree.args["kind"] == "wstream":
            raise place_of(tree, text).unsupported("Wstream is not supported yet: use Istream, Dstream or Rstream")
        kind, tree = cast(OutputKind, tree.args["kind"]), tree.this
    while isinstance(tree, exp.Subquery | exp.Paren):
        extra = next((k for k, v in tree.args.items() if v and k != "this"), None)
        if extra is not None:
            word = _WORDS.get(extra, extra.strip("_").upper())
            raise place_of(tree, text).unsupported(f"{word} on a query in parentheses is not supported; {_SUPPORTED}")
        tree = tree.this
    if isinstance(tree, exp.Select):
        return tree, kind
    place = place_of(tree, text)
    if isinstance(tree, ToStream):
        raise place.error("one relation-to-stream wrapper goes around a query, not two")
    if isinstance(tree, exp.SetOperation):
        raise place.unsupported(f"{type(tree).__name__.upper()} is not supported yet; {_SUPPORTED}")
    raise place.error(f"this is not a query; {_SUPPORTED}")


def check_clauses(select: exp.Select, text: str) -> None:
    """Raise for clauses of SELECT that this version does not run."""
    for key, value in select.args.items():
        if value and key not in _CLAUSES:
            at = value[0] if isinstance(value, list) else value
            place = place_of(at, text) if isinstance(at, exp.Expr) else place_of(select, text)
            raise place.unsupported(f"{_WORDS.get(key, key.strip('_').upper())} is not supported yet; {_SUPPORTED}")
    group = select.args.get("group")
    odd = next((k for k, v in group.args.items() if v and k != "expressions"), None) if group is not None else None
    if group is not None and odd is not None:
        raise place_of(group, text).unsupported(f"GROUP BY {odd.upper()} is not supported: list the expressions")
    sets = next((n for n in group.expressions if isinstance(n, _SETS)), None) if group is not None else None
    if sets is not None:
        word = {"Rollup": "ROLLUP", "Cube": "CUBE"}.get(type(sets).__name__, "GROUPING SETS")
        raise place_of(sets, text).unsupported(f"GROUP BY {word} is not supported: list the expressions")
    having = select.args.get("having")
    if having is not None and not has_aggregates(select, with_having=False) and not _aggregates_in(having):
        at = place_of(having.this, text)
        raise at.error("HAVING needs GROUP BY or an aggregate: a condition on rows belongs in WHERE")


def has_aggregates(select: exp.Select, with_having: bool = True) -> bool:
    """Whether the query groups or aggregates."""
    nodes = [*select.expressions, *([select.args["having"]] if with_having and select.args.get("having") else [])]
    return bool(select.args.get("group")) or any(_aggregates_in(n) for n in nodes)


def _aggregates_in(node: exp.Expr) -> bool:
    found = node.walk(prune=lambda n: isinstance(n, exp.Query))
    return any(isinstance(n, AGGREGATES) for n in found)
