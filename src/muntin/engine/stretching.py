"""Periods that are lengthened where a run is behind (Golab 2006, section 8.4.1): "no more than n updates" is a should.

A batch that brings several instants of a query at once is behind by all but one of them. A query that says
``periods="flexible"`` then reports the newest alone: late runs are not made up for (Algorithm 9). What is reported is
exact; what windows hold does not change.
"""

from __future__ import annotations

from dataclasses import replace

from muntin.core.time import FOREVER, NEVER
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.engine.clocks import Times
from muntin.plan.windows import ANY_INSTANT


def why_not(plan: QueryPlan) -> str | None:
    """Why the period of a query cannot be flexible; None where it can."""
    if plan.ticks is None:
        return "it has no SLIDE in time"
    if plan.ticks == ANY_INSTANT:
        return "it answers when sessions end, each once"
    if plan.shows_op or _reporter(plan.graph, 0) is None:
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
            pairs = zip(plan.ticks.slides, plan.ticks.origins, strict=True)
            shown[number] = max(high - 1 - (high - 1 - origin) % slide for slide, origin in pairs)  # type: ignore[operator]
    return replace(times, shown=shown) if shown else times


def shown_by(graph: Graph, vertex: int, times: Times) -> int:
    """Before which instant an operator need report none: where it reports, and for flexible queries alone."""
    if not times.shown or not all(q in times.shown and _reporter(graph, q) == vertex for q in graph.used_by[vertex]):
        return NEVER
    return min(times.shown[q] for q in graph.used_by[vertex])


def _reporter(graph: Graph, query: int) -> int | None:
    """The operator that spreads a query's answer over its instants: nothing after it remembers anything."""
    at = graph.roots[query]
    while not graph.vertices[at].op.stateful:
        if len(graph.vertices[at].inputs) != 1:
            return None
        at = graph.vertices[at].inputs[0].vertex
    return at if getattr(graph.vertices[at].op, "emit", None) == "snapshots" else None
