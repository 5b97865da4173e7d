"""Update pattern to state structure: the one place that decides what an operator keeps its rows in (thesis 3.5.2)."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.physical.stage import (
    AsOfJoin,
    FiredWindow,
    GroupAggregate,
    Insertions,
    Materialize,
    Op,
    Restore,
    RowsWindow,
    TopRows,
    WindowJoin,
)
from muntin.plan.patterns import Pattern

STRUCTURES: dict[Pattern, str] = {
    Pattern.MON: "rows that never leave are not kept",
    Pattern.WKS: "FIFO panes",
    Pattern.WK: "calendar queue (panes ordered by expiry)",
    Pattern.STR: "group table with negative tuples",
}
INDEXED: dict[Pattern, str] = {
    Pattern.MON: "rows that never leave",
    Pattern.WKS: "FIFO",
    Pattern.WK: "by expiry",
    Pattern.STR: "by expiry and negative tuple",
}


def structure_of(op: Op, inputs: Sequence[Pattern]) -> str:
    """What the operator keeps, in words, given the patterns of its inputs; "" for stateless ones."""
    match op:
        case WindowJoin():
            return f"hash-indexed panes of each input (expiry: {', '.join(INDEXED[p] for p in inputs)})"
        case AsOfJoin():
            return "hash index of the relation's rows"
        case GroupAggregate():
            return f"{STRUCTURES[inputs[0]]}; group table" if inputs[0] is not Pattern.STR else STRUCTURES[Pattern.STR]
        case Materialize() | Insertions():
            return STRUCTURES[inputs[0]]
        case RowsWindow():
            return "the last rows of each partition, numbered"
        case FiredWindow():
            return "rows since the last firing that a later one may show"
        case TopRows():
            return "all rows in order, and those shown"
        case Restore():
            return "what came and went since the last evaluation instant"
        case _:
            return ""
