"""What the WHERE and ON conditions of a join say: one-window filters, equalities that can be keys, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from muntin.plan.exprs import Call, Column, Expr, columns_of, conjuncts


@dataclass(frozen=True)
class KeyClass:
    """Expressions that the condition makes equal, one per alias: a candidate join key."""

    terms: tuple[tuple[str, Expr], ...]

    @property
    def aliases(self) -> frozenset[str]:
        return frozenset(a for a, _ in self.terms)

    def term(self, alias: str) -> Expr:
        return next(e for a, e in self.terms if a == alias)


@dataclass(frozen=True)
class Conditions:
    """``filters``: (alias, predicate over it alone); ``keys``: classes of equal terms; ``rest``: everything else.

    ``constant``: conditions without any column.
    """

    filters: tuple[tuple[str, Expr], ...]
    keys: tuple[KeyClass, ...]
    rest: tuple[Expr, ...]
    constant: tuple[Expr, ...]

    def of(self, alias: str) -> list[Expr]:
        """The filters on one alias."""
        return [e for a, e in self.filters if a == alias]


def alias_of(column: Column) -> str:
    """The FROM item that a plan column belongs to."""
    return column.name.split(".", 1)[0]


def aliases(e: Expr) -> frozenset[str]:
    """The FROM items that an expression reads."""
    return frozenset(alias_of(c) for c in columns_of(e))


def analyse(predicates: Iterable[Expr]) -> Conditions:
    """Sort the conjuncts. NULL keys match nothing, so every key term also filters its own window."""
    filters: list[tuple[str, Expr]] = []
    rest: list[Expr] = []
    constant: list[Expr] = []
    pairs: list[tuple[Expr, Expr]] = []
    for part in (c for p in predicates for c in conjuncts(p)):
        used = aliases(part)
        match part:
            case _ if not used:
                constant.append(part)
            case _ if len(used) == 1:
                filters.append((next(iter(used)), part))
            case Call("eq", (left, right)) if len(aliases(left)) == 1 == len(aliases(right)):
                pairs.append((left, right))
            case _:
                rest.append(part)
    classes = _classes(pairs)
    for group in classes:
        for alias, terms in _by_alias(group).items():
            filters.append((alias, Call("is_not_null", (terms[0],), pa.bool_())))
            filters += [(alias, Call("eq", (terms[0], t), pa.bool_())) for t in terms[1:]]
    keys = [KeyClass(tuple((a, t[0]) for a, t in _by_alias(g).items())) for g in classes]
    return Conditions(tuple(filters), tuple(keys), tuple(rest), tuple(constant))


def _classes(pairs: Sequence[tuple[Expr, Expr]]) -> list[list[Expr]]:
    """Connected components of the equalities, terms in order of appearance."""
    groups: list[list[Expr]] = []
    for left, right in pairs:
        touching = [g for g in groups if left in g or right in g]
        merged = [e for g in touching for e in g]
        merged += [e for e in (left, right) if e not in merged]
        groups = [g for g in groups if g not in touching] + [merged]
    return groups


def _by_alias(group: Sequence[Expr]) -> dict[str, list[Expr]]:
    found: dict[str, list[Expr]] = {}
    for term in group:
        found.setdefault(next(iter(aliases(term))), []).append(term)
    return found
