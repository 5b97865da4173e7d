"""VAR_SAMP, VAR_POP, STDDEV_SAMP and STDDEV_POP."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator
from muntin.aggregates.description import NUMBERS, Aggregate, Functions, Keeps
from muntin.aggregates.moments import Moments, OfMoments
from muntin.kernels import moments
from muntin.plan.exprs import Agg

TERMS = ("x", "xx")


def _answer(agg: Agg, of: Moments) -> pa.Array:
    """Of numbers (as doubles) from exact sums of x and of x squared, combined in twice the precision.

    A sample's is divided by n - 1 (NULL over one value); the standard deviation is the root.
    """
    fewer = 1 if agg.base.endswith("samp") else 0
    variance = moments.spread(of.sums["x"], of.products("xx"), of.n).near / np.maximum(of.n - fewer, 1)
    result = np.sqrt(variance) if agg.base.startswith("stddev") else variance
    return pa.array(result, mask=of.n <= fewer)


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return OfMoments(name, arg, agg, TERMS, _answer, {"xx_rest": "rest"})


STDDEV_SAMP = Aggregate(
    "stddev_samp",
    ("stddev", "stddev_samp", "stdev", "std"),
    listed="STDDEV[_SAMP|_POP]",
    takes=NUMBERS,
    type=lambda t: pa.float64(),
    build=_build,
    keeps=Keeps.COUNTERS,
    distinct="yes",
    terms=TERMS,
    of_moments=_answer,
)
STDDEV_POP = replace(STDDEV_SAMP, fn="stddev_pop", names=("stddev_pop",), listed="")
VAR_SAMP = replace(
    STDDEV_SAMP,
    fn="var_samp",
    names=("variance", "var_samp", "variance_samp", "var"),
    listed="VARIANCE, VAR_[SAMP|POP]",
)
VAR_POP = replace(STDDEV_SAMP, fn="var_pop", names=("var_pop", "variance_pop"), listed="")
