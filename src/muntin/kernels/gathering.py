"""Rows picked from several chunks straight into one array: no copy per chunk that is then copied together."""

from __future__ import annotations

import numba as nb

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I32, I64, MI32, MI64


@kernel(nb.void(I64, I32, MI64, nb.int64), cache=True)
def take_64(values, index, out, at):  # type: ignore[no-untyped-def]
    """``out[at + k] = values[index[k]]`` for 64-bit values."""
    for k in range(len(index)):
        out[at + k] = values[index[k]]


@kernel(nb.void(I32, I32, MI32, nb.int64), cache=True)
def take_32(values, index, out, at):  # type: ignore[no-untyped-def]
    """As ``take_64``, for 32-bit values."""
    for k in range(len(index)):
        out[at + k] = values[index[k]]


@kernel(nb.void(I32, I32, I64, I64, I64, I64, MI64, MI64, nb.int64), cache=True)
def meet_into(left, right, start, exp, c_start, c_exp, starts, exps, at):  # type: ignore[no-untyped-def]
    """Start and exp of the intersections of pairs (row ``left[k]``, row ``right[k]``), from place ``at`` on."""
    for k in range(len(left)):
        starts[at + k] = max(start[left[k]], c_start[right[k]])
        exps[at + k] = min(exp[left[k]], c_exp[right[k]])


@kernel(nb.void(I64, I32, I64, I64, MI64), cache=True)
def take_runs_64(values, index, low, high, out):  # type: ignore[no-untyped-def]
    """``out[p] = values[index[p]]`` for the places p in the runs ``[low[r], high[r])``, of 64-bit values."""
    for r in range(len(low)):
        for p in range(low[r], high[r]):
            out[p] = values[index[p]]


@kernel(nb.void(I32, I32, I64, I64, MI32), cache=True)
def take_runs_32(values, index, low, high, out):  # type: ignore[no-untyped-def]
    """As ``take_runs_64``, for 32-bit values."""
    for r in range(len(low)):
        for p in range(low[r], high[r]):
            out[p] = values[index[p]]
