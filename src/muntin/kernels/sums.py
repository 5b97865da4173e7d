"""Exact sums that can be subtracted: 128-bit integers, and doubles as fixed-point limbs.

A double is an integer multiple of 2**-1074, so a sum of doubles is kept as such an integer, in limbs of 32 bits inside
int64 words (a superaccumulator in the sense of Kulisch). Adding and subtracting are exact and in any order: a departed
value leaves nothing behind, and the answer depends neither on batch cuts nor on shards. Only the limbs that the data's
exponents need are kept.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import inlined, kernel
from muntin.kernels.types import B1, F64, I8, I64, MF64, MI8, MI64, MI64x2

Ints = NDArray[np.int64]
LIMB_BITS = 32
_LIMB_MASK = 0xFFFFFFFF


@kernel(nb.void(I64, I64, I64, I64, MI64, I64, MI64), cache=True)
def _count(ev_group, change, ev_end, em_end, count, em_group, out):  # type: ignore[no-untyped-def]
    i = 0
    e = 0
    for k in range(len(ev_end)):
        while i < ev_end[k]:
            count[ev_group[i]] += change[i]
            i += 1
        while e < em_end[k]:
            out[e] = count[em_group[e]]
            e += 1


def count_valid(
    ev_group: Ints,
    ev_sign: NDArray[np.int8],
    valid: NDArray[np.bool_],
    weight: Ints,
    schedule: tuple[Ints, Ints, Ints],
    count: Ints,
) -> Ints:
    """COUNT(x) by emission: how many events have ``valid`` (all when empty); ``count`` by group moves on.

    An event counts ``weight`` times (once where that is empty). ``schedule``: (ev_end, em_end, em_group).
    """
    ev_end, em_end, em_group = schedule
    out = np.empty(len(em_group), np.int64)
    _count(ev_group, changes(ev_sign, valid, weight), ev_end, em_end, count, em_group, out)
    return out


def changes(ev_sign: NDArray[np.int8], valid: NDArray[np.bool_], weight: Ints) -> Ints:
    """By event how many values that are not NULL it brings, or takes away: ``weight``, or one where that is empty."""
    change = ev_sign * weight if len(weight) else ev_sign.astype(np.int64)
    return change * valid if len(valid) else change


@inlined
def add_int128(low, high, more_low, more_high):  # type: ignore[no-untyped-def]
    """The words of a sum of two 128-bit integers, and how many times 2**128 it wrapped (-1, 0 or 1)."""
    a = nb.uint64(low)
    c = a + nb.uint64(more_low)
    top = high + more_high + (1 if c < a else 0)
    wrapped = 0
    if (high < 0) == (more_high < 0) and (top < 0) != (high < 0):
        wrapped = -1 if high < 0 else 1
    return nb.int64(c), top, wrapped


@kernel(nb.void(I64, I64, I64, I64, I64, I64, MI64, MI64, MI64, MI64, I64, MI64, MI64, MI64, MI64), cache=True)
def sum_int128(  # type: ignore[no-untyped-def]
    ev_group, change, low, high, ev_end, em_end, s_low, s_high, s_over, count, em_group, out_low, out_high, out_over,
    out_count
):  # fmt: skip
    """Sums of 128-bit integers in two's complement words, exact beyond 128 bits: ``over`` says how many times 2**128 is
    to be added. ``change`` by event: how many values that are not NULL come (or go, where it is negative) with it; see
    ``changes``."""
    i = 0
    e = 0
    for k in range(len(ev_end)):
        while i < ev_end[k]:
            g = ev_group[i]
            a = nb.uint64(s_low[g])
            before = s_high[g]
            if change[i] > 0:
                s_low[g] = nb.int64(a + nb.uint64(low[i]))
                s_high[g] = before + high[i] + (1 if nb.uint64(s_low[g]) < a else 0)
                if (before < 0) == (high[i] < 0) and (s_high[g] < 0) != (before < 0):
                    s_over[g] += -1 if before < 0 else 1
            elif change[i] < 0:
                s_low[g] = nb.int64(a - nb.uint64(low[i]))
                s_high[g] = before - high[i] - (1 if a < nb.uint64(low[i]) else 0)
                if (before < 0) != (high[i] < 0) and (s_high[g] < 0) != (before < 0):
                    s_over[g] += -1 if before < 0 else 1
            count[g] += change[i]
            i += 1
        while e < em_end[k]:
            out_low[e] = s_low[em_group[e]]
            out_high[e] = s_high[em_group[e]]
            out_over[e] = s_over[em_group[e]]
            out_count[e] = count[em_group[e]]
            e += 1


@kernel(nb.types.UniTuple(nb.int64, 2)(F64), cache=True)
def limb_range(values):  # type: ignore[no-untyped-def]
    """First and last limb that the finite, non-zero ``values`` touch; (1, 0) when there are none."""
    lo = 1 << 30
    hi = -1
    bits = values.view(np.int64)
    for i in range(len(values)):
        e = (bits[i] >> 52) & 0x7FF
        if e == 0x7FF or (bits[i] & 0x7FFFFFFFFFFFFFFF) == 0:
            continue
        shift = max(e - 1, 0)
        lo = min(lo, shift // LIMB_BITS)
        hi = max(hi, (shift + 52) // LIMB_BITS)
    return (1, 0) if hi < 0 else (lo, hi)


@kernel(nb.void(MI64x2, nb.int64, nb.int64, nb.float64, nb.int64), cache=True)
def _accumulate(limbs, g, offset, value, sign):  # type: ignore[no-untyped-def]
    bits = np.float64(value).view(np.int64)
    e = (bits >> 52) & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if e > 0:
        mantissa |= 1 << 52
    if mantissa == 0:
        return
    if bits < 0:
        sign = -sign
    shift = e - 1 if e > 0 else 0
    k = shift // LIMB_BITS - offset
    s = shift % LIMB_BITS
    low = nb.uint64(mantissa) << nb.uint64(s)
    limbs[g, k] += sign * nb.int64(low & nb.uint64(_LIMB_MASK))
    limbs[g, k + 1] += sign * nb.int64(low >> nb.uint64(32))
    if s > 11:
        limbs[g, k + 2] += sign * nb.int64(nb.uint64(mantissa) >> nb.uint64(64 - s))


@kernel(nb.void(MI64x2, nb.int64), cache=True)
def _carry(limbs, g):  # type: ignore[no-untyped-def]
    """Bring the group's limbs into [0, 2**32), the topmost keeping the sign: one form for one value."""
    top = limbs.shape[1] - 1
    for k in range(top):
        carry = limbs[g, k] >> LIMB_BITS
        limbs[g, k] -= carry << LIMB_BITS
        limbs[g, k + 1] += carry


@kernel(nb.float64(nb.uint64, nb.uint64, nb.int64, nb.boolean), cache=True)
def _nearest(bits, below, exponent, negative):  # type: ignore[no-untyped-def]
    """The double nearest to a magnitude (ties to even): its leading 64 bits, whether anything below is set, the
    exponent of the leading bit, its sign."""
    drop = 11
    if exponent < -1022:
        drop += -1022 - exponent
    if drop >= 64:
        return -0.0 if negative else 0.0
    kept = bits >> nb.uint64(drop)
    rest = bits & ((nb.uint64(1) << nb.uint64(drop)) - nb.uint64(1))
    half = nb.uint64(1) << nb.uint64(drop - 1)
    if rest > half or (rest == half and (below != 0 or (kept & nb.uint64(1)) != 0)):
        kept += nb.uint64(1)
    scale = exponent - 63 + drop
    value = np.float64(kept)
    if scale > 900:  # in two steps, so that the power of two itself stays finite
        value = value * 2.0**900 * 2.0 ** (scale - 900)
    elif scale < -1000:
        value = value * 2.0**-1000 * 2.0 ** (scale + 1000)
    else:
        value = value * 2.0**scale
    return -value if negative else value


@kernel(nb.float64(MI64x2, nb.int64, nb.int64, MI64), cache=True)
def _round(limbs, g, offset, work):  # type: ignore[no-untyped-def]
    """The double nearest to the group's sum (ties to even)."""
    width = limbs.shape[1]
    for k in range(width):
        work[k] = limbs[g, k]
    for k in range(width - 1):
        carry = work[k] >> LIMB_BITS
        work[k] -= carry << LIMB_BITS
        work[k + 1] += carry
    negative = work[width - 1] < 0
    if negative:
        for k in range(width):
            work[k] = -work[k]
        for k in range(width - 1):
            carry = work[k] >> LIMB_BITS
            work[k] -= carry << LIMB_BITS
            work[k + 1] += carry
    extra = work[width - 1] >> LIMB_BITS
    work[width - 1] -= extra << LIMB_BITS
    work[width] = extra
    top = width
    while top >= 0 and work[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    head = nb.uint64(work[top])
    length = 0
    while head >> nb.uint64(length) != 0:
        length += 1
    # the leading 64 bits of the magnitude, and whether anything below is set
    bits = head << nb.uint64(64 - length)
    below = nb.uint64(0)
    if top >= 1:
        nxt = nb.uint64(work[top - 1])
        room = 64 - length
        if room >= 32:
            bits |= nxt << nb.uint64(room - 32)
            if top >= 2 and room > 32:
                third = nb.uint64(work[top - 2])
                bits |= third >> nb.uint64(64 - room)
                below |= third & ((nb.uint64(1) << nb.uint64(64 - room)) - nb.uint64(1))
            elif top >= 2:
                below |= nb.uint64(work[top - 2])
        else:
            bits |= nxt >> nb.uint64(32 - room)
            below |= nxt & ((nb.uint64(1) << nb.uint64(32 - room)) - nb.uint64(1))
            if top >= 2:
                below |= nb.uint64(work[top - 2])
        for k in range(top - 2):
            below |= nb.uint64(work[k])
    exponent = (top + offset) * LIMB_BITS + length - 1 - 1074  # of the leading bit
    return _nearest(bits, below, exponent, negative)


@kernel(nb.float64(MI64x2, nb.int64, nb.int64, MI64, nb.int64, nb.int64, nb.int64), cache=True)
def _double(limbs, g, offset, work, nans, infinities, negative_infinities):  # type: ignore[no-untyped-def]
    """The double nearest to the group's sum, by how many NaNs and infinities of either sign are among its values."""
    if nans > 0 or (infinities > 0 and negative_infinities > 0):
        return np.nan
    if infinities > 0:
        return np.inf
    if negative_infinities > 0:
        return -np.inf
    return _round(limbs, g, offset, work)


@kernel(
    nb.void(I64, I8, B1, F64, I64, I64, MI64x2, nb.int64, MI64x2, I64, MF64, MF64, MI64),
    cache=True,
)
def sum_float(  # type: ignore[no-untyped-def]
    ev_group, ev_sign, valid, values, ev_end, em_end, limbs, offset, counts, em_group, out, rest, out_count
):
    """Exact sums of doubles, rounded once when shown. ``counts`` by group: values, NaNs, +Infs, -Infs in the window.

    ``rest`` (filled unless empty): what rounding left over, itself rounded, so that out + rest has twice the precision.
    """
    masked = len(valid) > 0
    work = np.empty(limbs.shape[1] + 1, np.int64)
    pending = 0
    i = 0
    e = 0
    for k in range(len(ev_end)):
        while i < ev_end[k]:
            if not masked or valid[i]:
                g = ev_group[i]
                v = values[i]
                counts[g, 0] += ev_sign[i]
                if np.isnan(v):
                    counts[g, 1] += ev_sign[i]
                elif np.isinf(v):
                    counts[g, 2 if v > 0 else 3] += ev_sign[i]
                else:
                    _accumulate(limbs, g, offset, v, ev_sign[i])
                pending += 1
                if pending == 1 << 29:  # before any limb could overflow
                    for other in range(limbs.shape[0]):
                        _carry(limbs, other)
                    pending = 0
            i += 1
        while e < em_end[k]:
            g = em_group[e]
            out_count[e] = counts[g, 0]
            out[e] = _double(limbs, g, offset, work, counts[g, 1], counts[g, 2], counts[g, 3])
            if len(rest) > 0:
                rest[e] = 0.0
                if np.isfinite(out[e]) and out[e] != 0.0:
                    _accumulate(limbs, g, offset, out[e], -1)
                    rest[e] = _round(limbs, g, offset, work)
                    _accumulate(limbs, g, offset, out[e], 1)
            e += 1
    for g in range(limbs.shape[0]):
        _carry(limbs, g)


@kernel(nb.void(I64, I8, I64, B1, I64, I64, MI64, MI64, I64, MI64), cache=True)
def count_distinct(ev_group, ev_sign, pair, valid, ev_end, em_end, pair_count, distinct, em_group, out):  # type: ignore[no-untyped-def]
    """COUNT(DISTINCT x): rows per (group, value) pair, and per group the pairs that have any."""
    masked = len(valid) > 0
    i = 0
    e = 0
    for k in range(len(ev_end)):
        while i < ev_end[k]:
            if not masked or valid[i]:
                p = pair[i]
                before = pair_count[p]
                pair_count[p] = before + ev_sign[i]
                if before == 0:
                    distinct[ev_group[i]] += 1
                elif pair_count[p] == 0:
                    distinct[ev_group[i]] -= 1
            i += 1
        while e < em_end[k]:
            out[e] = distinct[em_group[e]]
            e += 1


@kernel(nb.void(I8, I64, B1, MI64, MI8), cache=True)
def first_and_last(ev_sign, pair, valid, pair_count, out):  # type: ignore[no-untyped-def]
    """By event: 1 where the (group, value) pair gets its first row, -1 where it loses its last, else 0."""
    masked = len(valid) > 0
    for i in range(len(pair)):
        if not masked or valid[i]:
            p = pair[i]
            before = pair_count[p]
            pair_count[p] = before + ev_sign[i]
            if before == 0:
                out[i] = 1
            elif pair_count[p] == 0:
                out[i] = -1


def int128_to_double(low: Ints, high: Ints) -> NDArray[np.float64]:
    """The doubles nearest to 128-bit integers, up to one rounding of each word."""
    small = low.astype(np.float64)
    if fits_int64(low, high).all():
        return small
    wide = high.astype(np.float64) * 18446744073709551616.0 + low.view(np.uint64).astype(np.float64)
    return np.where(fits_int64(low, high), small, wide)


def fits_int64(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each 128-bit integer is within int64."""
    return high == (low >> 63)
