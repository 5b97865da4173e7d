"""Many predicates over one stream at once: which of them each row fulfils, at the cost of a few array passes.

Predicates are put in disjunctive normal form (``plan.dnf``). A row is told by a *code* an attribute: where its value
lies among all constants that any predicate compares the attribute with. Rows of equal codes fulfil the same predicates,
so predicates are evaluated once a distinct combination of codes, not once a row. The set of predicates that a row
fulfils is its *signature*: the finest disjoint cover of all predicates (Golab 2006, section 8.3.3), of whose parts
every predicate is a union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.kernels.hashing import as_float64, as_int64, validity_of
from muntin.kernels.index import dense_ids
from muntin.kernels.synopses import fulfilled
from muntin.plan.dnf import Atom, Dnf, atoms_of, dnf_of, is_text
from muntin.plan.exprs import Expr
from muntin.scalars.evaluate import evaluate, predicate_mask

Ints = NDArray[np.int64]
Bits = NDArray[np.uint8]
"""Packed truth values, one row a signature: bit p (of ``np.packbits``) says that predicate p is fulfilled."""

_TABLE = 1 << 22
"""Numbers below it are made dense through a table."""


@dataclass(frozen=True)
class Attribute:
    """What predicates compare, with the constants, sorted; of a condition of its own none."""

    term: Expr
    constants: tuple[object, ...]
    condition: bool

    @property
    def size(self) -> int:
        """How many codes there are: from 0 for NULL on."""
        return 2 * len(self.constants) + 2 if self.constants else 3

    def codes(self, rows: pa.RecordBatch) -> Ints:
        """By row 0 for NULL; else 1 + twice the number of constants below the value, and one more where it equals the
        next; of a text 1, or 2 and twice the place of the constant that it equals; of a condition whether it holds."""
        if self.condition:
            return predicate_mask(self.term, rows).astype(np.int64) + 1
        values = evaluate(self.term, rows)
        code = self._places(values) + 1
        valid = validity_of(values)
        return np.where(valid, code, 0) if len(valid) else code

    def _places(self, values: pa.Array) -> Ints:
        if is_text(values.type):
            found = pc.fill_null(pc.index_in(values, pa.array(self.constants, values.type)), -1)
            return 2 * np.asarray(found.to_numpy(zero_copy_only=False), np.int64) + 1 + (np.asarray(found) < 0)
        if pa.types.is_floating(values.type):
            return _between(as_float64(values), np.array(self.constants, np.float64))
        return _of_integers(as_int64(values), np.array(self.constants, np.int64))

    def span(self, atom: Atom) -> tuple[int, int, bool]:
        """(first, last, inverted): the codes of the rows for which an atom holds, or does not though it is known."""
        if self.condition:
            return 2, 2, False
        at = 2 * self.constants.index(atom.value) + 2
        match atom.op:
            case "eq" | "ne":
                return at, at, atom.op == "ne"
            case "lt" | "le":
                return 1, at - (atom.op == "lt"), False
            case _:
                return at + (atom.op == "gt"), self.size, False


def _between(values: NDArray[np.float64] | Ints, constants: NDArray[np.float64] | Ints) -> Ints:
    """Twice the number of constants below each value, and one more where it equals one. (NaN is above all.)"""
    found = np.searchsorted(constants, values, "left") + np.searchsorted(constants, values, "right")
    return np.asarray(found, np.int64)


def _of_integers(values: Ints, constants: Ints) -> Ints:
    """As ``_between``; where values are few, by a table of them."""
    if len(values) == 0:
        return values
    low, high = int(values.min()), int(values.max())
    if high - low > len(values) // 2:
        return _between(values, constants)
    return _between(np.arange(low, high + 1), constants)[values - low]


@dataclass(frozen=True)
class PredicateIndex:
    """Predicates over the columns of a batch, numbered as they are given."""

    predicates: tuple[Expr, ...]

    @cached_property
    def forms(self) -> tuple[Dnf, ...]:
        """Their normal forms."""
        return tuple(map(dnf_of, self.predicates))

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """All that they compare, once each."""
        found: dict[tuple[Expr, bool], set[object]] = {}
        for atom in (a for form in self.forms for a in atoms_of(form)):
            own = found.setdefault((atom.attribute, atom.op == "holds"), set())
            if atom.op != "holds":
                own.add(atom.value)
        return tuple(
            Attribute(term, tuple(sorted(own)), condition)  # type: ignore[type-var]
            for (term, condition), own in sorted(found.items(), key=lambda item: repr(item[0]))
        )

    @cached_property
    def _compiled(self) -> tuple[Ints, Ints, Ints]:
        """By predicate where its terms begin, by term where its atoms begin, by atom its attribute and ``span``."""
        place = {(a.term, a.condition): i for i, a in enumerate(self.attributes)}
        terms, begins, atoms = [0], [0], []
        for form in self.forms:
            for term in form:
                for atom in term:
                    at = place[atom.attribute, atom.op == "holds"]
                    atoms.append((at, *self.attributes[at].span(atom)))
                begins.append(len(atoms))
            terms.append(len(begins) - 1)
        flat = np.array(atoms, np.int64).reshape(-1)
        return np.array(terms, np.int64), np.array(begins, np.int64), flat

    def signatures(self, rows: pa.RecordBatch) -> tuple[Ints, Bits]:
        """(the number of each row's signature, the signatures)."""
        codes = [a.codes(rows) for a in self.attributes]
        ids, first = combined(codes, [a.size + 1 for a in self.attributes], rows.num_rows)
        table = np.stack([c[first] for c in codes]) if codes else np.zeros((0, len(first)), np.int64)
        packed = np.packbits(fulfilled(table, *self._compiled), axis=0).T
        number, distinct = unique_rows(packed)
        return number[ids], distinct


def combined(codes: Sequence[Ints], sizes: Sequence[int], rows: int) -> tuple[Ints, Ints]:
    """(dense id of each row's combination of codes, a row of each id); ``sizes``: codes are below them."""
    key, total = np.zeros(rows, np.int64), 1
    for code, size in zip(codes, sizes, strict=True):
        if total * size >= 1 << 62:
            key, total = dense_ids(key)
        key, total = key * size + code, total * size
    if total <= max(4 * rows, 1 << 12) and total <= _TABLE:
        there = np.zeros(total, np.bool_)
        there[key] = True
        ids = (np.cumsum(there) - 1)[key]
        count = int(there.sum())
    else:
        ids, count = dense_ids(key)
    first = np.empty(count, np.int64)
    first[ids[::-1]] = np.arange(rows - 1, -1, -1)
    return ids, first


def unique_rows(packed: Bits) -> tuple[Ints, Bits]:
    """(number of each row among the distinct ones, those)."""
    if packed.shape[0] == 0 or packed.shape[1] == 0:
        return np.zeros(len(packed), np.int64), packed[:1]
    plain = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first, number = np.unique(plain, return_index=True, return_inverse=True)
    return number.astype(np.int64), packed[first]
