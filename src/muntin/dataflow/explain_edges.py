"""The update pattern of every value of a physical plan: of what enters a stage and of what each operator makes."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.stage import DerivedInput, Input, Op, PhysicalQuery
from muntin.operators.as_of_join import AsOfJoin
from muntin.operators.compute import Compute
from muntin.operators.distinct import Distinct
from muntin.operators.fired_window import FiredWindow
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Insertions, Materialize
from muntin.operators.net import Net, OneSign
from muntin.operators.reshape import Endless, Merge, Repeat, Rewind, Signed, Snap, Stamp, Until
from muntin.operators.restore import Restore
from muntin.operators.rows_window import RowsWindow
from muntin.operators.top_rows import TopRows
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Unbounded

StagePatterns = tuple[Pattern, ...]
"""By value number: inputs, then operators."""


def patterns_of(query: PhysicalQuery) -> tuple[StagePatterns, ...]:
    """The patterns of every stage's values."""
    found: list[StagePatterns] = []
    for stage in query.stages:
        values = [_input(i, query, found) for i in stage.inputs]
        for op, args in zip(stage.ops, stage.arguments(), strict=True):
            values.append(made_by(op, [values[a] for a in args]))
        found.append(tuple(values))
    return tuple(found)


def _input(source: Input, query: PhysicalQuery, before: Sequence[StagePatterns]) -> Pattern:
    if isinstance(source, DerivedInput):
        emitted = query.stages[source.stage].emitted()[source.port]
        return before[source.stage][emitted]
    return Pattern.MON if isinstance(source.window, Unbounded) else Pattern.WKS


def made_by(op: Op, inputs: Sequence[Pattern]) -> Pattern:
    """The pattern of an operator's result."""
    hardest = max(inputs, default=Pattern.MON)
    match op:
        case Compute() | Net() | Snap() | Stamp() | Repeat():
            return inputs[0]
        case WindowJoin() | GraphJoin() | Until():
            return hardest if hardest in (Pattern.MON, Pattern.STR) else Pattern.WK
        case AsOfJoin():
            return inputs[0]  # updates of the relation show nothing
        case Distinct():
            return inputs[0] if inputs[0] is Pattern.MON else max(inputs[0], Pattern.WK)
        case GroupAggregate(emit=emit):
            return Pattern.STR if emit == "changes" else Pattern.MON
        case Materialize(emit=emit):
            return inputs[0] if emit == "changes" else Pattern.MON  # snapshots are a stream of whole answers
        case OneSign() | Insertions() | Restore():
            return Pattern.MON
        case RowsWindow() | FiredWindow() | TopRows() | Signed() | Endless():
            return Pattern.STR
        case Rewind(window):
            return Pattern.MON if isinstance(window, Unbounded) else Pattern.WKS
        case Merge(weights):
            return Pattern.STR if min(weights) < 0 else hardest
