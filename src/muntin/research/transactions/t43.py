"""T43, thesis Figures 7.1 and 7.7: staleness, response time and time between executions on a timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from muntin.research.harness import Check, Entry, Outcome, Setting


@dataclass(frozen=True)
class Execution:
    """A run of a query: when it was asked for and reported, and the last update that its answer reflects."""

    asked: float
    reported: float
    reflects: float


def staleness(e: Execution) -> float:
    """How old the state is that an answer shows when it is reported."""
    return e.reported - e.reflects


def response(e: Execution) -> float:
    """From the question to its answer."""
    return e.reported - e.asked


def between(reports: Sequence[Execution]) -> list[float]:
    """Times between successive answers of a persistent query."""
    return [b.reported - a.reported for a, b in pairwise(reports)]


LINES: Mapping[str, tuple[Execution, ...]] = {
    "a": (Execution(1, 2, 0), Execution(11, 12, 10)),
    "b": (Execution(1, 2, 0), Execution(9, 13, 0)),
    "c": (Execution(1, 2, 0), Execution(9, 14, 11)),
}
"""The third query of Figure 7.1, updates every 10 that take 1, drawn with our own lengths (the figure is an image): (a)
all queries fit between updates; (b) it is late, and the update waits for it; (c) it is suspended for the update and
then sees it."""


def judge(lines: Mapping[str, Sequence[Execution]]) -> tuple[Check, ...]:
    """The metrics of each line."""
    found = {
        name: ([staleness(e) for e in line], [response(e) for e in line], between(line)) for name, line in lines.items()
    }
    expected = {"a": ([2, 2], [1, 1], [10]), "b": ([2, 13], [1, 4], [11]), "c": ([2, 3], [1, 5], [12])}
    late, suspended = lines["b"][-1], lines["c"][-1]
    return (
        Check("unit tests of the three metrics", f"staleness, response, between: {found}", found == expected),
        Check(
            "suspended for the update: delayed by it, and more up to date (7.1)",
            f"response {response(late):g} and {response(suspended):g}, staleness {staleness(late):g} and "
            f"{staleness(suspended):g}",
            response(suspended) == response(late) + 1 and staleness(suspended) < staleness(late),
        ),
    )


def run(setting: Setting) -> Outcome:
    """The three timelines."""
    return Outcome(judge(LINES))


ENTRY = Entry(
    "T43",
    "Figures 7.1, 7.7: staleness = report time - time of the last update reflected; response = end - start; "
    "inter-execution",
    "unit tests of the three metrics",
    run,
)
