"""Late rows: each is one row, as it came, whichever and however many windows of whichever queries leave it out."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.engine.late import LateInput
from muntin.engine.lost_rows import Collector
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream

SECOND = 1_000_000
COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64(), "note": pa.string(), "id": pa.int64()}
SLACK = {"A": 2, "B": 0}
CATALOG = Catalog(
    tuple(
        Stream(n, Schema.of(**COLUMNS), "ts", slack=s * SECOND, ts_unit=SECOND, order=i)
        for i, (n, s) in enumerate(SLACK.items())
    )
)

Row = dict[str, object]
Reader = tuple[str, Callable[[Row], bool], str]


def every(_: Row) -> bool:
    return True


def above(row: Row) -> bool:
    return row["v"] is not None and row["v"] > 3  # type: ignore[operator]


def is_a(row: Row) -> bool:
    return row["k"] == "a"


GROUPED = "SELECT k, COUNT(*) AS n FROM A [RANGE 9 SECONDS] WHERE v > 3 GROUP BY k"
QUERIES: dict[str, list[Reader]] = {
    "SELECT k, SUM(v + 1) AS s FROM A [RANGE 5 SECONDS] GROUP BY k": [("A", every, "A")],
    "SELECT x.k FROM A [RANGE 5 SECONDS] x, A [RANGE 9 SECONDS] y WHERE x.k = y.k": [("A", every, "A")],
    "SELECT x.v FROM A [RANGE 5 SECONDS] x, A [NOW] y WHERE x.k = y.k AND x.v > 3 AND y.k = 'a'": [
        ("A", above, "A"), ("A", is_a, "A"),
    ],
    "SELECT x.id FROM A [RANGE 5 SECONDS] x, A [NOW] y WHERE x.id < y.id AND x.v > 3 AND y.k = 'a'": [
        ("A", above, "A"), ("A", is_a, "A"),
    ],
    "SELECT a.k FROM A [RANGE 5 SECONDS] a, B [RANGE 4 SECONDS] b WHERE a.k = b.k": [
        ("A", every, "AB"), ("B", every, "AB"),
    ],
    "SELECT DISTINCT k FROM B [RANGE 4 SECONDS SLIDE 3 SECONDS]": [("B", every, "B")],
    f"SELECT q.n FROM ({GROUPED}) AS q, B [RANGE 4 SECONDS] b WHERE q.k = b.k": [
        ("A", above, "A"), ("B", every, "AB"),
    ],
    "SELECT COUNT(*) AS n FROM B [ROWS 3] WHERE v > 3": [("B", every, "B")],  # the window is before WHERE
}  # fmt: skip


def rows_of(rng: Random, low: int, ids: list[int]) -> list[Row]:
    found = []
    for _ in range(rng.randint(0, 6)):
        ids.append(len(ids))
        v = rng.choice([None, *range(8)])
        ts = low + rng.randint(-12, 4)
        found.append({"ts": ts, "k": rng.choice("ab"), "v": v, "note": "as it came", "id": ids[-1]})
    return found


def naive(batches: list[dict[str, list[Row]]], texts: list[str]) -> dict[object, tuple[int, set[str]]]:
    """By id of a late row: by how many seconds it came too late, and the queries that lost it."""
    newest: dict[str, int] = {}
    marks = dict.fromkeys(("A", "B", "AB"), -(10**9))
    late: dict[object, tuple[int, set[str]]] = {}
    for batch in batches:
        for text in texts:
            for stream, keeps, domain in QUERIES[text]:
                for row in batch[stream]:
                    if keeps(row) and row["ts"] < marks[domain]:  # type: ignore[operator]
                        by, lost = late.get(row["id"], (0, set()))
                        late[row["id"]] = max(by, marks[domain] - row["ts"]), lost | {text}  # type: ignore[operator]
        for stream, rows in batch.items():
            newest[stream] = max([newest.get(stream, -(10**9)), *(r["ts"] for r in rows)])  # type: ignore[list-item]
        for domain, mark in marks.items():
            marks[domain] = max(mark, min(newest[s] - SLACK[s] for s in domain))
    return late


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=pa.schema(list(COLUMNS.items())))


@pytest.mark.parametrize("seed", [*range(15), *(pytest.param(s, marks=pytest.mark.slow) for s in range(15, 40))])
def test_the_late_rows_are_those_of_a_naive_computation(seed: int) -> None:
    rng = Random(seed)
    texts = rng.sample(list(QUERIES), rng.randint(1, 4))
    ids: list[int] = []
    batches = [{n: rows_of(rng, low, ids) for n in SLACK} for low in range(0, 60, rng.randint(3, 8))]
    pipe = LocalPipeline([plan_query(bind(t, CATALOG)) for t in texts], rng.randint(1, 4))
    read = {stream for t in texts for stream, _, _ in QUERIES[t]}
    for batch in batches:
        pipe.push({n: table(rows) for n, rows in batch.items() if n in read})
    wanted = naive([{n: r if n in read else [] for n, r in b.items()} for b in batches], texts)
    found = {row["id"]: (by, lost) for part in pipe.late_rows for row, by, lost in told(part, texts)}
    assert found == wanted
    assert pipe.late == len(wanted), "a late row is one row"
    came = {r["id"]: r for b in batches for rows in b.values() for r in rows}
    assert all(row == came[row["id"]] for part in pipe.late_rows for row in part.rows.to_pylist())


def test_the_cases_that_are_drawn_have_late_rows_of_every_kind() -> None:
    """Rows that several queries lose, and rows that are late for a sub-query alone."""
    several = inner = 0
    for seed in range(40):
        rng = Random(seed)
        texts = rng.sample(list(QUERIES), rng.randint(1, 4))
        ids: list[int] = []
        late = naive([{n: rows_of(rng, low, ids) for n in SLACK} for low in range(0, 60, rng.randint(3, 8))], texts)
        several += any(len(lost) > 1 for _, lost in late.values())
        inner += any("AS q" in t for t in texts) and bool(late)
    assert several > 10 and inner > 5


def told(part: LateInput, texts: list[str]) -> list[tuple[Row, int, set[str]]]:
    return [
        (row, by // SECOND, {t for t, yes in zip(texts, lost, strict=True) if yes})
        for row, by, lost in zip(part.rows.to_pylist(), part.by.tolist(), part.queries.tolist(), strict=True)
    ]


def test_a_row_late_for_a_self_join_and_three_queries_is_one_row() -> None:
    texts = [t for t in QUERIES if "B" not in t]
    pipe = LocalPipeline([plan_query(bind(t, CATALOG)) for t in texts], 3)
    late = {"ts": 10, "k": "a", "v": 5, "note": "whole", "id": 7}
    pipe.push({"A": table([{"ts": 100, "k": "b", "v": 1, "note": "", "id": 1}])})
    pipe.push({"A": table([late])})
    (part,) = pipe.late_rows
    assert told(part, texts) == [(late, 88, set(texts))]
    assert pipe.late == 1


def test_a_row_that_no_query_wants_is_not_late() -> None:
    pipe = LocalPipeline(plan_query(bind(GROUPED, CATALOG)))
    pipe.push({"A": table([{"ts": 100, "k": "b", "v": 9, "note": "", "id": 1}])})
    pipe.push({"A": table([{"ts": 1, "k": "a", "v": v, "note": "", "id": 2} for v in (3, None)])})
    assert pipe.late == 0


@pytest.mark.parametrize("seed", range(20))
def test_who_lost_which_row_is_what_a_table_of_rows_and_queries_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, queries = int(rng.integers(1, 30)), int(rng.integers(1, 8))
    table, found = np.zeros((rows, queries), bool), Collector(rows)
    for _ in range(int(rng.integers(0, 12))):
        late, mine = rng.random(rows) < rng.random(), sorted({int(q) for q in rng.integers(0, queries, 3)})
        found.lose(late, mine)
        table[np.ix_(late, mine)] = True
    places, lost = found.lost(queries)
    some = table.any(axis=1)
    assert places.tolist() == np.flatnonzero(some).tolist()
    assert lost.table().tolist() == table[some].tolist()
    assert lost.per_query().tolist() == table.sum(axis=0).tolist()


def test_a_thousand_queries_that_lose_the_same_rows_are_one_kind() -> None:
    found = Collector(10_000)
    for query in range(1_000):
        found.lose(np.arange(10_000) % 2 == 0, [query])
    _, lost = found.lost(1_000)
    assert len(lost.kinds) == 1 and lost.per_query().tolist() == [5_000] * 1_000
