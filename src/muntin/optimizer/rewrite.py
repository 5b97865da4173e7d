"""Small tools that rules share: inputs replaced, columns replaced, names asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from muntin.plan.exprs import Agg, Column, Expr, columns_of, map_columns
from muntin.plan.nodes import (
    Apply,
    Filter,
    Join,
    Node,
    OuterJoin,
    Output,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
)

Named = tuple[tuple[str, Expr], ...]
Correlated = TypeVar("Correlated", SemiJoin, Apply)


def with_inputs(node: Node, inputs: Sequence[Node]) -> Node:
    """The node over other inputs (as many as it has)."""
    if all(a is b for a, b in zip(node.inputs, inputs, strict=True)):
        return node
    match node:
        case Scan() | TableScan():
            return node
        case Join():
            return replace(node, parts=tuple(inputs))
        case SemiJoin() | OuterJoin() | SetOp() | Apply():
            return replace(node, left=inputs[0], right=inputs[1])
        case Rewindow():
            (output,) = inputs
            assert isinstance(output, Output)
            return replace(node, input=output)
        case _:
            return replace(node, input=inputs[0])


def names(e: Expr) -> frozenset[str]:
    """The columns that an expression reads."""
    return frozenset(c.name for c in columns_of(e))


def names_of(exprs: Iterable[Expr]) -> frozenset[str]:
    """The columns that any of the expressions reads."""
    return frozenset(n for e in exprs for n in names(e))


def have(node: Node) -> frozenset[str]:
    """The columns of a node."""
    return frozenset(node.schema.names)


def substitute(e: Expr, columns: Named) -> Expr:
    """The expression with each column that has a definition replaced by it."""
    known = dict(columns)
    return map_columns(e, lambda c: known.get(c.name, c))


def substitute_agg(agg: Agg, columns: Named) -> Agg:
    """The aggregate with its argument's columns replaced."""
    return agg if agg.arg is None else replace(agg, arg=substitute(agg.arg, columns))


def identity(node: Node, wanted: Iterable[str] | None = None) -> Named:
    """The columns of a node as themselves, all or those wanted, in the node's order."""
    kept = have(node) if wanted is None else frozenset(wanted)
    return tuple((f.name, Column(f.name, f.type)) for f in node.schema if f.name in kept)


def is_selection_of_columns(project: Project) -> bool:
    """Whether a projection only leaves columns out."""
    return all(isinstance(e, Column) and e.name == n for n, e in project.exprs)


def is_nrr(node: Node) -> bool:
    """Whether the node is a non-retroactive relation."""
    return isinstance(node, TableScan) and node.table.kind == "nrr"


def is_leaf(node: Node) -> bool:
    """A window or a table, filtered or with fewer columns or not."""
    while isinstance(node, Filter) or (isinstance(node, Project) and is_selection_of_columns(node)):
        node = node.input
    return isinstance(node, Scan | TableScan | Rewindow)


def disjoint(nodes: Iterable[Node]) -> bool:
    """Whether no column name is in two of the nodes."""
    every = [n for node in nodes for n in node.schema.names]
    return len(set(every)) == len(every)
