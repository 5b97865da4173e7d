"""What the product's operators do per second, in the unit of the meter: each row that one takes in, gives out, or looks
at in state counts 1 (``engine.meter.Counter.work``). A function for each kind of state; ``cost`` puts them together.

The factors are what the meter counts on the queries of thesis 3.6 at windows from 25 to 40,000 rows, in batches of a
twentieth of the window; a test holds the estimates to within a factor of what is counted.
"""

from __future__ import annotations

from muntin.optimizer.flow import Flow
from muntin.optimizer.statistics import Statistics
from muntin.optimizer.strategy import Strategy
from muntin.plan.patterns import Pattern

CHUNKS = 15.0
"""Rows that a probe looks at beside its matches: some in each chunk of a window whose rows leave by pane."""
RUNS = 6.5
"""The same where chunks are merged by size alone, since negative tuples take rows away."""
SHOWN = 19.0
"""The same in what DISTINCT shows."""
MOVED = 3.0
"""Rows looked at to find when a kept row starts and leaves, and to merge it: by bisection, per row."""
KEYS = 2.0
"""Runs of a table of groups in which a key is looked for."""


def signed(f: Flow, strategy: Strategy) -> bool:
    """Whether rows of the edge are taken away by negative tuples."""
    return f.pattern is Pattern.STR or (strategy is Strategy.NT and f.pattern is not Pattern.MON)


def coming(f: Flow, strategy: Strategy) -> float:
    """Rows per second that travel on the edge, negative tuples too."""
    return f.rate + f.early + (f.expiring if strategy is Strategy.NT else 0.0)


def entered(f: Flow, strategy: Strategy, announced: bool) -> float:
    """A window of a source: rows pass it; under NT it keeps them, and a second operator passes their expiries on
    (``announced``: of windows of time)."""
    if strategy is not Strategy.NT or not announced:
        return 2 * f.rate
    return 2 * f.rate + (2 + MOVED) * f.rate + f.expiring + 2 * (f.rate + f.expiring)


def waited(f: Flow, s: Statistics, strategy: Strategy) -> float:
    """Rows that are kept until they leave; nothing is looked at of those that negative tuples take away."""
    if f.pattern is Pattern.MON or signed(f, strategy):
        return 0.0
    found = MOVED * f.rate
    return found + scanned(f.size, s) if strategy is Strategy.DIRECT else found


def scanned(size: float, s: Statistics) -> float:
    """Looking at all rows once a batch."""
    return size / s.step


def probed(f: Flow, strategy: Strategy) -> float:
    """Rows looked at by a probe of a window, beside its matches."""
    return min(RUNS if signed(f, strategy) else CHUNKS, max(f.size, 1.0))


def shown(values: float, asked: float, s: Statistics) -> float:
    """Rows that a probe of what DISTINCT shows looks at: some in each chunk, of which there are as many as it takes
    batches to bring all values."""
    return min(SHOWN, 5 * values / max(asked * s.step, 1e-9), max(values, 1.0))


def per_batch(rate: float, values: float, s: Statistics) -> float:
    """Different values per second that are asked for, each once a batch, of ``rate`` rows per second."""
    v = max(values, 1.0)
    return float(min(rate, v * (1 - (1 - 1 / v) ** (rate * s.step)) / s.step)) if v > 1 else min(rate, 1 / s.step)


def grouped(events: float, values: float, s: Statistics) -> float:
    """A table of groups: each group that an event concerns is looked for once a batch, and rewritten."""
    return KEYS * per_batch(events, values, s)
