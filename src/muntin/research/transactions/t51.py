"""T51, thesis Figure 7.8: how many queries Algorithm 7 aborts, and Algorithm 8 does not."""

from __future__ import annotations

from muntin.research.harness import Check, Entry
from muntin.research.transactions.figures import COSTS, Runs, at_both_rates, growing, told, value


def judge(fast: Runs, slow: Runs) -> tuple[Check, ...]:
    """Runs with t = 1 s and 5 s."""
    often, seldom = value(fast, "LWS", "abort_share"), value(slow, "LWS", "abort_share")
    none = max(*value(fast, "TTU", "abort_share"), *value(slow, "TTU", "abort_share"))
    return (
        Check("LWS: more aborts with t = 1 s", f"{told(fast, 'abort_share')} and {told(slow, 'abort_share')}",
              all(a > b for a, b in zip(often, seldom, strict=True))),
        Check("grows with n", f"{often} and {seldom}", growing(often) and growing(seldom)),
        Check("over half at t = 1 s and the most sub-windows", f"{often[-1]:.0%}", often[-1] > 0.5, COSTS),
        Check("TTU: at most 1 % of them", f"{none:.2%}", none <= 0.01 * max(often)),
    )  # fmt: skip


ENTRY = Entry(
    "T51",
    "Figure 7.8: aborts of Algorithm 7: more for t = 1 s than 5 s, growing with n, over half at t = 1 s, n = 100; "
    "Algorithm 8: none",
    "those three trends; Alg 8 aborts = 0 (or <= 1% of Alg 7's)",
    at_both_rates(
        "T51", "abort_share", judge, lambda dear: f"{value(dear, 'LWS', 'abort_share')[-1]:.0%} are aborted"
    ),
)
