"""Random harvesting problems: rates as in 6.1 of Gedik et al.; selectivities and pdfs, which it does not give, drawn.

Correlations are Gaussian: partners of new tuples of stream i in window l are so much older as l lags behind, and only
what is in the past can be found.
"""

from __future__ import annotations

import math
import random

from muntin.optimizer.harvest.problem import Problem, low_selectivity_first


def gaussian(mean: float, sigma: float, low: float, high: float) -> float:
    """P(low <= X <= high)."""

    def below(x: float) -> float:
        return 0.5 * (1 + math.erf((x - mean) / (sigma * math.sqrt(2))))

    return below(high) - below(low)


def drawn(rng: random.Random, m: int, n: int, span: float = 10.0) -> Problem:
    """Rates uniform over 100 ... 500, selectivities over 0.01 to 1 %, lags over the window, deviations 0.5 to 5 s."""
    rates = tuple(rng.uniform(100, 500) for _ in range(m))
    lags = [rng.uniform(-span / 2, span / 2) for _ in range(m)]
    wide = [rng.uniform(0.5, 5.0) for _ in range(m)]
    sigma = [[0.0 if i == j else rng.uniform(1e-4, 1e-2) for j in range(m)] for i in range(m)]
    for i in range(m):
        for j in range(i):
            sigma[i][j] = sigma[j][i]
    return with_lags(rates, lags, wide, sigma, n, span)


def with_lags(
    rates: tuple[float, ...], lags: list[float], wide: list[float], sigma: list[list[float]], n: int, span: float
) -> Problem:
    """The problem in which stream i lags by ``lags[i]`` seconds, give or take ``wide[i]``."""
    m, b = len(rates), span / n
    orders = low_selectivity_first(sigma)
    scores, selectivity = [], []
    for i, order in enumerate(orders):
        hops = []
        for w in order:
            deviation = math.hypot(wide[i], wide[w])
            hops.append(tuple(gaussian(lags[i] - lags[w], deviation, k * b, (k + 1) * b) + 1e-9 for k in range(n)))
        scores.append(tuple(hops))
        selectivity.append(tuple(sigma[i][w] for w in order))
    rows = tuple(r * span for r in rates)
    return Problem(rates, rows, (n,) * m, orders, tuple(selectivity), tuple(scores))
