"""The optimizer's costs are those of what runs: held to what the meter counts, on the queries of thesis 3.6."""

from __future__ import annotations

import pytest

from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.optimizer import Statistics, optimize
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions
from muntin.research.engines import product_runs
from muntin.research.engines.choose import statistics_of
from muntin.research.engines.study import Study
from muntin.research.engines.workload import Trace
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
"""Between estimated and counted."""


@pytest.mark.parametrize("name", STUDIES)
def test_estimates_follow_what_is_counted(name: str) -> None:
    study, windows = STUDIES[name]
    for window in windows:
        trace = study.trace(2 * window)
        point = product_runs.run_point(study.question.text, trace, window)
        for strategy, run in point.runs.items():
            estimate = optimize(asked(study, trace, window, strategy), known(study, trace, window, strategy)).cost
            ratio = estimate / (run.totals.work / window)
            assert 1 / WITHIN < ratio < WITHIN, (window, strategy, ratio)
        assert point.behind(point.estimates, product_runs.STRATEGIES) <= product_runs.MARGIN, window


def asked(study: Study, trace: Trace, window: int, strategy: str) -> BoundQuery:
    options = QueryOptions(granule=SECOND, strategy=strategy)
    return bind(study.question.text.format(window), product_runs.streams_of(trace), options)


def known(study: Study, trace: Trace, window: int, strategy: str) -> Statistics:
    """What the windows hold, selections and joins too. DIRECT looks through all twice a batch: for rows, for time."""
    found = statistics_of(trace, window, study.question)
    step = window / product_runs.BATCHES / (2 if strategy == "direct" else 1)
    return Statistics(found.rates, distinct=found.distinct, selectivities=found.selectivities, step=step)
