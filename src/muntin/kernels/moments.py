"""Sums of squares and of products about the mean, out of exact sums, in twice the precision of doubles.

A ``Total`` is a number as a double and what rounding to it left over (Dekker 1971). Whatever is computed here is an
array by emission; where a value is NaN or infinite, or leaves the range of doubles, the result is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


class Total(NamedTuple):
    """The double nearest to a number, and the rest, rounded."""

    near: Doubles
    rest: Doubles


class Products(NamedTuple):
    """A sum of products, as the sums of their doubles and of what rounding to these left over (see ``products``)."""

    near: Total
    rest: Total


def products(a: Doubles, b: Doubles) -> Total:
    """Each a * b without error; the rest is 0 where it leaves the range of doubles."""
    with np.errstate(over="ignore", invalid="ignore"):
        near, rest = _product(a, b)
    return Total(near, np.where(np.isfinite(rest) & np.isfinite(near), rest, 0.0))


def comoment(a: Total, b: Total, ab: Products, n: Ints) -> Total:
    """The sum of (a - mean of a) * (b - mean of b) over n values: (n * sum of ab - sum of a * sum of b) / n.

    As n times it, it is exact for integers; n counts as a fraction below one, so that nothing overflows by it.
    """
    share, power = np.frexp(np.maximum(n, 1).astype(np.float64))
    part = Total(share, np.zeros_like(share))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        whole = _normal(ab.near.near, ab.near.rest + (ab.rest.near + ab.rest.rest))
        sums = times(Total(np.ldexp(a.near, -power), np.ldexp(a.rest, -power)), b)
        return over(minus(times(whole, part), sums), part)


def spread(x: Total, xx: Products, n: Ints) -> Total:
    """The sum of (x - mean)^2 over n values; 0, and not what rounding makes of it, where all values are the same.

    Values that differ in their last three digits in binary alone may count as the same.
    """
    found = comoment(x, x, xx, n)
    none = (found.near < 0.0) | _alike(x, xx, n)
    return Total(np.where(none, 0.0, found.near), np.where(none, 0.0, found.rest))


def _alike(x: Total, xx: Products, n: Ints) -> NDArray[np.bool_]:
    """Whether n values are the same: their sum, and the sums of both parts of their squares, are n times one value's.

    These sums are of no more than 53 + log2 n digits then, so that a ``Total`` holds them without error.
    """
    count = np.maximum(n, 1).astype(np.float64)
    zero = np.zeros_like(count)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        value = over(x, Total(count, zero)).near
        square, rest = products(value, value)
        same = np.ones(len(count), np.bool_)
        for one, total in ((value, x), (square, xx.near), (rest, xx.rest)):
            near, left = products(one, count)
            same &= (near == total.near) & (left == total.rest)
    return same


def times(a: Total, b: Total) -> Total:
    """a * b."""
    near, rest = _product(a.near, b.near)
    return _normal(near, rest + (a.near * b.rest + a.rest * b.near))


def minus(a: Total, b: Total) -> Total:
    """a - b."""
    near = a.near - b.near
    back = near - a.near
    rest = (a.near - (near - back)) - (b.near + back)
    return _normal(near, rest + (a.rest - b.rest))


def over(a: Total, b: Total) -> Total:
    """a / b."""
    near = a.near / b.near
    left = minus(a, times(b, Total(near, np.zeros_like(near))))
    return _normal(near, left.near / b.near)


def _normal(near: Doubles, rest: Doubles) -> Total:
    """A sum of two doubles of which the first is not the smaller."""
    total = near + rest
    return Total(total, rest - (total - near))


def _product(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """a * b as a double and its rounding error."""
    product = a * b
    parts = []
    for x in (a, b):
        big = x * 134217729.0  # 2**27 + 1 splits a double into halves of 26 bits
        high = big - (big - x)
        parts.append((high, x - high))
    (ah, al), (bh, bl) = parts
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl
