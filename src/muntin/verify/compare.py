"""Comparing bags of rows: NaN equals NaN, -0.0 equals 0.0, floats to a relative tolerance. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]
TOLERANCE = 1e-6
"""Largest relative difference of two floats that count as equal."""


@dataclass(frozen=True)
class Difference:
    """What one bag has and the other has not; falsy when the bags are equal."""

    missing: tuple[Row, ...]
    unexpected: tuple[Row, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected)

    def __str__(self) -> str:
        parts = [("missing", self.missing), ("unexpected", self.unexpected)]
        return "; ".join(f"{word} {_listed(rows)}" for word, rows in parts if rows)


def same_value(a: Any, b: Any) -> bool:
    """Whether two values are equal: numbers by value across int, float and decimal, floats to ``TOLERANCE``; arrays
    (tuples or lists) value by value."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return same_row(tuple(a), tuple(b))
    if a is None or b is None or isinstance(a, bool) is not isinstance(b, bool):
        return a is b
    if not (_is_number(a) and _is_number(b)):
        return bool(a == b)
    if not isinstance(a, float) and not isinstance(b, float):
        return bool(a == b)
    x, y = float(a), float(b)
    return (math.isnan(x) and math.isnan(y)) or x == y or math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=1e-12)


def same_row(a: Row, b: Row) -> bool:
    """Whether two rows are equal, column by column."""
    return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b, strict=True))


def bag_difference(expected: Iterable[Row], got: Iterable[Row]) -> Difference:
    """The difference of two bags. Equal rows cancel first, then rows equal within the tolerance, in sorted order."""
    wanted, had = Counter(map(_exact, expected)), Counter(map(_exact, got))
    missing, unexpected = list((wanted - had).elements()), list((had - wanted).elements())
    left = []
    for row in sorted(missing, key=_order):
        match = next((i for i, other in enumerate(unexpected) if same_row(row, other)), None)
        if match is None:
            left.append(row)
        else:
            unexpected.pop(match)
    return Difference(tuple(left), tuple(sorted(unexpected, key=_order)))


def net(changes: Sequence[tuple[str, Row]]) -> list[tuple[str, Row]]:
    """Changes of one instant without the equal rows that enter and leave in it."""
    come = [_exact(r) for op, r in changes if op == "+"]
    gone = [_exact(r) for op, r in changes if op == "-"]
    difference = bag_difference(gone, come)
    return [("-", r) for r in difference.missing] + [("+", r) for r in difference.unexpected]


def accumulate(changes: Iterable[tuple[str, Row]]) -> list[Row]:
    """What the changes, in time order, leave behind; a row that leaves without having entered is kept, marked."""
    held: Counter[Row] = Counter()
    for op, row in changes:
        held[_exact(row)] += 1 if op == "+" else -1
    strays = [("left without entering", *r) for r, n in held.items() for _ in range(-n)]
    return list((+held).elements()) + strays


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


_NAN = float("nan")


def _exact(row: Row) -> Row:
    """The row with one NaN object and no negative zero, so that equal rows are equal keys."""
    return tuple(map(_exact_value, row))


def _exact_value(value: Any) -> Any:
    if isinstance(value, float):
        return _NAN if math.isnan(value) else value + 0.0
    return _exact(tuple(value)) if isinstance(value, tuple | list) else value


def _order(row: Row) -> tuple[Any, ...]:
    return tuple((v is not None, type(v).__name__ if not _is_number(v) else "", _sortable(v)) for v in row)


def _sortable(value: Any) -> Any:
    if value is None:
        return 0
    if _is_number(value):
        return math.inf if isinstance(value, float) and math.isnan(value) else value
    return str(value)


def _listed(rows: tuple[Row, ...], most: int = 4) -> str:
    shown = ", ".join("(" + ", ".join(map(repr, r)) + ")" for r in rows[:most])
    return shown + (f" and {len(rows) - most} more" if len(rows) > most else "")
