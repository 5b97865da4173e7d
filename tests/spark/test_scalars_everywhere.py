"""Every scalar function and cast over drawn values with the extremes: JVM, Python and the evaluator give one answer.

In three session zones, with and without ANSI mode; where Spark's own text means the same (its zone the query's, ANSI
on), Spark is asked too. A row that fails is an error everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from draws import blocks
from pyspark.sql.streaming.readwriter import DataStreamReader

from muntin.core.errors import DataError
from muntin.core.schema import Schema
from muntin.cql import bind, to_spark_sql
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.exprs import FUNCTIONS, OURS, Call, Expr
from muntin.plan.nodes import Project
from muntin.plan.windows import QueryOptions
from muntin.reference import eval_expr
from muntin.reference.values import from_outside
from muntin.scalars.evaluate import evaluate
from muntin.verify.compare import same_value

pytestmark = pytest.mark.spark

PARTS = 6
ZONES = ("UTC", "America/New_York", "Australia/Lord_Howe")
NAN, INF = math.nan, math.inf
FAILED: Any = type("Failed", (), {"__repr__": lambda _: "FAILED"})()

SCHEMA = Schema.of(
    ts=pa.timestamp("us", "UTC"), z=pa.timestamp("us"), d=pa.date32(), a=pa.int8(), h=pa.int16(), i=pa.int32(),
    n=pa.int64(), f=pa.float32(), x=pa.float64(), y=pa.float64(), m=pa.decimal128(9, 2), w=pa.decimal128(38, 6),
    b=pa.bool_(), s=pa.string(), t=pa.string(),
)  # fmt: skip
STREAM = Stream("S", SCHEMA, "ts")
WHOLE = {k: (0, 1, -1, 7, -8, 2 ** (k - 1) - 1, -(2 ** (k - 1)), 2 ** (k - 2), 10) for k in (8, 16, 32, 64)}
VALUES: dict[str, tuple[Any, ...]] = {
    "ts": tuple(datetime(*p, tzinfo=UTC) for p in (
        (2024, 3, 10, 6, 59, 59, 999_999), (2024, 3, 10, 7), (2024, 11, 3, 5, 30), (2024, 11, 3, 6, 45, 30, 5),
        (2024, 4, 6, 14, 45), (2024, 4, 6, 15, 10), (2024, 10, 5, 15, 29, 59), (2024, 10, 5, 15, 30), (2024, 2, 29, 12),
        (1969, 12, 31, 23, 59, 59, 1), (1883, 11, 18, 16, 30), (1900, 1, 1), (2050, 7, 4, 3, 4, 5), (9999, 12, 30, 1),
        (1600, 2, 29, 20, 1), (2021, 1, 3, 0, 0, 0, 1_230), (1970, 1, 1), (2500, 11, 7, 5, 59), (2024, 7, 1, 4),
    )),
    "z": tuple(datetime(*p) for p in (
        (2024, 3, 10, 2, 30), (2024, 11, 3, 1, 30), (2024, 4, 7, 1, 45), (2024, 10, 6, 2, 15), (2024, 2, 29),
        (1969, 12, 31, 23, 59, 59, 1), (9999, 12, 30), (1883, 11, 18, 12, 1), (2021, 1, 3, 5, 6, 7, 80),
    )),
    "d": (date(2024, 3, 10), date(1970, 1, 1), date(2024, 11, 3), date(9999, 12, 30), date(1600, 3, 1), date(2021, 1,
    3)),
    "a": WHOLE[8], "h": WHOLE[16], "i": WHOLE[32], "n": WHOLE[64],
    "f": (0.0, 1.5, -2.5, 16777216.0, 1e10, NAN, INF, -INF, 0.10000000149011612, 3.4028234663852886e38),
    "x": (0.0, -0.0, 1.5, -2.5, 0.5, 1e18, 2.0**31, 2147483647.9, -129.0, 2.0**63, -(2.0**63), 1e300, -1e300, NAN, INF,
          -INF, 1e-7, 123456.789, 2.675, 2.2250738585072014e-308),
    "y": (0.0, 2.0, -3.0, 0.25, NAN, INF, -0.0, 1e308),
    "m": tuple(map(Decimal, ("0.00", "12.34", "-0.55", "9999999.99", "-9999999.99", "0.01", "3.00"))),
    "w": tuple(map(Decimal, ("0", "1.5", "-2.250001", "99999999999999999999999999999999.999999", "0.000001",
                             "-9223372036854775809", "9223372036854775807.9", "300"))),
    "b": (True, False),
    "s": ("", " 12 ", "1.9", "-7", "+5", "1e3", "1e400", "abc", "2147483648", "9223372036854775808", "127", "128",
    "NaN",
          "inf", "-Infinity", "-nan", "0x1p3", "1.5d", ".5", "1.", "1_0", "99999999.995", "yes", " T ", "0", "maybe",
          "\t3\n", "00012", "-0.0", "a%c", "Ab c", "é", "ß", "1e-7", "\u0661"),
    "t": ("2024-03-10 02:30:00", "2024-11-03 01:30:00", "2024-03-10", "2024", "2024-3", "2024-3-1 1:2", "2024-3-1 1",
          "2024-03-10T10:00:00Z", "2024-03-10 10:00:00 Europe/Rome", "2024-03-10 10:00:00.5+5", "2024-02-30",
          "24-01-01",
          "2024-03-10 10:00:00.1234567 -03:30", "2024-03-10 24:00:00", "12:30", "T12:30:00",
          "2024-03-10 10:00+01:00", "",
          "2024-03-10T10:junk", "2024-03-10 10:00:00 EST", "2024-03-10 10:00:00 nowhere", " 2024-03-10 ", "2024-03-10x",
          "9999-12-31", "2024-03-10 1:2:3.", "+2024-03-10 10:00:00UTC+3", "2024-1-1 1:2:3+19", "0002-01-01 00:00:00"),
}  # fmt: skip

NUMBERS = [
    *(f"{c} {op} {o}" for c, o in (("a", "a"), ("h", "h"), ("i", "i"), ("n", "n"), ("n", "i"), ("m", "m"), ("w", "m"),
                                   ("w", "w"), ("x", "y"), ("f", "f"), ("n", "y"), ("m", "i")) for op in "+-*/%"),
    "a + 1Y", "i + 1", "n + 1L", "n - 1L", "n * 2L", "i * 2", "i DIV i", "n DIV n", "n DIV -1L", "m DIV m", "i / 2",
    "n % 7L", "n % -1L", "m / 3", "i % 0", "-a", "-i", "-n", "-x", "-m", "ABS(a)", "ABS(i)", "ABS(n)",
    "ABS(x)", "ABS(w)", "ROUND(x)", "ROUND(x, 2)", "ROUND(x, -3)", "ROUND(i, -1)", "ROUND(n, -1)", "ROUND(n, -2)",
    "ROUND(a, -1)", "ROUND(m, 1)", "ROUND(m)", "ROUND(f)", "FLOOR(x)", "CEIL(x)", "FLOOR(f)", "FLOOR(m)", "CEIL(w)",
    "FLOOR(n)", "SQRT(x)", "POWER(x, 2)", "POWER(i, y)", "SIGN(x)", "SIGN(m)", "MOD(i, 7)", "PMOD(i, 7)", "PMOD(n, i)",
    "GREATEST(x, y)", "LEAST(i, n)", "GREATEST(m, w)", "NULLIF(i, 7)", "COALESCE(i, 3)", "i IN (7, -8, NULL)", "x = y",
    "x < y", "i <=> h", "m > x", "x <> f", "NOT b", "b AND i > 0", "b OR x > 1", "i IS NULL", "ISNAN(x)",
    "i BETWEEN -1 AND 7", "IF(b, i, n)", "CASE WHEN i > 0 THEN n / i WHEN b THEN 1 END", "NVL2(s, i, 2)",
    "CASE WHEN i <> 0 THEN n DIV i ELSE 0 END", "COALESCE(NULLIF(i, i), i + 1)", "b AND 1 / i > 0", "(i + i) + i",
    "COALESCE(i + 1, 0) + 1", "(n + 1L) * 2L > 0", "i + CAST(s AS INT)", "x IN (1.5D, 1 / y)", "n + 1L IS NULL",
    "CAST(x AS INT) + 1", "TRY_CAST(s AS INT)", "TRY_CAST(x AS TINYINT)", "try_add(i, i)", "try_subtract(n, 1L)",
    "try_multiply(i, i)", "try_divide(i, h)", "try_mod(i, h)", "try_add(n, CAST(s AS BIGINT))", "NULLIF(b, 1 / i > 0)",
]  # fmt: skip
KINDS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(38, 6)", "DECIMAL(3, 0)",
         "STRING", "BOOLEAN")  # fmt: skip
CASTS = [f"CAST({c} AS {kind})" for c in ("a", "i", "n", "f", "x", "m", "w", "b", "s") for kind in KINDS]
TEXTS = [
    "LOWER(s)", "UPPER(s)", "LENGTH(s)", "TRIM(s)", "LTRIM(s)", "RTRIM(s)", "s || t", "CONCAT(s, i)",
    "REPLACE(s, '1', 'x')",
    "SUBSTRING(s, 2)", "SUBSTRING(s, -2, 1)", "LEFT(s, 2)", "RIGHT(s, 1)", "s LIKE '1%'", "s LIKE '%_c'",
    "STARTSWITH(s, '1')", "CONTAINS(s, '%')", "ENDSWITH(s, '3')", "s > t", "CONCAT(x, m)", "w || n",
]  # fmt: skip
TIMES = [
    *(f"{part}({c})" for part in ("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFWEEK", "DAYOFYEAR", "WEEKOFYEAR", "HOUR",
                                  "MINUTE", "SECOND") for c in ("ts", "z", "d")),
    *(f"DATE_TRUNC('{u}', {c})" for u in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND",
                                          "MILLISECOND", "MICROSECOND") for c in ("ts", "d", "z")),
    *(f"CAST({c} AS {k})" for c in ("ts", "z", "d", "t") for k in ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "STRING")),
    "ts > d", "ts = z", "d < z", "CONCAT(ts, z, d)", "ts > '2024-03-10 02:30:00'",
    "ts >= TIMESTAMP '2024-11-03 01:30:00'",
    "from_utc_timestamp(ts, 'Asia/Kolkata')", "to_utc_timestamp(ts, 'America/New_York')",
    "from_utc_timestamp(d, 'Asia/Tokyo')",
    "to_utc_timestamp(z, 'Australia/Lord_Howe')", "from_utc_timestamp(t, 'Asia/Tokyo')",
    "convert_timezone('America/New_York', 'Asia/Kolkata', z)", "convert_timezone('Europe/Rome', z)",
    "convert_timezone('Europe/Rome', ts)", "TRY_CAST(t AS TIMESTAMP)", "TRY_CAST(t AS DATE)", "EXTRACT(DOW FROM ts)",
    "TO_DATE(ts)", "HOUR(CAST(t AS TIMESTAMP))", "COALESCE(ts, CAST(z AS TIMESTAMP))",
    "CAST(CAST(ts AS DATE) AS TIMESTAMP)",
    "ts - INTERVAL '1' MONTH", "ts - INTERVAL 14 MONTHS", "ts - INTERVAL 2 YEARS", "z - INTERVAL 1 MONTH",
    "d - INTERVAL 1 MONTH", "CASE WHEN YEAR(ts) < 9999 THEN ts + INTERVAL 1 MONTH END",
    "CASE WHEN YEAR(z) < 9999 THEN z + INTERVAL 8 MONTHS END", "CASE WHEN YEAR(d) < 9999 THEN INTERVAL 1 YEAR + d END",
    "DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:ss.SSS')", "DATE_FORMAT(ts, 'EEE, d MMM yy h:m:s a SSSSSS')",
    "DATE_FORMAT(d, 'EEEE MMMM D DDD y M H hh')", "DATE_FORMAT(ts, 'yyyyMMdd''T''HHmmss S ''it''''s''')",
]  # fmt: skip
UNDER_SPARKS_NAMES = [
    "LN(x)", "LOG10(y)", "LOG(2, x)", "LOG2(x)", "LOG(x)", "EXP(y)", "SIN(x)", "COS(y)", "TAN(y)", "ASIN(x)",
    "ACOS(y)", "ATAN(x)", "ATAN2(x, y)", "RADIANS(x)", "DEGREES(y)", "PI() * y", "E()", "NANVL(x, y)", "NEGATIVE(x)",
    "POSITIVE(i)", "i & h", "i | 5", "i ^ n", "~a", "ZEROIFNULL(i)", "NULLIFZERO(x)", "EQUAL_NULL(i, h)",
    "CONCAT_WS(',', s, t)", "CONCAT_WS('-', s, NULL, 'x')", "s RLIKE '^[0-9]+$'", "s RLIKE '.'",
    r"REGEXP_LIKE(s, '\\s\\d')", "s REGEXP 'a|1'", r"NOT s RLIKE '[^\\w]'", r"REGEXP_EXTRACT(t, '(\\d+)-(\\d+)', 2)",
    "REGEXP_EXTRACT(s, '[0-9]+(e)?', 1)", "REGEXP_EXTRACT(t, '[0-9]{4}', 0)", "REGEXP_REPLACE(t, '[-: ]+', '/')",
    r"REGEXP_REPLACE(s, '\\.', '')", "REVERSE(s)", "REPEAT(s, 3)", "LPAD(s, 4, '0')", "RPAD(s, 3)", "LPAD(s, 0)",
    r"REGEXP_EXTRACT(CONCAT(s, '\n', t), '\n([0-9]+)-', 1)", "REGEXP_EXTRACT(CONCAT(s, '](x'), '[](](x)', 1)",
    "CONCAT(s, '\x0b') RLIKE '\\\\s$'", "REGEXP_EXTRACT(s, '(?:(a)|[0-9])+', 1)",
    "LOG1P(x)", "EXPM1(y)", "SINH(x)", "COSH(y)", "TANH(x)", "CBRT(x)", "RINT(x)", "HYPOT(x, y)", "SPACE(3)",
    "SPLIT(t, '[-: ]')", r"SPLIT(s, '\\.')", "SPLIT_PART(t, '-', 2)", "SPLIT_PART(t, '-', -1)", "SPLIT_PART(s, '.', 9)",
    "ARRAY_JOIN(SPLIT(t, '-'), '/')", "OCTET_LENGTH(s)", "BIT_LENGTH(s)",
    "INSTR(s, '1')", "LOCATE('3', t)", "POSITION('e' IN s)", "BTRIM(s)",
]  # fmt: skip
DAYS_AND_EPOCH = [
    "CASE WHEN YEAR(d) < 9999 THEN DATE_ADD(d, 3) END", "CASE WHEN YEAR(d) < 9999 THEN DATE_SUB(d, h) END",
    "CASE WHEN YEAR(ts) < 9999 THEN DATE_ADD(ts, 1) END",
    "CASE WHEN YEAR(d) < 9999 THEN DATEADD(DAY, 3, d) END", "CASE WHEN YEAR(d) < 9999 THEN DATEADD(MONTH, 2, d) END",
    "CASE WHEN YEAR(ts) < 9999 THEN DATEADD(HOUR, -5, ts) END",
    "CASE WHEN YEAR(z) < 9999 THEN TIMESTAMPADD(MINUTE, 90, z) END", "DATEDIFF(ts, d)", "DATE_DIFF(d, '2024-01-01')",
    "UNIX_TIMESTAMP(ts)",
    "TO_UNIX_TIMESTAMP(ts)", "UNIX_SECONDS(ts)", "UNIX_MILLIS(ts)", "UNIX_MICROS(ts)", "UNIX_DATE(d)",
    "DATE_FROM_UNIX_DATE(h)", "TIMESTAMP_SECONDS(i)", "TIMESTAMP_MILLIS(i)", "TIMESTAMP_MICROS(i)",
    "FROM_UNIXTIME(i)", "FROM_UNIXTIME(i, 'yyyy/MM')", "TO_TIMESTAMP(z)",
    "CASE WHEN YEAR(d) < 9999 THEN LAST_DAY(d) END", "ADD_MONTHS(d, -2)", "TRUNC(ts, 'MM')", "TRUNC(d, 'year')",
    "WEEKDAY(d)", "CASE WHEN YEAR(d) < 9999 THEN NEXT_DAY(d, 'MON') END",
    "CASE WHEN YEAR(ts) < 9999 THEN NEXT_DAY(ts, 'sunday') END", "DAYNAME(ts)", "MONTHNAME(d)",
]  # fmt: skip
OURS_ALONE = [
    "CASE WHEN YEAR(d) < 9999 THEN DATE_ADD(d, i) END", "DATEDIFF(DAY, d, ts)", "TIMESTAMPDIFF(HOUR, d, ts)",
    "TIMESTAMPDIFF(SECOND, ts, z)", "UNIX_TIMESTAMP(z)",
    "w DIV m", "w DIV w",
    "ts AT TIME ZONE 'America/New_York'", "z AT TIME ZONE 'Australia/Lord_Howe'",
    "HOUR(ts AT TIME ZONE 'Asia/Kolkata')",
    "ts + INTERVAL 1 DAY", "ts - INTERVAL 90 MINUTES", "z + INTERVAL 1 DAY", "ts - CAST(d AS TIMESTAMP)", "z - z",
    "(ts - CAST('1970-01-01' AS TIMESTAMP)) + INTERVAL 2 DAYS > INTERVAL 5 SECONDS", "d = CAST('2024-03-10' AS DATE)",
]  # fmt: skip
"""Spark wraps a quotient of decimals beyond 64 bits. An INTERVAL is elapsed time here,
in Spark days are the session's; differences are in elapsed time, where Spark counts on the clock; a day beyond reach is
an error, which Spark wraps; AT TIME ZONE is SQL's, and Spark has none."""


def bound(text: str, zone: str) -> Expr:
    catalog = Catalog((STREAM,))
    project = bind(f"SELECT {text} AS c FROM S", catalog, QueryOptions(zone=zone)).root.input
    assert isinstance(project, Project)
    return project.exprs[0][1]


def draw(count: int = 72) -> list[dict[str, Any]]:
    """Every value of every column at least once, a few NULLs, and the rest at random."""
    rng = Random("scalars")
    columns = {}
    for name, values in VALUES.items():
        drawn = [*values, None, None, *(rng.choice(values) for _ in range(count))][:count]
        rng.shuffle(drawn)
        columns[name] = drawn
    return [{n: columns[n][r] for n in columns} for r in range(count)]


ROWS = draw()


def or_failed(value: Callable[[], Any]) -> Any:
    try:
        return value()
    except DataError:
        return FAILED


def in_python(e: Expr, rows: pa.RecordBatch) -> list[Any]:
    try:
        return plain(evaluate(e, rows), e.type)
    except DataError:
        alone = (rows.slice(r, 1) for r in range(rows.num_rows))
        found = [or_failed(lambda row=row: plain(evaluate(e, row), e.type)[0]) for row in alone]
        assert any(v is FAILED for v in found)
        return found


def plain(array: pa.Array, kind: pa.DataType) -> list[Any]:
    """Values as the evaluator has them."""
    t = pa.types
    if t.is_timestamp(kind) or t.is_duration(kind):
        return array.cast(pa.timestamp("us", kind.tz) if t.is_timestamp(kind) else kind).cast(pa.int64()).to_pylist()
    if t.is_date(kind):
        return array.cast(pa.int32()).to_pylist()
    return [from_outside(v, kind) for v in array.to_pylist()]


class Tried:
    """Texts as columns that are NULL where they fail and else a struct of the value (Spark's ``TryEval``)."""

    def __init__(self, spark: Any) -> None:
        from pyspark.sql.classic.column import Column

        self.spark, self.column, jvm = spark, Column, spark._jvm
        self.expressions = jvm.org.apache.spark.sql.catalyst.expressions
        self.utils = jvm.org.apache.spark.sql.classic.ExpressionUtils

    def of(self, text: str, name: str) -> Any:
        parser = self.spark._jsparkSession.sessionState().sqlParser()
        parsed = parser.parseExpression(f"named_struct('v', CASE WHEN r >= 0 THEN {text} END)")
        return self.column(self.utils.column(self.expressions.TryEval(parsed))).alias(name)

    def collect(self, frame: Any, texts: list[tuple[str, Expr]]) -> list[list[Any]]:
        table = frame.select("r", *(self.of(t, f"c{i}") for i, (t, _) in enumerate(texts))).toArrow().sort_by("r")
        found = []
        for i, (_, e) in enumerate(texts):
            column = table[f"c{i}"].combine_chunks()
            column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            values = plain(column.field("v"), e.type)
            found.append([v if ok else FAILED for v, ok in zip(values, column.is_valid().to_pylist(), strict=True)])
        return found


def differences(text: str, named: dict[str, list[Any]], rows: list[dict[str, Any]] | None = None) -> Iterator[str]:
    (first, wanted), *others = named.items()
    for name, got in others:
        for row, a, b in zip(rows or ROWS, wanted, got, strict=True):
            if name == "Spark" and row["t"] in ("12:30", "T12:30:00"):
                continue  # Spark takes today for its date
            if not (a is b if a is FAILED or b is FAILED else same_value(a, b)):
                columns = {c: row[c] for c in VALUES if f"{c} " in f"{text} " or f"{c})" in text or f"{c}," in text}
                yield f"{text} over {columns}: {first} {a!r}, {name} {b!r}"
                break


@pytest.fixture(scope="module")
def frame(spark: Any) -> Iterator[Any]:
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.subexpressionElimination.enabled": "false",  # it takes what may fail out of TryEval
    }
    before = {k: spark.conf.get(k) for k in settings}
    for k, v in settings.items():
        spark.conf.set(k, v)
    columns = [pa.array([r[f.name] for r in ROWS], f.type) for f in SCHEMA]
    table = pa.table([pa.array(range(len(ROWS))), *columns], names=["r", *(f.name for f in SCHEMA)])
    plain = spark.createDataFrame(table).coalesce(1)
    yield plain.withColumn("z", plain["z"].cast("timestamp_ntz")).localCheckpoint()
    for k, v in before.items():
        spark.conf.set(k, v)


def test_all_functions_are_drawn() -> None:
    def names(e: Expr) -> Iterator[str]:
        if isinstance(e, Call):
            yield e.fn
            for a in e.args:
                yield from names(a)

    texts = NUMBERS + CASTS + TEXTS + UNDER_SPARKS_NAMES + TIMES + DAYS_AND_EPOCH + OURS_ALONE
    drawn = {n for t in texts for n in names(bound(t, "America/New_York"))}
    made = {"pair", "row", "only", "is_not_null"}  # by the planner
    nested = {"struct", "field", "element", "size", "array_contains", "map_keys", "map_values"}
    assert drawn - made - nested == FUNCTIONS - made - nested - OURS


def test_the_list_of_sparks_functions_is_whole(spark: Any) -> None:
    """The reference says of each which are here; the list is of the newest Spark that is supported."""
    kept = (Path(__file__).parents[2] / "tools" / "spark_functions.txt").read_text(encoding="utf-8").split()
    found = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    assert spark.version < "4.3" or found == kept


SESSIONS = [(zone, ansi, ZONES[(i + turn) % len(ZONES)]) for turn, ansi in enumerate(("true", "false")) for i, zone in
            enumerate(ZONES)]  # fmt: skip
"""(zone of the session, ANSI, zone of the queries): each query is asked in its own zone and in a foreign one."""


def _other_then(text: str) -> bool:
    """Whether Spark before 4.2 has another answer of its own: infinity rounds to the largest BIGINT there, and a text
    with a quote twice ends at the first."""
    return not hasattr(DataStreamReader, "name") and text.startswith(("FLOOR(", "CEIL(", "DATE_FORMAT("))


def case_list() -> list[tuple[str, str]]:
    """(text, zone of the query); what depends on no zone once."""
    timeless = [(t, "UTC") for t in NUMBERS + CASTS + TEXTS + UNDER_SPARKS_NAMES]
    return timeless + [(t, z) for t in TIMES + DAYS_AND_EPOCH + OURS_ALONE for z in ZONES]


@blocks(1, PARTS)
def test_one_answer_everywhere(spark: Any, frame: Any, block: int) -> None:
    """Of every fourth case; the long form has the others."""
    rows = pa.record_batch(
        [pa.array([r[f.name] for r in ROWS], f.type) for f in SCHEMA], names=[f"S.{f.name}" for f in SCHEMA]
    )
    given = [{f"S.{f.name}": from_outside(r[f.name], f.type) for f in SCHEMA} for r in ROWS]
    cases = case_list()[block::PARTS]
    exprs = {case: bound(*case) for case in cases}
    reference = {c: [or_failed(lambda row=row, e=e: eval_expr(e, row)) for row in given] for c, e in exprs.items()}
    problems: list[str] = []
    for case, e in exprs.items():
        problems += differences(" in ".join(case), {"evaluator": reference[case], "Python": in_python(e, rows)})
    tried = Tried(spark)
    for zone, ansi, of in SESSIONS:
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        asked = [(c, to_spark_sql(exprs[c], lambda n: n.removeprefix("S."))) for c in cases if c[1] == of]
        if ansi == "true":
            asked += [(c, c[0]) for c in cases if c[1] == of and c[0] not in OURS_ALONE and not _other_then(c[0])]
        found = tried.collect(frame, [(text, exprs[c]) for c, text in asked])
        for (case, text), values in zip(asked, found, strict=True):
            who = "Spark" if text == case[0] else f"JVM in {zone}, ANSI {ansi}"
            problems += differences(" in ".join(case), {"evaluator": reference[case], who: values})
    assert not problems, f"{len(problems)}\n" + "\n".join(problems[:60])
