"""Example 1 and Figure 3: three streams with windows of ten rows, and the three plans."""

from __future__ import annotations

from muntin.optimizer.capacity.boxes import Boxes, best_boxes
from muntin.optimizer.capacity.model import Flow, JoinCost, Source, flow
from muntin.optimizer.capacity.search import JoinQuery, left_deep

SOURCES = (Source("A", 10, rows=10), Source("B", 70, rows=10), Source("C", 20, rows=10))
PLANS = {"a": (0, 1, 2), "b": (1, 2, 0), "c": (0, 2, 1)}


def query(milliseconds: float) -> JoinQuery:
    """A join takes so long for each tuple."""
    return JoinQuery(SOURCES, {(0, 1): 0.5, (1, 2): 0.2}, JoinCost.constant(milliseconds / 1000))


def full(plan: str, milliseconds: float) -> Flow:
    """Without boxes."""
    return flow(left_deep(query(milliseconds), PLANS[plan]), SOURCES)


def boxed(plan: str, milliseconds: float) -> Boxes:
    """With the best boxes."""
    return best_boxes(left_deep(query(milliseconds), PLANS[plan]), SOURCES)


def most(plan: str, milliseconds: float) -> float:
    """Output a second with the best boxes."""
    return boxed(plan, milliseconds).output
