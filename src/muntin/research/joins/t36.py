"""T36, thesis Figure 5.3: nested loops against Delta (``periods``), in operations.

The text gives the comparison of timestamps ("padding", in Algorithm 3, not 2 as it says) as the reason why eager
evaluation gets worse: eager evaluation jumps as soon as it expires lazily, since every tuple looked at has then to be
compared. In accesses (in the figures) it rises from Delta to Delta, since expired tuples are passed over.
"""

from __future__ import annotations

from itertools import pairwise

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.periods import DELTAS, Curves, costs, counted, figures, plot, told


def judge(curves: Curves, why: str = "") -> tuple[Check, ...]:
    """Order of the algorithms, and how each goes with Delta. ``why``: the parts of the runs that are out of order."""
    eager, lazy, restored = curves["eager"], curves["lazy"], curves["lazyR"]
    apart = [d for d in DELTAS if not lazy[d] < restored[d] < eager[d]]
    return (
        Check(
            "lazy < lazyR < eager for Delta > 0",
            "lazy < lazyR < eager" if not apart else f"not in order at Delta {apart}",
            not apart,
            why,
        ),
        Check(
            "eager increases with Delta",
            f"eager {eager[0]:.0f}..{eager[DELTAS[-1]]:.0f}",
            all(a < b for a, b in pairwise(eager.values())),
        ),
        *(
            Check(
                f"{name} decreases with Delta",
                f"{name} {curve[DELTAS[0]]:.0f}..{curve[DELTAS[-1]]:.0f}",
                all(a > b for a, b in pairwise(curve.values())),
            )
            for name, curve in (("lazy", lazy), ("lazyR", restored))
        ),
    )


def run(setting: Setting) -> Outcome:
    """The three algorithms."""
    tuples = 6000 if setting.smoke else 13_000
    curves = costs(1, tuples)
    why = counted(tuples, 1, ("lazy", DELTAS[0]), ("lazyR", DELTAS[0]), ("eager", DELTAS[0]))
    return Outcome(judge(curves, why), (told(curves),), (plot("Figure 5.3", curves),), figures(tuples, (1,)))


ENTRY = Entry(
    "T36",
    "nested loops against Delta: lazy < lazyR < eager; eager increases with Delta, both lazy ones decrease",
    "those monotonicities and orderings for Delta>0",
    run,
)
