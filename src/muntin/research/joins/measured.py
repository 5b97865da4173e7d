"""Counted work of joins on generated input, per unit time of the parameters, beside what the cost model says."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.research.joins.parameters import Streams
from muntin.research.joins.setting import Algorithm, Order, Strategy
from muntin.research.joins.workload import Load, synthetic


@dataclass(frozen=True)
class Work:
    """Per unit time. ``comparisons``: of attributes, of tuples whose times allow it; ``accesses``: tuples looked at in
    loops, dead and future ones too, which is what the cost model counts under lazy evaluation. ``results``: in all.
    ``operations``: all work (``research.unit``)."""

    comparisons: float
    accesses: float
    results: int
    operations: float = 0.0


def load_of(streams: Streams, units: float, seed: int, balanced: bool = False) -> Load:
    """Input whose counted part lasts so many units of time; ``balanced`` as in ``workload.synthetic``."""
    rates, spans, distinct = ([getattr(s, name) for s in streams] for name in ("rate", "span", "distinct"))
    return synthetic(rates, spans, [int(v) for v in distinct], round(units * sum(rates)), seed, balanced)


def work(load: Load, orders: tuple[Order, ...], algorithm: Algorithm = "eager", interval: float = 0) -> Work:
    """One run; ``interval`` in units of time, 0 for eager evaluation and expiration."""
    strategy = Strategy(algorithm, orders, load.ticks(interval) if interval else 0)
    found = load.measure(strategy)
    units = found.tuples / load.unit
    c = found.counts
    return Work(c.comparisons / units, c.looked / units, c.results, c.operations / units)
