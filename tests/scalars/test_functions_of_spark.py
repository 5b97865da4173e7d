"""Functions under Spark's names: the examples of Spark's documentation, errors that say what is wrong, cost by row."""

from __future__ import annotations

import datetime as dt
import re
import zlib
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import muntin
from muntin.core.errors import DataError, QueryError
from muntin.core.schema import Schema
from muntin.cql import bind
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.exprs import Expr
from muntin.plan.nodes import Project
from muntin.reference import eval_expr
from muntin.scalars.evaluate import evaluate

SCHEMA = Schema.of(ts=pa.timestamp("us", "UTC"), s=pa.string(), n=pa.int64(), x=pa.float64(), data=pa.binary())
CATALOG = Catalog((Stream("S", SCHEMA, "ts"),))


def bound(text: str) -> Expr:
    project = bind(f"SELECT {text} AS c FROM S", CATALOG).root.input
    assert isinstance(project, Project)
    return project.exprs[0][1]


def over(text: str, **columns: list[Any]) -> list[Any]:
    arrays = [pa.array(v, next(f.type for f in SCHEMA if f.name == n)) for n, v in columns.items()]
    found: list[Any] = evaluate(bound(text), pa.record_batch(arrays, [f"S.{n}" for n in columns])).to_pylist()
    return found


EXAMPLES: dict[str, Any] = {
    "md5('Spark')": "8cde774d6f7333752ed72cacddb05126",
    "sha1('Spark')": "85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c",
    "sha2('Spark', 256)": "529bc3b07127ecb7e53a4dcf1991d9152c24537d919178022b2c42657f79a26b",
    "crc32('Spark')": 1557323817,
    "hash('Spark', array(123), 2)": -1321691492,
    "xxhash64('Spark', array(123), 2)": 5602566077635097486,
    "hex(17)": "11",
    "hex('Spark SQL')": "537061726B2053514C",
    "decode(unhex('537061726B2053514C'), 'UTF-8')": "Spark SQL",
    "unhex('not hexadecimal')": None,
    "base64('Spark SQL')": "U3BhcmsgU1FM",
    "unbase64('U3BhcmsgU1FM')": b"Spark SQL",
    "bin(-13)": "1111111111111111111111111111111111111111111111111111111111110011",
    "conv('100', 2, 10)": "4",
    "conv('-10', 16, -10)": "-16",
    "url_encode('https://spark.apache.org')": "https%3A%2F%2Fspark.apache.org",
    "url_decode('https%3A%2F%2Fspark.apache.org')": "https://spark.apache.org",
    "try_url_decode('http%3A%2F%2spark.apache.org')": None,
    "parse_url('http://spark.apache.org/path?query=1', 'HOST')": "spark.apache.org",
    "parse_url('http://spark.apache.org/path?query=1', 'QUERY')": "query=1",
    "parse_url('http://spark.apache.org/path?query=1', 'QUERY', 'query')": "1",
    "try_parse_url('inva lid://spark.apache.org/path?query=1', 'QUERY')": None,
    "initcap('sPark sql')": "Spark Sql",
    "translate('AaBbCc', 'abc', '123')": "A1B2C3",
    "mask('AbCD123-@$#', 'Q', 'q', 'd', 'o')": "QqQQdddoooo",
    "overlay('Spark SQL' PLACING 'tructured' FROM 2 FOR 4)": "Structured SQL",
    "substring_index('www.apache.org', '.', 2)": "www.apache",
    "substring_index('www.apache.org', '.', -2)": "apache.org",
    "levenshtein('kitten', 'sitting')": 3,
    "levenshtein('kitten', 'sitting', 2)": -1,
    "soundex('Miller')": "M460",
    "ascii('222')": 50,
    "chr(65)": "A",
    "luhn_check('8112189876')": True,
    "luhn_check('79927398713')": True,
    "luhn_check('79927398714')": False,
    "regexp_count('Steven Jones and Stephen Smith are the best players', 'Ste(v|ph)en')": 2,
    "regexp_substr('Steven Jones and Stephen Smith are the best players', 'Ste(v|ph)en')": "Steven",
    "regexp_instr('user@spark.apache.org', '@[^.]*')": 5,
    r"regexp_extract_all('100-200, 300-400', '(\\d+)-(\\d+)', 1)": ["100", "300"],
    "elt(1, 'scala', 'java')": "scala",
    "find_in_set('ab','abc,b,ab,c,def')": 3,
    "shiftleft(2, 1)": 4,
    "shiftrightunsigned(-1, 28)": 15,
    "bit_count(0)": 0,
    "bit_get(11, 2)": 0,
    "bround(2.5, 0)": Decimal(2),
    "bround(25, -1)": 20,
    "factorial(5)": 120,
    "width_bucket(5.3, 0.2, 10.6, 5)": 3,
    "width_bucket(-2.1, 1.3, 3.4, 3)": 0,
    "format_number(12332.123456, 4)": "12,332.1235",
    "printf('Hello World %d %s', 100, 'days')": "Hello World 100 days",
    "typeof(array(1))": "array<int>",
    "array(1, 2, 3)": [1, 2, 3],
    "array_distinct(array(1, 2, 3, null, 3))": [1, 2, 3, None],
    "array_except(array(1, 2, 3), array(1, 3, 5))": [2],
    "array_intersect(array(1, 2, 3), array(1, 3, 5))": [1, 3],
    "array_union(array(1, 2, 3), array(1, 3, 5))": [1, 2, 3, 5],
    "arrays_overlap(array(1, 2, 3), array(3, 4, 5))": True,
    "array_max(array(1, 20, null, 3))": 20,
    "array_min(array(1, 20, null, 3))": 1,
    "array_position(array(312, 773, 708, 708), 708)": 3,
    "array_remove(array(1, 2, 3, null, 3), 3)": [1, 2, None],
    "array_repeat('123', 2)": ["123", "123"],
    "array_sort(array('b', 'd', null, 'c', 'a'))": ["a", "b", "c", "d", None],
    "sort_array(array('b', 'd', null, 'c', 'a'), true)": [None, "a", "b", "c", "d"],
    "slice(array(1, 2, 3, 4), -2, 2)": [3, 4],
    "flatten(array(array(1, 2), array(3, 4)))": [1, 2, 3, 4],
    "sequence(5, 1)": [5, 4, 3, 2, 1],
    "concat(array(1, 2, 3), array(4, 5))": [1, 2, 3, 4, 5],
    "reverse(array(2, 1, 4, 3))": [3, 4, 1, 2],
    "array_join(array('hello', null, 'world'), ' ', ',')": "hello , world",
    "map(1.0, '2', 3.0, '4')": [(Decimal("1.0"), "2"), (Decimal("3.0"), "4")],
    "map_from_arrays(array(1, 3), array('2', '4'))": [(1, "2"), (3, "4")],
    "map_entries(map(1, 'a', 2, 'b'))": [{"key": 1, "value": "a"}, {"key": 2, "value": "b"}],
    "map_concat(map(1, 'a', 2, 'b'), map(3, 'c'))": [(1, "a"), (2, "b"), (3, "c")],
    "map_from_entries(array(struct(1, 'a'), struct(2, 'b')))": [(1, "a"), (2, "b")],
    "str_to_map('a:1,b:2,c:3', ',', ':')": [("a", "1"), ("b", "2"), ("c", "3")],
    "str_to_map('a')": [("a", None)],
    "array_insert(array(1, 2, 3, 4), 5, 5)": [1, 2, 3, 4, 5],
    "array_insert(array(5, 4, 3, 2), -4, 1)": [5, 1, 4, 3, 2],
    "array_insert(array(5, 3, 2, 1), -4, 4)": [5, 4, 3, 2, 1],
    "array_insert(array(1), -4, 2)": [2, None, None, 1],
    "arrays_zip(array(1, 2, 3), array(2, 3, 4))": [{"0": 1, "1": 2}, {"0": 2, "1": 3}, {"0": 3, "1": 4}],
    "to_number('454', '999')": Decimal(454),
    "to_number('454.00', '000.00')": Decimal("454.00"),
    "to_number('12,454', '99,999')": Decimal(12454),
    "to_number('$78.12', '$99.99')": Decimal("78.12"),
    "to_number('12,454.8-', '99,999.9S')": Decimal("-12454.8"),
    "try_to_number('<1 2>', '99pr')": Decimal(-12),
    "try_to_number('1234', '999')": None,
    "to_char(date'2016-04-08', 'y')": "2016",
    "2 << 1": 4,
    "4 >> 1": 2,
    "-4 >>> 30": 3,
    "5 | 1 & 2": 5,
    "5 | 1 ^ 1": 5,
    "2 & 3 << 1": 2,
    "1 << 1 + 1": 4,
    "6 | 1 << 1 = 6": True,
    "from_json('{\"a\": {\"b\": 1}}', 'a STRUCT<b: INT>').a.b": 1,
    "named_struct('x', 5).x": 5,
    "to_date('2016-12-31', 'yyyy-MM-dd')": dt.date(2016, 12, 31),
    "to_timestamp_ntz('2016-12-31 00:12:00', 'yyyy-MM-dd HH:mm:ss')": dt.datetime(2016, 12, 31, 0, 12),
    "to_timestamp_ntz('10/Oct/2000:13:55:36', 'dd/MMM/yyyy:HH:mm:ss')": dt.datetime(2000, 10, 10, 13, 55, 36),
    "unix_timestamp('10/Oct/2000:13:55:36 -0700', 'dd/MMM/yyyy:HH:mm:ss Z')": 971211336,
    "try_to_timestamp('foo', 'yyyy-MM-dd')": None,
    "make_date(2013, 7, 15)": dt.date(2013, 7, 15),
    "make_timestamp_ntz(2014, 12, 28, 6, 30, 45.887)": dt.datetime(2014, 12, 28, 6, 30, 45, 887_000),
    "make_timestamp_ntz(2019, 6, 30, 23, 59, 60)": dt.datetime(2019, 7, 1),
    "try_make_timestamp(2024, 13, 22, 15, 30, 0)": None,
    "months_between('1997-02-28 10:30:00', '1996-10-30')": 3.94959677,
    "months_between('1997-02-28 10:30:00', '1996-10-30', false)": 3.9495967741935485,
}
"""As the documentation of Spark SQL's functions has them."""


def test_spark_s_examples() -> None:
    rows = pa.record_batch({"S.n": pa.array([1])})
    found = {text: evaluate(bound(text), rows).to_pylist()[0] for text in EXAMPLES}
    assert found == EXAMPLES


def test_a_binary_value_is_taken_as_its_bytes() -> None:
    data = [b"\xff\x00", None, b""]
    assert over("hex(data)", data=data) == ["FF00", None, ""]
    assert over("base64(data)", data=data) == ["/wA=", None, ""]
    assert over("crc32(data)", data=data) == [zlib.crc32(b"\xff\x00"), None, 0]
    assert over("unbase64(base64(data))", data=data) == data
    with pytest.raises(DataError, match="the bytes are no UTF-8"):
        over("decode(data, 'UTF-8')", data=data)


def test_slices_of_batches_and_nulls_that_hide_a_text() -> None:
    """Offsets need not begin at 0, and a row that is NULL may have bytes behind it."""
    texts = pa.array(["zero", "one", "x", "\u00e9\u00df two", None, "three"])
    hidden = pa.Array.from_buffers(pa.string(), 6, [pa.array([True, True, False, True, False, True]).buffers()[1],
                                                    *texts.buffers()[1:]])  # fmt: skip
    batch = pa.record_batch({"S.s": hidden}).slice(1)
    for text in ("hex(s)", "initcap(s)", "translate(s, 'e', 'E')", "soundex(s)", "substring_index(s, 'e', 1)", "md5(s)",
                 "hash(s)", "levenshtein(s, 'one')", "array_distinct(split(s, 'e'))"):  # fmt: skip
        e = bound(text)
        wanted = [eval_expr(e, {"S.s": v}) for v in batch.column(0).to_pylist()]
        assert evaluate(e, batch).to_pylist() == wanted, text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("to_timestamp(s, 'yyyy-MM-dd')", "(s, 'yyyy-MM-dd') has no value for x, yyyy-MM-dd: the text is not of the "
         "pattern, or there is no such time; filter such rows out with WHERE, or take try_to_timestamp for NULL"),
        ("url_decode(concat('%', s))", "two hexadecimal digits"),
        ("unbase64(s)", "no text of base 64"),
        ("conv(repeat(s, 40), 36, 10)", "more than 64 bits"),
        ("map(s, 1, s, 2)", "a key is NULL or comes twice"),
        ("slice(array(s), 0, 1)", "the start is 0"),
        ("to_number(s, '99')", "has no value for x, 99: the text is not of the format; filter such rows out with "
         "WHERE, or take try_to_number for NULL"),
        ("array_insert(array(s), CAST(n AS INT) - 1, 'y')", "the place is 0"),
        ("str_to_map(concat(s, ',', s))", "has no value for x,x: a key comes twice"),
        ("map_from_entries(array(struct(s, 1), struct(s, 2)))", "a key is NULL or comes twice"),
        ("sequence(n, 5, -1)", "the step leads away"),
        ("make_date(2023, 2, 29)", "there is no such time"),
    ],
)  # fmt: skip
def test_rows_without_a_value_are_named(text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        over(text, s=["x"], n=[1])
    assert message in str(caught.value).replace("S.", "")


@pytest.mark.parametrize("text", ["array_repeat(s, 2000000000)", "sequence(n, n + 9000000)"])
def test_arrays_that_have_no_room_are_not_begun(text: str) -> None:
    with pytest.raises(DataError, match="elements: make shorter ones"):
        over(text, s=["x"] * 300, n=range(300))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("to_timestamp(s, 'yyyy-ww')", "there is no ww in the patterns"),
        ("to_date(s, 'yyyy [MM')", "is not closed"),
        ("to_date(s, 'yyyy yyyy')", "comes twice"),
        ("to_timestamp(s, 'yyyyMMddHHmmssSSS')", "a row of digits that begins with yyyy"),
        ("to_timestamp(s, 'Hm')", "a row of digits that begins with H"),
        ("translate(s, s, 'x')", "plain characters"),
        ("printf('%q', s)", "formats are %s, %d"),
        ("printf('%d %d', n)", "has no value for %d"),
        ("printf('%d', s)", "takes a whole number"),
        ("decode(data, 'latin-1')", "knows UTF-8 alone"),
        ("hash(map('a', 1))", "takes no maps"),
        ("array(1, 'a')", "values of one kind"),
        ("array_max(array(array(1)))", "compares elements"),
        ("to_number(s, '9a')", "is no format of a number here"),
        ("to_number(s, 'S9MI')", "is no format of a number here"),
        ("to_char(n, '999')", "write FORMAT_NUMBER(x, 2)"),
        ("to_char(data, 'x')", "'base64', 'hex' or 'utf-8'"),
        ("map_from_entries(array(1))", "structs of a key and a value"),
        ("str_to_map(s, 'x*')", "no empty text fits"),
        ("array_insert(array(1), 0, 2)", "0 is no place"),
        ("array_append(array(1), 'x')", "CAST it"),
        ("concat(array(1), array('x'))", "CAST the elements of one"),
        ("format_string('%.401f', x)", "more than 400 digits"),
        ("regexp_extract_all(s, 'a*')", "no empty text fits"),
        ("rand()", "XXHASH64(a, b)"),
        ("uuid()", "MD5(CONCAT_WS"),
        ("current_timestamp()", "no clock but event time"),
        ("transform(array(1), x -> x + 1)", "not"),
        ("parse_url(s, 'PORT')", "takes one of HOST, PATH"),
        ("elt(n, x, s)", "takes a string"),
        ("monotonically_increasing_id()", "does not know where a row was read"),
        ("skewness(n)", "session.aggregate"),
    ],
)
def test_what_is_not_here_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=re.escape(message)):
        bound(text)


def test_a_query_in_process_uses_them() -> None:
    rows = pa.table({"ts": np.arange(4), "url": ["a%20b", "c+d", None, "a%20b"], "at": ["01/Feb/2024"] * 4})
    found = muntin.query(
        "SELECT url_decode(url) AS u, to_date(at, 'dd/MMM/yyyy') AS d, COUNT(*) AS n, MAX(ts) AS t FROM s "
        "GROUP BY url_decode(url), to_date(at, 'dd/MMM/yyyy')",
        s=rows, ts="ts", ts_unit="s",
    )  # fmt: skip
    kept = {(r["u"], r["d"], r["n"]) for r in found.to_pylist()}
    assert kept >= {("a b", dt.date(2024, 2, 1), 2), ("c d", dt.date(2024, 2, 1), 1), (None, dt.date(2024, 2, 1), 1)}
