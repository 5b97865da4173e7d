"""What the driver needs to know of a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from muntin.optimizer.statistics import Statistics
from muntin.plan.nodes import Node

Rewrite = Callable[[Node], Node]


@dataclass(frozen=True)
class Rule:
    """A pure function on the plan below one node: the node it is given when it does not apply, else an equal one.

    ``after``: rules that must stand earlier. ``costed``: a change counts only if it makes the whole plan cheaper, one
    place at a time. ``structural``: it changes which operator makes which row, so it stays out of queries where that
    shows (INTERNAL windows, -restore, FIRST, LAST and user-defined aggregates, which see the order of rows).
    ``simplifies``: the update pattern of the whole plan may become simpler. ``last``: tried only when no other rule
    changes the plan any more.
    """

    rewrite: Callable[..., Node]
    after: tuple[str, ...] = ()
    costed: bool = False
    structural: bool = False
    simplifies: bool = False
    last: bool = False
    statistics: bool = False
    """Whether ``rewrite`` takes the statistics as its second argument."""

    @property
    def name(self) -> str:
        return self.rewrite.__name__

    def bound(self, statistics: Statistics) -> Rewrite:
        """The function of the node alone."""
        return (lambda node: self.rewrite(node, statistics)) if self.statistics else self.rewrite
