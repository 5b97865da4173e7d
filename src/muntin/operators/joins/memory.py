"""Which hash indexes a join keeps when memory is short (Golab & Ozsu, 5.4: which set of windows to index).

Every set that fits and takes no more is costed with the best orders beside it, as ``multiway.indexes.choose_indexes``
does with the model's; here indexes differ in size, a window may have several, and costs are those measured.
"""

from __future__ import annotations

from dataclasses import replace

from muntin.operators.joins.join_graph import GraphJoin, way_into
from muntin.operators.joins.order import Estimates, best_order, total_cost, visit
from muntin.optimizer.multiway.indexes import largest_sets

FIRST_BYTES, FURTHER_BYTES = 12, 28
"""Of an index, for each row: hash and place in the directory; of all but the first also start, expiry, row number."""

MOST_SETS_OF = 6
"""Up to so many indexes every set is costed (20 at most, at each step); beyond, those worth most per byte are taken."""


def index_bytes(number: int) -> int:
    """Bytes a row that a window's index ``number`` takes."""
    return FURTHER_BYTES if number else FIRST_BYTES


def kept_indexes(op: GraphJoin, e: Estimates | None, room: int | None) -> frozenset[tuple[int, int]]:
    """(input, number of its index) for those to build: all where ``room`` (bytes) is None or suffices, else the set
    that fits under which the join costs least. A window without one is read through; the answer is the same."""
    every = [(i, n) for i, indexes in enumerate(op.indexes) for n, x in enumerate(indexes) if x]
    if room is None or e is None or sum(index_bytes(n) * e.sizes[i] for i, n in every) <= room:
        return frozenset(every)
    if len(every) <= MOST_SETS_OF:
        return _cheapest(op, e, every, room)
    return _worth_most(op, e, every, room)


def _cheapest(op: GraphJoin, e: Estimates, every: list[tuple[int, int]], room: int) -> frozenset[tuple[int, int]]:
    sets = [frozenset(s) for s in largest_sets({x: index_bytes(x[1]) * e.sizes[x[0]] for x in every}, max(room, 0))]
    return min(sets, key=lambda kept: (total_cost(op, replace(e, unindexed=frozenset(every) - kept)), sorted(kept)))


def _worth_most(op: GraphJoin, e: Estimates, every: list[tuple[int, int]], room: int) -> frozenset[tuple[int, int]]:
    worth = _worth(op, e)
    kept: set[tuple[int, int]] = set()
    for index in sorted(every, key=lambda x: (-worth.get(x, 0.0) / max(index_bytes(x[1]) * e.sizes[x[0]], 1.0), x)):
        size = index_bytes(index[1]) * e.sizes[index[0]]
        if size <= room:
            kept.add(index)
            room -= int(size)
    return frozenset(kept)


def _worth(op: GraphJoin, e: Estimates) -> dict[tuple[int, int], float]:
    """Rows per second that each index spares, under the best orders."""
    found: dict[tuple[int, int], float] = {}
    for origin in range(len(e.sizes)):
        rows, bound = e.rates[origin], frozenset([origin])
        for j in best_order(op, e, origin):
            hop, way = visit(op, e, bound, j), way_into(op, bound, j)
            if way.index is not None:
                spared = rows * max(e.sizes[j] - hop.touched, 0.0)
                found[j, way.index] = found.get((j, way.index), 0.0) + spared
            rows *= hop.found
            bound |= {j}
    return found
