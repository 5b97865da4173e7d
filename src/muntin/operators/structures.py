"""Words for what an operator keeps its rows in, by update pattern (thesis 3.5.2)."""

from __future__ import annotations

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
