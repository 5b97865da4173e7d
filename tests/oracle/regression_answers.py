"""Aggregates of pairs, and what Spark answers where there is no line or no number."""

from __future__ import annotations

import math

NAMES = (
    "COVAR_POP", "COVAR_SAMP", "CORR", "REGR_COUNT", "REGR_AVGX", "REGR_AVGY", "REGR_SXX", "REGR_SYY", "REGR_SXY",
    "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2",
)  # fmt: skip


def every(y: str, x: str, names: tuple[str, ...] = NAMES) -> str:
    return ", ".join(f"{name}({y}, {x}) AS {name.lower()}" for name in names)


NAN = math.nan
ANSWERS: dict[str, tuple[list[tuple[float | None, float | None]], list[float | None]]] = {
    "no pairs": ([(None, 1), (1, None)], [None, None, None, 0, *[None] * 8]),
    "one": ([(2, 0.1)], [0, None, None, 1, 0.1, 2, 0, 0, 0, None, None, None]),
    "one x": ([(1, 0.1), (2, 0.1), (6, 0.1)], [0, 0, None, 3, 0.1, 3, 0, 14, 0, None, None, None]),
    "one y": ([(0.1, 1), (0.1, 2), (0.1, 6)], [0, 0, None, 3, 3, 0.1, 14, 0, 0, 0, 0.1, 1]),
    "a line": ([(1, 1), (2, 2), (9, 3), (None, 4), (4, 4)],
               [2, 8 / 3, 8 / math.sqrt(190), 4, 2.5, 4, 5, 38, 8, 1.6, 0, 64 / 190]),
    "y is none": ([(NAN, 1), (2, 2)], [NAN, NAN, NAN, 2, 1.5, NAN, 0.5, NAN, NAN, NAN, NAN, NAN]),
    "one, none": ([(NAN, 1)], [NAN, None, None, 1, 1, NAN, 0, NAN, NAN, None, None, None]),
    "one, x is none": ([(1, NAN)], [NAN, None, None, 1, NAN, 1, NAN, 0, NAN, NAN, NAN, 1]),
    "x is none, one y": ([(1, NAN), (1, 2)], [NAN, NAN, None, 2, NAN, 1, NAN, 0, NAN, NAN, NAN, 1]),
    "y is none, one x": ([(NAN, 2), (1, 2)], [NAN, NAN, None, 2, 2, NAN, 0, NAN, NAN, None, None, None]),
    "without end": ([(math.inf, 1), (2, 2)], [NAN, NAN, NAN, 2, 1.5, math.inf, 0.5, NAN, NAN, NAN, NAN, NAN]),
}  # fmt: skip
"""What Spark answers, in the order of ``NAMES`` (``spark/test_functions_computed_here.py`` asks it)."""
