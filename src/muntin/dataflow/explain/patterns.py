"""The update pattern of every edge of a graph, bottom up (thesis 3.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin.dataflow.graph import Graph
from muntin.operators.as_of_join import AsOfJoin
from muntin.operators.compute import Compute
from muntin.operators.merge import Merge
from muntin.operators.operator import Operator
from muntin.operators.rewind import Rewind
from muntin.operators.snap import Snap
from muntin.operators.stamp import Stamp
from muntin.operators.time_window import TimeWindow
from muntin.plan.patterns import Pattern

Lifetime = Any
"""What makes the interval of validity of an event time: rows of equal lifetimes leave in the order in which they came.
None where it is not the event time alone."""


def patterns_of(graph: Graph) -> tuple[Pattern, ...]:
    """The update pattern of each vertex's rows."""
    patterns: list[Pattern] = []
    lifetimes: list[Lifetime] = []
    for v in graph.vertices:
        inputs = [patterns[e.vertex] for e in v.inputs]
        lives = [lifetimes[e.vertex] for e in v.inputs]
        life = _lifetime(v.op, lives)
        merged = isinstance(v.op, Merge) and life is not None
        patterns.append(inputs[0] if merged else v.op.pattern(inputs))
        lifetimes.append(life)
    return tuple(patterns)


def _lifetime(op: Operator, inputs: Sequence[Lifetime]) -> Lifetime:
    match op:
        case TimeWindow() | Rewind():
            return op
        case Compute() | Stamp() | AsOfJoin():
            return inputs[0]
        case Snap(ticks):
            return None if inputs[0] is None else (inputs[0], ticks)
        case Merge(weights) if min(weights) > 0 and all(x == inputs[0] for x in inputs):
            return inputs[0]
        case _:
            return None
