"""Answers recomputed from scratch at every instant, as (rows, sum of hashes): what the engines' logs must equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from muntin.research.engines.workload import Trace
from muntin.research.kernels.strategies import mix

Log = NDArray[np.int64]
Naive = Callable[[Trace, int], Log]


def _log(trace: Trace, window: int, answer: Callable[[list[int]], Iterable[int]]) -> Log:
    """``answer``: from the numbers of the tuples alive to the hashes of the rows that answer."""
    found = []
    for now in np.unique(trace.ts):
        alive = np.flatnonzero((trace.ts <= now) & (trace.ts + window > now)).tolist()
        rows = list(answer(alive))
        total = sum(rows) & (2**64 - 1)
        found.append((len(rows), total - 2**64 if total >= 2**63 else total))
    return np.array(found, np.int64)


def join_of(protocol: int) -> Naive:
    """Query 1."""

    def run(trace: Trace, window: int) -> Log:
        def answer(alive: list[int]) -> Iterable[int]:
            kept = [i for i in alive if trace.protocol[i] == protocol]
            return _pairs(trace, kept, kept)

        return _log(trace, window, answer)

    return run


def distinct_of(column: str) -> Naive:
    """Query 2."""

    def run(trace: Trace, window: int) -> Log:
        values = getattr(trace, column)
        return _log(trace, window, lambda alive: [mix(int(v), 1) for v in set(values[alive].tolist())])

    return run


def negation(trace: Trace, window: int) -> Log:
    """Query 3."""

    def answer(alive: list[int]) -> Iterable[int]:
        left = Counter(int(trace.source[i]) for i in alive if trace.link[i] == 0)
        right = Counter(int(trace.source[i]) for i in alive if trace.link[i] == 1)
        return [mix(v, 1) for v in (left - right).elements()]

    return _log(trace, window, answer)


def negation_and_join(trace: Trace, window: int) -> Log:
    """Query 4."""

    def answer(alive: list[int]) -> Iterable[int]:
        third = {int(trace.source[i]) for i in alive if trace.link[i] == 2}
        left = [i for i in alive if int(trace.source[i]) not in third]
        return _pairs(trace, left, [i for i in alive if trace.protocol[i] == 1])

    return _log(trace, window, answer)


def _pairs(trace: Trace, left: list[int], right: list[int]) -> Iterable[int]:
    return [
        mix(i, j)
        for i in left
        if trace.link[i] == 0
        for j in right
        if trace.link[j] == 1 and trace.source[i] == trace.source[j]
    ]
