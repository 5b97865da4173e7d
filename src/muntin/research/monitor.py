"""A run-time monitor of update patterns: from what an operator emitted, which class (thesis 3.2.1) it showed."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from muntin.plan.patterns import Pattern
from muntin.research.product import Row


def observed(changes: Sequence[Row]) -> Pattern:
    """The simplest class that the changes fit.

    ``changes`` are '+' and '-' rows in order; the ``exp`` of a '+' is what was known when it was produced (None:
    nothing).
    STR: a result left at another time than it was known to. WKS: all lifetimes are equal, and so results leave in
    the order
    in which they came. Raises ValueError when a '-' names no row that is there.
    """
    alive: dict[tuple[object, ...], deque[Row]] = defaultdict(deque)
    lifetimes: set[float] = set()
    left: list[int] = []
    strict = False
    for number, row in enumerate(changes):
        if row.op == "+":
            alive[row.values].append(Row(row.ts, str(number), row.values, row.exp))
            continue
        if not alive[row.values]:
            raise ValueError(f"{row} leaves, but is not there")
        match = next((r for r in alive[row.values] if r.exp == row.ts), alive[row.values][0])
        alive[row.values].remove(match)
        strict |= match.exp != row.ts
        lifetimes.add(row.ts - match.ts)
        left.append(match.ts)
    if not left:
        return Pattern.MON
    if strict:
        return Pattern.STR
    return Pattern.WKS if len(lifetimes) == 1 and left == sorted(left) else Pattern.WK
