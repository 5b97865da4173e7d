"""H5, Hammad et al. equation (2) and Figure 5: smallest window first against isolated execution.

The first row of the burst waits for nobody: what it finds in smaller slices leaves for larger windows at once, which
the formula does not have; so the scheduler's means are up to 1/m lower.
"""

from __future__ import annotations

import numpy as np

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting, curves
from muntin.research.shared_joins import analytic
from muntin.research.shared_joins.study import by_clock, told
from muntin.scheduling.swf import SWF

SWF_MS = (0.0255, 2.5745, 7.55, 12.55, 17.55, 22.55, 27.55)


def run(setting: Setting) -> Outcome:
    """Formula and scheduler."""
    shared, largest = analytic.swf(), analytic.lwo()
    exact = bool(np.allclose(1e3 * shared, SWF_MS, 5e-3))
    wall = setting.clock == "wall"
    slower = analytic.pair_time() / analytic.T_P if wall else 1.0
    played = analytic.counted(SWF, clock=setting.clock).mean / slower
    apart = float(np.abs(played / shared - 1).max())
    rises = bool((np.diff(shared) > 0).all() and (np.diff(played) > 0).all())
    crossings = [int((np.diff(np.sign(x - largest)) != 0).sum()) for x in (shared, played)]
    better = all(x[0] < largest[0] and x[-1] > largest[-1] for x in (shared, played))
    return Outcome(
        by_clock(setting, (
            Check("the formula gives the 7 values", f"{told(shared)} ms", exact),
            Check("what the scheduler counts is the formula's within 1/m", f"{apart:.2%} apart", apart <= 0.02),
            Check("SWF increases in w", told(played), rises),
            Check(
                "SWF < LWO for small windows, > for the largest, one crossover",
                f"{crossings} crossovers",
                better and crossings == [1, 1],
            ),
        )),
        plots=(
            Plot(
                "Figure 5", "window (s)", "mean response (ms)",
                curves(analytic.WINDOWS, {"SWF": 1e3 * shared, "isolated": 1e3 * analytic.isolated()}),
            ),
        ),
    )  # fmt: skip


ENTRY = Entry(
    "H5",
    "small queries' response is greatly reduced by SWF at the expense of larger ones",
    "formula values; SWF strictly increasing in w; SWF < LWO for the small windows and > for the largest; exactly one "
    "crossover",
    run,
)
