"""Reads in the order of time to update, as Algorithm 8 does them; nothing that was not replaced is read again."""

from __future__ import annotations

import random

import pytest

from muntin.scheduling.transactions.history import History, Op, latest_window_serializable
from muntin.scheduling.transactions.reading import Reading
from muntin.scheduling.transactions.scheduler import Event, Scheduler, schedule, ttu


def test_the_youngest_first_and_what_is_new_before_the_rest() -> None:
    reading = Reading((4, 3, 2, 1, 0))
    reading = reading.after(4)
    reading, gone = reading.updated((5, 4, 3, 2, 1))
    assert (reading.left, gone) == ((5, 3, 2, 1), frozenset())
    for pane in (5, 3, 2, 1):
        assert reading.next == pane
        reading = reading.after(pane)
    reading, gone = reading.updated((6, 5, 4, 3, 2))
    assert (reading.left, gone) == ((6,), {1}) and reading.after(6).next is None


@pytest.mark.parametrize("seed", range(30))
def test_it_reads_as_the_scheduler_does_until_something_read_is_replaced(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.choice([3, 5, 8])
    events: list[Event] = [("query", rng.randrange(1, n + 1)), *schedule(rng, n, 200, updates=0.2)]
    events = [events[0], *(e for e in events[1:] if e[0] != "query")]
    made = Scheduler(n, ttu).run(events)
    ops, read_again = followed(n, events)
    assert latest_window_serializable(History(tuple(ops), n, n - 1))
    if made.aborts == 0 and made.committed:
        assert ops == made.ops and read_again == 0


def followed(n: int, events: list[Event]) -> tuple[list[Op], int]:
    """The history of one query, which is done when it has read all of the newest version."""
    (_, size), *rest = events
    youngest, ops, again = n - 1, list[Op](), 0
    reading = Reading(tuple(range(youngest, youngest - size, -1)))
    done = False
    for kind, _ in rest:
        if kind == "update":
            youngest += 1
            ops += [Op("w", youngest, youngest % n), Op("c", youngest)]
            if not done:
                reading, gone = reading.updated(tuple(range(youngest, youngest - size, -1)))
                again += len(gone)
        elif not done and reading.next is not None:
            pane = reading.next
            ops.append(Op("r", "Q1", pane % n))
            reading = reading.after(pane)
            if reading.next is None:
                ops.append(Op("c", "Q1"))
                done = True
    if not done:
        ops += [Op("r", "Q1", p % n) for p in reading.left] + [Op("c", "Q1")]
    return ops, again
