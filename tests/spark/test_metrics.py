"""Numbers of a batch out of the reports of its tasks."""

from __future__ import annotations

import pytest

from muntin.core.time import DAY, FOREVER, NEVER, SECOND
from muntin.spark.metrics import add_up, combine

NOW = 1_796_000_000 * SECOND


@pytest.mark.parametrize(
    "watermark, now, lag",
    [
        (NOW - 2 * SECOND, NOW, 2 * SECOND),
        (NOW + 3 * SECOND, NOW, -3 * SECOND),
        (NOW - 40 * DAY, NOW, 40 * DAY),  # a backlog
        (5 * SECOND, NOW, None),  # a generator that counts from 1970
        (NEVER, NOW, None),
        (FOREVER, NOW, None),
        (NOW, NEVER, None),
    ],
)
def test_lag_is_how_far_event_time_is_behind_its_clock(watermark: int, now: int, lag: int | None) -> None:
    found = combine(3, [{"q": {"watermark": watermark, "now": now, "rows": 1}}, {"q": {"rows": 2}}])
    assert found["q"].lag == lag and found["q"].rows == 3
    assert add_up(None, 3, found, {"query": "q"}).lag == lag


def test_the_pipelines_lag_is_the_greatest_that_is_known() -> None:
    reports = {"a": {"watermark": NOW - SECOND, "now": NOW}, "b": {"watermark": 7, "now": NOW}}
    assert add_up(None, 0, combine(0, [reports]), {"a": "a", "b": "b"}).lag == SECOND
