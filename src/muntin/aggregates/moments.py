"""What variances and regressions are answered from: exact sums of the numbers of a row and of their products.

A *term* is ``x`` or ``y``, a number of each row, or two of them (``xx``, ``yy``, ``xy``), their product: this one is
summed as the double nearest to it and, under ``<term>_rest``, as what rounding to that left over. Numbers count as
doubles. The argument is a column of numbers x, or one of structs (y, x).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Ints, Replay
from muntin.aggregates.sum import doubles, summed
from muntin.kernels import moments
from muntin.kernels.hashing import as_float64, validity_of
from muntin.kernels.moments import Products, Total
from muntin.plan.exprs import Agg


@dataclass(frozen=True)
class Moments:
    """By answer: how many rows have a number (both numbers), and the sums by name of a series (``series``)."""

    n: Ints
    sums: Mapping[str, Total]

    def products(self, term: str) -> Products:
        """The sum of a term of two numbers."""
        return Products(self.sums[term], self.sums[rest_of(term)])


Answer = Callable[[Agg, Moments], pa.Array]
"""The values of an aggregate, as an Arrow array of its type."""


def rest_of(term: str) -> str:
    """The name of what is left over of a term."""
    return f"{term}_rest"


def series_names(terms: Iterable[str]) -> list[str]:
    """What is summed for some terms."""
    return [s for t in terms for s in ((t, rest_of(t)) if len(t) == 2 else (t,))]


def series(column: pa.Array, terms: Iterable[str]) -> Iterator[tuple[str, pa.Array]]:
    """What is summed for some terms, each by its name with a double a row; NULL where a number is."""
    children = column.flatten() if pa.types.is_struct(column.type) else [None, column]
    for term in terms:
        numbers = [doubles(children["yx".index(letter)]) for letter in term]
        if len(numbers) == 1:
            yield term, numbers[0]
            continue
        both = moments.products(*map(as_float64, numbers))
        mask = _missing(numbers[0])
        for name, part in zip((term, rest_of(term)), both, strict=True):
            yield name, pa.array(part, mask=mask)


def _missing(column: pa.Array) -> NDArray[np.bool_] | None:
    """Where a column is NULL; None: nowhere. (Of a row both numbers are, or none.)"""
    return ~validity_of(column) if column.null_count else None


@dataclass(frozen=True)
class OfMoments:
    """An aggregate of moments, from its ``terms``. ``names``: under what a series is kept, where that is not its
    name."""

    name: str
    arg: str
    agg: Agg
    terms: tuple[str, ...]
    answer: Answer
    names: Mapping[str, str]

    def values(self, replay: Replay) -> pa.Array:
        sums: dict[str, Total] = {}
        for own, numbers in series(replay.events.rows.column(self.arg), self.terms):
            sums[own], n = summed(f"{self.name}.{self.names.get(own, own)}", replay, numbers)
        return self.answer(self.agg, Moments(n, sums))
