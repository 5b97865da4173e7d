"""Periods that are lengthened where a run is behind (Golab 2006, section 8.4.1): "no more than n updates" is a should.
Those that are shortened to run with others are settled when a run starts (``dataflow.sharing.periods``).

A batch that brings several instants of a query at once is behind by all but one of them. A query that says
``periods="flexible"`` then reports the newest alone: late runs are not made up for (Algorithm 9). What is reported is
exact; what windows hold does not change.
"""

from __future__ import annotations

from dataclasses import replace

from muntin.core.time import FOREVER, NEVER
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.reporter import reporter, window_read
from muntin.engine.clocks import Times
from muntin.operators.reader import Reader
from muntin.operators.synopsis import Synopsis
from muntin.plan.windows import ANY_INSTANT, Ticks


def why_not(plan: QueryPlan) -> str | None:
    """Why the period of a query cannot be flexible; None where it can."""
    if plan.ticks is None:
        return "it has no SLIDE in time"
    if plan.ticks == ANY_INSTANT:
        return "it answers when sessions end, each once"
    if plan.shows_op or reporter(plan.graph, 0) is None:
        return "it does not show whole answers, but what changes from one instant to the next"
    if plan.ticks.zone is not None or not all(isinstance(s, int) for s in plan.ticks.slides):
        return "its SLIDE is on the clock of a zone, or of months"
    return None


def stretched(graph: Graph, times: Times) -> Times:
    """The times of a batch with the instants that flexible queries report: the newest of each. ``engine.rows`` leaves
    out the others."""
    shown = {}
    for number, plan in enumerate(graph.plans):
        if plan.options.periods != "flexible" or plan.ticks is None or number in times.deferred or times.ends:
            continue
        high = times.watermarks[graph.domains.index(graph.vertices[graph.roots[number]].streams)]
        if high not in (NEVER, FOREVER):
            pairs = _periods(graph, number, plan.ticks)
            shown[number] = max(high - 1 - (high - 1 - origin) % slide for slide, origin in pairs)
    return replace(times, shown=shown) if shown else times


def _periods(graph: Graph, query: int, ticks: Ticks) -> list[tuple[int, int]]:
    """The slides of a flexible query with their origins, as it runs."""
    window = window_read(graph, reporter(graph, query))
    if window is not None:
        return [window.period]
    return list(zip(ticks.slides, ticks.origins, strict=True))  # type: ignore[arg-type]


def shown_by(graph: Graph, vertex: int, times: Times) -> int:
    """Before which instant an operator need report none: where it reports, and for flexible queries alone."""
    if not times.shown or not all(q in times.shown and reporter(graph, q) == vertex for q in graph.used_by[vertex]):
        return NEVER
    return min(times.shown[q] for q in graph.used_by[vertex])


def shown_of_windows(graph: Graph, vertex: int, times: Times) -> dict[int, int]:
    """By window of a synopsis before which instant it need report none, where flexible queries alone show it."""
    if not times.shown or not isinstance(graph.vertices[vertex].op, Synopsis):
        return {}
    found = {}
    for number, v in enumerate(graph.vertices):
        if isinstance(v.op, Reader) and v.inputs[0].vertex == vertex:
            before = shown_by(graph, number, times)
            if before != NEVER:
                found[v.op.window] = before
    return found
