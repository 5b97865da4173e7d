"""COVAR_POP, COVAR_SAMP, CORR and the REGR_ functions: of pairs (y, x), without those in which one is NULL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Accumulator
from muntin.aggregates.count import CountValues
from muntin.aggregates.description import NUMBERS, Aggregate, Functions, Keeps
from muntin.aggregates.moments import Moments, OfMoments
from muntin.kernels import moments
from muntin.kernels.moments import Total
from muntin.plan.exprs import Agg

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """What the answers are computed from, by emission: sums, and sums of products of distances from the means."""

    n: Doubles
    x: Total
    y: Total
    xx: Total
    yy: Total
    xy: Total


def _of_pairs(agg: Agg, of: Moments) -> pa.Array:
    """Of pairs of numbers (as doubles), from exact sums of x, y, x squared, y squared and x * y, combined in twice the
    precision."""
    sx, sy, n = of.sums["x"], of.sums["y"], of.n
    sxx, syy = moments.spread(sx, of.products("xx"), n), moments.spread(sy, of.products("yy"), n)
    sxy = moments.comoment(sx, sy, of.products("xy"), n)
    level = ((sxx.near == 0.0) | (syy.near == 0.0)) & np.isfinite(sxy.near)  # then 0, not what rounding left of it
    sxy = Total(np.where(level, 0.0, sxy.near), np.where(level, 0.0, sxy.rest))
    least, answer = _ANSWERS[agg.fn]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        value, unknown = answer(Fit(np.maximum(n, 1).astype(np.float64), sx, sy, sxx, syy, sxy))
    return pa.array(value, mask=(n < least) | unknown)


def _of_one(agg: Agg, of: Moments) -> pa.Array:
    """REGR_AVGX, REGR_AVGY, REGR_SXX and REGR_SYY: the average of one of the two numbers of each pair, or the sum of
    its squared distances from it."""
    letter, *squares = _OF_ONE[agg.fn]
    if squares:
        return pa.array(moments.spread(of.sums[letter], of.products(squares[0]), of.n).near, mask=of.n == 0)
    return pa.array(of.sums[letter].near / np.maximum(of.n, 1), mask=of.n == 0)


Answer = Callable[[Fit], tuple[Doubles, NDArray[np.bool_]]]
"""The values, and where there is none whatever the number of pairs."""


def _products(fit: Fit, over: Doubles | float = 1.0) -> tuple[Doubles, NDArray[np.bool_]]:
    return fit.xy.near / over, np.zeros(len(fit.n), np.bool_)


def _correlation(fit: Fit) -> Doubles:
    """Within [-1, 1], which rounding might leave."""
    both = fit.xx.near * fit.yy.near
    plain = np.isfinite(both) & (both > 1e-290)
    root = np.where(plain, np.sqrt(both), np.sqrt(fit.xx.near) * np.sqrt(fit.yy.near))
    return np.clip(fit.xy.near / root, -1.0, 1.0)


def _corr(fit: Fit) -> tuple[Doubles, NDArray[np.bool_]]:
    return _correlation(fit), (fit.xx.near == 0.0) | (fit.yy.near == 0.0)


def _slope(fit: Fit) -> tuple[Doubles, NDArray[np.bool_]]:
    return moments.over(fit.xy, fit.xx).near, fit.xx.near == 0.0


def _intercept(fit: Fit) -> tuple[Doubles, NDArray[np.bool_]]:
    rest = moments.minus(fit.y, moments.times(moments.over(fit.xy, fit.xx), fit.x))
    return rest.near / fit.n, fit.xx.near == 0.0


def _r2(fit: Fit) -> tuple[Doubles, NDArray[np.bool_]]:
    """1 where all y are the same: a level line goes through them."""
    return np.where(fit.yy.near == 0.0, 1.0, _correlation(fit) ** 2), fit.xx.near == 0.0


_ANSWERS: Mapping[str, tuple[int, Answer]] = {
    "covar_pop": (1, lambda fit: _products(fit, fit.n)),
    "covar_samp": (2, lambda fit: _products(fit, np.maximum(fit.n - 1.0, 1.0))),
    "corr": (2, _corr),
    "regr_sxy": (1, _products),
    "regr_slope": (1, _slope),
    "regr_intercept": (1, _intercept),
    "regr_r2": (1, _r2),
}
"""By function the least number of pairs that has an answer, and the answer."""


_PAIRS = ("x", "y", "xx", "yy", "xy")
_OF_ONE = {"regr_avgx": ("x",), "regr_avgy": ("y",), "regr_sxx": ("x", "xx"), "regr_syy": ("y", "yy")}
_ONE_NAME = {"y": "x", "yy": "xx", "yy_rest": "xx_rest"}


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    if agg.fn in _OF_ONE:
        return OfMoments(name, arg, agg, _OF_ONE[agg.fn], _of_one, _ONE_NAME)
    return OfMoments(name, arg, agg, _PAIRS, _of_pairs, {})


COVAR_POP = Aggregate(
    "covar_pop",
    ("covar_pop",),
    listed="COVAR_[SAMP|POP]",
    takes=NUMBERS,
    beside=NUMBERS,
    type=lambda t: pa.float64(),
    build=_build,
    keeps=Keeps.COUNTERS,
    terms=_PAIRS,
    of_moments=_of_pairs,
    distinct="yes",
)
REGR_COUNT = replace(
    COVAR_POP,
    fn="regr_count",
    names=("regr_count",),
    listed="REGR_[COUNT|AVGX|AVGY|SXX|SYY|SXY|SLOPE|INTERCEPT|R2]",
    type=lambda t: pa.int64(),
    build=lambda name, agg, arg, functions: CountValues(name, arg),
    empty=0,
    known="always",
    terms=(),
    of_moments=None,
)
REGRESSION = (
    COVAR_POP,
    replace(COVAR_POP, fn="covar_samp", names=("covar_samp",), listed=""),
    replace(COVAR_POP, fn="corr", names=("corr",), listed=None),
    REGR_COUNT,
    *(replace(COVAR_POP, fn=fn, names=(fn,), listed="") for fn in _ANSWERS if fn.startswith("regr_")),
    *(replace(COVAR_POP, fn=fn, names=(fn,), listed="", terms=t, of_moments=_of_one) for fn, t in _OF_ONE.items()),
)
