"""Logical plans as text: a node a line, inputs indented below, each with its update pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muntin.aggregates.registry import described
from muntin.cql.unparse import plain_text, shown_text
from muntin.cql.unparse_query import window_text as cql_window
from muntin.plan.exprs import Agg, Call, Expr
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Distinct,
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
    TopK,
)
from muntin.plan.patterns import pattern
from muntin.plan.windows import Window

Show = Callable[[Expr], str]


def spark_text(e: Expr) -> str:
    """The expression as Spark SQL, without the quotes around names."""
    return plain_text(e)


def read_text(e: Expr) -> str:
    """The expression for people who read a plan: constants in words."""
    return shown_text(e)


def plan_text(node: Node, show: Show = spark_text) -> str:
    """The plan below a node."""
    return "\n".join(plan_lines(node, show))


def plan_lines(node: Node, show: Show = spark_text, depth: int = 0) -> Iterator[str]:
    """The lines of ``plan_text``, ``depth`` levels in."""
    yield f"{'  ' * depth}{node_text(node, show)}  [{pattern(node).name}]"
    for child in node.inputs:
        yield from plan_lines(child, show, depth + 1)


def window_text(window: Window) -> str:
    """A window as CQL writes it, without quotes around names."""
    return cql_window(window).replace("`", "")


def node_text(node: Node, show: Show = spark_text) -> str:
    """One node in a line."""
    match node:
        case Scan(stream, alias, window):
            return f"Scan {stream.name} {window_text(window)} AS {alias}"
        case TableScan(table, alias):
            return f"Table {table.name} ({table.kind}) AS {alias}"
        case Rewindow(_, window):
            return f"Window on the output below {window_text(window)}"
        case Filter(_, predicate):
            return f"Filter {show(predicate)}"
        case Join(parts, predicate):
            return f"Join of {len(parts)} on {show(predicate)}"
        case Aggregate(_, groups, aggs):
            by = ", ".join(f"{n} = {show(e)}" for n, e in groups) or "nothing"
            return f"Aggregate {_aggs(aggs, show) or 'nothing'} by {by}"
        case Project(_, exprs):
            return "Project " + (", ".join(f"{show(e)} AS {n}" for n, e in exprs) or "nothing")
        case Distinct():
            return "Distinct"
        case SemiJoin(_, _, predicate, anti, null_aware):
            known = f" and not in {show(null_aware[0])}, {show(null_aware[1])}" if null_aware else ""
            return f"{'Anti' if anti else 'Semi'} join on {show(predicate)}{known}"
        case OuterJoin(_, _, predicate, side):
            return f"{side.capitalize()} join on {show(predicate)}"
        case SetOp(kind):
            return kind.replace("_", " ").capitalize()
        case Apply(_, _, predicate, aggs):
            return f"Apply {_aggs(aggs, show)} where {show(predicate)}"
        case TopK():
            return _top(node, show)
        case Output(_, kind):
            return f"Output {kind.replace('_', '-')}"


def _top(node: TopK, show: Show) -> str:
    by = ", ".join(f"{show(e)}{' desc' if d else ''}{' nulls first' if n else ''}" for e, d, n in node.keys)
    count = f"{node.count}{f' behind {node.offset}' if node.offset else ''}{' with ties' if node.ties else ''}"
    groups = f" of each {', '.join(map(show, node.by))}" if node.by else ""
    ranks = "".join(f", {n} = {kind.replace('_', ' ')}" for n, kind in node.ranks)
    return f"Top {count}{groups} by {by}{ranks}"


def _aggs(aggs: tuple[tuple[str, Agg], ...], show: Show) -> str:
    return ", ".join(f"{n} = {agg_text(a, show)}" for n, a in aggs)


def agg_text(a: Agg, show: Show = spark_text) -> str:
    """An aggregate as a call."""
    argument = "*" if a.arg is None else show(a.arg)
    match a.arg:
        case Call("pair", (key, value)) if described(a).by is not None:
            argument = f"{show(value)}, {show(key)}"
        case Call("row", (first, second)) if described(a).beside is not None:
            argument = f"{show(first)}, {show(second)}"
    argument = f"distinct {argument}" if a.distinct else argument
    return f"{a.base}({argument}{''.join(f', {c}' for c in (a.param, a.share) if c is not None)})"
