"""Harvest fractions that give the most output for a share z of the full work (Gedik et al., 4.4, 5.1, 6.1).

``brute_force`` tries all; ``greedy`` adds the best part at each step, ``greedy_reverse`` takes the least useful one
away, ``double_sided`` is the one of the two that needs fewer steps. Each says how many settings it costed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from muntin.optimizer.harvest.problem import Counts, Problem

Metric = Literal["output", "output per cost", "delta output per delta cost"]

_SLACK = 1 + 1e-12


@dataclass(frozen=True)
class Solution:
    """A setting, its work and output a second; ``evaluated``: settings that were costed; ``steps``: of the search."""

    counts: Counts
    work: float
    output: float
    evaluated: int
    steps: int = 0


def settings(problem: Problem, least: int = 1) -> int:
    """How many settings there are: prod n_i^(m-1) with at least one part each, prod (n_i + 1)^(m-1) from 0."""
    found = 1
    for sizes in problem.full:
        for n in sizes:
            found *= n + 1 - least
    return found


def brute_force(problem: Problem, z: float, least: int = 1) -> Solution:
    """The best of all settings with at least ``least`` (0 or 1) parts at each hop; ``settings`` of them are visited."""
    (best,) = brute_forces(problem, (z,), least)
    return best


def brute_forces(problem: Problem, fractions: tuple[float, ...], least: int = 1) -> list[Solution]:
    """``brute_force`` for several throttle fractions in one pass. All sums over directions are formed, a block for each
    setting of the first direction."""
    options = [list(product(*(range(least, n + 1) for n in sizes))) for sizes in problem.full]
    values = [np.array([problem.direction(i, c) for c in each]) for i, each in enumerate(options)]
    budget = [z * problem.total(problem.full)[0] * _SLACK for z in fractions]
    rest = [_sums([v[:, which] for v in values[1:]]) for which in (0, 1)]
    best, visited = [(-1.0, 0, 0)] * len(fractions), 0
    for first, (work, output) in enumerate(values[0]):
        visited += len(rest[0])
        for at, limit in enumerate(budget):
            fits = np.where(rest[0] + work <= limit, rest[1], -np.inf)
            found = int(fits.argmax())
            if fits[found] + output > best[at][0]:
                best[at] = (float(fits[found] + output), first, found)
    shape = tuple(len(o) for o in options[1:])
    if any(output < 0 for output, _, _ in best):
        raise ValueError("no setting fits: even a part at each hop is too much")
    return [
        _solution(problem, options, (first, *map(int, np.unravel_index(other, shape))), visited)
        for _, first, other in best
    ]


def _sums(values: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    total = np.zeros(1)
    for v in values:
        total = (total[:, None] + v[None, :]).reshape(-1)
    return total


def _solution(problem: Problem, options: list[list[tuple[int, ...]]], at: tuple[int, ...], visited: int) -> Solution:
    counts = tuple(each[int(k)] for each, k in zip(options, at, strict=True))
    return Solution(counts, *problem.total(counts), visited)


def greedy(
    problem: Problem,
    z: float,
    metric: Metric = "delta output per delta cost",
    watch: Callable[[Counts], None] = lambda c: None,
) -> Solution:
    """GREEDYPICK: from nothing, always the increment of one fraction with the highest metric that fits.

    A fraction whose increment does not fit is frozen. A direction begins with a part at each of its hops. Ends when
    nothing fits, with increments that add no output too (the printed comparison with 0 would stop before). At most
    (m - 1) sum n steps of m (m - 1) settings. ``watch`` sees each setting that is costed.
    """
    counts = [tuple(0 for _ in sizes) for sizes in problem.full]
    return _filled(problem, z, counts, [(0.0, 0.0)] * len(counts), metric, watch)


def _filled(
    problem: Problem,
    z: float,
    counts: list[tuple[int, ...]],
    each: list[tuple[float, float]],
    metric: Metric = "delta output per delta cost",
    watch: Callable[[Counts], None] = lambda c: None,
) -> Solution:
    """These counts, of which each direction takes ``each`` (work, output), and all that fits beside them."""
    limit = z * problem.total(problem.full)[0] * _SLACK
    frozen: set[tuple[int, int]] = set()
    evaluated = steps = 0
    while True:
        work, output = sum(w for w, _ in each), sum(o for _, o in each)
        best: tuple[float, int, tuple[int, ...], tuple[float, float]] | None = None
        for i, hop, tried in _increments(problem, counts, frozen):
            evaluated += 1
            watch((*counts[:i], tried, *counts[i + 1 :]))
            w, o = problem.direction(i, tried)
            new = (work - each[i][0] + w, output - each[i][1] + o)
            if new[0] > limit:
                frozen.add((i, hop))
                continue
            score = _score(metric, new, (work, output))
            if best is None or score > best[0]:
                best = (score, i, tried, (w, o))
        if best is None:
            return Solution(tuple(counts), work, output, evaluated, steps)
        _, i, counts[i], each[i] = best
        steps += 1


def _increments(
    problem: Problem, counts: list[tuple[int, ...]], frozen: set[tuple[int, int]]
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """(direction, hop or -1 for its first parts, its counts) that may be tried."""
    for i, (own, sizes) in enumerate(zip(list(counts), problem.full, strict=True)):
        if not all(own):
            if (i, -1) not in frozen:
                yield i, -1, tuple(1 for _ in own)
            continue
        for j, n in enumerate(sizes):
            if own[j] < n and (i, j) not in frozen:
                yield i, j, (*own[:j], own[j] + 1, *own[j + 1 :])


def _score(metric: Metric, new: tuple[float, float], old: tuple[float, float]) -> float:
    work, output = new
    match metric:
        case "output":
            return output
        case "output per cost":
            return output / work if work else np.inf
        case "delta output per delta cost":
            return (output - old[1]) / (work - old[0]) if work > old[0] else np.inf


def greedy_reverse(problem: Problem, z: float) -> Solution:
    """From everything, always away with the part that loses the least output for the work it saves, until it fits.

    A direction that has one part at a hop left loses all of them together. As the last step may free more than is
    needed, what then fits comes back (which is not in the document).
    """
    limit = z * problem.total(problem.full)[0] * _SLACK
    counts = list(problem.full)
    each = [problem.direction(i, c) for i, c in enumerate(counts)]
    evaluated = steps = 0
    while sum(w for w, _ in each) > limit:
        best: tuple[float, int, tuple[int, ...], tuple[float, float]] | None = None
        for i, tried in _decrements(counts):
            evaluated += 1
            w, o = problem.direction(i, tried)
            saved, lost = each[i][0] - w, each[i][1] - o
            score = lost / saved if saved > 0 else np.inf
            if best is None or score < best[0]:
                best = (score, i, tried, (w, o))
        assert best is not None, "with nothing read there is no work"
        _, i, counts[i], each[i] = best
        steps += 1
    found = _filled(problem, z, counts, each)
    return replace(found, evaluated=found.evaluated + evaluated, steps=found.steps + steps)


def _decrements(counts: list[tuple[int, ...]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    for i, own in enumerate(counts):
        if not all(own):
            continue
        for j, count in enumerate(own):
            if count > 1:
                yield i, (*own[:j], count - 1, *own[j + 1 :])
        if 1 in own:
            yield i, tuple(0 for _ in own)


def double_sided(problem: Problem, z: float) -> Solution:
    """Greedy for z <= 0.5^((m - 1) / 2), else greedy reverse (6.1)."""
    return greedy(problem, z) if z <= 0.5 ** ((len(problem.rates) - 1) / 2) else greedy_reverse(problem, z)
