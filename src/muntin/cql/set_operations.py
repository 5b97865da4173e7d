"""UNION, EXCEPT and INTERSECT of two relations, with their columns cast to common types."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from muntin.cql.coerce import coerce, common_type
from muntin.cql.context import Context
from muntin.cql.shape import check_plain
from muntin.cql.sources import renamed
from muntin.cql.types import family, to_spark
from muntin.plan.exprs import Column
from muntin.plan.nodes import Distinct, Node, Project, SetKind, SetOp, TopK

_ALLOWED = frozenset({"this", "expression", "distinct", "order", "limit", "offset"})


def combine(ctx: Context, tree: exp.SetOperation, sides: list[Node]) -> Node:
    """The set operation; UNION without ALL is Distinct over UNION ALL.

    Raises:
        QueryError: different numbers of columns, or columns of different kinds.
    """
    check_plain(tree, ctx.text, _ALLOWED)
    left, right = sides
    word = type(tree).__name__.upper()
    a, b = left.schema.fields, right.schema.fields
    if len(a) != len(b):
        raise ctx.at(tree).error(f"{word} of {len(a)} and {len(b)} columns: both sides need the same number")
    types = []
    for x, y in zip(a, b, strict=True):
        t = common_type(x.type, y.type)
        if t is None or (family(t) == "nested" and (word != "UNION" or tree.args.get("distinct"))):
            if t is not None:
                raise ctx.at(tree).error(
                    f"{word} compares rows, which {x.name} ({to_spark(x.type)}) does not let it: take a plain value of "
                    "it, or write UNION ALL"
                )
            raise ctx.at(tree).error(
                f"{word}: {x.name} ({to_spark(x.type)}) and {y.name} ({to_spark(y.type)}) do not go together; "
                "write CAST on one side"
            )
        types.append(t)
    every = not tree.args.get("distinct")
    left, right = _cast(left, types), _cast(right, types)
    match tree:
        case exp.Union():
            union = SetOp("union_all", left, right)
            return union if every else Distinct(union)
        case exp.Except():
            kind: SetKind = "except_all" if every else "except"
        case exp.Intersect():
            kind = "intersect_all" if every else "intersect"
        case _:
            raise ctx.at(tree).unsupported(f"{word} is not supported: use UNION, EXCEPT or INTERSECT")
    return SetOp(kind, left, right)


def _cast(node: Node, types: list[pa.DataType]) -> Node:
    """The relation with its columns cast: in its own select list where it is one, else in a SELECT around it."""
    if [f.type for f in node.schema] == types:
        return node
    inner = node if _is_block(node) else renamed(node, "q")
    assert isinstance(inner, Project)
    if inner is node:
        return Project(inner.input, tuple((n, coerce(e, t)) for (n, e), t in zip(inner.exprs, types, strict=True)))
    fields = zip(inner.schema, node.schema, types, strict=True)
    return Project(inner, tuple((f.name, coerce(Column(q.name, q.type), t)) for q, f, t in fields))


def _is_block(node: Node) -> bool:
    """A plain SELECT, whose list can take the casts (not one that only hides columns of ORDER BY)."""
    return isinstance(node, Project) and not isinstance(node.input, TopK)
