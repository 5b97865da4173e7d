"""Functions of JSON: Spark's own answers are ours, and a query on Spark answers as one in process."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from json_rows import DEEP, PATHS, SCHEMAS, bound, comparable, plain, quoted, rows, texts

import muntin
from muntin.reference.json_texts import parsed
from muntin.scalars.evaluate import evaluate
from muntin.session import Session

pytestmark = pytest.mark.spark

CALLS = [
    *(f"get_json_object(v, {quoted(p)})" for p in PATHS), "json_array_length(v)", "json_object_keys(v)",
    *(f"from_json(v, {quoted(s)})" for s in SCHEMAS), *(f"to_json(from_json(v, {quoted(s)}))" for s in SCHEMAS),
    "to_json(struct(n, v, CAST(n AS DOUBLE) / 3 AS x, CAST(NULL AS INT) AS gone))",
    "to_json(map_keys(from_json(v, 'MAP<STRING, INT>')))",
]  # fmt: skip
ZONE = "America/New_York"


def column(table: pa.Table, i: int) -> pa.Array:
    found = table.column(i).combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def excused(call: str, text: str | None) -> bool:
    """Spark reads on inside of an array or a map of which a part is of another kind, and takes names found there for
    those of the fields around it; behind what is no JSON, too, where that stands in a value inside of another. Java
    before 19 writes some numbers with a digit too many."""
    if text is None or text in DEEP or "from_json" not in call:
        return False
    inside = any(c in text.lstrip()[1:] for c in "{[")
    broken = inside and parsed(text, decoding=True) is None
    return broken or (inside and (" ARRAY<" in call or " MAP<" in call)) or ("FLOAT" in call and "2147483648" in text)


def test_sparks_own_answers_are_ours(spark: Any, tmp_path: Any) -> None:
    given = [*texts(Random("json on spark"), 600), *DEEP]
    batch = rows(given)
    pq.write_table(pa.table({"v": batch.column(1), "n": batch.column(2)}), tmp_path / "v.parquet")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    try:
        df = spark.read.parquet(str(tmp_path / "v.parquet")).coalesce(1)
        theirs = df.selectExpr("n", *(f"{t} AS c{i}" for i, t in enumerate(CALLS))).toArrow().sort_by("n")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    problems = []
    for i, text in enumerate(CALLS):
        e = bound(text, ZONE)
        ours = comparable(evaluate(e, batch)).to_pylist()
        spark_says = comparable(column(theirs, i + 1)).to_pylist()
        for v, a, b in zip(given, ours, spark_says, strict=True):
            if not excused(text, v) and repr(plain(a, e.type)) != repr(plain(b, e.type)):
                problems.append((text, v and v[:200], a, b))
    assert not problems, f"{len(problems)}\n" + "\n".join(map(str, problems[:40]))


def test_a_query_over_messages_is_that_in_process(spark: Any, tmp_path: Any) -> None:
    r = Random(5)
    messages = [
        {"ts": n * 1_000_000, "value": f'{{"user":"u{r.randrange(3)}","price":{r.randrange(100)}.5,"n":"{n % 4}"}}'}
        for n in range(60)
    ]
    messages += [{"ts": 61_000_000, "value": "no JSON"}, {"ts": 62_000_000, "value": None}]
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("value", pa.string())])
    table = pa.Table.from_pylist(messages, schema=schema)
    pq.write_table(table, tmp_path / "m.parquet")
    session = Session(spark, shards=2)
    session.stream("m", spark.read.parquet(str(tmp_path / "m.parquet")))
    text = (
        "SELECT value ->> '$.user' AS user, to_json(named_struct('paid', SUM(from_json(value, 'price DOUBLE').price), "
        "'most', MAX(CAST(get_json_object(value, '$.n') AS INT)))) AS value FROM m [RANGE 20 SECONDS SLIDE 10 SECONDS] "
        "WHERE get_json_object(value, '$.n') <> '3' GROUP BY value ->> '$.user'"
    )
    found = session.sql(text).to_df().toArrow()
    wanted = muntin.query(text, m=table)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, wanted.to_pylist())) and len(found) > 10
    assert found["value"][0].as_py().startswith('{"paid":')
