"""What must hold after every rule, checked by the driver in production too (each is a walk over a small tree)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from muntin.optimizer.rewrite import is_nrr
from muntin.optimizer.rule import Rule
from muntin.plan.nodes import BoundQuery, Join, Output, TableScan, reaches, walk
from muntin.plan.patterns import Pattern, pattern

Check = Callable[[Rule, BoundQuery, BoundQuery], str | None]


def broken_invariant(rule: Rule, before: BoundQuery, after: BoundQuery) -> str | None:
    """What the rule broke, in words; None if all invariants hold. May raise ValueError (a node checks itself)."""
    return next((fault for check in CHECKS if (fault := check(rule, before, after))), None)


def _schema(_: Rule, before: BoundQuery, after: BoundQuery) -> str | None:
    """The answer has the same columns, and every node below resolves its own."""
    if before.root.schema != after.root.schema:
        return f"the answer's columns changed from {before.root.schema} to {after.root.schema}"
    for node in walk(after.root):
        node.schema  # noqa: B018 -- names must be unique; ValueError says where they are not
    return None


def _pattern(rule: Rule, before: BoundQuery, after: BoundQuery) -> str | None:
    """The answer's update pattern stays, or gets simpler where the rule says so; it never gets harder."""
    old, new = pattern(before.root), pattern(after.root)
    if new > old or (new < old and not rule.simplifies):
        return f"the answer's update pattern changed from {old.name} to {new.name}"
    return None


def _windows(_: Rule, before: BoundQuery, after: BoundQuery) -> str | None:
    """The same windows with the same evaluation instants: they say when there is an answer, and when it ends."""
    if before.ticks != after.ticks:
        return f"the evaluation instants changed from {before.ticks} to {after.ticks}"
    old, new = (Counter(map(repr, reaches(q.root, q.options))) for q in (before, after))
    if old != new:
        return f"the windows changed: lost {list((old - new).elements())}, gained {list((new - old).elements())}"
    return None


def _outputs(_: Rule, before: BoundQuery, after: BoundQuery) -> str | None:
    """The same relation-to-stream operators."""
    old, new = (Counter(n.kind for n in walk(q.root) if isinstance(n, Output)) for q in (before, after))
    return None if old == new else f"the output kinds changed from {dict(old)} to {dict(new)}"


def _relations(_: Rule, before: BoundQuery, after: BoundQuery) -> str | None:
    """A non-retroactive relation stays an input of a join, and no more of them get negative tuples (thesis 3.5.3)."""
    old, new = _misplaced(before), _misplaced(after)
    if new[0] > old[0]:
        return "a non-retroactive relation is no longer a direct input of a join"
    if new[1] > old[1]:
        return "a join with a non-retroactive relation now has an input with negative tuples"
    return None


def _misplaced(query: BoundQuery) -> tuple[int, int]:
    """How many non-retroactive relations are not inputs of a join, and how many of their joins have a STR input."""
    joins = [n for n in walk(query.root) if isinstance(n, Join) and any(is_nrr(p) for p in n.parts)]
    every = sum(isinstance(n, TableScan) and is_nrr(n) for n in walk(query.root))
    placed = sum(is_nrr(p) for j in joins for p in j.parts)
    strict = sum(any(not is_nrr(p) and pattern(p) is Pattern.STR for p in j.parts) for j in joins)
    return every - placed, strict


CHECKS: tuple[Check, ...] = (_schema, _pattern, _windows, _outputs, _relations)
