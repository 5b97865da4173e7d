"""Streams of messages in JSON: the answers are those over the columns that Python's own reader finds in them, whatever
the batches, the order and the restarts; and parts by path are DuckDB's."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from json_rows import bound, rows

from muntin.scalars.evaluate import evaluate
from muntin.testing import Harness, stream

WINDOW = "FROM m [RANGE 20 SECONDS SLIDE 5 SECONDS]"
FROM_TEXT = (
    "SELECT from_json(value, 'who STRUCT<name: STRING>').who.name AS name, "
    "SUM(from_json(value, 'price DOUBLE').price) AS paid, COUNT(get_json_object(value, '$.tags[0]')) AS tagged "
    f"{WINDOW} WHERE value ->> '$.kind' = 'sale' GROUP BY from_json(value, 'who STRUCT<name: STRING>').who.name"
)
FROM_COLUMNS = (
    f"SELECT name, SUM(price) AS paid, COUNT(tag) AS tagged {WINDOW} WHERE kind = 'sale' GROUP BY name"
)  # fmt: skip
NAMES = ("ann", "böb", 'q"\\\n', "\U0001f600", None)


def message(r: Random) -> dict[str, Any]:
    tags = [r.choice(("a", "b")) for _ in range(r.randrange(3))]
    return {
        "who": {"name": r.choice(NAMES), "age": 3}, "price": r.choice((None, 1, 2.5, 0.1, -3e20, 12345678.25)),
        "tags": tags, "kind": r.choice(("sale", "sale", "visit")), "more": {"tags": [[{}]], "x": "}"},
    }  # fmt: skip


Batches = list[list[dict[str, Any]]]


def answers(query: str, columns: dict[str, str], batches: Batches, restarts: list[bool]) -> list[str]:
    h = Harness(query, m=stream({"ts": "timestamp", **columns}, slack="15 seconds"))
    for batch, again in zip(batches, restarts, strict=True):
        h.feed("m", batch)
        if again:
            h.restart()
    h.finish()
    assert not h.late
    return sorted(repr(sorted(row.items())) for row in h.answers())


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_of_messages_is_that_of_their_columns(seed: int) -> None:
    r = Random(f"messages {seed}")
    texts: Batches = []
    plain: Batches = []
    restarts: list[bool] = []
    for second in range(0, 60, 5):
        one, other = [], []
        for _ in range(r.randrange(5)):
            m, ts = message(r), f"2024-01-01 00:00:{second + r.randrange(5):02}"
            broken = r.random() < 0.1
            one.append({"ts": ts, "value": json.dumps(m, ensure_ascii=r.random() < 0.5)[: 9 if broken else None]})
            tag = m["tags"][0] if m["tags"] else None
            found = {"name": m["who"]["name"], "price": m["price"], "tag": tag, "kind": m["kind"]}
            other.append({"ts": ts, **(dict.fromkeys(found) if broken else found)})
        order = r.sample(range(len(one)), len(one))
        texts.append([one[i] for i in order])
        plain.append([other[i] for i in order])
        restarts.append(r.random() < 0.3)
    found = answers(FROM_TEXT, {"value": "string"}, texts, restarts)
    columns = {"name": "string", "price": "double", "tag": "string", "kind": "string"}
    assert found == answers(FROM_COLUMNS, columns, plain, restarts) and len(found) > 10


def test_parts_by_path_are_those_of_duckdb() -> None:
    """DuckDB keeps the digits of numbers and has no value for an element that is null: neither is drawn."""
    r = Random("duckdb")

    def value(depth: int) -> Any:
        kind = r.randrange(6 if depth else 3)
        if kind > 3:
            return {r.choice("abc"): value(depth - 1) for _ in range(r.randrange(4))}
        if kind == 3:
            return [v for v in (value(depth - 1) for _ in range(r.randrange(4))) if v is not None]
        return r.choice(("x", "", "é\U00004e00", 'q"\\\n', 7, -(10**17), True, False, None))

    given = [json.dumps(value(4), ensure_ascii=r.random() < 0.5, indent=r.choice((None, 1))) for _ in range(400)]
    parsed = pa.table({"v": given})  # noqa: F841
    held = 0
    for path in ("$.a", "$.b.c", "$[0]", "$.a[1]", "$.a.b.c", "$[1][0].a", "$.c[0].b"):
        ours = evaluate(bound(f"v ->> '{path}'"), rows(given)).to_pylist()
        theirs = [row[0] for row in duckdb.sql(f"SELECT v ->> '{path}' FROM parsed").fetchall()]
        assert ours == theirs, path
        held += sum(v is not None for v in ours)
    assert held > 100
