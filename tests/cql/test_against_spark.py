"""Bound expressions mean what Spark means by the same text: equal types and equal values for every row."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from cql_golden import CATALOG, FLIGHTS

from muntin.cql import bind, to_spark_sql
from muntin.cql.types import to_spark
from muntin.plan.exprs import Expr
from muntin.plan.nodes import Project

pytestmark = pytest.mark.spark

SQL = [
    "delay + 1", "delay + seq", "delay - dist", "delay * fare", "seq * 1.5", "fare / 3", "delay / 4", "seq DIV 2",
    "-seq DIV 2", "delay % 7", "-delay % 7", "dist % 2", "fare % 1.25", "-delay", "-fare", "1.50", "1e3", "2L",
    "3S", "4Y", "-9223372036854775808", "fare + delay", "fare * fare * fare * fare",
    "123456789012345678901234567890 + 1", "delay = seq", "delay < 1.5", "dist >= delay", "fare <> 12.5",
    "delay <=> NULL", "ok <=> NULL", "origin = 'EWR'", "CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)",
    "CAST('NaN' AS DOUBLE) > dist", "0.0D = -0.0D", "delay BETWEEN 1 AND 5", "delay NOT BETWEEN 1 AND 5",
    "origin IN ('EWR', NULL)", "delay NOT IN (1, 2L)", "origin LIKE 'E%'", "carrier LIKE '_\\\\%%'",
    "origin NOT LIKE '%W_'", "carrier LIKE '_/%%' ESCAPE '/'", "carrier NOT ILIKE 'uxx%A' ESCAPE 'x'",
    "origin LIKE ANY ('E%', '_F_')", "origin NOT LIKE ANY ('E%', '_F_')", "origin NOT LIKE ALL ('E%', '_F_')",
    "ok AND delay > 0", "ok OR NULL", "NOT ok", "ok IS TRUE", "ok IS NOT TRUE",
    "origin IS NULL", "origin IS DISTINCT FROM carrier", "CASE WHEN ok THEN 1 WHEN delay > 3 THEN 2.5 END",
    "CASE origin WHEN 'EWR' THEN 'x' ELSE carrier END", "IF(ok, delay, seq)", "COALESCE(delay, 0)",
    "NULLIF(delay, 5)", "NULLIF(delay, 0.5)", "GREATEST(delay, seq)", "LEAST(dist, delay)", "ABS(delay)",
    "ROUND(dist)", "ROUND(dist, 1)", "ROUND(fare, 1)", "ROUND(-2.5)", "FLOOR(dist)", "FLOOR(-dist)", "CEIL(fare)",
    "CEIL(-fare)", "FLOOR(delay)", "SQRT(seq)", "POWER(delay, 2)", "SIGN(delay)", "MOD(seq, 3)", "LOWER(origin)",
    "UPPER(carrier)", "LENGTH(carrier)", "CONCAT(origin, '-', delay)", "origin || seq || fare",
    "SUBSTRING(carrier, 2)", "SUBSTRING(origin, 1, 2)", "SUBSTRING(origin, -2, 1)", "TRIM('  x ')",
    "'it\\'s\\\\\\n\\t'", "CAST(delay AS STRING)", "CAST(dist AS BIGINT)", "CAST(fare AS DOUBLE)",
    "CAST(delay AS DECIMAL(8, 1))", "CAST('7' AS INT)", "CAST(ok AS INT)", "CAST(ts AS DATE)",
    "CAST(day AS TIMESTAMP)", "CAST(day AS STRING)", "CAST(1.25 AS FLOAT)", "ts + INTERVAL 5 SECONDS",
    "ts - INTERVAL '1 hour 30 minutes'", "ts - ts < INTERVAL 1 DAY", "ts > '2024-01-01 00:00:00'",
    "day >= '2024-01-01'", "ts = TIMESTAMP '2024-02-29 12:00:00'", "DATE '2024-02-29'", "day < ts", "X'0aff'",
    "YEAR(ts)", "QUARTER(day)", "MONTH(ts)", "DAY(day)", "DAYOFWEEK(ts)", "DAYOFYEAR(day)", "WEEKOFYEAR(ts)",
    "HOUR(ts)", "MINUTE(ts)", "SECOND(ts)", "HOUR(day)", "EXTRACT(DOW FROM ts)", "DATE_PART('week', day)",
    "TO_DATE(ts)", "DATE_TRUNC('week', ts)", "DATE_TRUNC('MM', day)", "DATE_TRUNC('quarter', ts)",
    "DATE_TRUNC('HOUR', ts)", "DATE_TRUNC('millisecond', ts)", "REPLACE(carrier, 'U', '')", "REPLACE(origin, 'E')",
    "LTRIM('  x ')", "RTRIM('  x ')", "LEFT(origin, 2)", "RIGHT(origin, 2)", "RIGHT(origin, 0)",
    "STARTSWITH(carrier, 'U%')", "ENDSWITH(origin, 'K')", "CONTAINS(carrier, '%')", "PMOD(delay, 4)", "PMOD(dist, 2)",
    "NVL2(delay, 1, 2.5)", "ISNAN(dist)", "IFNULL(delay, 0)", "CHAR_LENGTH(carrier)",
    "TIMESTAMP_NTZ '2024-02-29 12:00:00.5'", "TIMESTAMP '1969-12-31 23:59:59.999999'",
]  # fmt: skip

ROWS: list[tuple[Any, ...]] = [
    (dt.datetime(2024, 2, 29, 12), "EWR", "U%A", 5, 2.5, Decimal("12.50"), 9, True, dt.date(2024, 2, 29), ["a"]),
    (dt.datetime(2023, 1, 1), "JFK", "ß", -3, -0.75, Decimal("-0.07"), 2**40, False, dt.date(1969, 7, 20), []),
    (dt.datetime(2024, 3, 1), None, "", 1, 1e15, Decimal("0.00"), 0, None, dt.date(2024, 3, 1), None),
    (None, "LGA", None, None, None, None, None, None, None, None),
]


def bound(text: str) -> Expr:
    """The one output expression of a query over flights."""
    project = bind(f"SELECT {text} AS x FROM flights", CATALOG).root.input
    assert isinstance(project, Project)
    return project.exprs[0][1]


def plain(name: str) -> str:
    """The column's name in the DataFrame."""
    return name.removeprefix("flights.")


@pytest.fixture(scope="module")
def flights(spark: Any) -> Any:
    """A few rows of the stream flights as a DataFrame."""
    fields = ", ".join("tags ARRAY<STRING>" if f.name == "tags" else f"{f.name} {to_spark(f.type)}" for f in FLIGHTS)
    return spark.createDataFrame(ROWS, fields)


def test_types_and_values(flights: Any) -> None:
    exprs = [bound(t) for t in SQL]
    theirs = flights.selectExpr(*(f"{t} AS c{i}" for i, t in enumerate(SQL)))
    ours = flights.selectExpr(*(f"{to_spark_sql(e, plain)} AS c{i}" for i, e in enumerate(exprs)))
    for text, e, a, b in zip(SQL, exprs, theirs.schema, ours.schema, strict=True):
        assert a.dataType == b.dataType, text
        assert a.dataType.simpleString() == to_spark(e.type).lower().replace(", ", ","), text
    for mine, spark in zip(ours.collect(), theirs.collect(), strict=True):
        for text, x, y in zip(SQL, mine, spark, strict=True):
            assert repr(x) == repr(y), text


def test_divisors_of_zero_and_unreadable_texts_are_null_where_that_is_asked_for(flights: Any) -> None:
    texts = ["try_divide(delay, seq)", "try_mod(delay, seq)", "delay DIV NULLIF(seq, 0)", "try_divide(fare, fare)"]
    texts += ["try_divide(dist, 0)", "TRY_CAST(origin AS INT)"]
    rows = flights.selectExpr(*(f"{to_spark_sql(bound(t), plain)} AS `{t}`" for t in texts)).collect()
    assert [rows[2][t] for t in texts[:4]] == [None] * 4
    assert [r["try_divide(dist, 0)"] for r in rows] == [None] * 4
    assert [r["TRY_CAST(origin AS INT)"] for r in rows] == [None] * 4
