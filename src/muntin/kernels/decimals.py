"""Decimals as integers of more than 128 bits: whether a sum fits its type, and averages rounded half up.

A number is three arrays of words: ``low`` and ``high``, the two's complement words of a 128-bit integer, and ``over``,
how many times 2**128 is to be added to it (see ``kernels.sums.sum_int128``).
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MB1, MI64

Ints = NDArray[np.int64]
_LIMBS = 8
"""Of 32 bits: a magnitude below 2**192, times 10**4."""


def fits_decimal(low: Ints, high: Ints, over: Ints, precision: int) -> NDArray[np.bool_]:
    """Whether each number has at most ``precision`` (1 to 38) digits."""
    limit = 10**precision
    bound = np.array([limit & 0xFFFFFFFFFFFFFFFF, limit >> 64], np.uint64).view(np.int64)
    out = np.empty(len(low), np.bool_)
    _fits(low, high, over, bound, out)
    return out


@kernel(nb.void(I64, I64, I64, I64, MB1), cache=True)
def _fits(low, high, over, bound, out):  # type: ignore[no-untyped-def]
    top, rest = nb.uint64(bound[1]), nb.uint64(bound[0])
    for i in range(len(low)):
        a, b = nb.uint64(low[i]), nb.uint64(high[i])
        if high[i] < 0:
            a = ~a + nb.uint64(1)
            b = ~b + (nb.uint64(1) if a == 0 else nb.uint64(0))
        out[i] = over[i] == 0 and (b < top or (b == top and a < rest))


@nb.njit(cache=True)
def _magnitude(low, high, over, limbs):  # type: ignore[no-untyped-def]
    """The number without its sign as limbs; returns whether it is negative."""
    a, b = nb.uint64(low), nb.uint64(high)
    top = over - 1 if high < 0 else over
    c = nb.uint64(top)
    if top < 0:
        a = ~a + nb.uint64(1)
        b = ~b + (nb.uint64(1) if a == 0 else nb.uint64(0))
        c = ~c + (nb.uint64(1) if a == 0 and b == 0 else nb.uint64(0))
    mask = nb.uint64(0xFFFFFFFF)
    limbs[0], limbs[1] = a & mask, a >> nb.uint64(32)
    limbs[2], limbs[3] = b & mask, b >> nb.uint64(32)
    limbs[4], limbs[5] = c & mask, c >> nb.uint64(32)
    limbs[6] = limbs[7] = nb.uint64(0)
    return top < 0


@nb.njit(cache=True)
def _times(limbs, factor):  # type: ignore[no-untyped-def]
    carry = nb.uint64(0)
    for k in range(_LIMBS):
        product = limbs[k] * factor + carry
        limbs[k] = product & nb.uint64(0xFFFFFFFF)
        carry = product >> nb.uint64(32)


@nb.njit(cache=True)
def _increment(limbs):  # type: ignore[no-untyped-def]
    carry = nb.uint64(1)
    for k in range(_LIMBS):
        total = limbs[k] + carry
        limbs[k] = total & nb.uint64(0xFFFFFFFF)
        carry = total >> nb.uint64(32)


@nb.njit(cache=True)
def _through_small(limbs, n):  # type: ignore[no-untyped-def]
    """Divide by n below 2**31, limb by limb; returns the remainder."""
    rest = nb.uint64(0)
    for k in range(_LIMBS - 1, -1, -1):
        part = (rest << nb.uint64(32)) | limbs[k]
        limbs[k] = part // n
        rest = part - limbs[k] * n
    return rest


@nb.njit(cache=True)
def _through(limbs, n):  # type: ignore[no-untyped-def]
    """Divide by n below 2**63, bit by bit; returns the remainder."""
    rest = nb.uint64(0)
    for k in range(_LIMBS - 1, -1, -1):
        quotient = nb.uint64(0)
        for bit in range(31, -1, -1):
            rest = (rest << nb.uint64(1)) | ((limbs[k] >> nb.uint64(bit)) & nb.uint64(1))
            quotient <<= nb.uint64(1)
            if rest >= n:
                rest -= n
                quotient |= nb.uint64(1)
        limbs[k] = quotient
    return rest


@kernel(nb.void(I64, I64, I64, I64, nb.int64, MI64, MI64, MI64), cache=True)
def average(low, high, over, count, scale, out_low, out_high, out_over):  # type: ignore[no-untyped-def]
    """Sums times ``scale`` (at most 10**4) through ``count``, rounded half up (away from zero); 0 where that is 0."""
    limbs = np.empty(_LIMBS, np.uint64)
    for i in range(len(low)):
        n = nb.uint64(count[i])
        if count[i] <= 0:
            out_low[i] = out_high[i] = out_over[i] = 0
            continue
        negative = _magnitude(low[i], high[i], over[i], limbs)
        _times(limbs, nb.uint64(scale))
        rest = _through_small(limbs, n) if n < nb.uint64(1) << nb.uint64(31) else _through(limbs, n)
        if rest >= n - rest:
            _increment(limbs)
        a = limbs[0] | (limbs[1] << nb.uint64(32))
        b = limbs[2] | (limbs[3] << nb.uint64(32))
        beyond = b >> nb.uint64(63)
        for k in range(4, _LIMBS):
            beyond |= limbs[k]
        if negative:
            a = ~a + nb.uint64(1)
            b = ~b + (nb.uint64(1) if a == 0 else nb.uint64(0))
        out_low[i], out_high[i] = nb.int64(a), nb.int64(b)
        out_over[i] = 1 if beyond != 0 else 0
