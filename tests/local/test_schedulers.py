"""Schedulers over a live pipeline, on a clock of counted work: whoever runs when, every query reports exactly what it
would alone, at its multiples of SLIDE, and how late it was is known."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from test_shared_aggregates import CATALOG, data, shown

from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_queries
from muntin.local.runtime import LocalPipeline
from muntin.scheduling.budget import affordable
from muntin.scheduling.deadlines import SCHEDULING, Agenda

TEXTS = (
    "SELECT k, SUM(v) AS a FROM s [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "SELECT k, MAX(v) AS a FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS] WHERE v > 0 GROUP BY k",
    "SELECT name, COUNT(*) AS a FROM s [RANGE 4 SECONDS SLIDE 1 SECOND] GROUP BY name",
    "SELECT DISTINCT name FROM s [RANGE 5 SECONDS]",
    "SELECT k, v FROM s [PARTITION BY k ROWS 3]",
)
GROUP = (0, 0, 1, 2, 3)
"""The first two read one synopsis."""


@pytest.mark.parametrize("name", SCHEDULING)
def test_every_scheduler_gives_the_answers_of_isolated_runs(name: str) -> None:
    """There is time for two operators of four; nobody waits longer than there are others."""
    plans, batches = plan_queries(bind(t, CATALOG) for t in TEXTS), data(Random(4), 14)
    pipe = LocalPipeline(plans)
    waited, most = np.zeros(len(plans), np.int64), 0
    found = []
    for batch in [*batches, {}, {}, {}, {}]:
        known = Agenda(
            -waited, np.full(len(plans), -1, np.int64), np.ones(len(plans), np.int64), np.array(GROUP),
            np.zeros(len(plans), np.int64),
        )  # fmt: skip
        due = affordable(known, 0, lambda runs: float(len({GROUP[q] for q in runs})), 2.0, SCHEDULING[name])
        assert 0 < len({GROUP[q] for q in due}) <= 2
        late = [q for q in range(len(plans)) if q not in due]
        found.append(pipe.push_all(batch, deferred=late))
        waited[list(due)] = 0
        waited[late] += 1
        most = max(most, int(waited.max()))
    found.append(pipe.push_all({}))
    assert 0 < most <= len(plans)
    for plan, parts in zip(plans, zip(*found, strict=True), strict=True):
        own = LocalPipeline(plan)
        alone = [own.push(batch) for batch in batches]
        assert shown(pa.concat_tables(parts)) == shown(pa.concat_tables(alone))
