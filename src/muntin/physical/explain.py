"""EXPLAIN: the logical plan with update patterns, then the stages with their keys, operators and state."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muntin.core.spans import span_text
from muntin.cql.unparse import to_spark_sql
from muntin.physical.choose_state import structure_of
from muntin.physical.shard import pane_of
from muntin.physical.stage import (
    AsOfJoin,
    Compute,
    DerivedInput,
    GroupAggregate,
    Input,
    Insertions,
    Materialize,
    Merge,
    Net,
    OneSign,
    Op,
    PhysicalQuery,
    Repeat,
    Rewind,
    RowsWindow,
    Signed,
    Snap,
    SourceInput,
    Stage,
    TopRows,
    WindowJoin,
)
from muntin.plan.exprs import TRUE, Agg, Expr
from muntin.plan.nodes import Aggregate, BoundQuery, Filter, Join, Node, Output, Project, Scan
from muntin.plan.patterns import pattern
from muntin.plan.windows import Now, Range, Rows, Unbounded, Window

Show = Callable[[Expr], str]


def explain(query: BoundQuery, physical: PhysicalQuery, show: Show | None = None) -> str:
    """The plan as text. ``show`` renders expressions (default: as Spark SQL)."""
    show = show or (lambda e: to_spark_sql(e, lambda name: name))
    lines = ["Logical plan", *_tree(query.root, show, 1), "", "Physical plan"]
    if physical.ticks is not None:
        lines.append("  answers every " + " and every ".join(span_text(s) for s in physical.ticks.slides))
    else:
        lines.append("  answers at every change")
    pane = pane_of(physical)
    lines.append("  panes merged " + (f"every {span_text(pane)} of event time" if pane else "by size (no window ends)"))
    for number, stage in enumerate(physical.stages):
        lines += _stage(number, stage, physical, show)
    return "\n".join(lines)


def window_text(window: Window) -> str:
    """A window as CQL writes it."""
    match window:
        case Range(length, None):
            return f"[RANGE {span_text(length)}]"
        case Range(length, slide):
            assert slide is not None
            return f"[RANGE {span_text(length)} SLIDE {span_text(slide)}]"
        case Now():
            return "[NOW]"
        case Unbounded():
            return "[UNBOUNDED]"
        case Rows(count, slide, by):
            head = f"PARTITION BY {', '.join(by)} ROWS {count}" if by else f"ROWS {count}"
            return f"[{head}]" if slide is None else f"[{head} SLIDE {slide}]"


def _tree(node: Node, show: Show, depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}{_node(node, show)}  [{pattern(node).name}]"
    for child in node.inputs:
        yield from _tree(child, show, depth + 1)


def _node(node: Node, show: Show) -> str:
    match node:
        case Scan(stream, alias, window):
            return f"Scan {stream.name} {window_text(window)} AS {alias}"
        case Filter(_, predicate):
            return f"Filter {show(predicate)}"
        case Join(parts, predicate):
            return f"Join of {len(parts)} on {show(predicate)}"
        case Aggregate(_, groups, aggs):
            shown = ", ".join(f"{n} = {_agg(a, show)}" for n, a in aggs)
            by = ", ".join(f"{n} = {show(e)}" for n, e in groups) or "nothing"
            return f"Aggregate {shown or 'nothing'} by {by}"
        case Project(_, exprs):
            return "Project " + ", ".join(f"{show(e)} AS {n}" for n, e in exprs)
        case Output(_, kind):
            return f"Output {kind}"
        case _:
            return type(node).__name__


def _agg(a: Agg, show: Show) -> str:
    argument = "*" if a.arg is None else show(a.arg)
    return f"count(distinct {argument})" if a.fn == "count_distinct" else f"{a.fn}({argument})"


def _stage(number: int, stage: Stage, physical: PhysicalQuery, show: Show) -> Iterator[str]:
    yield f"  Stage {number}"
    for source in stage.inputs:
        yield "    in   " + _input(source, show)
    for op in stage.ops:
        yield "    " + _op(op, show)
        if kept := structure_of(op, stage):
            yield "           state: " + kept
    last = number == len(physical.stages) - 1
    yield "    out  " + ("result: " if last else "") + ", ".join(stage.schema.names)


def _input(source: Input, show: Show) -> str:
    key = f"shards by ({', '.join(source.shard_key)})" if source.shard_key else "one shard"
    match source:
        case SourceInput(instants_only=True):
            return f"{source.stream.name} {window_text(source.window)}: instants only, {key}"
        case SourceInput():
            where = "" if source.keep == TRUE else f" where {show(source.keep)}"
            return f"{source.stream.name} {window_text(source.window)} AS {source.alias}{where}, {key}"
        case DerivedInput():
            return f"stage {source.stage}, {'changes' if source.signed else 'interval rows'}, {key}"


def _op(op: Op, show: Show) -> str:
    match op:
        case WindowJoin(keys):
            on = "; ".join(" = ".join(k) for k in zip(*keys, strict=True)) or "nothing (cross product)"
            return f"join of {len(keys)} windows on {on}"
        case Compute(predicate, columns):
            kept = "" if predicate == TRUE else f"keep {show(predicate)}"
            made = "" if columns is None else "compute " + ", ".join(n for n, _ in columns)
            return ", ".join(p for p in (kept, made) if p) or "pass"
        case GroupAggregate(groups, aggs, emit):
            return f"aggregate {', '.join(a.fn for _, a in aggs) or 'groups'} by {len(groups)} columns, emit {emit}"
        case Materialize(emit):
            return f"materialize, emit {emit}"
        case Insertions():
            return "insertions"
        case Net():
            return "net equal rows inside an instant"
        case OneSign(sign):
            return "insertions only" if sign > 0 else "deletions only"
        case RowsWindow(count, slide, by):
            return f"number the rows and window them: {window_text(Rows(count, slide, by))}"
        case Rewind(window):
            return f"window the output: {window_text(window)}"
        case Snap():
            return "move to evaluation instants"
        case Merge(weights):
            return "merge " + ", ".join("+" if w > 0 else "-" for w in weights)
        case Signed():
            return "weights of a table's updates"
        case AsOfJoin(keys):
            return "join as of the row's start on " + (" = ".join(", ".join(k) for k in keys) or "nothing")
        case Repeat(times):
            return f"repeat {show(times)} times"
        case TopRows(_, count):
            return f"first {count} rows"
