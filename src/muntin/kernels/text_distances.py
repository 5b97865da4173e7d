"""How far two texts are apart, and how one sounds: kernels over code points and bytes of whole columns."""

from __future__ import annotations

import numba as nb
import numpy as np

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MI64, U8

U32 = nb.types.Array(nb.types.uint32, 1, "C", readonly=True)
MU8 = nb.types.Array(nb.types.uint8, 1, "C")

_CODES = np.frombuffer(b"01230127022455012623017202", np.uint8)


@kernel(nb.void(U32, I64, U32, I64, MI64), cache=True)
def levenshtein(a, a_starts, b, b_starts, out):  # type: ignore[no-untyped-def]
    """Of each pair of rows the least number of characters put in, taken out or replaced that makes one the other (V. I.
    Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals")."""
    longest = 0
    for r in range(len(out)):
        longest = max(longest, b_starts[r + 1] - b_starts[r])
    costs = np.empty(longest + 1, np.int64)
    for r in range(len(out)):
        size = b_starts[r + 1] - b_starts[r]
        for j in range(size + 1):
            costs[j] = j
        for i in range(a_starts[r], a_starts[r + 1]):
            before, costs[0] = costs[0], costs[0] + 1
            for j in range(size):
                same = before if a[i] == b[b_starts[r] + j] else before + 1
                before = costs[j + 1]
                costs[j + 1] = min(same, before + 1, costs[j] + 1)
        out[r] = costs[size]


@kernel(nb.void(U8, I64, MU8), cache=True)
def soundex(data, starts, out):  # type: ignore[no-untyped-def]
    """Of each row that begins with a letter its code, four bytes of ``out``; of others zeros (R. Russell and M. Odell;
    here as Spark has it: a byte that is no letter parts equal codes, H and W do not)."""
    for r in range(len(starts) - 1):
        low, high, at = starts[r], starts[r + 1], 4 * r
        first = data[low] & 0xDF if low < high else 0
        if not 65 <= first <= 90:
            continue
        for k in range(1, 4):
            out[at + k] = 48
        out[at] = first
        last, written = _CODES[first - 65], 1
        for p in range(low + 1, high):
            letter = data[p] & 0xDF
            if not 65 <= letter <= 90:
                last = 48
                continue
            code = _CODES[letter - 65]
            if code == 55:
                continue
            if code != 48 and code != last:
                out[at + written] = code
                written += 1
                if written > 3:
                    break
            last = code
