"""Predicates in disjunctive normal form, and which of them cover which (Golab 2006, section 8.3.3).

An atom compares an attribute with a constant, or is a condition of its own that nothing is known of. A predicate holds
for a row where it is true: NULL is not true, so a conjunction holds where all of its atoms do and a disjunction where
one of its terms does, as in two-valued logic. Negations stay inside of atoms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from muntin.plan.exprs import Call, Expr, Literal

MOST_TERMS = 64
"""A predicate with more terms is one atom."""

_FLIPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@dataclass(frozen=True)
class Atom:
    """``attribute op value``: ``op`` is eq, ne, lt, le, gt or ge; or "holds", where the attribute is a whole condition
    (and the value True)."""

    attribute: Expr
    op: str
    value: Any


Term = frozenset[Atom]
"""A conjunction; the empty one is true."""

Dnf = frozenset[Term]
"""A disjunction of terms; the empty one is false."""

ALL: Dnf = frozenset([frozenset[Atom]()])
"""The predicate that every row fulfils."""


def dnf_of(e: Expr) -> Dnf:
    """The normal form of a predicate, equal terms and terms that another one contains left out."""
    return _absorbed(_terms(e))


def atoms_of(dnf: Dnf) -> frozenset[Atom]:
    """All atoms of a predicate."""
    return frozenset(a for term in dnf for a in term)


def _terms(e: Expr) -> Dnf:
    match e:
        case Literal(True, _):
            return ALL
        case Literal(_, t) if pa.types.is_boolean(t) or pa.types.is_null(t):
            return frozenset()
        case Call("or", args):
            found = frozenset(t for a in args for t in _terms(a))
            return found if len(found) <= MOST_TERMS else _whole(e)
        case Call("and", args):
            product: Dnf = ALL
            for part in (_terms(a) for a in args):
                if len(product) * len(part) > MOST_TERMS:
                    return _whole(e)
                product = frozenset(x | y for x in product for y in part)
            return product
        case Call("in", (x, *values)) if len(values) <= MOST_TERMS:
            equal = [_atom("eq", x, v) for v in values if not _null(v)]
            return frozenset(frozenset([a]) for a in equal if a) if all(equal) else _whole(e)
        case Call(op, (x, y)) if op in _FLIPPED:
            atom = _atom(op, x, y) or _atom(_FLIPPED[op], y, x)
            return _whole(e) if atom is None else frozenset([frozenset([atom])])
        case _:
            return _whole(e)


def _whole(e: Expr) -> Dnf:
    return frozenset([frozenset([Atom(e, "holds", True)])])


def _null(e: Expr) -> bool:
    return isinstance(e, Literal) and e.value is None


def _atom(op: str, x: Expr, y: Expr) -> Atom | None:
    """The comparison as an atom where the constant is of the attribute's family, so that comparing needs no rule."""
    if not isinstance(y, Literal) or y.value is None or isinstance(x, Literal):
        return None
    if comparable(x.type, y.type, y.value) and (op in ("eq", "ne") or not is_text(x.type)):
        return Atom(x, op, y.value)
    return None


def is_text(t: pa.DataType) -> bool:
    """Whether values are texts."""
    return bool(pa.types.is_string(t) or pa.types.is_large_string(t))


def comparable(t: pa.DataType, other: pa.DataType, value: Any) -> bool:
    """Whether a constant stands in the order of the attribute's values as it is: integers beside integers, finite
    numbers beside doubles, texts, and times of one type."""
    if pa.types.is_integer(t):
        return bool(pa.types.is_integer(other)) and -(2**63) <= value < 2**63
    if pa.types.is_float64(t):
        number = pa.types.is_integer(other) or pa.types.is_floating(other)
        return bool(number) and math.isfinite(value) and float(value) == value
    if is_text(t):
        return is_text(other)
    timed = pa.types.is_timestamp(t) or pa.types.is_date(t)
    return bool(timed) and t == other and isinstance(value, int) and not isinstance(value, bool)


def _absorbed(dnf: Dnf) -> Dnf:
    """Without the terms that say more than another one."""
    return frozenset(t for t in dnf if not any(other < t for other in dnf))


# --- covers (thesis 8.3.3) --------------------------------------------------------------------------------------------


def implies(a: Dnf, b: Dnf) -> bool:
    """Whether every row of ``a`` is one of ``b``, as far as terms tell: each term of ``a`` says at least what some term
    of ``b`` says. (Never wrongly true.)"""
    return all(any(_says(t, u) for u in b) for t in a)


def is_subcover(a: Dnf, b: Dnf) -> bool:
    """Whether ``a`` is a subcover of ``b``: it holds for some of the rows of ``b`` and no others."""
    return implies(a, b)


def is_supercover(a: Dnf, b: Dnf) -> bool:
    """Whether ``a`` is a supercover of ``b``: it holds for all of its rows, and maybe others."""
    return implies(b, a)


def is_cover(parts: Iterable[Dnf], whole: Dnf) -> bool:
    """Whether predicates hold together for the rows of ``whole`` and no others."""
    found = list(parts)
    together = frozenset(t for p in found for t in p)
    return all(implies(p, whole) for p in found) and implies(whole, together)


def are_disjoint(a: Dnf, b: Dnf) -> bool:
    """Whether no row fulfils both, as far as atoms tell: any two of their terms contradict each other."""
    return all(any(_contradict(x, y) for x in t for y in u) for t in a for u in b)


def is_disjoint_cover(parts: Iterable[Dnf], whole: Dnf) -> bool:
    """Whether the parts are a cover in which no row is twice, so that sums and counts may be added up."""
    found = list(parts)
    pairs = ((a, b) for i, a in enumerate(found) for b in found[i + 1 :])
    return is_cover(found, whole) and all(are_disjoint(a, b) for a, b in pairs)


def _says(t: Term, u: Term) -> bool:
    """Whether the term ``t`` implies the term ``u``."""
    return all(any(_implies(x, y) for x in t) for y in u)


def _implies(x: Atom, y: Atom) -> bool:
    if x == y:
        return True
    if x.attribute != y.attribute or "holds" in (x.op, y.op):
        return False
    if y.op == "ne":
        return _contradict(x, Atom(y.attribute, "eq", y.value))
    if y.op == "eq" or x.op == "ne":
        return x.op == "eq" and y.op == "eq" and x.value == y.value
    low, high = _reach(y)
    own_low, own_high = _reach(x)
    return _at_most(low, own_low, False) and _at_most(own_high, high, True)


def _contradict(x: Atom, y: Atom) -> bool:
    if x.attribute != y.attribute or "holds" in (x.op, y.op):
        return False
    if "ne" in (x.op, y.op):
        other, hole = (x, y) if y.op == "ne" else (y, x)
        return other.op == "eq" and other.value == hole.value
    (a, b), (c, d) = _reach(x), _reach(y)
    return _before(b, c) or _before(d, a)


_End = tuple[Any, bool] | None
"""An end of an interval: the value and whether it belongs to it; None for none."""


def _reach(a: Atom) -> tuple[_End, _End]:
    match a.op:
        case "eq":
            return (a.value, True), (a.value, True)
        case "lt" | "le":
            return None, (a.value, a.op == "le")
        case _:
            return (a.value, a.op == "ge"), None


def _at_most(a: _End, b: _End, upper: bool) -> bool:
    """Whether the end ``a`` is no further right than ``b`` (``upper``: both are upper ends, else lower ends)."""
    if a is None or b is None:
        return b is None if upper else a is None
    if a[0] != b[0]:
        return bool(a[0] < b[0])
    return b[1] or not a[1] if upper else a[1] or not b[1]


def _before(high: _End, low: _End) -> bool:
    """Whether an interval that ends at ``high`` has nothing of one that begins at ``low``."""
    if high is None or low is None:
        return False
    return bool(high[0] < low[0] or (high[0] == low[0] and not (high[1] and low[1])))
