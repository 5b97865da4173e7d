"""T48, thesis Theorem 7.3: Algorithm 7 produces latest-window-serializable histories, for short windows too."""

from __future__ import annotations

import random

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.scheduling.transactions.history import latest_window_serializable
from muntin.scheduling.transactions.scheduler import Scheduler, ascending, at_random, proof_index, schedule, ttu


def judge(stale: int, committed: int, by_proof: int) -> tuple[Check, ...]:
    """Histories that are not LWS, with the index of the algorithm and with that of the proof."""
    return (
        Check("0 violations", f"{stale} histories of {committed} committed queries", stale == 0 and committed > 0),
        Check("the index in the proof, (j - n + n_k) mod n, is wrong", f"{by_proof} histories", by_proof > 0),
    )


def run(setting: Setting) -> Outcome:
    """Random schedules of queries over windows of any length, read in three orders."""
    stale = committed = by_proof = 0
    for seed in range(40 if setting.smoke else 400):
        n = 3 + seed % 5
        events = schedule(random.Random(seed), n, 200)
        for order in (ascending, ttu, at_random(seed)):
            made = Scheduler(n, order).run(events)
            stale += not latest_window_serializable(made.history)
            committed += made.committed
            by_proof += not latest_window_serializable(Scheduler(n, order, proof_index).run(events).history)
    return Outcome(judge(stale, committed, by_proof))


ENTRY = Entry("T48", "Theorem 7.3: Algorithm 7 yields LWS histories", "0 violations", run)
