"""Texts of JSON, drawn and fixed, paths into them and schemas of them."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.cql.binder import bind
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.exprs import Expr
from muntin.plan.nodes import Project, walk
from muntin.plan.windows import QueryOptions

COLUMNS = pa.schema([("ts", pa.timestamp("us", "UTC")), ("v", pa.string()), ("n", pa.int64())])
CATALOG = Catalog((Stream("s", Schema(tuple(Field(f.name, f.type) for f in COLUMNS)), "ts"),))

NUMBERS = (
    "0", "-0", "7", "-12", "1.50", "-0.0", "1e2", "1E-3", "0.001", "0.00099", "12345678.5", "9999999.999", "1e400",
    "0.1", "123456789012345678901234567890", "9223372036854775807", "9223372036854775808", "200", "255", "256", "32768",
    "2147483648", "1.7976931348623157e308", "0.1234567890123456789", "100.0", "00.5", "1.", "01", "+1", "-", "1e",
)  # fmt: skip
STRINGS = (
    '"a"', '""', '"x y"', r'"\u0041\n\t\"\\\/"', '"é"', '"\U0001f600"', r'"\ud83d\ude00"', r'"\ud800"', r'"x\udc00y"',
    r'"\u0001"', "\"it's\"", "'single'", r"'\''", "'\"'", '"\x01"', '"a\tb"', r'"\x"', r'"\u00g0"', '"open', '"1"',
    '"NaN"', '"-INF"', '"INF"', '"+Infinity"', '"1,234.5"', '"2024-02-29"', '"2024-02-30"', '"123"', '"-5"',
    '"2024-01-01T10:00:00.5Z"', '"2024-01-01 10:00:00.123456"', '"2024-03-10 02:30:00"', '"true"',
)  # fmt: skip
WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity", "-INF", "+INF", "INF", "-NaN", "tru", "nullx")
NAMES = ('"a"', '"b"', '"c"', '"a b"', "'a'", r'"\u0061"', '"é"', '"\U0001f600"', '"A"')


def draw(r: Random, depth: int = 3) -> str:
    """A text that mostly is JSON."""
    kind = r.random()
    space = r.choice(("", "", "", " ", "\n", "\t "))
    if depth and kind < 0.35:
        members = [f"{r.choice(NAMES)}{space}:{draw(r, depth - 1)}" for _ in range(r.randrange(4))]
        return "{" + space + ",".join(members) + r.choice(("}",) * 40 + ("", ",}", "]"))
    if depth and kind < 0.65:
        items = [draw(r, depth - 1) for _ in range(r.randrange(4))]
        return "[" + ",".join(items) + space + r.choice(("]",) * 40 + ("", ",]", "}"))
    sure = r.random() < 0.93
    if kind < 0.78:
        return space + r.choice(NUMBERS[:-7] if sure else NUMBERS)
    if kind < 0.92:
        return r.choice(tuple(s for s in STRINGS if s[0] == '"')[:9] if sure else STRINGS)
    return r.choice(WORDS[:3] if sure else WORDS)


def document(r: Random) -> str:
    """An object or an array, more often than not, with something behind it now and then."""
    text = draw(r, 3)
    while text[:1] not in ("{", "[") and r.random() < 0.9:
        text = draw(r, 3)
    return r.choice(("", "", " ", "\n")) + text + r.choice(("",) * 12 + (" ", " x", "}", "1"))


FIXED = (
    None, "", "  ", "null", "5", "5x", "5 x", '"a"x', "true$", "truex", "[1,2", "{", "[]", "{}", '{"a":1} xyz',
    "\ufeff{}", '{"a":null,"a":2,"a":3}', '{"a":{"b":1},"a":{"c":2}}', '{"a":1,"a":"x"}', '{"a":1,"a":null}',
    '{"a":[{"b":[{"c":1},{"c":[5,6]}]},{"b":[{"c":3}]}]}', "[[[1,2],[3]],[[4]]]", '[["a"],["b"]]', '["a"]', "[null]",
    '[{"a":"x"},{"b":1},5,null]', '{"a":[[]],"b":[[{"c":1.0e5}]]}', '{"b":[1,"x",3],"a":5}', '{"c":{"x":1,"x":2}}',
    "[" + "1" * 1000 + "]", "[" + "1" * 1001 + "]",
    '{"a":"\ud7ff\ue000\x7f\u2028"}', '{"a":{"b":"\U0001f600","c":[1.5e-7,2.50]}}', "[1,,2]", "[,1]", '{"a" 1}',
    "{a:1}",
    '{"a":1,"b":2.5,"c":"x"}', '[{"a":1},{"a":"x"}]', '{"a":[{"b":1},{"b":"q"}]}', '{"a":"2024-07-01"}',
    '{"a":1719792000}',
    *(f'{{"a":{v},"b":{v}}}' for v in (*NUMBERS, *STRINGS, *WORDS)), *(f"[{v}]" for v in (*NUMBERS, *STRINGS, *WORDS)),
)  # fmt: skip
DEEP = ("[" * 1000 + "]" * 1000, "[" * 1001 + "]" * 1001, '{"a":' * 999 + "[]" + "}" * 999)
"""Deeper than the reference goes."""
PATHS = (
    "$", "$.a", "$.a.b", "$[0]", "$[1]", "$[*]", "$[*][*]", "$[*].a", "$.a[*]", "$.a[*].b", "$.a[*].b[*].c", "$.b[0]",
    "$.a[*].b[*].c[1]", "$[*][*][*]", "$[*][0]", "$[0][*]", "$[*][0][*]", "$['a b']", "$.é", "$.\U0001f600", "$.a.c",
    "$[*][*].a", "$.b[*][*].c", "$[0][*][*]", "$.a[0].b[*].c", "$.c[*].a[*][*]", "$[*].a[0]", "$[007]",
)  # fmt: skip
SCHEMAS = (
    "a INT, b STRING", "a DOUBLE, b FLOAT", "a BIGINT, b TINYINT, c SMALLINT", "a DECIMAL(5, 2), b DECIMAL(38, 18)",
    "a BOOLEAN, b DATE", "a TIMESTAMP, b TIMESTAMP_NTZ", "a STRUCT<b: INT, c: STRING>, b ARRAY<INT>",
    "a ARRAY<STRUCT<b: ARRAY<STRUCT<c: INT>>>>, b MAP<STRING, DOUBLE>", "ARRAY<INT>",
    "ARRAY<STRUCT<a: INT, b: STRING>>", "MAP<STRING, STRING>", "ARRAY<ARRAY<STRING>>",
    "`a b` STRING, `é` INT, c MAP<STRING, INT>", "STRUCT<a: STRING>",
)  # fmt: skip


def texts(r: Random, count: int) -> list[str | None]:
    """The fixed ones, and drawn ones."""
    return [*FIXED, *(document(r) for _ in range(count))]


def quoted(text: str) -> str:
    """A text in a query."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def bound(text: str, zone: str | None = None) -> Expr:
    """An expression over ``v`` and ``n`` of stream s."""
    whole = bind(f"SELECT {text} AS value FROM s [NOW]", CATALOG, QueryOptions(zone=zone))
    (project,) = [n for n in walk(whole.root) if isinstance(n, Project)]
    return dict(project.exprs)["value"]


def rows(given: list[str | None]) -> pa.RecordBatch:
    """The texts as columns of the stream."""
    n = pa.array(range(len(given)), pa.int64())
    return pa.RecordBatch.from_arrays(
        [n.cast(pa.timestamp("us", "UTC")), pa.array(given, pa.string()), n], names=["s.ts", "s.v", "s.n"]
    )


def plain(value: Any, kind: pa.DataType) -> Any:
    """A value by which two evaluators are compared: times as numbers, structs as dicts, maps as pairs."""
    if value is None:
        return None
    t = pa.types
    if t.is_struct(kind):
        return {f.name: plain(value[f.name], f.type) for f in kind}
    if t.is_map(kind):
        return [(k, plain(v, kind.item_type)) for k, v in value]
    if t.is_list(kind):
        return [plain(v, kind.value_type) for v in value]
    return repr(value)


def comparable(column: pa.Array) -> pa.Array:
    """The column with times as numbers."""
    kind = column.type
    return column.cast(as_numbers(kind)) if as_numbers(kind) != kind else column


def as_numbers(kind: pa.DataType) -> pa.DataType:
    """The type with 64-bit numbers for timestamps and 32-bit ones for dates."""
    t = pa.types
    if t.is_struct(kind):
        return pa.struct([pa.field(f.name, as_numbers(f.type)) for f in kind])
    if t.is_map(kind):
        return pa.map_(kind.key_type, as_numbers(kind.item_type))
    if t.is_list(kind):
        return pa.list_(as_numbers(kind.value_type))
    return pa.int64() if t.is_timestamp(kind) else pa.int32() if t.is_date(kind) else kind
