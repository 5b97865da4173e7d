"""T36, thesis Figure 5.3: nested loops against Delta (``periods``).

Accesses decide. The text gives the comparison of timestamps ("padding", in Algorithm 3, not 2 as it says) as the
reason why eager evaluation gets worse; it shows in accesses too, since expired tuples are passed over. The notes have
the costs with each comparison of times as one more access: eager evaluation then jumps as soon as it expires lazily.

The thesis' range of Delta is not in the text; here it ends at 30 for windows of 100. From about 40 on lazyR hardly
changes (in the notes): larger windows outweigh larger groups.
"""

from __future__ import annotations

from itertools import pairwise

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.periods import DELTAS, Curves, costs, plot, restoring, told, with_times


def judge(curves: Curves) -> tuple[Check, ...]:
    """Order of the algorithms, and how each goes with Delta."""
    eager, lazy, restored = curves["eager"], curves["lazy"], curves["lazyR"]
    apart = [d for d in DELTAS if not lazy[d] < restored[d] < eager[d]]
    return (
        Check(
            "lazy < lazyR < eager for Delta > 0",
            "lazy < lazyR < eager" if not apart else f"not in order at Delta {apart}",
            not apart,
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
    notes = (
        told(curves),
        f"with comparisons of times: {told(with_times(1, tuples))}",
        f"beyond: {told({'lazyR': restoring(tuples, (40, 50, 60))})}",
    )
    return Outcome(judge(curves), notes, (plot("Figure 5.3", curves),))


ENTRY = Entry(
    "T36",
    "nested loops against Delta: lazy < lazyR < eager; eager increases with Delta, both lazy ones decrease",
    "those monotonicities and orderings for Delta>0",
    run,
)
