"""One-time queries over what a pipeline's windows hold, against the same SQL over its input."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from test_history import JOINED, SECOND, SHOWN, asked, data, snapshot

from muntin.core.errors import ConfigError, QueryError, UnsupportedError
from muntin.dataflow.durable import DurablePlan, from_json, take_up, to_json
from muntin.local.one_time import one_time
from muntin.local.runtime import LocalPipeline
from muntin.state.snapshots import Snapshot

OVER_A = [
    "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM A [RANGE 40 SECONDS] GROUP BY k",
    "SELECT COUNT(*) AS n FROM A [RANGE 7 SECONDS] WHERE v > 2",
    "SELECT DISTINCT j FROM A [RANGE 13 SECONDS]",
    "SELECT k, v FROM A [RANGE 20 SECONDS] WHERE j = 2",
    "SELECT a.v, b.v AS w FROM A [RANGE 11 SECONDS] a, A [RANGE 30 SECONDS] b WHERE a.k = b.k AND a.j < b.j",
    "SELECT k FROM A [RANGE 9 SECONDS] EXCEPT ALL SELECT k FROM A [RANGE 4 SECONDS]",
    "SELECT a.k FROM A [RANGE 9 SECONDS] a WHERE NOT EXISTS (SELECT 1 FROM A [RANGE 2 SECONDS] b WHERE b.k = a.k)",
    "SELECT COUNT(*) AS n, MAX(v) AS m FROM A",
    "SELECT ts, k FROM A [RANGE 8 SECONDS]",
    "SELECT * FROM A",
]
OVER_BOTH = [
    "SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM A [RANGE 9 SECONDS] a, B [RANGE 24 SECONDS] b WHERE a.k = b.k "
    "GROUP BY a.k",
    "SELECT k, v FROM B [RANGE 5 SECONDS] WHERE k IS NOT NULL UNION ALL "
    "SELECT k, v FROM A [RANGE 6 SECONDS] WHERE k IS NOT NULL",
]


class Fixed:
    """A pipeline that commits nothing more."""

    def __init__(self, opened: Snapshot | None) -> None:
        self.opened = opened

    def newest(self) -> int:
        return -1 if self.opened is None else self.opened.version

    def open(self, vertices: Collection[str]) -> Snapshot | None:
        return self.opened


def at_work(texts: list[str], batches: list[Any], shards: int = 3) -> tuple[DurablePlan, LocalPipeline]:
    begun = take_up(None, {f"q{i}": asked(t) for i, t in enumerate(texts)}, 0, "1")
    pipeline = LocalPipeline(list(begun.plans.values()), shards)
    for b in batches:
        pipeline.push_all(b)
    return from_json(to_json(begun.durable)), pipeline


def by_duckdb(text: str, batches: list[Any], at: int) -> Counter[Any]:
    connection = duckdb.connect()
    for name in "AB":
        connection.register(f"all_{name}", pa.concat_tables(b[name] for b in batches))
    seconds = at / SECOND
    window = r"\b([AB]) \[RANGE (\d+) SECONDS\]( [ab]\b)?"
    inside = f"WHERE ts <= {seconds} AND ts > {seconds} -"
    text = re.sub(window, lambda m: f"(SELECT * FROM all_{m[1]} {inside} {m[2]}){m[3] or ''}", text)
    text = re.sub(r"FROM A$", f"FROM (SELECT * FROM all_A {inside} 40)", text)
    return Counter(map(rounded, connection.sql(text).fetchall()))


def rounded(row: Any) -> tuple[Any, ...]:
    return tuple(round(v, 5) if isinstance(v, float) else v for v in row)


@pytest.mark.parametrize("text", [*OVER_A, *OVER_BOTH])
def test_the_answer_is_that_of_the_instant(text: str) -> None:
    running = [SHOWN] if text in OVER_A else [JOINED.replace("a.j AS x", "a.k AS k, a.j AS x")]
    for seed, upto in ((1, 3), (2, 14)):
        batches = data(seed)[:upto]
        plan, pipeline = at_work(running, batches)
        before = {n: s.rows() for n, s in pipeline.cells().items()}
        found = one_time(text, plan, Fixed(snapshot(pipeline, upto - 1)))
        assert found.batch == upto - 1 and found.behind >= 0
        rows = Counter(rounded(r.values()) for r in found.rows.to_pylist())
        assert rows == by_duckdb(text, batches, found.at)
        assert before == {n: s.rows() for n, s in pipeline.cells().items()}


@pytest.mark.parametrize(
    ("running", "text", "message"),
    [
        ([SHOWN], "SELECT k FROM A [RANGE 41 SECONDS]", "(?i)are held for 40 seconds"),
        ([SHOWN], "SELECT k FROM A [RANGE 5 SECONDS SLIDE 5 SECONDS]", "at one instant"),
        ([SHOWN], "SELECT k FROM A [ROWS 5]", "at one instant"),
        ([SHOWN], "Istream(SELECT k FROM A [RANGE 5 SECONDS])", "leave out Istream"),
        ([SHOWN + " WHERE j = 2"], "SELECT k FROM A [RANGE 5 SECONDS]", "the condition that its rows passed"),
        ([SHOWN, SHOWN.replace("FROM A", "FROM B")], "SELECT A.k FROM A [NOW], B [NOW]", "by the time of different"),
        (["SELECT COUNT(*) AS n FROM A [RANGE 9 SECONDS]"], "SELECT COUNT(*) AS n FROM A [NOW]", "no query that runs"),
        ([SHOWN], "SELECT k FROM B [RANGE 5 SECONDS]", "B"),
    ],
)
def test_what_it_refuses(running: list[str], text: str, message: str) -> None:
    batches = data(4)[:5]
    batches[-1]["B"] = batches[-1]["B"].slice(0, 3)
    plan, pipeline = at_work(running, batches)
    with pytest.raises((UnsupportedError, ConfigError, QueryError), match=message):
        one_time(text, plan, Fixed(snapshot(pipeline, 4)))


def test_nothing_to_ask_yet() -> None:
    plan, pipeline = at_work([SHOWN], [])
    for opened in (None, Snapshot(0, snapshot(pipeline, 0).cells)):
        with pytest.raises(ConfigError, match="there is nothing to ask"):
            one_time("SELECT k FROM A [NOW]", plan, Fixed(opened))
