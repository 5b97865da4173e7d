"""What other dialects write gets a message that says what to write here, at its place; and what it says is right."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from cql_golden import CATALOG

from muntin.core.errors import QueryError, UnsupportedError
from muntin.cql import bind
from muntin.plan.catalog import AggregateFunction, Catalog
from muntin.plan.windows import QueryOptions

ONE = "FROM flights [NOW]"


@pytest.mark.parametrize(
    ("text", "token", "message"),
    [
        (f"SELECT day + INTERVAL 1 DAY AS x {ONE}", "day", "CAST(... AS TIMESTAMP)"),
        (f"SELECT day - day AS x {ONE}", "day", "CAST(... AS TIMESTAMP) around both"),
        (f"SELECT day + 1.5 AS x {ONE}", "day", "CAST(n AS INT)"),
        (f"SELECT day - day AS x {ONE}", "day", "DATEDIFF(a, b)"),
        (f"SELECT INTERVAL 1 MONTH AS x {ONE}", "MONTH", "as in t + INTERVAL 1 MONTH"),
        (f"SELECT ts {ONE} WHERE ts - ts < INTERVAL 2 YEARS", "YEARS", "365 DAYS"),
        (f"SELECT delay + INTERVAL 1 MONTH AS x {ONE}", "delay", "to a date or a timestamp, not to flights.delay"),
        (
            "SELECT * FROM flights MATCH_RECOGNIZE (ORDER BY ts MEASURES dist PATTERN (A B) DEFINE B AS 1 > 0)",
            "MATCH_RECOGNIZE",
            "patterns are joins of windows",
        ),
        (f"SELECT dist {ONE} LATERAL VIEW explode(tags) t AS tag", "explode", "columns = { tag = "),
        ("SELECT tag FROM flights CROSS JOIN UNNEST(tags) AS t(tag)", "UNNEST", "df.withColumn('tag', explode("),
        (f"SELECT MODE(dist) AS x {ONE}", "MODE", "FREQUENT(x, 1).items[0].item"),
        (f"SELECT STRING_AGG(origin, ',') AS x {ONE}", "STRING_AGG", "ARRAY_JOIN(COLLECT(x), ',')"),
        ("SELECT origin FROM flights [NOW] GROUP BY CUBE(origin)", "origin", "one query for each set of keys"),
        (f"SELECT LATEST_BY_OFFSET(dist) AS x {ONE}", "LATEST_BY_OFFSET", "write LAST(x)"),
        (f"SELECT TOPK(dist, 3) AS x {ONE}", "TOPK", "ORDER BY x DESC LIMIT 3 BY k"),
        ("SELECT window, COUNT(*) AS n FROM flights GROUP BY window(ts, '5 minutes')", "window", "window.start and"),
        (
            "SELECT COUNT(*) AS n FROM flights GROUP BY window(ts, '5 minutes', '5 minutes', '2 minutes')",
            "window",
            "origin='2 minutes'",
        ),
        (f"SELECT TOP 3 delay {ONE}", "TOP", "ORDER BY ... LIMIT k"),
        ("SELECT COUNT(*) AS n FROM flights EMIT CHANGES", "EMIT", "without SLIDE shows changes"),
        ("SELECT COUNT(*) AS n FROM flights EMIT FINAL", "EMIT", "leave it out"),
        ("SELECT delay FROM flights FOR SYSTEM_TIME AS OF ts", "FOR", "session.table"),
        ("SELECT delay FROM flights RANGE 5 MINUTES", "RANGE", "write [RANGE 5 MINUTES]"),
        ("SELECT delay FROM flights ROWS 5 WHERE dist > 1", "ROWS", "write [ROWS 5]"),
        (f"SELECT DATE_FORMAT(ts, 'yyyy-ww') AS x {ONE}", "DATE_FORMAT", "there is no ww in the formats"),
        (f"SELECT DATE_FORMAT(ts, 'HH [mm]') AS x {ONE}", "DATE_FORMAT", "[ in the format"),
        (f"SELECT DATE_FORMAT(ts, 'HH ''x') AS x {ONE}", "DATE_FORMAT", "not closed"),
        (f"SELECT TO_CHAR(ts, 'YYYY') AS x {ONE}", "TO_CHAR", "letters are yyyy, yy, y (year)"),
        (f"SELECT COUNT((origin, carrier)) AS x {ONE}", "COUNT", "COUNT(DISTINCT a, b)"),
        (f"SELECT COUNT(DISTINCT (origin, carrier)) AS x {ONE}", "COUNT", "COUNT(DISTINCT a, b)"),
        (f"SELECT COUNT(origin, carrier) AS x {ONE}", "COUNT", "FILTER (WHERE a IS NOT NULL AND b IS NOT NULL)"),
        (f"SELECT origin {ONE} WHERE (origin, carrier) = ('a', 'b')", "origin", "a = 1 AND b = 2"),
        (f"SELECT tags[0:1] AS x {ONE}", "0", "df.withColumn"),
        (f"SELECT origin[0] AS x {ONE}", "origin", "SUBSTRING(s, 1, 1)"),
        (f"SELECT explode(tags) AS x {ONE}", "explode", "df.withColumn"),
        (f"SELECT origin, AVG(delay) OVER (PARTITION BY origin) AS x {ONE}", "AVG", "GROUP BY k"),
        (f"SELECT AVG(delay) OVER (ORDER BY ts ROWS 9 PRECEDING) AS x {ONE}", "AVG", "FROM s [ROWS 10]"),
        (f"SELECT ROW_NUMBER() OVER (ORDER BY delay) AS x {ONE}", "ROW_NUMBER", "QUALIFY"),
        (f"SELECT LAG(delay) OVER (ORDER BY ts) AS x {ONE}", "LAG", "[ROWS 2]"),
        (f"SELECT AVG(delay) OVER w AS x {ONE} WINDOW w AS (PARTITION BY origin)", "w", "windows stand at streams"),
        ("SELECT COUNT(*) AS n FROM flights WINDOW TUMBLING (SIZE 5 MINUTES)", "TUMBLING", "[RANGE size SLIDE size]"),
        (f"SELECT session_window(ts, '5 minutes') AS x {ONE}", "session_window", "sessions are a window"),
        (f"SELECT json_extract(origin) AS x {ONE}", "json_extract", "GET_JSON_OBJECT"),
        (f"SELECT json_extract(origin, '$.a') AS x {ONE}", "json_extract", "GET_JSON_OBJECT"),
        (f"SELECT origin -> 'a' AS x {ONE}", "origin", "GET_JSON_OBJECT"),
        (f"SELECT PERCENTILE_CONT(delay, 0.9) AS x {ONE}", "PERCENTILE_CONT", "QUANTILE(x, 0.9)"),
        (f"SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY delay DESC) AS x {ONE}", "PERCENTILE_CONT", "ascending"),
        (f"SELECT MODE(delay) AS x {ONE}", "MODE", "session.aggregate"),
        (f"SELECT STRING_AGG(origin, ',') AS x {ONE}", "STRING_AGG", "COLLECT(x)"),
        (
            "SELECT w.n FROM (SELECT COUNT(*) AS n FROM TABLE(TUMBLE(TABLE flights, DESCRIPTOR(ts), "
            "INTERVAL '5' MINUTES)) GROUP BY window_end) AS w WHERE window_end > TIMESTAMP '2024-01-01 00:00:00'",
            "window_end",
            "at an instant there is one window",
        ),
        (
            "SELECT window_start, COUNT(*) AS n FROM flights [RANGE 5 MINUTES SLIDE 5 MINUTES]",
            "window_start",
            "write WINDOW_START()",
        ),
        (f"SELECT CURRENT_TIMESTAMP AS x {ONE}", "CURRENT_TIMESTAMP", "event time"),
    ],
)
def test_the_message_names_what_to_write(text: str, token: str, message: str) -> None:
    with pytest.raises(QueryError, match=re.escape(message)) as caught:
        bind(text, CATALOG)
    assert (caught.value.line, caught.value.token) == (1, token)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CAST(day AS TIMESTAMP) + INTERVAL 3 DAYS AS x FROM flights [NOW]",
        "SELECT CAST(day AS TIMESTAMP) - CAST(day AS TIMESTAMP) AS x FROM flights [NOW]",
        "SELECT ts + INTERVAL 30 DAYS AS x FROM flights [NOW]",
        "SELECT day + INTERVAL '1' MONTH AS x, ts - INTERVAL 1 YEAR AS y FROM flights [RANGE 1 MONTH]",
        "SELECT DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm') AS x FROM flights [NOW]",
        "SELECT DATE_TRUNC('MONTH', ts) AS m, COUNT(*) AS n FROM flights GROUP BY DATE_TRUNC('MONTH', ts)",
        "SELECT CAST(DATE_TRUNC('MONTH', day) AS DATE) AS x FROM flights [NOW]",
        "SELECT COUNT(DISTINCT origin, carrier) AS n FROM flights [NOW]",
        "SELECT a.dist FROM flights [RANGE 5 MINUTES] a, flights [NOW] b WHERE a.carrier = b.carrier AND a.dist < 5",
        "SELECT delay FROM flights s [NOW DELAY 10 MINUTES] WHERE NOT EXISTS "
        "(SELECT * FROM flights p [RANGE 10 MINUTES] WHERE p.origin = s.origin)",
        "SELECT COUNT(*) FILTER (WHERE origin IS NOT NULL AND carrier IS NOT NULL) AS n FROM flights [NOW]",
        "SELECT carrier, AVG(delay) AS a FROM flights [RANGE 5 MINUTES] GROUP BY carrier",
        "SELECT AVG(delay) AS a FROM flights [ROWS 10]",
        "SELECT carrier, delay FROM flights [PARTITION BY carrier ROWS 10] ORDER BY delay LIMIT 10",
        "SELECT FIRST(delay) AS x FROM flights [ROWS 2]",
        "SELECT QUANTILE(delay, 0.9) AS x FROM flights [NOW]",
        "SELECT delay FROM flights [NOW] ORDER BY dist DESC LIMIT 1",
        "SELECT delay FROM flights [RANGE 5 MINUTES] WHERE dist = (SELECT MAX(dist) FROM flights [RANGE 5 MINUTES])",
        "SELECT YEAR(ts) AS y, CAST(ts AS STRING) AS t, COLLECT(delay) AS c FROM flights [NOW] GROUP BY ts",
        "SELECT delay FROM flights [NOW] WHERE delay BETWEEN least(5, 1) AND greatest(5, 1)",
    ],
)
def test_what_messages_say_to_write_binds(text: str) -> None:
    assert bind(text, CATALOG).root.schema.names


def test_windows_of_other_systems_bind_as_messages_say() -> None:
    options = QueryOptions(bounds="start")
    assert bind("SELECT COUNT(*) AS n FROM flights [RANGE 5 MINUTES SLIDE 5 MINUTES]", CATALOG, options).root


def test_percentile_cont_is_quantile() -> None:
    standard = bind(f"SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY delay) AS x {ONE}", CATALOG)
    assert standard.root == bind(f"SELECT QUANTILE(delay, 0.9) AS x {ONE}", CATALOG).root
    kept = "FILTER (WHERE ok) AS x"
    filtered = bind(f"SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY dist) {kept} {ONE}", CATALOG)
    assert filtered.root == bind(f"SELECT QUANTILE(dist, 0.5) {kept} {ONE}", CATALOG).root


def test_an_aggregate_of_one_s_own_may_have_a_name_that_sqlglot_knows() -> None:
    """Following the message about MODE must work."""
    own = Catalog(CATALOG.streams, (), (), (AggregateFunction("mode", None, pa.int64()),))
    query = bind(f"SELECT Mode(delay) AS x {ONE}", own)
    assert [a.fn for _, a in query.root.input.input.aggs] == ["udaf:mode"]  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedError, match=r"session\.aggregate"):
        bind(f"SELECT MODE(delay) AS x {ONE}", CATALOG)
