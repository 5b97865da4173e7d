"""T49, thesis Theorem 7.4: reading in the order of time to update has the fewest aborts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.scheduling.transactions.scheduler import (
    Event,
    Order,
    Scheduler,
    ascending,
    at_random,
    oldest_first,
    schedule,
    ttu,
)


def spaced(rng: random.Random, n: int) -> list[Event]:
    """Queries over the whole window with at most one update in each."""
    found: list[Event] = []
    for _ in range(30):
        steps: list[Event] = [("step", 0)] * n
        steps.insert(rng.randrange(n + 1), ("update", 0))
        found += [("query", n), *steps]
    return found


def judge(aborts: Mapping[str, Sequence[int]], single: int) -> tuple[Check, ...]:
    """Aborts by order of reading and schedule; ``single``: of Algorithm 8 with at most one update a query."""
    best = aborts["TTU"]
    more = {name: sum(b > a for a, b in zip(line, best, strict=True)) for name, line in aborts.items()}
    told = ", ".join(f"{name} {sum(line)}" for name, line in aborts.items())
    return (
        Check("aborts(TTU) <= aborts of any order, in all", told, all(sum(best) <= sum(x) for x in aborts.values())),
        Check(
            "... on every schedule", f"schedules in which it has more: {more}", not any(more.values()), STARTED_OVER,
        ),
        Check("none with at most one update a query", f"{single}", single == 0),
    )  # fmt: skip


STARTED_OVER = (
    "the proof takes the queries of both schedulers to go on alike; where an aborted query starts over, later updates "
    "meet the queries at other reads, so a schedule can be unlucky"
)


def run(setting: Setting) -> Outcome:
    """The same random schedules under every order."""
    orders: dict[str, Order] = {"TTU": ttu, "ascending": ascending, "oldest first": oldest_first}
    aborts: dict[str, list[int]] = {name: [] for name in (*orders, "random")}
    single = 0
    for seed in range(60 if setting.smoke else 600):
        n = (5, 10)[seed % 2]
        events = schedule(random.Random(seed), n, 300, updates=0.05)
        for name, order in {**orders, "random": at_random(seed)}.items():
            aborts[name].append(Scheduler(n, order).run(events).aborts)
        single += Scheduler(n, ttu).run(spaced(random.Random(seed), n)).aborts
    return Outcome(judge(aborts, single), figures={name: sum(line) for name, line in aborts.items()})


ENTRY = Entry(
    "T49",
    "Theorem 7.4: the order of time to update minimises aborts",
    "aborts(TTU) <= aborts(any fixed or random order) on every schedule; = 0 when at most one update occurs per query",
    run,
)
