"""How late the answers of a query with SLIDE come: counted in its own periods (Golab 2006, section 8.5.1)."""

from __future__ import annotations

import numpy as np

from muntin.core.calendar import nominal
from muntin.core.time import FOREVER, NEVER, ceil_to
from muntin.dataflow.graph import Graph
from muntin.engine.clocks import Times
from muntin.plan.windows import ANY_INSTANT, Ticks


def lateness(graph: Graph, query: int, times: Times) -> int | None:
    """Periods by which the oldest instant that a query answers in a batch comes late, or has come where it waits.

    0: on time, at most one instant. None: the query has no SLIDE (one of sessions shows them when they end), or nothing
    has come yet. Of slides on the clock of a zone and of months, within one period.
    """
    plan = graph.plans[query]
    if plan.ticks is None or plan.ticks == ANY_INSTANT:
        return None
    domain = graph.domains.index(graph.vertices[graph.roots[query]].streams)
    low, high = times.behind.get(query, times.befores[domain]), times.watermarks[domain]
    if low == NEVER:  # its first instants: from its first rows on
        read = {s.name for s in plan.streams}
        low = min(low for s, low in zip(graph.streams, times.lows, strict=True) if s.name in read)
    if high in (NEVER, FOREVER) or low == FOREVER:
        return None
    owed = _instants(plan.ticks, low, high)
    return owed if query in times.deferred else max(0, owed - 1)


def skipped(graph: Graph, query: int, times: Times) -> int:
    """Instants that the query answers in a batch and does not report, since its period is lengthened."""
    return (lateness(graph, query, times) or 0) if query in times.shown else 0


def _instants(ticks: Ticks, low: int, high: int) -> int:
    """How many instants lie in [low, high), of the slide that has most."""
    begin, found = np.array([low], np.int64), 0
    for slide, origin in zip(ticks.slides, ticks.origins, strict=True):
        first = int(ceil_to(begin, nominal(slide), origin)[0])
        found = max(found, -((first - high) // nominal(slide)))
    return max(found, 0)
