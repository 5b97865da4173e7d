"""VAR_SAMP, VAR_POP, STDDEV_SAMP and STDDEV_POP."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, Replay
from muntin.aggregates.description import NUMBERS, Aggregate, Functions, Keeps
from muntin.aggregates.sum import doubles, product_sums, summed
from muntin.kernels import moments
from muntin.plan.exprs import Agg


@dataclass(frozen=True)
class Variance:
    """VAR and STDDEV of numbers (as doubles) from exact sums of x and of x squared, combined in twice the precision.

    ``sample``: divided by n - 1 (NULL over one value); ``root``: the standard deviation.
    """

    name: str
    arg: str
    sample: bool
    root: bool

    def values(self, replay: Replay) -> pa.Array:
        x = doubles(replay.events.rows.column(self.arg))
        sx, n = summed(f"{self.name}.x", replay, x)
        squares = product_sums((f"{self.name}.xx", f"{self.name}.rest"), replay, x, x)
        variance = moments.spread(sx, squares, n).near / np.maximum(n - (1 if self.sample else 0), 1)
        result = np.sqrt(variance) if self.root else variance
        return pa.array(result, mask=n <= (1 if self.sample else 0))


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return Variance(name, arg, agg.fn.endswith("samp"), agg.fn.startswith("stddev"))


STDDEV_SAMP = Aggregate(
    "stddev_samp",
    ("stddev", "stddev_samp", "stdev", "std"),
    listed="STDDEV[_SAMP|_POP]",
    takes=NUMBERS,
    type=lambda t: pa.float64(),
    build=_build,
    keeps=Keeps.COUNTERS,
    distinct="yes",
)
STDDEV_POP = replace(STDDEV_SAMP, fn="stddev_pop", names=("stddev_pop",), listed="")
VAR_SAMP = replace(
    STDDEV_SAMP,
    fn="var_samp",
    names=("variance", "var_samp", "variance_samp", "var"),
    listed="VARIANCE, VAR_[SAMP|POP]",
)
VAR_POP = replace(STDDEV_SAMP, fn="var_pop", names=("var_pop", "variance_pop"), listed="")
