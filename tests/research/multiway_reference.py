"""The definition of a window join, written out, and random joins and inputs."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from muntin.research.joins.engine import Merged, merged
from muntin.research.joins.setting import Edge, Join, Window

Combination = tuple[int, ...]


def satisfied(join: Join, given: Merged, rows: Combination) -> bool:
    return all(
        abs(int(given.values[e.of_left, rows[e.left]]) - int(given.values[e.of_right, rows[e.right]])) <= e.width
        for e in join.edges
    )


def newest(given: Merged, rows: Combination) -> int:
    return max(rows, key=lambda i: (int(given.ts[i]), int(given.stream[i])))


def in_window(join: Join, given: Merged, u: int, k: int) -> bool:
    """Whether row u is in its window when k arrives; rows are in order of (ts, stream)."""
    j = int(given.stream[u])
    size = join.windows[j].rows
    if size == 0:
        return int(given.ts[k]) <= int(given.exp[u])
    here = [i for i in range(len(given)) if given.stream[i] == j and i < k]
    return u in here[-size:]


def combinations(join: Join, given: Merged) -> list[Combination]:
    """Every combination that satisfies all predicates, whatever the times, of rows that are not negative."""
    by_stream = [
        [i for i in range(len(given)) if given.stream[i] == s and given.partner[i] < 0] for s in range(join.width)
    ]
    return sorted(rows for rows in product(*by_stream) if satisfied(join, given, rows))


def expected(join: Join, given: Merged) -> list[Combination]:
    """Golab & Ozsu (2003), 1.1: a new tuple joins with all that is in the other windows when it arrives."""

    def alive(rows: Combination) -> bool:
        k = newest(given, rows)
        return all(u == k or in_window(join, given, u, k) for u in rows)

    return [rows for rows in combinations(join, given) if alive(rows)]


@st.composite
def orders(draw: st.DrawFn, n: int) -> tuple[int, ...]:
    return tuple(draw(st.permutations(range(n))))


@st.composite
def inputs(draw: st.DrawFn, n: int, attributes: int = 1, most: int = 26) -> Merged:
    """Rows of n streams with equal times among them, in time windows."""
    times = draw(st.lists(st.tuples(st.integers(0, 40), st.integers(0, n - 1)), min_size=1, max_size=most))
    times.sort()
    cells = st.lists(st.integers(-2, 3), min_size=len(times), max_size=len(times))
    values = np.array([draw(cells) for _ in range(attributes)], np.int64)
    spans = tuple(draw(st.integers(0, 25)) for _ in range(n))
    ts, stream = (np.array(c, np.int64) for c in zip(*times, strict=True))
    return merged(ts, stream, values).with_windows(spans)


def windows(counted: bool) -> st.SearchStrategy[Window]:
    rows = st.sampled_from([0, 0, 1, 2, 5]) if counted else st.just(0)
    return st.builds(Window, rows=rows, buckets=st.sampled_from([1, 1, 2, 3]))


@st.composite
def graphs(draw: st.DrawFn, n: int, counted: bool = True) -> Join:
    """Equality on one attribute; or a mix of equality and bands on two, connected or not."""
    chosen = tuple(draw(windows(counted)) for _ in range(n))
    if draw(st.booleans()):
        return Join.on_one(chosen)
    pairs = st.sampled_from([(i, j) for i in range(n) for j in range(n) if i < j])
    edge = st.builds(
        lambda p, w, a, b: Edge(p[0], p[1], w, a, b), pairs, st.sampled_from([0, 0, 1, 2]), *[st.integers(0, 1)] * 2
    )
    return Join(chosen, tuple(draw(st.lists(edge, max_size=n + 1))))
