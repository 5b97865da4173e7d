"""What binding reads of the syntax tree: by kind of node, its arguments. Whatever else a text says is refused here.

sqlglot's grammar is larger than the language, and its nodes carry what the language does not have as arguments
(``LIMIT 2 WITH TIES`` is a ``Limit`` with ``limit_options``). An argument that nobody reads would be dropped without a
word, so a kind of node binds only with the arguments of its line below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlglot import exp

from muntin.core.errors import UnsupportedError
from muntin.cql.calls import AGGREGATES, arguments_read, registered
from muntin.cql.dialect import StreamRef, ToStream, WstreamCall
from muntin.cql.expressions import ARGUMENTS as OF_EXPRESSIONS
from muntin.cql.instead import ARRAYS
from muntin.cql.places import place_of
from muntin.cql.shape import SUPPORTED
from muntin.cql.window_syntax import WindowSpec
from muntin.plan.catalog import Catalog

Kind = type[exp.Expr]
_SET = ("this", "expression", "distinct", "order", "limit", "offset", "with_")

READ: Mapping[Kind, tuple[str, ...]] = {
    **OF_EXPRESSIONS,
    **{kind: arguments_read(kind) for kind in AGGREGATES},
    exp.Filter: ("this", "expression"),
    exp.IgnoreNulls: ("this",),
    exp.RespectNulls: ("this",),
    exp.Select: ("expressions", "from_", "joins", "where", "group", "having", "qualify", "distinct", "order", "limit",
                 "offset", "with_"),
    exp.Union: _SET,
    exp.Except: _SET,
    exp.Intersect: _SET,
    exp.Subquery: ("this", "alias", "window", "order", "limit", "offset", "with_"),
    exp.With: ("expressions", "recursive"),
    exp.CTE: ("this", "alias"),
    exp.From: ("this",),
    exp.Join: ("this", "on", "using", "method", "side", "kind"),
    exp.Where: ("this",),
    exp.Group: ("expressions",),
    exp.Having: ("this",),
    exp.Distinct: ("expressions",),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Limit: ("expression", "limit_options", "expressions"),
    exp.Fetch: ("direction", "count", "limit_options"),  # FIRST and NEXT are one
    exp.LimitOptions: ("percent", "rows", "with_ties"),
    exp.Offset: ("expression",),
    exp.Qualify: ("this",),
    exp.Window: ("this", "partition_by", "order", "spec", "over", "alias"),
    exp.RowNumber: (),
    exp.Rank: (),
    exp.DenseRank: (),
    exp.Alias: ("this", "alias"),
    exp.TableAlias: ("this", "columns"),
    exp.Star: (),
    exp.Tuple: ("expressions",),
    exp.Any: ("this",),
    exp.All: ("this",),
    StreamRef: ("this", "db", "alias", "window", "sample", "pivots"),
    WindowSpec: ("kind", "size", "slide", "slide_kind", "delay", "partition", "internal",
                 "function", "cumulate", "time"),
    ToStream: ("this", "kind", "window", "with_"),
    WstreamCall: ("expressions", "window"),
}
"""The arguments that binding reads, to use them or to refuse them with words of their own."""

SET_BY_THE_DIALECT: Mapping[tuple[Kind, str], Any] = {
    (exp.ArrayAgg, "nulls_excluded"): True,
    (exp.Coalesce, "is_nvl"): True,
    (exp.Concat, "safe"): True,
    (exp.Count, "big_int"): True,
    (exp.Div, "safe"): True,
    (exp.DPipe, "safe"): True,
    (exp.Greatest, "ignore_nulls"): True,
    (exp.Least, "ignore_nulls"): True,
}
"""Arguments that Spark's dialect sets by itself: with this value they say nothing."""

_CLAUSES = {
    "windows": "a WINDOW clause",
    "laterals": "LATERAL VIEW", "sort": "SORT BY", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY",
    "hint": "a hint", "into": "INTO", "pivots": "PIVOT", "sample": "TABLESAMPLE", "kind": "SELECT AS STRUCT",
    "exclude": "EXCEPT columns", "by_name": "BY NAME", "alias": "an alias", "locks": "FOR UPDATE",
}  # fmt: skip
_WORDS: Mapping[tuple[Kind, str], str] = {
    (exp.Between, "symmetric"): "BETWEEN SYMMETRIC is not supported: write x BETWEEN least(a, b) AND greatest(a, b)",
    (exp.Cast, "format"): "CAST takes no FORMAT",
    (exp.TryCast, "format"): "CAST takes no FORMAT",
    (exp.Select, "windows"): "a WINDOW clause is not supported: windows stand at streams, as in s [RANGE 5 MINUTES]",
    (exp.Select, "laterals"): f"LATERAL VIEW is not supported: {ARRAYS}",
    (exp.Trim, "expression"): "TRIM takes no characters: it takes spaces off",
    (exp.Distinct, "on"): "DISTINCT ON is not supported: use [PARTITION BY k ROWS 1]",
    (exp.Order, "siblings"): "ORDER SIBLINGS BY is not supported",
    (exp.Ordered, "with_fill"): "WITH FILL is not supported",
    (exp.Group, "all"): "GROUP BY ALL is not supported: list the expressions",
    (exp.Column, "join_mark"): "(+) is not supported: write LEFT JOIN ... ON or RIGHT JOIN ... ON",
    (exp.Quantile, "expression"): "PERCENTILE takes a value and a number from 0 to 1, and no frequency",
}


@contextmanager
def every_argument_read(tree: exp.Expr, text: str, catalog: Catalog) -> Iterator[None]:
    """Around the binding of a parsed query.

    Before it, arguments that no binding reads are refused; after it, kinds of nodes that no binding knows (the binder
    has had the chance to refuse them with words of its own).

    Raises:
        UnsupportedError: the text says what would have no effect.
    """
    nodes = list(tree.walk(bfs=False))
    for node in nodes:
        key = next(unread(node), None)
        if key is not None:
            raise _refusal(node, key, text)
    yield
    strange = next((n for n in nodes if type(n) not in READ and not _own(n, catalog)), None)
    if strange is not None:
        raise place_of(strange, text).unsupported(f"{_shown(strange)} is not supported here")


def _own(node: exp.Expr, catalog: Catalog) -> bool:
    """Whether the node is a call of a user-defined aggregate, with nothing but its argument."""
    said = {k for k, v in node.args.items() if v is not None and v is not False and v != []}
    return registered(node, catalog) is not None and said <= {"this", "expressions"}


def unread(node: exp.Expr) -> Iterator[str]:
    """The arguments of a node of a known kind that say something and are not read."""
    kind = type(node)
    if kind not in READ:
        return
    for key, value in node.args.items():
        known = key in READ[kind] or SET_BY_THE_DIALECT.get((kind, key), _NOTHING) == value
        if not known and value is not None and value is not False and value != []:
            yield key


_NOTHING = object()


def _refusal(node: exp.Expr, key: str, text: str) -> UnsupportedError:
    value = node.args[key]
    at = value[0] if isinstance(value, list) else value
    place = place_of(at if isinstance(at, exp.Expr) else node, text)
    words = _WORDS.get((type(node), key))
    if words is not None:
        return place.unsupported(words)
    match node:
        case exp.Query() | StreamRef():
            what = f"{_CLAUSES.get(key, key.strip('_').upper())} is not supported"
            return place.unsupported(f"{what}; {SUPPORTED}")
        case exp.Group():
            word = key.upper().replace("_", " ")
            return place.unsupported(f"GROUP BY {word} is not supported: list the expressions")
        case exp.Star():
            return place.unsupported("* takes no EXCEPT, REPLACE or RENAME: list the columns")
        case _:
            return place.unsupported(f"this form of {_shown(node)} ({key.strip('_')}) is not supported")


def _shown(node: exp.Expr) -> str:
    return node.sql_name() if isinstance(node, exp.Func) else type(node).__name__.upper()
