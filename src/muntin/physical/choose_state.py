"""Update pattern to state structure: the one place that decides what an operator keeps its rows in (thesis 3.5.2)."""

from __future__ import annotations

from muntin.physical.stage import GroupAggregate, Insertions, Materialize, Op, SourceInput, Stage, WindowJoin
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Unbounded

STRUCTURES: dict[Pattern, str] = {
    Pattern.MON: "rows that never leave are not kept",
    Pattern.WKS: "FIFO panes",
    Pattern.WK: "calendar queue (panes ordered by expiry)",
    Pattern.STR: "group table with negative tuples",
}


def input_pattern(stage: Stage) -> Pattern:
    """The pattern of the rows that the operators after a join see: of the one window, or of what comes in."""
    data = [i for i in stage.inputs if not (isinstance(i, SourceInput) and i.instants_only)]
    if len(data) > 1:
        return Pattern.WK
    match data[0]:
        case SourceInput(window=Unbounded()):
            return Pattern.MON
        case SourceInput():
            return Pattern.WKS
        case derived:
            return Pattern.STR if derived.signed else Pattern.WK


def structure_of(op: Op, stage: Stage) -> str:
    """What the operator keeps, in words; "" for stateless ones."""
    match op:
        case WindowJoin():
            kinds = ["FIFO" if isinstance(i, SourceInput) else "any order" for i in stage.inputs]
            return f"hash-indexed panes by input (expiry: {', '.join(kinds[: len(op.keys)])})"
        case GroupAggregate():
            return f"{STRUCTURES[input_pattern(stage)]}; group table"
        case Materialize() | Insertions():
            return STRUCTURES[input_pattern(stage)]
        case _:
            return ""
