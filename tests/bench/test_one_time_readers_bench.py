"""``muntin bench one-time`` in small: its answers are right, its readers live, and it can tell a wrong answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from muntin.bench.one_time import SECOND, Expected, OneTimeRun, good, lines, measure
from muntin.bench.one_time_reader import digest


def test_expected_answers() -> None:
    ts = np.array([0, 1, 2, 9, 30]) * SECOND
    rows = pa.table({"ts": pa.array(ts, pa.timestamp("us", "UTC")), "k": [1, 1, 2, 1, 3], "v": [5, 6, 7, 8, 9]})
    found = Expected(rows)
    assert found.digest("window", 9 * SECOND) == digest([(2, 1, 7), (1, 3, 19)])
    assert found.digest("totals", 11 * SECOND) == digest([(2, 1, 7), (1, 1, 8)])
    assert found.digest("all", 30 * SECOND) == digest([(4, 30, 9)])
    assert found.digest("join", 9 * SECOND) == digest([(1, 1)])
    assert found.digest("most", 2 * SECOND) == digest([])


def test_what_was_promised_can_be_missed() -> None:
    turns = dict.fromkeys(("none", "continuous", "now and then"), 10)
    ms = dict.fromkeys(turns, 100.0)
    held = OneTimeRun(60.0, 50, 5, 0, 0, 0, 1, 1, 0, ms, turns, ms, {}, {}, {})
    assert good(held) and good(replace(held, batch_ms=ms | {"continuous": 109.0}))
    missed = [
        replace(held, answers=0), replace(held, wrong=1), replace(held, failed=1), replace(held, ended=1),
        replace(held, batch_ms=ms | {"now and then": 111.0}),
        replace(held, batches=turns | {"continuous": 0}, batch_ms=ms | {"continuous": 0.0}),
    ]  # fmt: skip
    assert not any(map(good, missed))


@pytest.mark.slow
@pytest.mark.spark
def test_readers_beside_a_pipeline() -> None:
    said: list[str] = []
    found = measure(8, said.append, readers=3, block=4)
    assert (found.wrong, found.failed, found.ended) == (0, 0, 0), lines(found)
    assert found.answers > 30 and found.instants > 3 and found.batches["continuous"] > 0
