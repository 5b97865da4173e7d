"""VAR_SAMP, VAR_POP, STDDEV_SAMP and STDDEV_POP."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.accumulators import Accumulator, Replay
from muntin.aggregates.description import NUMBERS, Aggregate, Functions, Keeps
from muntin.aggregates.sum import SumFloat
from muntin.kernels import sums
from muntin.kernels.hashing import as_float64, validity_of
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
        x = replay.events.rows.column(self.arg).cast(pa.float64(), safe=False)  # the nearest double
        square, rest = sums.squares(as_float64(x))
        parts = []
        for part, column in (("x", x), ("xx", pa.array(square)), ("rest", pa.array(rest))):
            mask = pa.array(validity_of(x)) if x.null_count else None
            masked = column if mask is None else pc.if_else(mask, column, pa.scalar(None, pa.float64()))
            parts.append(SumFloat(f"{self.name}.{part}", self.arg, "sum").sums_of(replay, masked))
        (sx, sx_low, n), (sq, sq_low, _), (sr, _, _) = parts
        variance = sums.variance(sx, sx_low, sq, sq_low + sr, n, self.sample)
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
