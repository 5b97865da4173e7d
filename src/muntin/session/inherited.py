"""What queries take over from their session where they say nothing themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from muntin.core.errors import UnsupportedError
from muntin.dataflow.planner import plan_query
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import Shed

MILDER: Mapping[str, tuple[Shed, ...]] = {"harvest": ("harvest", "drop"), "drop": ("drop",), "never": ()}
"""What a query does under a session's policy: the first of these that it can."""


def shed_by_session(
    make: Callable[[Mapping[str, Any]], BoundQuery], options: Mapping[str, Any], policy: Shed
) -> BoundQuery:
    """A query (``make`` binds it with these options) under the session's policy for overload: one that cannot leave out
    rows soundly leaves out none, one that says itself what it does is not asked."""
    if options.get("shed") is None:
        for shed in MILDER[policy]:
            bound = make({**options, "shed": shed})
            try:
                plan_query(bound)
            except UnsupportedError:
                continue
            return bound
    return make(options)
