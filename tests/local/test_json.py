"""Functions of JSON: the engine's columns against the reference, and whole queries."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from json_rows import CATALOG, DEEP, PATHS, SCHEMAS, bound, comparable, plain, quoted, rows, texts

import muntin
from muntin.core.errors import QueryError
from muntin.core.zones import zone
from muntin.cql.binder import bind
from muntin.cql.unparse_query import to_cql
from muntin.plan.exprs import Expr
from muntin.reference.json_texts import written
from muntin.reference.scalar import eval_expr
from muntin.scalars.evaluate import evaluate
from muntin.scalars.json_encode import encoded

CALLS = [
    *(f"get_json_object(v, {quoted(p)})" for p in PATHS), "json_array_length(v)", "json_object_keys(v)",
    *(f"from_json(v, {quoted(s)})" for s in SCHEMAS),
    *(f"to_json(from_json(v, {quoted(s)}))" for s in SCHEMAS),
    "to_json(struct(n, v, CAST(n AS DOUBLE) / 3 AS x, CAST(NULL AS INT) AS gone))", "from_json(v, 'a INT, b STRING').b",
    "named_struct('a', n, 'b', v).a", "v ->> '$.a.b'", "v ->> 'a'", "v ->> 1",
]  # fmt: skip


def differences(e: Expr, given: list[str | None]) -> list[Any]:
    columns = rows(given)
    found = comparable(evaluate(e, columns)).to_pylist()
    wanted = [eval_expr(e, {"s.ts": i, "s.v": v, "s.n": i}) for i, v in enumerate(given)]
    kind = e.type
    return [
        (v, a, b) for v, a, b in zip(given, found, wanted, strict=True) if repr(plain(a, kind)) != repr(plain(b, kind))
    ]


@pytest.mark.parametrize("named", [None, "America/New_York"])
def test_columns_give_what_rows_give(named: str | None) -> None:
    given = texts(Random(f"json {named}"), 400)
    for text in CALLS:
        found = differences(bound(text, named), given)
        assert not found, (text, len(found), found[:3])


def test_deep_and_long_texts() -> None:
    deep, too_deep, objects = DEEP
    found = evaluate(bound("get_json_object(v, '$[0][0]')"), rows([deep, too_deep])).to_pylist()
    assert found == ["[" * 998 + "]" * 998, None]
    assert evaluate(bound("get_json_object(v, '$.a')"), rows([objects]))[0].as_py() == objects[5:-1]
    many = '{"a":"' + "\\u0041\x01" * 50_000 + '"}'
    found = evaluate(bound("get_json_object(v, '$')"), rows([many] * 3)).to_pylist()
    assert found == ['{"a":"' + "A\\u0001" * 50_000 + '"}'] * 3


def test_slices_and_no_rows() -> None:
    given = texts(Random("slices"), 40)
    for text in CALLS:
        e = bound(text)
        whole = evaluate(e, rows(given))
        for low, count in ((7, 30), (3, 1), (0, 0)):
            part = evaluate(e, rows(given).slice(low, count))
            assert part.type == e.type and repr(part.to_pylist()) == repr(whole.slice(low, count).to_pylist()), text


def test_values_are_written_as_spark_writes_them() -> None:
    at = datetime(2024, 7, 1, 12, 0, 0, 123_456, UTC)
    value = {
        "t": at, "z": at.replace(tzinfo=None), "d": date(2024, 7, 1), "x": 0.1, "nan": float("nan"), "big": 1e30,
        "m": Decimal("0.0000001"), "b": True, "s": '"\\/\n\x01\U0001f600\x7f', "null": None, "xs": [1, None],
        "keys": [("a", None), ("b", 2)], "in": {"gone": None},
    }  # fmt: skip
    kinds = [
        ("t", pa.timestamp("us", "UTC")), ("z", pa.timestamp("us")), ("d", pa.date32()), ("x", pa.float32()),
        ("nan", pa.float64()), ("big", pa.float64()), ("m", pa.decimal128(20, 7)), ("b", pa.bool_()),
        ("s", pa.string()), ("null", pa.int32()), ("xs", pa.list_(pa.int64())),
        ("keys", pa.map_(pa.string(), pa.int32())),
        ("in", pa.struct([("gone", pa.int32())])),
    ]  # fmt: skip
    texts = encoded(pa.array([value, None], pa.struct(kinds)), zone("America/New_York")).to_pylist()
    assert texts == [
        '{"t":"2024-07-01T08:00:00.123-04:00","z":"2024-07-01T12:00:00.123","d":"2024-07-01","x":0.1,"nan":"NaN",'
        '"big":1.0E30,"m":1E-7,"b":true,"s":"\\"\\\\/\\n\\u0001\U0001f600\x7f","xs":[1,null],'
        '"keys":{"a":null,"b":2},"in":{}}',
        None,
    ]
    assert written(value, pa.struct(kinds), "America/New_York") == texts[0]


def test_whole_queries_in_process(tmp_path: Any) -> None:
    messages = [
        {"ts": datetime.fromtimestamp(n + 1, UTC), "value": f'{{"user":"u{n % 2}","paid":{{"price":{n}.25}}}}'}
        for n in range(6)
    ]
    text = (
        "SELECT value ->> '$.user' AS user, SUM(from_json(value, 'paid STRUCT<price: DOUBLE>').paid.price) AS paid "
        "FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY value ->> '$.user'"
    )
    wanted = [("u0", 6.75), ("u1", 9.75)]
    assert sorted((r["user"], r["paid"]) for r in muntin.query(text, s=messages).to_pylist()) == wanted
    pq.write_table(pa.Table.from_pylist(messages), tmp_path / "s.parquet")
    again = muntin.query(text, s=str(tmp_path / "s.parquet"))
    assert sorted((r["user"], r["paid"]) for r in again.to_pylist()) == wanted
    written = muntin.query(
        "SELECT to_json(struct(value ->> '$.user' AS user, COUNT(*) AS n)) AS value FROM s [RANGE 1 MINUTE SLIDE 1 "
        "MINUTE] GROUP BY value ->> '$.user'", s=messages,
    )  # fmt: skip
    assert sorted(r["value"] for r in written.to_pylist()) == ['{"user":"u0","n":3}', '{"user":"u1","n":3}']


def test_a_query_reads_back_as_text() -> None:
    text = (
        "SELECT from_json(v, 'a ARRAY<STRUCT<`b c`: INT>>').a[0].`b c` AS x, v ->> 'a\\\\b' AS y, "
        "to_json(struct(n AS k, v)) AS z FROM s [RANGE 1 HOUR] WHERE json_array_length(v) > 0"
    )
    whole = bind(text, CATALOG)
    assert bind(to_cql(whole), CATALOG).root == whole.root


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("get_json_object(v, 'a')", r"'a' is no path into JSON, from 'a' on: write \$, then \.name"),
        ("get_json_object(v, '$.a[')", r"no path into JSON, from '\[' on"),
        ("get_json_object(v, '$.*')", r"no path into JSON, from '\.\*' on"),
        ("get_json_object(v, v)", r"GET_JSON_OBJECT takes a plain path"),
        ("get_json_object(n, '$.a')", r"takes a string, not s\.n"),
        ("v -> '$.a'", r"-> is not supported: parts of a text of JSON are GET_JSON_OBJECT\(text"),
        ("v ->> '$.a[*]'", r"->> takes a path to one value: write GET_JSON_OBJECT\(\.\.\., '\$\.a\[\*\]'\)"),
        ("json_tuple(v, 'a')", r"there is no JSON_TUPLE here: parts of a text"),
        ("schema_of_json(v)", r"there is no SCHEMA_OF_JSON here: parts of a text .*FROM_JSON"),
        ("from_json(v, 'INT')", r"FROM_JSON cannot read the schema 'INT'"),
        ("from_json(v, 'a INTS')", r"FROM_JSON cannot read the schema 'a INTS', .*unknown type INTS"),
        ("from_json(v, 'a BINARY')", r"FROM_JSON reads no BINARY: read it as STRING"),
        ("from_json(v, 'MAP<INT, INT>')", r"the keys of MAP<INT, INT> are STRINGs in JSON"),
        ("from_json(v, 'a INT, a INT')", r"has field 'a' twice"),
        ("from_json(v, 'a INT').b", r"field 'b' of .* is not there"),
        ("to_json(v)", r"TO_JSON takes a struct, an array or a map, not s\.v"),
        ("struct(n, n)", r"has field 'n' twice"),
        ("named_struct('a')", r"NAMED_STRUCT takes 2 or more arguments"),
        ("named_struct(v, n)", r"NAMED_STRUCT takes plain names"),
    ],
)
def test_errors_say_what_to_write(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        bind(f"SELECT {text} AS value FROM s [NOW]", CATALOG)
