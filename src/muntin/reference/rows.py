"""Rows on their way through a plan, and combinations of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.core.time import FOREVER, NEVER
from muntin.plan.exprs import Expr, columns_of, conjuncts
from muntin.reference.inputs import Values
from muntin.reference.scalar import eval_expr


@dataclass(frozen=True, slots=True)
class Held:
    """A row of a relation.

    ``ts``: the event time (of a combination: the newest of its parts). ``order``: (ts, registration, arrival) of each
    part. ``start``, ``end``: the span in which the windows of all its parts hold them (matters under INTERNAL only).
    """

    values: Values
    ts: int = NEVER
    order: tuple[tuple[int, ...], ...] = ()
    start: int = NEVER
    end: int = FOREVER


def combine(a: Held, b: Held) -> Held:
    """The combination of two rows."""
    return Held(a.values | b.values, max(a.ts, b.ts), a.order + b.order, max(a.start, b.start), min(a.end, b.end))


def nulls(names: Iterable[str]) -> dict[str, Any]:
    """A row of NULLs."""
    return dict.fromkeys(names)


def join(parts: Sequence[Sequence[Held]], names: Sequence[Iterable[str]], predicate: Expr) -> list[Held]:
    """Every combination for which every conjunct is true; a conjunct is asked as soon as its columns are there."""
    waiting = conjuncts(predicate)
    rows = [Held({})]
    known: set[str] = set()
    for part, columns in zip(parts, names, strict=True):
        known |= set(columns)
        ready = [c for c in waiting if {col.name for col in columns_of(c)} <= known]
        waiting = [c for c in waiting if c not in ready]
        pairs = (combine(left, right) for left in rows for right in part)
        rows = [r for r in pairs if r.start < r.end and all(eval_expr(c, r.values) is True for c in ready)]
    return rows
