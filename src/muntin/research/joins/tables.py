"""Tables for the kernels, from a join and its orders: what is compared at each position, and which bucket is looked
at."""

from __future__ import annotations

import numpy as np

from muntin.core.errors import ConfigError
from muntin.research.joins.setting import Edge, Join, Order, Strategy, Window
from muntin.research.kernels import multiway as k
from muntin.research.kernels.multiway import Ints

Column = tuple[int, int]
"""Stream and attribute."""

Test = tuple[int, int, int, int]
"""Own attribute, position compared with, its attribute, width."""


def equal_columns(join: Join) -> dict[Column, frozenset[Column]]:
    """For each column under an equality, all columns that equal it, since equality is transitive."""
    found: dict[Column, frozenset[Column]] = {}
    for e in join.edges:
        if e.width == 0:
            left, right = (e.left, e.of_left), (e.right, e.of_right)
            both = found.get(left, frozenset({left})) | found.get(right, frozenset({right}))
            found.update(dict.fromkeys(both, both))
    return found


def tests_at(join: Join, order: Order, d: int) -> tuple[Test, ...]:
    """Predicates of position d with what is above it.

    Of all columns that equal one another a single one, the outermost, is compared with; a further column of the same
    stream with that stream's first. Other predicates are tested against each stream they name: a test against the
    outermost alone would only do for equality.
    """
    s, above = order[d], order[:d]
    tests: dict[Test, None] = {}
    for (stream, own), group in sorted(equal_columns(join).items()):
        if stream == s:
            mine = [(d, a) for j, a in sorted(group) if j == s and a < own]
            others = [(above.index(j), a) for j, a in sorted(group) if j in above]
            for e, a in mine[:1] or sorted(others)[:1]:
                tests[own, e, a, 0] = None
    for edge in join.edges:
        for one in (edge, _turned(edge)):
            if edge.width and one.left == s and one.right in above:
                tests[one.of_left, above.index(one.right), one.of_right, one.width] = None
    return tuple(tests)


def _turned(e: Edge) -> Edge:
    return Edge(e.right, e.left, e.width, e.of_right, e.of_left)


def orders_table(join: Join, strategy: Strategy) -> Ints:
    """``orders`` of ``kernels.multiway``."""
    n = join.width
    tests = [[tests_at(join, order, d) for d in range(n)] for order in strategy.orders]
    most = max(1, max(len(t) for row in tests for t in row))
    table = np.full((n, n, k.TESTS + 4 * most), -1, np.int64)
    for o, order in enumerate(strategy.orders):
        for d in range(n):
            table[o, d, k.POSITION_STREAM] = order[d]
            for i, test in enumerate(tests[o][d]):
                own, e, attribute, width = test
                table[o, d, k.TESTS + 4 * i : k.TESTS + 4 * i + 4] = test
                if width == 0 and e < d and own == join.windows[order[d]].hashed:
                    table[o, d, [k.LOOKUP, k.LOOKUP_VALUE]] = e, attribute
    return table


def windows_table(join: Join, strategy: Strategy) -> Ints:
    """``wins`` of ``kernels.multiway`` before the first row; ``START`` is not known here."""
    table = np.zeros((join.width, k.SPENT + 1), np.int64)
    chains = 0
    for n, w in enumerate(join.windows):
        fixed = _kind(w, strategy), w.rows, w.hashed, w.buckets, w.parts, -(-w.reach // w.parts), chains
        table[n, : k.FIRST + 1] = fixed
        table[n, k.PLACE] = strategy.orders[n].index(n)
        table[n, [k.NEWS, k.SWEPT]] = -1
        chains += w.buckets * w.parts
    return table


def _kind(window: Window, strategy: Strategy) -> int:
    if window.rows:
        return k.NEVER
    match window.pattern:
        case "WKS":
            return k.FIFO
        case "WK":
            return k.LIST if window.parts == 1 else k.CALENDAR
        case _:
            return k.LIST if strategy.algorithm == "restore" else k.NEVER


def grouping(join: Join) -> Ints:
    """int64[n]: the attribute of each stream by which Algorithms 4 and 5 group new tuples.

    Raises:
        ConfigError: a stream is joined on several attributes.
    """
    columns = {(e.left, e.of_left) for e in join.edges} | {(e.right, e.of_right) for e in join.edges}
    if sorted(s for s, _ in columns) != list(range(join.width)):
        raise ConfigError("Algorithms 4 and 5 group by one join attribute of each stream")
    return np.array([a for _, a in sorted(columns)], np.int64)
