"""Steps that sub-queries put on the node below them: semi-joins, aggregates beside each row, conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from muntin.core.schema import Field
from muntin.plan.exprs import Agg, Expr
from muntin.plan.nodes import Apply, Filter, Node, SemiJoin


@dataclass(frozen=True)
class SemiStep:
    """EXISTS, IN and their negations."""

    right: Node
    predicate: Expr
    anti: bool
    null_aware: tuple[Expr, Expr] | None = None

    def onto(self, node: Node) -> Node:
        """The step on a node."""
        return SemiJoin(node, self.right, self.predicate, self.anti, self.null_aware)


@dataclass(frozen=True)
class ApplyStep:
    """Aggregates of a scalar sub-query."""

    right: Node
    predicate: Expr
    aggs: tuple[tuple[str, Agg], ...]

    def onto(self, node: Node) -> Node:
        """The step on a node."""
        return Apply(node, self.right, self.predicate, self.aggs)


@dataclass(frozen=True)
class FilterStep:
    """A condition that uses values of scalar sub-queries."""

    predicate: Expr

    def onto(self, node: Node) -> Node:
        """The step on a node."""
        return Filter(node, self.predicate)


Step = SemiStep | ApplyStep | FilterStep


def stacked(node: Node, steps: Iterable[Step]) -> Node:
    """The node with the steps on it, the first lowest."""
    for step in steps:
        node = step.onto(node)
    return node


def rows_of(step: Step) -> tuple[Field, ...]:
    """The columns of the sub-query's rows."""
    return () if isinstance(step, FilterStep) else step.right.schema.fields


def uses_of(step: Step) -> tuple[Expr, ...]:
    """The expressions that are over the node below, too."""
    known = step.null_aware[:1] if isinstance(step, SemiStep) and step.null_aware is not None else ()
    return (step.predicate, *known)


def replaced(step: Step, change: Callable[[Expr], Expr]) -> Step:
    """The step with other columns of the node below."""
    if isinstance(step, SemiStep) and step.null_aware is not None:
        x, y = step.null_aware
        return replace(step, predicate=change(step.predicate), null_aware=(change(x), y))
    return replace(step, predicate=change(step.predicate))
