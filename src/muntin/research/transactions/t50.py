"""T50, thesis Theorem 7.5: where updates commit at once, LWS and CPS are the same."""

from __future__ import annotations

import random

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.scheduling.transactions.history import History, commit_order_preserving, latest_window_serializable
from muntin.scheduling.transactions.scheduler import interleaved


def judge(at_once: list[History], later: list[History]) -> tuple[Check, ...]:
    """Histories whose updates commit at once, and later."""
    unlike = [
        sum(latest_window_serializable(h) != commit_order_preserving(h) for h in part) for part in (at_once, later)
    ]
    kinds = {latest_window_serializable(h) for h in at_once}
    return (
        Check("equivalent where updates commit at once", f"{unlike[0]} of {len(at_once)} differ", unlike[0] == 0),
        Check("both kinds occur", f"{kinds}", kinds == {True, False}),
        Check("not equivalent otherwise", f"{unlike[1]} of {len(later)} differ", unlike[1] > 0),
    )


def run(setting: Setting) -> Outcome:
    """Random histories."""
    rng, count = random.Random(50), 150 if setting.smoke else 1500
    made = [[interleaved(rng, rng.choice([3, 4, 5]), immediate) for _ in range(count)] for immediate in (True, False)]
    return Outcome(judge(*made))


ENTRY = Entry("T50", "Theorem 7.5: LWS = CPS when updates commit immediately", "equivalence on random histories", run)
