"""Hybrid scheduling (Golab 2006, section 8.4.4): sub-groups that pay for it are run with those of a shorter period.

A sub-group may take the period of another one. For a few sub-groups all partitions are costed. Beyond, by dynamic
programming: if runs of different sub-groups never met, the cheapest partition would be one into ranges of periods (a
block that is run more often and reads further than another would take that in for nothing). So the best way to run the
sub-groups from the i-th period on is found from those for longer ones, with runs that meet counted as they do there.
From that, or from what costs less with nothing put together, moves of single sub-groups go on while they gain (of many
sub-groups the best of the two is taken as it is). Exact queries are never run early.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

import numpy as np

from muntin.scheduling.costs import CostModel, cost_per_update, horizon_of
from muntin.scheduling.tasks import PeriodicQuery, Task, conservative, groups_of, merged

FEW = 6
"""Sub-groups of which all partitions (203 for six) are costed."""

MANY = 50
"""Sub-groups up to which moves are tried."""

Blocks = tuple[tuple[Task, ...], ...]


def hybrid(queries: Iterable[PeriodicQuery], model: CostModel) -> tuple[Task, ...]:
    """The tasks of every group, the cheapest found."""
    found: list[Task] = []
    for mine in groups_of(queries).values():
        found += cheapest(conservative(mine), model)
    return tuple(found)


def cheapest(subgroups: Sequence[Task], model: CostModel) -> tuple[Task, ...]:
    """Which sub-groups of one group are run together, by the cost per update; by period."""
    if len(subgroups) <= FEW:
        found = min(partitions(tuple(subgroups)), key=lambda blocks: cost_of(blocks, model))
    else:
        starts = (tuple((s,) for s in subgroups), by_ranges(subgroups, model))
        found = min(starts, key=lambda blocks: cost_of(blocks, model))
        found = climb(found, model) if len(subgroups) <= MANY else found
    return tuple(sorted((merged(b) for b in found), key=lambda t: t.period))


def cost_of(blocks: Blocks, model: CostModel) -> float:
    """Per update, each block run as one task; infinite where one would run exact queries early."""
    tasks = [merged(b) for b in blocks]
    return cost_per_update(tasks, model) if all(t.allowed for t in tasks) else inf


def partitions(subgroups: tuple[Task, ...]) -> Iterator[Blocks]:
    """All ways to put sub-groups together, none put together first."""
    if not subgroups:
        yield ()
        return
    first, rest = subgroups[0], subgroups[1:]
    for found in partitions(rest):
        yield ((first,), *found)
        for i, block in enumerate(found):
            yield (*found[:i], (first, *block), *found[i + 1 :])


def by_ranges(subgroups: Sequence[Task], model: CostModel) -> Blocks:
    """The best partition into ranges of periods, each found from the best for all longer periods."""
    ordered = sorted(subgroups, key=lambda t: t.period)
    updates = horizon_of(ordered)
    best: list[tuple[float, Blocks, np.ndarray]] = [(0.0, (), np.zeros(updates))]
    for at in range(len(ordered) - 1, -1, -1):
        options = []
        for end in range(at + 1, len(ordered) + 1):
            later_cost, later, paid = best[len(ordered) - end]
            block = tuple(ordered[at:end])
            task = merged(block)
            if not task.allowed:
                break
            due = slice(task.period - 1, None, task.period)
            now = np.maximum(paid[due], model.scan(task.window))
            own = len(now) * sum(model.finish(q) for q in task.queries)
            options.append((later_cost + float((now - paid[due]).sum()) + own, (block, *later), paid, due, now))
        cost, blocks, paid, due, now = min(options, key=lambda o: o[0])
        scanned = paid.copy()
        scanned[due] = now
        best.append((cost, blocks, scanned))
    return best[-1][1]


def climb(blocks: Blocks, model: CostModel) -> Blocks:
    """Move one sub-group, or one block, at a time to where it gains most, until nothing does."""
    cost = cost_of(blocks, model)
    while True:
        options = [(cost_of(b, model), b) for b in neighbours(blocks)]
        found = min(options, key=lambda o: o[0], default=(cost, blocks))
        if not found[0] < cost - 1e-9:
            return blocks
        cost, blocks = found


def neighbours(blocks: Blocks) -> Iterator[Blocks]:
    """Partitions one step away: a sub-group by itself or with another block, or two blocks as one."""
    for i, block in enumerate(blocks):
        rest = (*blocks[:i], *blocks[i + 1 :])
        for j, other in enumerate(rest):
            if j >= i:
                yield (*rest[:j], (*block, *other), *rest[j + 1 :])
        if len(block) == 1:
            continue
        for task in block:
            left = tuple(t for t in block if t is not task)
            yield (*rest, left, (task,))
            for j, other in enumerate(rest):
                yield (*rest[:j], (*other, task), *rest[j + 1 :], left)
