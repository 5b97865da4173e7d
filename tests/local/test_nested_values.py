"""Fields of structs, elements of arrays and maps: the engine's columns against the reference, and whole queries."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from nested_values import CATALOG, SCHEMA, expressions, row

import muntin
from muntin.core.errors import QueryError
from muntin.cql.binder import bind
from muntin.cql.types import from_spark, to_spark
from muntin.cql.unparse_query import to_cql
from muntin.reference.scalar import eval_expr
from muntin.reference.values import from_outside
from muntin.scalars.evaluate import evaluate


@pytest.mark.parametrize("seed", range(6))
def test_columns_give_what_rows_give(seed: int) -> None:
    r = Random(seed)
    rows = [row(r, n) for n in range(40)]
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    names = [f"f.{n}" for n in SCHEMA.names]
    whole = pa.RecordBatch.from_arrays(batch.columns, names=names)
    for part in (whole, whole.slice(7, 20), whole.slice(3, 1), whole.slice(0, 0)):
        inside = part.to_pylist(maps_as_pydicts=None)
        known = [{f"f.{f.name}": from_outside(v[f"f.{f.name}"], f.type) for f in SCHEMA} for v in inside]
        for text, e in expressions():
            got = evaluate(e, part)
            wanted = [eval_expr(e, v) for v in known]
            assert got.type == e.type and same(got.to_pylist(), wanted, e.type), (text, got.to_pylist(), wanted)


def same(got: list[Any], wanted: list[Any], kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind):
        got = [None if g is None else int(g.timestamp() * 1_000_000) for g in got]
    return [*map(repr, got)] == [*map(repr, wanted)]


def test_a_query_over_nested_values_reads_back_as_text() -> None:
    text = (
        "SELECT page.url, tags[i] AS tag, COUNT(*) AS n FROM f [RANGE 1 HOUR] WHERE size(tags) > 1 "
        "GROUP BY page.url, tags[i]"
    )
    bound = bind(text, CATALOG)
    again = bind(to_cql(bound), CATALOG)
    assert again.root == bound.root


def test_whole_queries_in_process() -> None:
    rows = [
        {"ts": datetime.fromtimestamp(n + 1, UTC), "page": {"url": "/ab"[: 1 + n % 2]}, "tags": ["x", "y"][: n % 3]}
        for n in range(6)
    ]
    text = "SELECT page.url AS url, COUNT(tags[0]) AS n FROM f [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY page.url"
    found = muntin.query(text, f=rows).to_pylist()
    assert sorted((r["url"], r["n"]) for r in found) == [("/", 2), ("/a", 2)]
    joined = muntin.query(
        "SELECT a.page.url FROM f a [RANGE 1 MINUTE], f b [RANGE 1 MINUTE] WHERE a.page.url = b.page.url "
        "AND array_contains(b.tags, 'y')", f=rows,
    )  # fmt: skip
    assert sorted(r["url"] for r in joined.to_pylist() if r["op"] == "+") == ["/"] * 3 + ["/a"] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("page.urll", r"field 'urll' of .*page \(STRUCT<url: STRING, .*is not there. Did you mean url\? Fields: url,"),
        ("f.page.in.x.y", r"BIGINT is no struct and has no field 'y'"),
        ("pages.url", r"there is no 'pages' in FROM|is no struct and has no field 'url': write an element first"),
        ("s[0]", r"has no elements: subscripts are of arrays and maps; of a string write SUBSTRING"),
        ("m[1]", r"the keys of .* are no "),
        ("tags['x']", r"a subscript is a whole number"),
        ("element_at(tags, 0)", r"element_at counts from 1"),
        ("size(s)", r"SIZE takes an array or a map"),
        ("array_contains(tags, 1)", r"the elements of .* are not compared with"),
        ("explode(tags)", r"there is no EXPLODE here: nested values are taken apart here .*columns = \{ tag"),
    ],
)
def test_errors_say_what_is_there(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        bind(f"SELECT {text} AS value FROM f [NOW]", CATALOG)


def test_types_read_back_as_text() -> None:
    for field in SCHEMA:
        assert from_spark(to_spark(field.type)) == field.type
    assert from_spark("array<struct<`a b` decimal(10, 2), c: map<string, array<int>>>>") == pa.list_(
        pa.struct([("a b", pa.decimal128(10, 2)), ("c", pa.map_(pa.string(), pa.list_(pa.int32())))])
    )
    for text in ("ARRAY<>", "MAP<STRING>", "STRUCT<INT>", "ARRAY<STRINGS>"):
        with pytest.raises(ValueError, match=r"write ARRAY<type>|unknown type"):
            from_spark(text)


@pytest.mark.parametrize("shown", ["tags", "page", "tags, page"])
def test_first_rows_with_nested_columns_are_the_same_in_any_order_of_rows(shown: str) -> None:
    """Rows with equal keys come in the order of their other columns: nested ones have one as well."""
    values = [(["b"], {"url": "/"}), (None, None), (["a", None], {"url": None}), ([], {"url": "/a"}), (["a"], None)]
    rows = [
        {"ts": datetime.fromtimestamp(1, UTC), "n": n % 2, "tags": tags, "page": page}
        for n, (tags, page) in enumerate([*values, *values])
    ]
    text = f"SELECT n, {shown} FROM f [RANGE 1 MINUTE SLIDE 1 MINUTE] ORDER BY n DESC LIMIT 3"
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("tags", pa.list_(pa.string())),
                        ("page", pa.struct([("url", pa.string())]))])  # fmt: skip
    found = []
    for seed in range(3):
        Random(seed).shuffle(rows)
        found.append(muntin.query(text, f=pa.Table.from_pylist(rows, schema)).to_pylist())
    assert found[0] == found[1] == found[2]
    shown_first = [tuple(r[c] for c in shown.split(", ")) for r in found[0]]
    assert len(found[0]) == 3 and {r["n"] for r in found[0]} == {1} and shown_first[0][0] is None
    once = text.replace("ORDER BY n DESC LIMIT 3", "QUALIFY ROW_NUMBER() OVER (PARTITION BY n ORDER BY ts) <= 1")
    assert [r["n"] for r in muntin.query(once, f=pa.Table.from_pylist(rows, schema)).to_pylist()] == [0, 1]
