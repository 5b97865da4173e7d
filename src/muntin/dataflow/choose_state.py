"""Update pattern to state structure: the one place that decides what an operator keeps its rows in (thesis 3.5.2)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from muntin.dataflow.stage import Op
from muntin.operators.as_of_join import AsOfJoin
from muntin.operators.distinct import Distinct
from muntin.operators.fired_window import FiredWindow
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Insertions, Materialize
from muntin.operators.restore import Restore
from muntin.operators.rows_window import RowsWindow
from muntin.operators.top_rows import TopRows
from muntin.plan.exprs import Agg
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Ticks

STRUCTURES: dict[Pattern, str] = {
    Pattern.MON: "rows that never leave are not kept",
    Pattern.WKS: "FIFO panes",
    Pattern.WK: "calendar queue (panes ordered by expiry)",
    Pattern.STR: "group table with negative tuples",
}
INDEXED: dict[Pattern, str] = {
    Pattern.MON: "rows that never leave",
    Pattern.WKS: "FIFO",
    Pattern.WK: "by expiry",
    Pattern.STR: "by expiry and negative tuple",
}


def folds(aggs: Sequence[tuple[str, Agg]], ticks: Ticks | None) -> bool:
    """Whether an aggregate of unsigned rows keeps pane partials: its rows' validity is moved to evaluation instants,
    and the rows of a pane can be told by a count, an exact sum, a least and a greatest value, or a user's state."""
    return ticks is not None and all(_foldable(a) for _, a in aggs)


def _foldable(agg: Agg) -> bool:
    match agg.fn:
        case "count" | "min" | "max":
            return True
        case "sum" | "avg":
            return agg.arg is not None and not pa.types.is_floating(agg.arg.type)
        case fn:
            return fn.startswith("udaf:") and not agg.inverse  # taking values away costs less than merging panes


def _entries(op: GraphJoin) -> str:
    """The indexes of each input, in words."""
    found = []
    for i, indexes in enumerate(op.indexes):
        hashed = [f"hash({', '.join(op.index_columns(i, x))})" for x in indexes]
        sorted_by = [f"sorted({c})" for c in op.band_columns(i)]
        found.append(" + ".join(hashed + sorted_by) or "scanned")
    return "; ".join(found)


def structure_of(op: Op, inputs: Sequence[Pattern]) -> str:
    """What the operator keeps, in words, given the patterns of its inputs; "" for stateless ones."""
    match op:
        case WindowJoin():
            return f"hash-indexed panes of each input (expiry: {', '.join(INDEXED[p] for p in inputs)})"
        case GraphJoin():
            expiry = ", ".join(INDEXED[p] for p in inputs)
            return f"panes of each input, {_entries(op)} (expiry: {expiry})"
        case AsOfJoin():
            return "hash index of the relation's rows"
        case GroupAggregate(panes=panes):
            held = STRUCTURES[inputs[0]] + (" of partials" if panes else "")
            return f"{held}; group table" if inputs[0] is not Pattern.STR else STRUCTURES[Pattern.STR]
        case Distinct():
            if inputs[0] is Pattern.MON:
                return "hash index of the values seen"
            return "hash index of the rows shown; calendar queue of the duplicate of each that expires last"
        case Materialize(emit=emit) if inputs[0] is Pattern.STR:
            queue = "calendar queue of rows and negative tuples that come or go later"
            return queue if emit == "changes" else f"counts by value; {queue}"
        case Materialize() | Insertions():
            return STRUCTURES[inputs[0]]
        case RowsWindow():
            return "the last rows of each partition, numbered"
        case FiredWindow():
            return "rows since the last firing that a later one may show"
        case TopRows():
            return "all rows in order, and those shown"
        case Restore():
            return "what came and went since the last evaluation instant"
        case _:
            return ""
