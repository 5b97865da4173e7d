"""The optimizer's costs are those of what runs: held to what the meter counts, on the queries of thesis 3.6."""

from __future__ import annotations

import pytest

from muntin.research.engines import product_runs
from muntin.research.engines.study import Study
from muntin.research.harness import Setting
from muntin.research.thesis import distinct, t15, t20, t21

STUDIES = {
    "distinct sources": (distinct.study("source", Setting()), (2_500, 40_000)),
    "distinct pairs": (distinct.study("pair", Setting()), (2_500,)),
    "join": (t15.study(), (2_000,)),
    "except": (t20.study(), (200,)),
    "negation and join": (t21.study(), (256,)),
}

WITHIN = 2.5
"""Between estimated and counted; the two steps of each batch here (rows, then time) are one to the optimizer."""


@pytest.mark.parametrize("name", STUDIES)
def test_estimates_follow_what_is_counted(name: str) -> None:
    study, windows = STUDIES[name]
    for window in windows:
        point = counted(study, window)
        for strategy, estimate in point.estimates.items():
            ratio = estimate / (point.work(strategy) / window)
            assert 1 / WITHIN < ratio < WITHIN, (window, strategy, ratio)
        assert point.behind(point.estimates, product_runs.STRATEGIES) <= product_runs.MARGIN, window


def counted(study: Study, window: int) -> product_runs.ProductPoint:
    return product_runs.run_point(study.question.text, study.trace(2 * window), window)
