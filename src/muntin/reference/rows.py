"""Rows on their way through a plan, and combinations of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.core.time import NEVER
from muntin.plan.exprs import Expr, columns_of, conjuncts
from muntin.reference.inputs import Values
from muntin.reference.scalar import eval_expr

Part = tuple[Any, ...]
"""A row of a window, or of a table or construct, by what is unique to it."""

Needs = frozenset[frozenset[Part]]
"""Sets of external parts; a row stays while all parts of one of the sets are there."""

NOTHING: Needs = frozenset([frozenset()])
"""The row needs no part to be there."""


@dataclass(frozen=True, slots=True)
class Held:
    """A row of a relation.

    ``ts``: the event time (of a combination: the newest of its parts). ``order``: (ts, registration, arrival) of each
    part. ``lineage``: the parts that it is made of. ``needs``: the external ones, without which it goes; of a row that
    EXISTS or IN lets pass one set for each partner (both matter under INTERNAL only).
    """

    values: Values
    ts: int = NEVER
    order: tuple[tuple[int, ...], ...] = ()
    lineage: tuple[Part, ...] = ()
    needs: Needs = NOTHING


def combine(a: Held, b: Held) -> Held:
    """The combination of two rows."""
    lineage, needs = a.lineage + b.lineage, all_of(a.needs, b.needs)
    return Held(a.values | b.values, max(a.ts, b.ts), a.order + b.order, lineage, needs)


def all_of(a: Needs, b: Needs) -> Needs:
    """What a row needs that needs both."""
    if a is NOTHING or b is NOTHING:
        return b if a is NOTHING else a
    return frozenset(x | y for x in a for y in b)


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
        rows = [r for r in pairs if all(eval_expr(c, r.values) is True for c in ready)]
    return rows
