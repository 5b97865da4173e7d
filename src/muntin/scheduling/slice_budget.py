"""Which queries of a shared join run where there is no time for all of its slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def within_budget(
    order: Sequence[int], last: Sequence[int], cost: Callable[[frozenset[int]], float], budget: float
) -> frozenset[int]:
    """The queries that run: slices are done in ``order`` for as long as what they serve costs no more than ``budget``.

    ``last``: of each query the slice with which its window ends; a query is served when that slice and all before it
    are done. Whoever is served first runs in any case. Cost: one call of ``cost`` a slice.
    """
    done: set[int] = set()
    chosen: frozenset[int] = frozenset()
    for number in order:
        done.add(number)
        served = frozenset(q for q, end in enumerate(last) if all(s in done for s in range(end + 1)))
        if served == chosen:
            continue
        if chosen and cost(served) > budget:
            break
        chosen = served
    return chosen


def share_done(
    sizes: Sequence[float], last: Sequence[int], due: frozenset[int], waited: Sequence[int]
) -> float:
    """How much of the join is done for the queries that are due, in whole joins of one batch: each slice that one of
    them needs, for as many batches as nobody has needed it (``waited``: by query the batches that it has waited)."""
    reach = max((last[q] for q in due), default=-1)
    found = 0.0
    for number, size in enumerate(sizes[: reach + 1]):
        found += size * (1 + min(waited[q] for q, end in enumerate(last) if end >= number))
    return found / sum(sizes)
