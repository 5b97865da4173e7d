"""From a bound query to stages: where each predicate goes, where the key changes, which operator does what."""

from __future__ import annotations

from muntin.physical.stage import PhysicalQuery
from muntin.plan.nodes import BoundQuery


def plan_query(query: BoundQuery) -> PhysicalQuery:
    """Cut the plan into stages.

    Raises UnsupportedError for what this version cannot run.
    """
    raise NotImplementedError
