"""ORDER BY ... LIMIT: the results of one instant leave in the query's order, also by columns that it does not show."""

from __future__ import annotations

from itertools import groupby
from random import Random
from typing import Any

import pytest
from test_fixed_queries import STREAMS, answers, draw
from test_local_matches import difference

import muntin
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.plan.catalog import Catalog
from muntin.plan.windows import QueryOptions
from muntin.reference import run

KINDS = ("Rstream", "Istream", "Dstream", "changes")
SOURCES = ("A [RANGE 6 SECONDS]", "A [RANGE 6 SECONDS SLIDE 2 SECONDS]", "A [ROWS 5]")


def wrapped(kind: str, text: str) -> str:
    return text if kind == "changes" else f"{kind}({text})"


def shown(text: str, streams: Any, seed: int, **options: Any) -> list[Any]:
    query = plan_query(bind(text, Catalog(STREAMS), QueryOptions(**options)))
    return answers(query, streams, Random(seed))


def drawn(seed: int) -> dict[str, list[dict[str, Any]]]:
    rng = Random(seed)
    rows = draw(rng)
    return {n: [{**r, "ts": r["ts"] // 4 * 4, "v": rng.choice((None, *range(6)))} for r in rows[n]] for n in rows}


def by_instant(rows: list[Any]) -> list[list[Any]]:
    return [list(group) for _, group in groupby(rows, key=lambda r: (r[0], r[1]))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("keys", "sort"), [
    ("v DESC NULLS LAST, k", lambda r: (r[1] is None, -(r[1] or 0), r[0])),
    ("v NULLS FIRST, 1 DESC", lambda r: (r[1] is not None, r[1] or 0, -r[0])),
])  # fmt: skip
def test_rows_of_an_instant_are_in_the_order_of_the_keys(kind: str, source: str, keys: str, sort: Any) -> None:
    text = wrapped(kind, f"SELECT k, v FROM {source} ORDER BY {keys} LIMIT 4")
    longest = 0
    for seed in range(8):
        streams = drawn(seed)
        got = shown(text, streams, seed)
        marks = [(t, op == "+") for t, op, _ in got]
        assert marks == sorted(marks)
        for rows in by_instant(got):
            values = [r[2] for r in rows]
            assert values == sorted(values, key=sort)
            longest = max(longest, len(values))
        assert not difference(run(bind(text, Catalog(STREAMS)), streams), got)
    assert longest > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", SOURCES)
def test_rows_are_in_the_order_of_a_column_that_is_not_shown(kind: str, source: str) -> None:
    text = wrapped(kind, f"SELECT k FROM {source} ORDER BY v DESC, k LIMIT 4")
    beside = f"Rstream(SELECT k, v FROM {source} ORDER BY v DESC, k LIMIT 4)"
    for seed in range(8):
        streams = drawn(seed)
        got = shown(text, streams, seed)
        assert not (problem := difference(run(bind(text, Catalog(STREAMS)), streams), got)), f"seed {seed}: {problem}"
        if kind == "Rstream":
            assert [(t, row) for t, _, row in got] == [(t, row[:1]) for t, _, row in shown(beside, streams, seed)]


def test_groups_are_in_the_order_of_their_counts() -> None:
    text = "SELECT k FROM A [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k ORDER BY COUNT(*) DESC, k LIMIT 3"
    beside = "SELECT k, COUNT(*) AS n FROM A [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k ORDER BY n DESC, k LIMIT 3"
    for seed in range(8):
        streams = drawn(seed)
        got, known = shown(text, streams, seed), shown(beside, streams, seed)
        assert [(t, row) for t, _, row in got] == [(t, row[:1]) for t, _, row in known]
        for rows in by_instant(known):
            assert [r[2] for r in rows] == sorted((r[2] for r in rows), key=lambda r: (-r[1], r[0]))


def test_the_order_is_no_part_of_a_query_s_identity() -> None:
    texts = [f"SELECT k, v FROM A [RANGE 6 SECONDS] ORDER BY v LIMIT 3{tail}" for tail in ("", " ")]
    first, again = (plan_query(bind(t, Catalog(STREAMS))) for t in texts)
    assert first.order == (("c1", False, True),) and [v.id for v in first.vertices] == [v.id for v in again.vertices]
    assert plan_query(bind("SELECT k, v FROM A [RANGE 6 SECONDS]", Catalog(STREAMS))).order == ()


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_rows_of_groups_leave_in_order(kind: str) -> None:
    """QUALIFY: those of a group one after the other, by rank; LIMIT BY: by the keys, whatever shard they come from."""
    over = "OVER (PARTITION BY k ORDER BY v DESC NULLS LAST)"
    ranked = f"SELECT k, v, ROW_NUMBER() {over} AS n FROM A [RANGE 6 SECONDS] QUALIFY n <= 2"
    limited = "SELECT k, v FROM A [RANGE 6 SECONDS] ORDER BY v NULLS LAST, k LIMIT 2 BY k"
    longest = 0
    for seed in range(8):
        streams = drawn(seed)
        for text, sort in ((ranked, lambda r: (r[0], r[2])), (limited, lambda r: (r[1] is None, r[1] or 0, r[0]))):
            got = shown(wrapped(kind, text), streams, seed)
            assert not difference(run(bind(wrapped(kind, text), Catalog(STREAMS)), streams), got)
            for rows in by_instant(got) if text == limited else ():
                values = [r[2] for r in rows]
                assert values == sorted(values, key=sort)
                longest = max(longest, len(values))
            whole = query_in_process(wrapped(kind, text), streams)
            for rows in by_instant(whole):
                values = [r[2] for r in rows]
                assert values == sorted(values, key=sort)
    assert longest > 1


def query_in_process(text: str, streams: Any) -> list[Any]:
    """As (instant, sign, row), in the order in which they leave."""
    table = muntin.query(text, ts_unit="s", ts={"A": "ts"}, A=streams["A"])
    names = [n for n in table.column_names if n not in ("ts", "op")]
    return [(r["ts"], r.get("op"), tuple(r[n] for n in names)) for r in table.to_pylist()]
