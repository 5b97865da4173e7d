"""Questions about plan nodes and conditions that planning asks; pure."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from muntin.aggregates.registry import described
from muntin.core.schema import Schema
from muntin.core.time import MICROSECOND
from muntin.dataflow.values import Named, Value
from muntin.operators.operator import Begins
from muntin.plan.catalog import Stream
from muntin.plan.exprs import Agg, Call, Column, Expr, Literal, columns_of, map_columns
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    BoundQuery,
    Distinct,
    Filter,
    Join,
    Node,
    OuterJoin,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
    TopK,
    walk,
    within,
)
from muntin.plan.windows import Range, Rows, Window, delay_of


def begins_of(query: BoundQuery) -> Begins:
    """The streams whose first row begins a query, and when that enters; tables begin nothing."""
    found: dict[str, int] = {}
    for scan in (n for n in walk(query.root) if isinstance(n, Scan)):
        if not (scan.stream.static or scan.stream.silent):
            late = query.options.bounds == "start" and isinstance(scan.window, Range) and scan.window.rows is None
            after = (MICROSECOND if late else 0) + delay_of(scan.window)
            found[scan.stream.name] = min(found.get(scan.stream.name, after), after)
    for table in (n.table for n in walk(query.root) if isinstance(n, TableScan)):
        if table.kind == "relation":
            found[table.name] = 0
    return tuple(sorted(found.items()))


def domain_of(query: BoundQuery) -> tuple[str, ...]:
    """The streams that share one time: where one of them may fall idle all of the query's, else ()."""
    return streams_of(query) if any(s.idle_after is not None for s in _sources(query)) else ()


def streams_of(query: BoundQuery) -> tuple[str, ...]:
    """The names of the query's streams and tables' feeds, static ones excepted."""
    return tuple(sorted({s.name for s in _sources(query) if not s.static}))


def _sources(query: BoundQuery) -> list[Stream]:
    scans = [n.stream for n in walk(query.root) if isinstance(n, Scan)]
    return scans + [n.table.feed for n in walk(query.root) if isinstance(n, TableScan)]


def cannot_cancel(node: Node) -> bool:
    """Whether no two changes of an instant are of equal rows: all groups and values of an aggregate are shown."""
    match node:
        case Project(Aggregate() as below, exprs) | Project(Filter(Aggregate() as below), exprs):
            plain = {e.name for _, e in exprs if isinstance(e, Column)}
            return set(below.schema.names) <= plain
        case _:
            return False


def shows_every_time(node: Node) -> bool:
    """Whether the output has the event time of every window: then equal rows start together, and none is netted
    away."""
    if not isinstance(node, Project):
        return False
    below = list(within(node))
    if not all(isinstance(n, Project | Filter | Join | Scan) for n in below[1:]):
        return False
    plain = {e.name for _, e in node.exprs if isinstance(e, Column)}
    scans = [n for n in below if isinstance(n, Scan)]
    plainly = not any(isinstance(n, Project) for n in below[1:])
    return plainly and all(f"{s.alias}.{s.stream.ts}" in plain and not s.window.internal for s in scans)


INT, BOOL = pa.int64(), pa.bool_()
"""Types of counts and of conditions."""

ONE = Literal(1, INT)


class Shape:
    """Stands for an input of which only the schema matters, and ``inputs`` whose columns it has."""

    def __init__(self, schema: Schema, *inputs: Node) -> None:
        self.schema, self.inputs = schema, inputs


def leaves(node: Node) -> list[Node]:
    """Windows and tables below the node, from left to right; a window on an output counts as one."""
    if isinstance(node, Scan | TableScan | Rewindow):
        return [node]
    return [leaf for child in node.inputs for leaf in leaves(child)]


def is_nrr(node: Node) -> bool:
    """Whether the node is a non-retroactive relation."""
    return isinstance(node, TableScan) and node.table.kind == "nrr"


def renews(node: Node) -> bool:
    """Whether a row of the node may come back at the instant at which it expires: another duplicate takes its place."""
    return any(isinstance(n, Distinct | SemiJoin | Apply) for n in within(node))


def _fires(window: Window) -> bool:
    return (isinstance(window, Rows) and window.slide is not None) or (
        isinstance(window, Range) and window.rows is not None
    )


def rows_decide(window: Window) -> bool:
    """Whether later rows decide when a row leaves the window."""
    return isinstance(window, Rows) or (isinstance(window, Range) and window.rows is not None)


def fires_late(node: Node) -> Node | None:
    """The node if some of its windows get their first row later than the streams below: windows of rows with SLIDE are
    empty until they first fire, windows on an output until something comes out."""
    late = [n for n in leaves(node) if isinstance(n, Rewindow) or (isinstance(n, Scan) and _fires(n.window))]
    return node if late else None


def continual(node: Node) -> Node:
    """The query with its windows' SLIDE forgotten."""
    match node:
        case Scan(window=Range() as window) | Rewindow(window=Range() as window):
            return replace(node, window=replace(window, slide=None))
        case Scan() | TableScan() | Rewindow():
            return node
        case Join(parts):
            return replace(node, parts=tuple(continual(p) for p in parts))
        case SemiJoin() | OuterJoin() | SetOp() | Apply():
            return replace(node, left=continual(node.left), right=continual(node.right))
        case _:
            return replace(node, input=continual(node.input))


def unslid(leaf: Node) -> Node:
    """The leaf, its window without its SLIDE in time."""
    match leaf:
        case Scan(window=Range() as window) | Rewindow(window=Range() as window):
            return replace(leaf, window=replace(window, slide=None))
        case Scan(window=Rows() as window) | Rewindow(window=Rows() as window):
            return replace(leaf, window=replace(window, every=None))
        case _:
            return leaf


def all_columns(value: Value) -> Named:
    """Every column of a value, as it is."""
    return columns(value.schema)


def columns(schema: Schema) -> Named:
    """Every column of a schema, as it is."""
    return tuple((f.name, Column(f.name, f.type)) for f in schema)


def names_of(e: Expr) -> set[str]:
    """Names of the columns that an expression reads."""
    return {c.name for c in columns_of(e)}


def names_read(root: Node) -> set[str]:
    """Names of all columns that a query shows, or reads anywhere on the way (FIRST and LAST read event times)."""
    found = set(root.schema.names)
    nodes = list(within(root))
    if any(described(a).dated for n in nodes if isinstance(n, Aggregate | Apply) for _, a in n.aggs):
        found |= {f"{n.alias}.{n.stream.ts}" for n in nodes if isinstance(n, Scan)}
    for node in nodes:
        found |= {name for f in fields(node) for name in _names_in(getattr(node, f.name))}
        if isinstance(node, Distinct | TopK | SetOp):  # they look at whole rows
            found |= {name for child in node.inputs for name in child.schema.names}
    return found


def taken_whole(root: Node) -> set[str]:
    """Names of the columns that are handed on with the rows, read or not: by all nodes but those that go by the columns
    that they read. (Where columns are pruned, there are projections below the others.)"""
    others = (n for n in within(root) if not isinstance(n, Filter | Project | Aggregate | SemiJoin))
    return {name for node in others for child in node.inputs for name in child.schema.names}


def _names_in(value: Any) -> set[str]:
    match value:
        case tuple():
            return {name for v in value for name in _names_in(v)}
        case Agg(_, arg):
            return set() if arg is None else names_of(arg)
        case Column() | Call() | Literal():
            return names_of(value)
        case _:
            return set()


def renamed_columns(e: Expr, names: dict[str, str]) -> Expr:
    """The expression with columns renamed."""
    return map_columns(e, lambda c: Column(names.get(c.name, c.name), c.type))


def default_of(agg: Agg) -> Expr:
    """What an aggregate over no rows is."""
    return Literal(described(agg).empty, agg.type)


def multiplicity(kind: str, ours: Expr, theirs: Expr) -> Expr:
    """How many copies of a row a set operation keeps, from its counts on both sides."""
    zero = Literal(0, INT)
    extra = Call("sub", (ours, theirs), INT)
    both = Call("least", (ours, theirs), INT)
    match kind:
        case "except_all":
            return Call("greatest", (extra, zero), INT)
        case "except":  # one row on the right takes every copy away
            none = Call("eq", (theirs, zero), BOOL)
            return Call("case", (none, Call("least", (ours, ONE), INT), zero), INT)
        case "intersect_all":
            return both
        case _:
            return Call("least", (both, ONE), INT)


def equality(condition: Expr, mine: set[str], theirs: set[str]) -> tuple[Expr, Expr] | None:
    """(left term, right term) of an equality between the two sides."""
    match condition:
        case Call("eq", (a, b)) if names_of(a) and names_of(b):
            if names_of(a) <= mine and names_of(b) <= theirs:
                return a, b
            if names_of(b) <= mine and names_of(a) <= theirs:
                return b, a
    return None
