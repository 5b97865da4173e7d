"""From a bound query to its graph: optimize, then lower."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin.dataflow.builder import Places
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.lowering.query import lower
from muntin.dataflow.sharing.value_costs import settled_by_cost
from muntin.dataflow.sharing.windows import share_windows
from muntin.optimizer import optimize, settled
from muntin.optimizer.statistics import Statistics
from muntin.plan.nodes import BoundQuery


def plan_query(query: BoundQuery, places: Places | None = None, known: Statistics | None = None) -> QueryPlan:
    """Optimize the plan, then lower it. ``known``: statistics of the data (None: what the streams' registrations say).

    Raises UnsupportedError for what this version cannot run.
    """
    return lower(optimized(query, known), places, known)


def optimized(query: BoundQuery, known: Statistics | None = None) -> BoundQuery:
    """The query as it is lowered, its strategy named."""
    return optimize(settled(query, known), known).query


def plan_queries(queries: Iterable[BoundQuery], schedule: str | None = None) -> list[QueryPlan]:
    """The plans of queries that run together: what several share is laid out as the first one asks, joins that differ
    in their windows and selections alone are one where that costs less, and aggregates over values read counts
    together where that does. ``schedule``: policy by which those joins are done slice by slice (None: whole).

    Raises UnsupportedError for what this version cannot run.
    """
    places = Places()
    return together([plan_query(q, places) for q in queries], places, schedule)


def together(plans: Sequence[QueryPlan], places: Places, schedule: str | None = None) -> list[QueryPlan]:
    """Plans of new queries, laid out over the same ``places``, with what they share; see ``plan_queries``."""
    known = Statistics()
    return settled_by_cost(share_windows(plans, places, known, schedule=schedule), known)


def plan_as_written(query: BoundQuery, places: Places | None = None, known: Statistics | None = None) -> QueryPlan:
    """The graph of a plan as it stands: no rule touches it."""
    return lower(query, places, known)
