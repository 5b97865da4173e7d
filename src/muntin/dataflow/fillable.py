"""Whether a query that comes later could be filled with rows that others keep, whatever those are.

Its answers must be settled by the rows that are valid: what it showed before, or when rows came, is kept by nobody.
"""

from __future__ import annotations

from muntin.dataflow.graph import QueryPlan, Vertex
from muntin.dataflow.row_history import numbered_inputs
from muntin.operators.compute import Compute
from muntin.operators.distinct import Distinct
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.narrow import Narrow
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Materialize
from muntin.operators.merge import Merge
from muntin.operators.net import Net
from muntin.operators.reader import Reader
from muntin.operators.rows_window import RowsWindow
from muntin.operators.time_window import TimeWindow
from muntin.operators.top_rows import TopRows
from muntin.plan.windows import Now, Range, Rows, Unbounded, delay_of

AGGREGATES = {
    "count", "sum", "avg", "min", "max", "median", "quantile", "percentile_disc", "var_pop", "var_samp", "stddev_pop",
    "stddev_samp", "covar_pop", "covar_samp", "corr", "regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy",
    "regr_sxy", "regr_slope", "regr_intercept", "regr_r2", "try_sum", "try_avg",
}  # fmt: skip
"""Aggregates that go by the values of the rows in the window alone, not by when they came."""

NUMBERING = (RowsWindow, CountedJoin)
"""Operators that number the rows of streams (``dataflow.row_history``)."""


def why_not(plan: QueryPlan, known: frozenset[str]) -> str | None:
    """Why a query's windows cannot be filled whatever is kept; None where they can. ``known``: ids of vertices that the
    checkpoint has."""
    own = [v for v in plan.vertices if not v.is_source]
    if any(v.id in known for v in own if v.op.stateful) and not _shares_plainly(own, known):
        return "it goes on from operators that other queries have, whose past answers cannot be told from their state"
    if len({v.streams for v in own}) > 1:
        return "its operators go by the time of different streams"
    if any(s.static or s.silent or s.idle_after is not None for s in plan.streams):
        return "it reads a table, or a stream that may fall idle"
    if any(isinstance(v.op, TimeWindow) and v.op.weighed for v in own):
        return "it scales what it counts of a part of its rows, and others do not keep what each row stands for"
    if any(s.sample not in (None, 1) for s in plan.streams):
        return "it reads a stream that is sampled"
    if not all(len(reach) == 1 and isinstance(reach[0][0], Range | Now | Rows) for _, reach in plan.horizon):
        return "it has a window without end, or a window on results"
    if any(numbered_inputs(plan, n) is None for n, v in enumerate(plan.vertices) if isinstance(v.op, NUMBERING)):
        return "it numbers rows at the instants of its SLIDE, or those of a query"
    if any(delay_of(w) for _, reach in plan.horizon for w, _ in reach):
        return "it has a window with DELAY"
    counted = all(isinstance(w, Rows) for _, reach in plan.horizon for w, _ in reach)
    if not all(_goes_by_windows(v, counted) for v in own):
        return "what it shows depends on when rows came, not on its windows alone"
    return None


def _shares_plainly(own: list[Vertex], known: frozenset[str]) -> bool:
    """Whether what known operators show is settled by the rows that are valid, so that what they have shown by now can
    be worked out anew. (DISTINCT is not among them: which of equal rows it shows depends on what it showed before.)"""
    for v in own:
        match v.op:
            case TimeWindow(window=Range(slide=None) | Now() | Unbounded(), ticks=None):
                continue
            case TimeWindow():
                return False
            case Narrow(parts=parts) if any(p.slides for p in parts):
                return False
    stateful = [v for v in own if v.op.stateful]
    shown = (WindowJoin, GraphJoin, GroupAggregate, Materialize, TopRows, *NUMBERING)
    changes = all(getattr(v.op, "emit", "changes") == "changes" for v in stateful)
    return changes and all(isinstance(v.op, shown) if v.id in known else not v.op.begins for v in stateful)


def _goes_by_windows(vertex: Vertex, counted: bool) -> bool:
    """Whether an operator's answer at an instant is a function of the rows that are valid then. ``counted``: all
    windows are of rows, so that all instants that they mark are those at which rows come."""
    one = len(vertex.inputs) == 1 or counted
    match vertex.op:
        case GroupAggregate(aggs=aggs, from_input=False):
            return one and all(a.base in AGGREGATES for _, a in aggs)
        case GroupAggregate(aggs=aggs):
            return len(vertex.inputs) == 1 and all(a.base in AGGREGATES for _, a in aggs)
        case TimeWindow(window=window):
            return isinstance(window, Now | Unbounded) or (isinstance(window, Range) and window.rows is None)
        case GraphJoin(origins=origins, passing=passing):
            return origins is None and not passing
        case Materialize():
            return one
    return isinstance(vertex.op, (WindowJoin, Narrow, Compute, Distinct, TopRows, Merge, Net, Reader, *NUMBERING))
