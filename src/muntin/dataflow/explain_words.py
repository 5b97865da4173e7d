"""Operators and inputs of physical plans in words, and the words EXPLAIN and ANALYZE before a query."""

from __future__ import annotations

import re
from dataclasses import dataclass

from muntin.dataflow.stage import DerivedInput, Input, Op, SourceInput
from muntin.operators.as_of_join import AsOfJoin
from muntin.operators.compute import Compute
from muntin.operators.distinct import Distinct
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Insertions, Materialize
from muntin.operators.net import Net, OneSign
from muntin.operators.reshape import Endless, Merge, Repeat, Rewind, Signed, Snap, Stamp, Until
from muntin.operators.restore import Restore
from muntin.operators.rows_window import RowsWindow
from muntin.operators.top_rows import TopRows
from muntin.optimizer.plan_text import Show, agg_text, window_text
from muntin.plan.exprs import TRUE
from muntin.plan.windows import Rows

_PREFIX = re.compile(r"\s*EXPLAIN\b(\s+ANALYZE\b)?", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """A text without its EXPLAIN; ``explain``, ``analyze``: whether the words stood before it."""

    text: str
    explain: bool
    analyze: bool


def asked(text: str) -> Asked:
    """Take ``EXPLAIN`` or ``EXPLAIN ANALYZE`` off a text; blanks stand in for them, so places in errors stay right."""
    found = _PREFIX.match(text)
    if found is None:
        return Asked(text, False, False)
    blank = re.sub(r"[^\n]", " ", found.group(0))
    return Asked(blank + text[found.end() :], True, found.group(1) is not None)


def input_text(source: Input, show: Show) -> str:
    """An input with its window or stage, its filter and its spread over shards."""
    key = f"shards by ({', '.join(source.shard_key)})" if source.shard_key else "one shard"
    key = "every shard" if source.everywhere else key
    if isinstance(source, SourceInput) and source.split:
        key += ", hot keys split"
    match source:
        case SourceInput(instants_only=True):
            return f"{source.stream.name} {window_text(source.window)}: instants only, {key}"
        case SourceInput():
            where = "" if source.keep == TRUE else f" where {show(source.keep)}"
            return f"{source.stream.name} {window_text(source.window)} AS {source.alias}{where}, {key}"
        case DerivedInput():
            port = f" port {source.port}" if source.port else ""
            return f"stage {source.stage}{port}, {'changes' if source.signed else 'interval rows'}, {key}"


def op_text(op: Op, show: Show) -> str:
    """An operator."""
    match op:
        case WindowJoin(keys):
            on = "; ".join(" = ".join(k) for k in zip(*keys, strict=True)) or "nothing (cross product)"
            return f"join of {len(keys)} windows on {on}"
        case GraphJoin(columns, classes, conditions):
            edges = [" = ".join(c for _, c in k) for k in classes] + [show(c) for c in conditions]
            passing = f", input {op.passing[0]} passing through" if op.passing else ""
            new = "" if op.origins is None else f", for new rows of {', '.join(map(str, op.origins))} alone"
            return f"join of {len(columns)} inputs over the graph {'; '.join(edges) or '(cross product)'}{passing}{new}"
        case AsOfJoin(keys):
            on = "; ".join(" = ".join(k) for k in zip(*keys, strict=True)) or "nothing"
            return f"join as of the row's start on {on}"
        case Compute(predicate, columns):
            kept = "" if predicate == TRUE else f"keep {show(predicate)}"
            made = "" if columns is None else "compute " + (", ".join(n for n, _ in columns) or "nothing")
            return ", ".join(p for p in (kept, made) if p) or "pass"
        case GroupAggregate(groups, aggs, emit):
            if not aggs:
                return f"distinct {', '.join(n for n, _ in groups)}, emit {emit}"
            by = ", ".join(n for n, _ in groups) or "nothing"
            return f"aggregate {', '.join(agg_text(a, show) for _, a in aggs)} by {by}, emit {emit}"
        case RowsWindow(count, slide, by):
            return f"number the rows and window them: {window_text(Rows(count, slide, by))}"
        case TopRows(keys, count):
            return f"first {count} rows by {', '.join(show(e) + (' desc' if d else '') for e, d, _ in keys)}"
        case _:
            return _short(op, show)


def _short(op: Op, show: Show) -> str:
    match op:
        case Distinct():
            return "distinct rows"
        case Materialize(emit):
            return f"materialize, emit {emit}"
        case Insertions():
            return "insertions"
        case Net():
            return "net equal rows inside an instant"
        case OneSign(sign):
            return "insertions only" if sign > 0 else "deletions only"
        case Rewind(window):
            return f"window the output: {window_text(window)}"
        case Snap():
            return "move to evaluation instants"
        case Stamp(end=end):
            return "note the expiry" if end else "note the start"
        case Until(columns):
            return "stay until the external rows expire" if columns else "stay"
        case Merge(weights):
            return "merge " + ", ".join("+" if w > 0 else "-" for w in weights)
        case Signed():
            return "weights of a table's updates"
        case Endless():
            return "expiries told by negative tuples"
        case Restore(_, whole):
            return f"restore what came and went between instants, emit {'answers' if whole else 'insertions'}"
        case Repeat(times):
            return f"repeat {show(times)} times"
        case _:
            return type(op).__name__
