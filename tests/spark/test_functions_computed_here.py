"""Functions that Spark never computes for us: the evaluator's answers are the reference's, and Spark's own.

Over the drawn values of ``test_scalars_everywhere``. Spark is asked once, in UTC and in ANSI mode.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import Feed, events
from draws import blocks
from regression_answers import ANSWERS, NAMES, every
from test_scalars_everywhere import FAILED, ROWS, SCHEMA, Tried, bound, differences, frame, in_python, or_failed, plain

import muntin
from muntin.cql.types import to_spark
from muntin.plan.exprs import OURS, Call, Expr
from muntin.reference import eval_expr
from muntin.reference.values import from_outside
from muntin.scalars.evaluate import evaluate
from muntin.session import Session

__all__ = ["frame"]  # the fixture

THIRDS = 3
HASHES = [
    "md5(s)", "sha(t)", "sha1(s)", "sha2(s, 0)", "sha2(s, 224)", "sha2(t, 384)", "sha2(s, 512)", "sha2(s, 1)",
    "crc32(s)", *(f"{fn}({c})" for fn in ("hash", "xxhash64") for c in SCHEMA.names),
    "hash(s, i, NULL, x)", "xxhash64(s, n, d)", "hash(split(t, '-'))", "xxhash64(named_struct('a', i, 'b', s))",
    "xxhash64(repeat(t, 5))", "hash(encode(s, 'utf-8'))",
]  # fmt: skip
ENCODINGS = [
    "hex(s)", "hex(n)", "hex(i)", "bin(n)", "bin(a)", "unhex(s)", "unhex(hex(t))", "base64(s)", "base64(t)",
    "unbase64(base64(t))", "unbase64(s)", "unbase64(t)", "base64(unhex(hex(n)))", "decode(encode(s, 'UTF-8'), 'utf-8')",
    "decode(unhex(s), 'utf-8')", "url_encode(s)", "url_encode(t)", "url_decode(url_encode(s))",
    "url_decode(concat('%4', s))", "try_url_decode(concat('%', s))", "try_url_decode(concat('%e', t))",
    "conv(s, 10, 16)", "conv(s, 16, 10)", "conv(s, 10, -36)", "conv(n, 10, 2)", "conv(n, 10, -10)", "conv(s, 36, 10)",
    "conv(t, 10, 10)", "decode(i, 7, 'seven', 0, s, 'other')", "decode(i, 7, 'seven')",
]  # fmt: skip
URLS = (
    "http://user:pass@host.com:8080/a/b;c=1?q=1&r=x%20y&q=2#top", "https://ho_st/x?", "mailto:a@b.c?subject=x#f",
    "a/b?c=d", "//host/x", "file:///etc/passwd", "http://", "http:", "", "?q", "#r", "1a:b", "a b", "http://h:80a/x",
    "http://[::1]:9/p", "http://1.2.3.4/", "http://1.2.3.256/", "http://a..b/", "http://h.1/x", "http://h?x=%zz",
    "http://\u00e9.org/\u00e9?\u00e9", "HTTP://EXAMPLE.com./%41", "http://h/a|b", "ftp://u@h", "http://:80/x",
    "http://@h/", "http://h:/", "http://a-.b/", "x:/y", "http://h/[x]", "http://h?[x]", "http://u@v@h/", "/a:b",
    "a:b:c", "///p", "//", "//?q", "http://h#a#b", "http://h/\u00a0",
)  # fmt: skip
URL_PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO")
ENCODINGS += [
    "parse_url(s, 'HOST')", "parse_url(s, 'PATH')", "try_parse_url(t, 'PROTOCOL')", "try_parse_url(t, 'FILE')",
    "parse_url(concat('http://a/?', replace(s, ' ', ''), '=1&q=', h, '&r=2'), 'QUERY', 'q')",
    *("array(" + ", ".join(f"try_parse_url('{url}', '{part}')" for url in URLS) + ")" for part in URL_PARTS),
]  # fmt: skip
CHARACTERS = [
    "initcap(s)", "initcap(t)", "initcap(concat(s, ' ', s, '  ', t))", "initcap('\u01c6 \u00dfx \u00e9A \u0149')",
    "translate(s, 'abc123', 'xy')", "translate(t, '-: 2', '\u00e9/')", "translate(s, '\u00e9\u00df', 'e')",
    "mask(s)", "mask(t, 'A', 'b', NULL, '*')", "mask(concat(s, '\u00df'), NULL, NULL, NULL, '*')", "overlay(s, '_', 2)",
    "overlay(t PLACING 'xyz' FROM 3 FOR 1)", "overlay(s, t, h)", "overlay(t, s, 3, a)", "substring_index(t, '-', 2)",
    "substring_index(t, '-', -1)", "substring_index(t, ':', 1)", "substring_index(s, '1', 1)",
    "substring_index('aaaa', 'aa', 2)", "substring_index(concat(s, 'aaaa'), 'aa', -2)", "substring_index(t, '0', 0)",
    "substring_index(t, '', 1)", "substring_index(s, '\u00e9', -1)", "levenshtein(s, t)", "levenshtein(s, 'kitten')",
    "levenshtein(s, t, 9)", "levenshtein(t, s, coalesce(a, 3Y))", "soundex(s)", "soundex('Ashcraft')",
    "soundex(concat('M', s, t))",
    "soundex(t)", "ascii(s)", "ascii(t)", "chr(n)", "char(i)", "chr(a)", "luhn_check(s)", "luhn_check('79927398713')",
    "luhn_check(concat(h, i))", "regexp_count(t, '[0-9]+')", "regexp_count(s, 'a|1')", r"regexp_substr(t, '\\d+-')",
    "regexp_substr(s, '(a|1)(.)?')", r"regexp_instr(s, '\\.')", "regexp_instr(concat('\u00e9', t), '0+')",
    r"regexp_extract_all(t, '(\\d+)-', 1)", "regexp_extract_all(t, '[0-9]+', 0)", "regexp_extract_all(s, '(a)|(1)', 2)",
    "find_in_set(s, '1.9,abc,\u00e9,,yes')", "find_in_set('2024', t)", "find_in_set('a,b', 'a,b')",
]  # fmt: skip
NUMBERS = [
    *(f"try_to_number({v}, '{form}')"
      for v in ("translate(s, '\u0661', 'x')", "concat(h, '.', a)", "format_number(n, 2)")
      for form in ("999", "999D9", "S099", "9,999.99", "MI99999.9999", "$99PR", "9,999,999,999,999,999,999.00S")),
    "to_number(format_number(m, 2), '9,999,999.99')", "to_char(ts, 'yyyy/MM HH')", "to_varchar(d, 'MMM d')",
    "to_char(unhex(hex(s)), 'hex')", "to_char(encode(t, 'utf-8'), 'utf-8')", "to_char(unhex('C3'), 'base64')",
    "i >>> 3", "n >>> h >> 1", "i | h & 12", "h ^ 5 & i | 2", "i & 6 << 1 + a % 2Y", "i | n ^ 3 & h", "a >>> 2 < 5",
    "shiftleft(i, 3)", "shiftleft(n, i)", "i << h", "n >> 2", "a << 1", "shiftright(n, a)", "shiftright(i, -1)",
    "shiftrightunsigned(n, 3)", "shiftrightunsigned(i, h)", "bit_count(i)", "bit_count(n)", "bit_count(a)",
    "bit_get(i, 0)", "getbit(n, a)", "bit_get(h, 15)", "bit_get(a, h)", "bround(x, 2)", "bround(x)", "bround(x, -3)",
    "bround(i, -1)", "bround(n, -2)", "bround(m, 1)", "bround(w, 2)", "bround(f, 1)", "ROUND(f, 1)", "bround(2.5)",
    "bround(a, -1)", "factorial(a)", "factorial(i)", "width_bucket(x, -10, 10, 5)", "width_bucket(x, 10, -10, i)",
    "width_bucket(x, y, 100, 7)", "width_bucket(i, 0, 10, n)", "asinh(x)", "acosh(x)", "atanh(y)", "cot(x)", "sec(x)",
    "csc(y)", "format_number(x, 2)", "format_number(y, 0)", "format_number(n, 3)", "format_number(m, 1)",
    "format_number(w, 3)", "format_number(f, 2)", "format_number(a, -1)", "format_number(i, 0)",
    "format_string('%s is %d', s, i)", "printf('%05d|%-8d|%8d|%,d', i, n, h, n)",
    "format_string('%.2f|%10.1f|%f|%.0f', x, f, y, x)", "format_string('%08.3f', x)", "format_string('%x %X', i, n)",
    "format_string('100%% %s', b)", "format_string('%s %s', x, NULL)", "format_string('%-5s|%5s', s, s)",
]  # fmt: skip
WHOLE, MORE = "array(i, 7, NULL, h)", "array(7, i, -8)"
DOUBLES, PARTS, TEXTS = "array(x, y, 0.5D, NULL)", "split(t, '-')", "array(s, '1.9', t)"
MIXED = (WHOLE, DOUBLES, PARTS, TEXTS, "array(b, true)", "array(m, 3)", "array(d, DATE '2024-03-10')")
PAIRS = ((WHOLE, MORE), (MORE, WHOLE), (DOUBLES, "array(y, x)"), (PARTS, TEXTS), (TEXTS, PARTS))
ARRAYS = [
    *(f"array_{fn}({v})" for fn in ("distinct", "max", "min", "compact", "sort", "size") for v in MIXED),
    *(f"sort_array({v}, {up})" for v in (WHOLE, DOUBLES, PARTS) for up in ("true", "false")), "sort_array(array(i, 3))",
    *(f"array_{fn}({a}, {b})" for fn in ("except", "intersect", "union") for a, b in PAIRS),
    *(f"arrays_overlap({a}, {b})" for a, b in (*PAIRS, (MORE, MORE), (DOUBLES, "array(y)"))),
    "array_position(array(i, 7, NULL), 7)", f"array_position({DOUBLES}, y)", f"array_position({PARTS}, '03')",
    f"array_remove({WHOLE}, 7)", f"array_remove({DOUBLES}, x)", f"array_remove({PARTS}, s)",
    f"array_append({WHOLE}, h)", f"array_prepend({PARTS}, s)", f"array_append({DOUBLES}, NULL)", "array_repeat(x, 2)",
    "array_repeat(i, -1)", f"concat({WHOLE}, {MORE})", f"reverse({WHOLE})", f"reverse({PARTS})",
    f"slice({PARTS}, 2, 2)",
    f"slice({PARTS}, -2, 1)", f"slice({WHOLE}, a, 2)", f"slice({WHOLE}, 1, h)", f"slice({WHOLE}, -5, 9)",
    f"flatten(array({WHOLE}, {MORE}))", f"flatten(array({PARTS}, array(s)))", "sequence(1, 5)", "sequence(a, 3Y)",
    "sequence(5, 1, -2)", "sequence(1L, 1L + a, 3L)", "sequence(h, h)", "array_join(array(s, NULL, t), '/')",
    "array_join(array(s, NULL, t), '/', '?')", "array_contains(array(i, h), 7)", "map('a', i, 'b', h)['b']",
    "CASE WHEN i <> h THEN map(i, s, h, t) END", "map_from_arrays(array(coalesce(i, 4), 3), array(s, t))",
    "map_entries(map(3, s))",
    "map_concat(map(1, s), map(3, t))",
    "CASE WHEN a <> 5Y THEN map_keys(map(a, x, 5Y, y)) END", "CASE WHEN s IS NOT NULL THEN map(s, x, 'k', y) END",

    "CASE WHEN i <> 7 THEN map_from_entries(array(named_struct('k', i, 'v', s), named_struct('k', 7, 'v', t))) END",
    "map_from_entries(array_append(map_entries(map(1, s)), NULL))", "map_from_entries(array(struct(n, x)))",
    "map_from_entries(array_append(map_entries(map('k', x)), named_struct('key', 'l', 'value', y)))",
    "str_to_map(concat('k:', s, ',l:', t))", "str_to_map(concat('k=', t, ' & l', s), ' ?& ?', '[=:]')", "str_to_map(s)",
    *(f"array_insert({v}, {n}, {w})" for v, w in ((WHOLE, "h"), (PARTS, "s")) for n in (1, 2, 5, 9, -1, -2, -9)),
    f"array_insert({WHOLE}, CAST(a AS INT), i)", f"array_insert({DOUBLES}, 2, NULL)",
    f"arrays_zip({WHOLE}, {PARTS}, array(i))", f"arrays_zip({TEXTS})",
    "map_contains_key(map(coalesce(n, 9), 1), 7L)",
    "array(array(i), array(h, 3))",
    "element_at(array(i, h), -1)", "elt(a, s, t, NULL)", "elt(1, s, t)", "CASE WHEN x <> y THEN map(x, 1, y, 2) END",
]  # fmt: skip
PATTERNS = ("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd", "yyyy-M-d H:m", "yyyy-MM-dd[ HH:mm:ss]", "yyyy-MM-dd''T''HH:mm:ssXXX")
TIMES = [
    *(f"{fn}(t, '{p}')" for fn in ("to_timestamp", "try_to_timestamp", "to_date") for p in PATTERNS),
    *(f"try_to_date(t, '{p}')" for p in PATTERNS[:3]), "to_timestamp_ntz(t, 'yyyy-MM-dd[ HH:mm:ss]')",
    "to_timestamp_ltz(date_format(ts, 'yyyyMMddHHmmss.SSSSSS'), 'yyyyMMddHHmmss.SSSSSS')",
    "unix_timestamp(t, 'yyyy-MM-dd')", "to_unix_timestamp(t, 'yyyy-MM-dd HH:mm:ss')", "unix_timestamp(ts, 'yyyy')",
    "to_timestamp(date_format(ts, 'dd/MMM/yyyy:hh:mm:ss a'), 'dd/MMM/yyyy:hh:mm:ss a')",
    "to_timestamp(concat(date_format(ts, 'yyyy-MM-dd HH:mm:ss'), ' -0330'), 'yyyy-MM-dd HH:mm:ss Z')",
    "to_timestamp(concat(date_format(ts, 'MMMM d yy HH'), '+05'), 'MMMM d yy HHX')",
    "to_timestamp(concat(h, ':', a), 'H:m')", "to_timestamp(s, 'y')", "to_timestamp(s, 's')", "to_timestamp(s, 'hh')",
    "to_timestamp(s, 'k')", "to_timestamp('24:00', 'kk:mm')", "to_timestamp('3 pm', 'h a')",
    "to_timestamp('29 02', 'dd MM')", "to_timestamp('2024-02-30', 'yyyy-MM-dd')",
    "to_timestamp('2024-01-01T10:00:00z', 'yyyy-MM-dd''t''HH:mm:ssXXX')", "to_timestamp('+12024-01', 'yyyy-MM')",
    "to_timestamp('2024-01-01 10:00:00.5', 'yyyy-MM-dd HH:mm:ss.SSS')",
    "to_timestamp('2024-01-01 10:00:00.1234567', 'yyyy-MM-dd HH:mm:ss.SSSSSSSSS')",
    "to_timestamp('030405123', 'HHmmssSSS')", "to_timestamp('2024 jan', 'yyyy MMM')",
    "to_timestamp('2024 may', 'yyyy MMMM')", "to_timestamp('10', 'HH')", "to_timestamp('12 am', 'hh a')",
    "make_date(h, a, a)", "make_date(2024, 2, a)", "make_date(9999, 12, a)", "make_timestamp(2024, 2, a, 10, 5, m)",
    "make_timestamp(2020, 1, 1, a, a, 60)", "make_timestamp_ntz(2024, 3, 10, 2, 30, 60.000001)",
    "make_timestamp(2024, 3, 10, 2, 30, 5.5, 'America/New_York')", "try_make_timestamp(2024, 2, a, 10, 5, 7)",
    "make_timestamp_ltz(2024, 11, 3, 1, 30, a)", "months_between(ts, d)", "months_between(d, DATE '2024-02-29')",
    "months_between(ts, z)", "months_between(d, ts, false)", "months_between(ts, '2024-03-31 10:00:00.9')",
    "date_format(ts, 'k kk K KK Q QQ QQQ QQQQ q LLL LL L LLLL G GGGG SSSSSSSSS')",
    "date_format(d, 'qqq qqqq GG SSSSSSS')", "from_unixtime(i, 'yyyy-MM-dd kk')", "to_date(s)", "to_date('2024-01-01')",
    "try_to_timestamp(t)", "try_to_date(t)", "to_timestamp_ntz(t)", "to_date(d, 'yyyy')",
]  # fmt: skip
FAMILIES = {"hashes": HASHES, "encodings": ENCODINGS, "characters": CHARACTERS, "numbers": NUMBERS, "arrays": ARRAYS,
            "times": TIMES}  # fmt: skip
OTHERS_ANSWER = {"url_decode(concat('%4', s))", "try_url_decode(concat('%', s))"}
"""Spark's own answer is another, as the language reference says."""
SETTINGS = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true",
            "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}  # fmt: skip
"""Without code generated for hundreds of expressions, which takes longer than they do."""
ZONED = {"to_timestamp(t, 'yyyy-MM-dd HH:mm:ss')", "try_to_timestamp(t, 'yyyy-M-d H:m')", "to_date(t, 'yyyy-MM-dd')",
         "unix_timestamp(t, 'yyyy-MM-dd')", "make_timestamp(2024, 2, a, 10, 5, m)",
         "months_between(ts, d)"}  # fmt: skip
"""These are asked for in another zone too."""


def rows() -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([r[f.name] for r in ROWS], f.type) for f in SCHEMA], names=[f"S.{f.name}" for f in SCHEMA]
    )


@cache
def evaluated(text: str, zone: str = "UTC") -> list[Any]:
    """The evaluator's answers: both tests compare them."""
    return in_python(bound(text, zone), rows())


def told(value: Any, kind: pa.DataType) -> Any:
    """A nested value with its dates and timestamps as the evaluator has them."""
    if isinstance(value, list):
        return [told(v, kind.value_type) for v in value] if not pa.types.is_map(kind) else value
    return value if isinstance(value, dict | tuple) else from_outside(value, kind)


@blocks(1, THIRDS)
def test_the_evaluator_has_the_reference_s_answers(block: int) -> None:
    """Over every third row; the long form has the others."""
    batch, some = rows(), ROWS[block::THIRDS]
    given = [{f"S.{f.name}": from_outside(r[f.name], f.type) for f in SCHEMA} for r in some]
    problems: list[str] = []
    for text in (t for family in FAMILIES.values() for t in family):
        for zone in ("UTC", "Australia/Lord_Howe") if text in ZONED else ("UTC",):
            e = bound(text, zone)
            wanted = [or_failed(lambda row=row, e=e: told(eval_expr(e, row), e.type)) for row in given]
            got = [v if v is FAILED else told(v, e.type) for v in evaluated(text, zone)[block::THIRDS]]
            problems += differences(f"{text} in {zone}", {"reference": wanted, "evaluator": got}, some)
            assert evaluate(e, batch.slice(0, 0)).type == e.type
    assert not problems, "\n".join(problems)


def test_all_of_them_are_drawn() -> None:
    def names(e: Expr) -> Iterator[str]:
        if isinstance(e, Call):
            yield e.fn
            for a in e.args:
                yield from names(a)

    drawn = {n for family in FAMILIES.values() for t in family for n in names(bound(t, "UTC"))}
    json = {"get_json_object", "json_array_length", "json_object_keys", "from_json", "to_json"}
    assert OURS - drawn == json


CALLED = re.compile(r"(\w+)\(")
LATER = {"try_to_number", "try_to_timestamp"}
"""Functions that fail before Spark 4.2 where they should be NULL."""


def lacking(spark: Any) -> set[str]:
    """The functions of the newest Spark that this one has not, or has with faults."""
    listed = (Path(__file__).parents[2] / "tools" / "spark_functions.txt").read_text(encoding="utf-8").split()
    known = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    return set(listed) - known | (LATER if spark.version < "4.2" else set())


@pytest.mark.spark
@blocks(1, THIRDS)
def test_spark_answers_so_too(spark: Any, frame: Any, block: int) -> None:
    """For every third text; the long form has the others."""
    tried = Tried(spark)
    absent = lacking(spark)
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    problems: list[str] = []
    for family in FAMILIES.values():
        texts = [t for t in family[block::THIRDS] if t not in OTHERS_ANSWER and not absent & set(CALLED.findall(t))]
        asked = [(t, bound(t, "UTC")) for t in texts]
        table = frame.select("r", *(tried.of(t, f"c{i}") for i, (t, _) in enumerate(asked))).toArrow().sort_by("r")
        for i, (text, e) in enumerate(asked):
            column = table[f"c{i}"].combine_chunks()
            column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            values, there = column.field("v"), column.is_valid().to_pylist()
            if to_spark(values.type) != to_spark(e.type):
                problems.append(f"{text} is {to_spark(values.type)} in Spark, {to_spark(e.type)} here")
            wanted = [v if ok else FAILED for v, ok in zip(plain(values, e.type), there, strict=True)]
            problems += differences(text, {"evaluator": evaluated(text), "Spark": wanted})
    for key in SETTINGS:
        if "codegen" in key:
            spark.conf.unset(key)
    assert not problems, "\n".join(problems)


@pytest.mark.spark
def test_packers_and_levels_compute_them(spark: Any, feed: Callable[[str], Feed]) -> None:
    text = (
        "SELECT md5(hex(v)) AS m, COUNT(*) AS n, MAX(array_max(array(v, 7L))) AS a, array_sort(array(COUNT(*), 3L)) "
        "AS t, MIN(to_timestamp(concat('2024-01-', lpad(CAST(v % 28 + 1 AS STRING), 2, '0')), 'yyyy-MM-dd')) AS d "
        "FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] WHERE xxhash64(v) % 3 = 0 GROUP BY md5(hex(v))"
    )
    source = feed("s").put(events(0, 0, 30, 120))
    session = Session(spark, shards=2, partitions=2)
    session.stream("s", source.replay(), slack="2 seconds")
    wanted = muntin.query(text, s=(source.replay().toArrow(), "ts"))
    found = session.sql(text, name="q").to_df().toArrow()
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, wanted.to_pylist())) and len(found) > 20


def test_aggregates_of_pairs_and_tried_ones_are_spark_s(spark: Any) -> None:
    """Before 4.2, Spark fails or has other answers where all x or all y are one."""
    names = [n for n in ANSWERS if spark.version >= "4.2" or n in ("no pairs", "a line", "y is none", "without end")]
    rows = [(i, y, x) for i, n in enumerate(names) for y, x in ANSWERS[n][0]]
    kinds = {"i": pa.int32(), "y": pa.float64(), "x": pa.float64()}
    columns = zip(*rows, strict=True)
    table = pa.table({n: pa.array(c, t) for (n, t), c in zip(kinds.items(), columns, strict=True)})
    spark.createDataFrame(table).createOrReplaceTempView("pairs_of_numbers")
    twice = "(SELECT * FROM pairs_of_numbers UNION ALL SELECT * FROM pairs_of_numbers)"
    for calls, rows_of in ((every("y", "x"), "pairs_of_numbers"), (every("DISTINCT y", "x"), twice)):
        found = spark.sql(f"SELECT i, {calls} FROM {rows_of} GROUP BY i ORDER BY i").toArrow().to_pylist()
        for name, row in zip(names, found, strict=True):
            for fn, wanted in zip(NAMES, ANSWERS[name][1], strict=True):
                got = row[fn.lower()]
                if name == "without end" and wanted is not None and math.isnan(wanted):
                    assert not math.isfinite(got), (fn, "which it is goes by the order in which Spark meets the rows")
                    continue
                assert got == (None if wanted is None else pytest.approx(wanted, abs=1e-12, nan_ok=True)), (name, fn)
    tried = "TRY_SUM(n) AS s, TRY_AVG(n) AS a, TRY_SUM(CAST(n AS DECIMAL(38, 0))) AS m, TRY_AVG(y) AS f"
    rows = [(n, t, y) for n, t, y in ((2**63 - 1, 1, 0.5), (1, 2, None), (None, 3, 1.5))]
    n, t, y = zip(*rows, strict=True)
    table = pa.table({"n": pa.array(n, pa.int64()), "t": pa.array(t, pa.timestamp("s", "UTC")), "y": y})
    spark.createDataFrame(table).createOrReplaceTempView("large_numbers")
    ours = muntin.query(f"Rstream(SELECT {tried} FROM s [UNBOUNDED])", s=(table, "t"))
    (wanted,) = spark.sql(f"SELECT {tried} FROM large_numbers").toArrow().to_pylist()
    assert {name: ours.to_pylist()[-1][name] for name in wanted} == wanted and wanted["s"] is None
