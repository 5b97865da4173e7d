"""Array types of kernel signatures. Inputs are read-only types, which writable arrays convert to, so each kernel is
compiled once whether its input is memory-mapped or fresh."""

from __future__ import annotations

from numba import types

I64 = types.Array(types.int64, 1, "C", readonly=True)
I32 = types.Array(types.int32, 1, "C", readonly=True)
I16 = types.Array(types.int16, 1, "C", readonly=True)
I8 = types.Array(types.int8, 1, "C", readonly=True)
U8 = types.Array(types.uint8, 1, "C", readonly=True)
B1 = types.Array(types.boolean, 1, "C", readonly=True)
F64 = types.Array(types.float64, 1, "C", readonly=True)

MI64 = types.Array(types.int64, 1, "C")
MI32 = types.Array(types.int32, 1, "C")
MI16 = types.Array(types.int16, 1, "C")
MI8 = types.Array(types.int8, 1, "C")
MB1 = types.Array(types.boolean, 1, "C")
MF64 = types.Array(types.float64, 1, "C")
MI64x2 = types.Array(types.int64, 2, "C")
