"""On which windows to build hash indexes, and with how many buckets (Golab & Ozsu 2003, 5.4 and 6.5).

What runs chooses its indexes by ``largest_sets`` too, costed with what it measured (``operators.joins.memory``). It
does without the strategies for buckets, Equal and k-to-slow: the directory of a chunk has about a bucket a row and lies
beside the rows, so a probe meets its mates alone however fast the stream is, and more buckets would spare nothing.
Where memory is short a whole index goes, which frees more than smaller ones would.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

from muntin.optimizer.multiway.climb import eager_climbed
from muntin.optimizer.multiway.heuristics import Proposal, fast
from muntin.optimizer.multiway.streams import JoinStream

K = TypeVar("K", bound=Hashable)


def largest_sets(sizes: Mapping[K, float], room: float) -> Iterator[tuple[K, ...]]:
    """The sets of indexes that fit in ``room`` and to which none can be added: none makes probing dearer, so the best
    set is one of them. Larger sets first; O(2^n n)."""
    for count in range(len(sizes), -1, -1):
        for chosen in combinations(sizes, count):
            left = room - sum(sizes[x] for x in chosen)
            if left >= 0 and all(sizes[x] > left for x in sizes if x not in chosen):
                yield chosen


def with_buckets(streams: Sequence[JoinStream], buckets: Sequence[int]) -> tuple[JoinStream, ...]:
    """The streams with these numbers of buckets."""
    return tuple(replace(s, buckets=b) for s, b in zip(streams, buckets, strict=True))


def choose_indexes(streams: Sequence[JoinStream], buckets: int, budget: int) -> tuple[tuple[int, ...], Proposal]:
    """Which windows get an index of ``buckets`` each when ``budget`` buckets fit in memory, and the order then.

    As many as fit, since none makes probing dearer; each such set is costed with an order of its own
    (``eager_climbed``), binomial(n, fit) times.

    Raises:
        ValueError: an index has at least two buckets, and a budget is not negative.
    """
    if buckets < 2 or budget < 0:
        raise ValueError(f"an index has at least two buckets, a budget is not negative: {buckets}, {budget}")
    n = len(streams)
    sets = list(largest_sets(dict.fromkeys(range(n), buckets), budget))
    proposals = [
        eager_climbed(with_buckets(streams, [buckets if i in chosen else 1 for i in range(n)])) for chosen in sets
    ]
    best = min(range(len(sets)), key=lambda k: proposals[k].cost)
    return sets[best], proposals[best]


def equal_buckets(streams: Sequence[JoinStream], average: int) -> tuple[int, ...]:
    """Strategy Equal: ``average`` buckets for every window."""
    return k_to_slow(streams, average, average)


def k_to_slow(streams: Sequence[JoinStream], average: int, k: int) -> tuple[int, ...]:
    """Strategy k-to-slow: ``k`` buckets for each slow stream, what is left of n ``average`` to the fastest.

    Several fast streams share evenly what is left, the first ones taking the remainder. Beware: new tuples of the fast
    stream on top scan the slow windows most of the time, so in the model this pays only under GENERAL with orders that
    put the fast stream last.

    Raises:
        ValueError: less than one bucket for a window.
    """
    quick = fast(streams) or (max(range(len(streams)), key=lambda i: (streams[i].rate, -i)),)
    left = len(streams) * average - (len(streams) - len(quick)) * k
    if k < 1 or left < len(quick):
        raise ValueError(f"every window has a bucket: {average} on average leave {left} beside {k} to slow streams")
    share, more = divmod(left, len(quick))
    place = {i: share + (n < more) for n, i in enumerate(quick)}
    return tuple(place.get(i, k) for i in range(len(streams)))


def best_buckets(
    streams: Sequence[JoinStream],
    cost: Callable[[Sequence[JoinStream]], float],
    total: int,
    interval: float | None = None,
) -> tuple[int, ...]:
    """At most ``total`` buckets placed so that ``cost`` (of the model, with fixed orders) is least. Not in the
    documents.

    The cost is a sum of A_k / b_k, so giving each next bucket to the window that gains most is exact. With an
    ``interval`` of expiration each bucket also costs an access every interval, and none is given that does not pay.
    O(total n).

    Raises:
        ValueError: fewer buckets than windows.
    """
    n = len(streams)
    if total < n:
        raise ValueError(f"every window has a bucket: {total} for {n} windows")
    work = _work_by_window(with_buckets(streams, [1] * n), cost)
    upkeep = 1 / interval if interval else 0.0
    buckets = [1] * n
    for _ in range(total - n):
        gains = [a / b - a / (b + 1) - upkeep for a, b in zip(work, buckets, strict=True)]
        best = max(range(n), key=gains.__getitem__)
        if gains[best] <= 0:
            break
        buckets[best] += 1
    return tuple(buckets)


def _work_by_window(streams: Sequence[JoinStream], cost: Callable[[Sequence[JoinStream]], float]) -> list[float]:
    """Comparisons per unit time with the tuples of each window: the cost is linear in their weights."""
    base = cost(streams)
    doubled = [
        [replace(s, weight=2 * s.weight) if i == k else s for i, s in enumerate(streams)] for k in range(len(streams))
    ]
    return [cost(more) - base for more in doubled]
