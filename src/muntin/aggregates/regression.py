"""COVAR_POP, COVAR_SAMP, CORR and the REGR_ functions: of pairs (y, x), without those in which one is NULL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Accumulator, Replay
from muntin.aggregates.count import CountValues
from muntin.aggregates.description import NUMBERS, Aggregate, Functions, Keeps
from muntin.aggregates.sum import doubles, product_sums, summed
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


@dataclass(frozen=True)
class Regression:
    """A function of pairs of numbers (as doubles), from exact sums of x, y, x squared, y squared and x * y, combined in
    twice the precision. ``arg``: a column of structs (y, x)."""

    name: str
    arg: str
    fn: str

    def values(self, replay: Replay) -> pa.Array:
        y, x = (doubles(column) for column in replay.events.rows.column(self.arg).flatten())
        (sx, n), (sy, _) = (summed(f"{self.name}.{part}", replay, of) for part, of in (("x", x), ("y", y)))
        xx, yy, xy = (
            product_sums((f"{self.name}.{part}", f"{self.name}.{part}_rest"), replay, a, b)
            for part, a, b in (("xx", x, x), ("yy", y, y), ("xy", x, y))
        )
        sxx, syy, sxy = moments.spread(sx, xx, n), moments.spread(sy, yy, n), moments.comoment(sx, sy, xy, n)
        level = ((sxx.near == 0.0) | (syy.near == 0.0)) & np.isfinite(sxy.near)  # then 0, not what rounding left of it
        sxy = Total(np.where(level, 0.0, sxy.near), np.where(level, 0.0, sxy.rest))
        least, answer = _ANSWERS[self.fn]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, unknown = answer(Fit(np.maximum(n, 1).astype(np.float64), sx, sy, sxx, syy, sxy))
        return pa.array(value, mask=(n < least) | unknown)


@dataclass(frozen=True)
class OfOne:
    """REGR_AVGX, REGR_AVGY, REGR_SXX and REGR_SYY: the average of one of the two numbers of each pair, or its
    ``squares``, the sum of squared distances from it. ``place`` in the pairs: 0 of y, 1 of x."""

    name: str
    arg: str
    place: int
    squares: bool

    def values(self, replay: Replay) -> pa.Array:
        x = doubles(replay.events.rows.column(self.arg).flatten()[self.place])
        sx, n = summed(f"{self.name}.x", replay, x)
        if self.squares:
            xx = product_sums((f"{self.name}.xx", f"{self.name}.xx_rest"), replay, x, x)
            return pa.array(moments.spread(sx, xx, n).near, mask=n == 0)
        return pa.array(sx.near / np.maximum(n, 1), mask=n == 0)


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
    "regr_slope": (2, _slope),
    "regr_intercept": (2, _intercept),
    "regr_r2": (2, _r2),
}
"""By function the least number of pairs that has an answer, and the answer."""


_OF_ONE = {"regr_avgx": (1, False), "regr_avgy": (0, False), "regr_sxx": (1, True), "regr_syy": (0, True)}


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    if agg.fn in _OF_ONE:
        return OfOne(name, arg, *_OF_ONE[agg.fn])
    return Regression(name, arg, agg.fn)


COVAR_POP = Aggregate(
    "covar_pop",
    ("covar_pop",),
    listed="COVAR_[SAMP|POP]",
    takes=NUMBERS,
    beside=NUMBERS,
    type=lambda t: pa.float64(),
    build=_build,
    keeps=Keeps.COUNTERS,
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
)
REGRESSION = (
    COVAR_POP,
    replace(COVAR_POP, fn="covar_samp", names=("covar_samp",), listed=""),
    replace(COVAR_POP, fn="corr", names=("corr",), listed=None),
    REGR_COUNT,
    *(replace(COVAR_POP, fn=fn, names=(fn,), listed="") for fn in (*_OF_ONE, *_ANSWERS) if fn.startswith("regr_")),
)
