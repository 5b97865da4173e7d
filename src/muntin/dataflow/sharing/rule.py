"""What a sharing rule is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from muntin.dataflow.graph import Graph


@dataclass(frozen=True)
class Rule:
    """A rewriting of the graph of several queries after which some share what they had apart.

    ``rewrite`` gives the graph itself where there is nothing to share. It must leave plans and their order, every
    root's rows, and the ids of vertices with state that it does not replace. For what it shares it adds a
    ``graph.Shared``. It heeds ``QueryPlan.sharing``: state that is kept already stays in the form in which it is kept.
    """

    name: str
    says: str
    source: str
    """Author and section."""
    rewrite: Callable[[Graph], Graph]
