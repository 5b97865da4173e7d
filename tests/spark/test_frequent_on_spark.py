"""Frequent items on Spark: the answers of the local runtime, over shards, and across a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import Feed, events

from muntin import query
from muntin.session import Session

WINDOW = "[RANGE 20 SECONDS SLIDE 4 SECONDS]"
TEXTS = {
    "exact": f"SELECT FREQUENT(name, 2) AS f FROM a {WINDOW}",
    "lists": f"SELECT FREQUENT_LISTS(name, 2) AS f FROM a {WINDOW}",
    "sketch": f"SELECT k, FREQUENT_SKETCH(name, 2, 0.1) AS f FROM a {WINDOW} GROUP BY k",
}


def plain(rows: Any) -> list[str]:
    return sorted(repr(sorted({**r, "ts": r["ts"].timestamp()}.items())) for r in rows.to_pylist())


@pytest.mark.spark
@pytest.mark.slow
def test_answers_and_a_restart(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    source = feed("a")
    found: dict[str, list[str]] = {n: [] for n in TEXTS}
    for part in range(2):
        source.put(*(events(3 + i, 15 * i, 15, 60) for i in range(2 * part, 2 * part + 2)))
        session = Session(spark, shards=4)
        session.stream("a", source.live(), ts="ts")
        for name, text in TEXTS.items():
            session.sql(text, name=name).write()
        run = session.start(str(tmp_path / "checkpoint"), "available_now")
        run.await_termination()
        for name in TEXTS:
            found[name] += plain(session.queries[name].rows())
    for name, text in TEXTS.items():
        whole = plain(query(text, ts="ts", a=source.table()))
        assert found[name] and set(found[name]) <= set(whole) and len(found[name]) == len(set(found[name]))
