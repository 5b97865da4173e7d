"""Ranges that a join's conditions imply: what a sorted index can be asked for (band joins)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.operators.joins.indexed_window import as_float
from muntin.operators.joins.join_graph import Band
from muntin.plan.exprs import Call, Column, Expr, Literal

_UP = {"le": ("le", False), "lt": ("le", False), "ge": ("le", True), "gt": ("le", True)}
"""Comparison -> whether its sides change places to make it "at most"."""

ULPS = 8
"""A band's ends are moved outwards by so many units in the last place: the condition itself decides."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Linear:
    """Sum of ``plus`` less the sum of ``minus``, plus a constant."""

    plus: tuple[Column, ...] = ()
    minus: tuple[Column, ...] = ()
    constant: float = 0.0

    def __neg__(self) -> _Linear:
        return _Linear(self.minus, self.plus, -self.constant)

    def __add__(self, other: _Linear) -> _Linear:
        return _Linear(self.plus + other.plus, self.minus + other.minus, self.constant + other.constant)


def bands_of(conditions: Sequence[Expr], owner: Mapping[str, int]) -> tuple[Band, ...]:
    """The bands between columns of two inputs, each seen from both; ``owner``: the input of each column."""
    return tuple(dict.fromkeys(b for c in conditions for b in _bands(c, owner)))


def _bands(condition: Expr, owner: Mapping[str, int]) -> Iterator[Band]:
    match condition:
        case Call(fn, (Call("abs", (inner,)), Literal() as most)) if fn in ("le", "lt"):
            difference, bound = _linear(inner), _linear(most)
            if difference is not None and bound is not None:
                yield from _at_most(difference + -bound, owner)
                yield from _at_most(-difference + -bound, owner)
        case Call(fn, (left, right)) if fn in _UP:
            sides = [_linear(right), _linear(left)] if _UP[fn][1] else [_linear(left), _linear(right)]
            if sides[0] is None or sides[1] is None:
                return
            alone = all(len(s.plus) == 1 and not s.minus for s in sides if s is not None)
            whole = sides[0] + -sides[1]
            if alone or not any(pa.types.is_floating(c.type) for c in whole.plus + whole.minus):
                yield from _at_most(whole, owner)  # a NaN in a difference compares as greatest: only exact types there


def _at_most(e: _Linear, owner: Mapping[str, int]) -> Iterator[Band]:
    """``e <= 0`` as bands, if it ties one column to one of another input."""
    match e:
        case _Linear((p,), (m,), c) if owner.get(p.name) != owner.get(m.name):
            if p.name in owner and m.name in owner and _ordered(p.type) and _ordered(m.type):
                yield Band(owner[p.name], p.name, owner[m.name], m.name, None, -c)
                yield Band(owner[m.name], m.name, owner[p.name], p.name, c, None)


def _linear(e: Expr) -> _Linear | None:
    match e:
        case Column():
            return _Linear((e,))
        case Literal(value, _) if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return _Linear(constant=float(value))
        case Call("cast", (inner,), kind) if _widens(inner.type, kind):
            return _linear(inner)
        case Call("neg", (inner,)):
            found = _linear(inner)
            return None if found is None else -found
        case Call("add" | "sub" as fn, (a, b)):
            left, right = _linear(a), _linear(b)
            if left is None or right is None:
                return None
            return left + (right if fn == "add" else -right)
    return None


def _widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a cast keeps the order of values and, but for rounding to a double, the values."""
    t = pa.types
    if t.is_integer(source):
        wider = t.is_integer(target) and target.bit_width >= source.bit_width
        return wider or t.is_floating(target) or t.is_decimal(target)
    if t.is_decimal(source):
        return t.is_float64(target) or (t.is_decimal(target) and target.scale >= source.scale)
    return bool(t.is_floating(source) and t.is_float64(target))


def _ordered(kind: pa.DataType) -> bool:
    t = pa.types
    return bool(
        t.is_integer(kind) or t.is_float64(kind) or t.is_float32(kind) or t.is_decimal(kind) or t.is_timestamp(kind)
    )


def limits_of(bands: Sequence[Band], column: Callable[[Band], pa.Array], rows: int) -> tuple[Floats, Floats]:
    """(least, greatest) values of the sorted column that ``bands`` are of with which each of ``rows`` may be combined;
    ``column``: the rows' values that a band is counted from."""
    low, high = np.full(rows, -np.inf), np.full(rows, np.inf)
    for b in bands:
        values = as_float(column(b))
        slack = ULPS * np.spacing(np.abs(values) + max(abs(b.low or 0.0), abs(b.high or 0.0)))
        slack[~np.isfinite(slack)] = 0.0
        low = low if b.low is None else np.maximum(low, values + b.low - slack)
        high = high if b.high is None else np.minimum(high, values + b.high + slack)
    return low, high
