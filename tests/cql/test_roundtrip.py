"""``bind(to_cql(bind(text)))`` equals ``bind(text)`` for random queries of the whole language."""

from __future__ import annotations

from functools import cache

import pytest
from cql_golden import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.core.errors import QueryError
from muntin.cql import bind, to_cql

NUMBERS = {"flights": ["delay", "dist", "fare", "seq"], "weather": ["wind", "code"], "Bids": ["auction", "price", "ts"]}
STRINGS = {"flights": ["origin", "carrier"], "weather": ["origin"], "Bids": []}
WINDOWS = ["", "[NOW]", "[UNBOUNDED]", "[RANGE 5 MINUTES]", "[RANGE 1.5 hrs SLIDE 10 sec]", "[WINDOW 1 h SLIDE 7 ms]"]
TYPES = ["BIGINT", "DOUBLE", "FLOAT", "DECIMAL(12, 3)", "STRING"]
Texts = st.SearchStrategy[str]


def _numbers(columns: list[str]) -> Texts:
    literals = ["0", "7", "-3", "2.50", "1e3", "5L", "1.5D", "CAST(NULL AS INT)", "CAST('0.10' AS DECIMAL(4, 2))", "2Y"]
    leaf = st.sampled_from([*columns, *literals])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner),
            st.builds("{}({})".format, st.sampled_from(["ABS", "FLOOR", "CEIL", "SQRT", "SIGN", "-", "ROUND"]), inner),
            st.builds("{}({}, {})".format, st.sampled_from(["COALESCE", "NULLIF", "GREATEST", "LEAST"]), inner, inner),
            st.builds("CASE {} WHEN {} THEN {} END".format, inner, inner, inner),
            st.builds("CAST({} AS {})".format, inner, st.sampled_from(TYPES[:4])),
            st.builds("LENGTH(CAST({} AS STRING))".format, inner),
        ),
        max_leaves=4,
    )


def _strings(columns: list[str]) -> Texts:
    leaf = st.sampled_from([*columns, "'it\\'s'", "'a\\\\%'", "''", "'\\n'"])
    return st.one_of(leaf, st.builds("UPPER({} || {})".format, leaf, leaf), st.builds("SUBSTRING({}, 2)".format, leaf))


def _conditions(number: Texts, string: Texts) -> Texts:
    comparison = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    leaf = st.one_of(
        st.builds("({} {} {})".format, number, comparison, number),
        st.builds("({} {} {})".format, string, comparison, string),
        st.builds("({} BETWEEN {} AND {})".format, number, number, number),
        st.builds("({} NOT IN ({}, NULL))".format, number, number),
        st.builds("({} LIKE 'x\\\\_%')".format, string),
        st.builds("({} IS NOT NULL)".format, number),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner),
            st.builds("(NOT {})".format, inner),
        ),
        max_leaves=3,
    )


@cache
def _grammar(streams: tuple[str, ...]) -> tuple[Texts, Texts, Texts]:
    """Numbers, strings and conditions over the columns of the streams (built once: building is what takes time)."""
    number = _numbers([f"s{i}.{c}" for i, name in enumerate(streams) for c in NUMBERS[name]])
    string = _strings([f"s{i}.{c}" for i, name in enumerate(streams) for c in STRINGS[name]])
    return number, string, _conditions(number, string)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A query text of the language: one to three streams, with and without WHERE, GROUP BY, HAVING and a wrapper."""
    streams = draw(st.lists(st.sampled_from(sorted(NUMBERS)), min_size=1, max_size=3))
    items = [f"{name} {draw(st.sampled_from(WINDOWS))} AS s{i}" for i, name in enumerate(streams)]
    number, string, condition = _grammar(tuple(streams))
    tail = f" WHERE {draw(condition)}" if draw(st.booleans()) else ""
    if draw(st.booleans()):
        head = f"{draw(number)} AS n, {draw(string)} AS `s t`"
    else:
        key, agg = draw(st.one_of(number, string)), st.sampled_from(["COUNT", "SUM", "AVG", "MIN", "MAX"])
        one, two = (f"{draw(agg)}({draw(number)})" for _ in range(2))
        head = f"{one} / 2 AS x, {key} AS k, COUNT(DISTINCT {draw(string)}) AS d"
        tail += f" GROUP BY k HAVING {two} > 3 OR x IS NULL"
    body = f"SELECT {head} FROM {', '.join(items)}{tail}"
    wrapper = draw(st.sampled_from(["", "Istream", "Rstream", "Dstream"]))
    return f"{wrapper}({body})" if wrapper else body


@settings(max_examples=50, deadline=None, derandomize=True)
@given(queries())
def test_round_trip(text: str) -> None:
    check_plain(text)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, derandomize=True)
@given(queries())
def test_round_trip_of_many(text: str) -> None:
    check_plain(text)


def check_plain(text: str) -> None:
    try:
        query = bind(text, CATALOG)
    except QueryError as e:  # the grammar above also makes texts that are wrong: columns out of GROUP BY
        assert "no single value" in e.message or "has positions" in e.message, f"{e}: {text}"
        return
    printed = to_cql(query)
    assert bind(printed, CATALOG).root == query.root, printed
    assert to_cql(bind(printed, CATALOG)) == printed


ITEMS = [
    "flights [ROWS 5] AS s{n}", "flights [RANGE 1 HOUR] AS s{n}", "flights AS s{n}",
    "flights [PARTITION BY origin, carrier ROWS 2] AS s{n}",
    "(SELECT seq, delay, origin FROM flights [NOW] WHERE delay > 3) AS s{n}",
    "(Istream(SELECT seq, delay, origin FROM flights [RANGE 1 HOUR])) [ROWS 3] AS s{n}",
    "(SELECT seq, delay, origin FROM flights [RANGE 1 HOUR INTERNAL]) [PARTITION BY origin ROWS 1] AS s{n}",
    "(SELECT origin, MAX(delay) AS delay, COUNT(*) AS seq FROM flights [NOW] GROUP BY origin) AS s{n}",
    "(SELECT seq, delay, origin FROM flights [NOW] UNION SELECT code, 1, origin FROM weather [NOW]) AS s{n}",
    "(SELECT seq, delay, origin FROM flights [NOW] ORDER BY dist, 2 DESC LIMIT 4) AS s{n}",
]  # fmt: skip
JOINS = [
    ", {}",
    " JOIN {} ON {}",
    " LEFT JOIN {} ON {}",
    " RIGHT JOIN {} ON {}",
    " FULL JOIN {} ON {}",
    " CROSS JOIN {}",
]


@st.composite
def sources(draw: st.DrawFn, first: int, count: int) -> str:
    """A FROM clause of ``count`` items with aliases ``s<first>``, ...; each has seq, delay and origin."""
    text = draw(st.sampled_from(ITEMS)).format(n=first)
    for n in range(first + 1, first + count):
        on = f"s{n}.origin = s{n - 1}.origin AND s{n}.delay < s{n - 1}.delay"
        text += draw(st.sampled_from(JOINS)).format(draw(st.sampled_from(ITEMS)).format(n=n), on)
    return text


@st.composite
def conditions(draw: st.DrawFn, alias: str, depth: int) -> str:
    """Conditions on ``alias`` between ANDs, some with sub-queries that use its columns."""
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        inner = draw(sources(depth * 10, 1)) if depth < 3 else ""
        kinds = ["{a}.delay > 2", "({a}.seq < 3 AND {a}.origin <> 'x')", "({a}.delay = 2 OR {a}.seq = 3)"]
        if depth < 3:
            kinds += [
                "EXISTS (SELECT 1 FROM {i} WHERE {w} AND {s}.seq = {a}.seq)",
                "{a}.seq IN (SELECT {s}.seq FROM {i} WHERE {w})",
                "NOT EXISTS (SELECT DISTINCT {s}.seq FROM {i} WHERE {s}.delay < {a}.delay AND {w})",
                "{a}.delay NOT IN (SELECT {s}.seq FROM {i} WHERE {w} AND {s}.origin = {a}.origin)",
                "{a}.seq >= (SELECT COUNT(*) - MAX({s}.delay) FROM {i} WHERE {s}.origin = {a}.origin AND {w})",
                "({a}.seq = (SELECT {s}.seq FROM {i} WHERE {w}) OR {a}.delay < (SELECT MIN({s}.seq) FROM {i}) + 1)",
                "{a}.seq IN (SELECT MAX({s}.seq) AS m FROM {i} WHERE {w} GROUP BY {s}.origin HAVING COUNT(*) > 1)",
            ]  # fmt: skip
        kind = draw(st.sampled_from(kinds))
        within = draw(conditions(f"s{depth * 10}", depth + 1)) if "{w}" in kind else ""
        parts.append(kind.format(a=alias, s=f"s{depth * 10}", i=inner, w=within))
    return " AND ".join(parts)


@st.composite
def wide_queries(draw: st.DrawFn) -> str:
    """A query with joins of all sorts, sub-queries, DISTINCT or groups, ORDER BY ... LIMIT, set operations, wrapper."""
    body = f"FROM {draw(sources(0, draw(st.integers(1, 3))))} WHERE {draw(conditions('s0', 1))}"
    scalar = "(SELECT MAX(x.seq) FROM flights [NOW] AS x WHERE x.origin = s0.origin) AS m"
    heads = [f"SELECT s0.origin, {scalar}", "SELECT DISTINCT s0.origin, s0.seq AS m", "SELECT s0.origin, s0.delay AS m"]
    group = "SELECT s0.origin, MEDIAN(s0.delay) + COUNT(*) AS m"
    head = draw(st.sampled_from([*heads, group]))
    if head == group:
        body += " GROUP BY s0.origin"
        body += draw(
            st.sampled_from(["", " HAVING QUANTILE(s0.seq, 0.5) > (SELECT COUNT(*) FROM flights [ROWS 3] AS s0)"])
        )
    text = f"{head} {body}"
    hidden = " ORDER BY COUNT(*), m LIMIT 2" if head == group else " ORDER BY s0.origin DESC, m LIMIT 2"
    text += draw(st.sampled_from(["", hidden, " ORDER BY 2 NULLS LAST LIMIT 3"]))
    kind = draw(st.sampled_from(["", "", "UNION ALL", "UNION", "EXCEPT ALL", "INTERSECT"]))
    if kind:
        text = f"({text}) {kind} (SELECT origin, code FROM weather [NOW])"
    wrapper = draw(st.sampled_from(["", "Istream", "Rstream", "Dstream"]))
    return f"{wrapper}({text})" if wrapper else text


@settings(max_examples=30, deadline=None, derandomize=True)
@given(wide_queries())
def test_round_trip_of_the_whole_language(text: str) -> None:
    check_wide(text)


@pytest.mark.slow
@settings(max_examples=500, deadline=None, derandomize=True)
@given(wide_queries())
def test_round_trip_of_many_of_the_whole_language(text: str) -> None:
    check_wide(text)


def check_wide(text: str) -> None:
    query = bind(text, CATALOG)
    printed = to_cql(query)
    again = bind(printed, CATALOG)
    assert again.root == query.root, f"{text}\n{printed}"
    assert to_cql(again) == printed


def test_names_that_need_quotes() -> None:
    text = "SELECT `a b`.`origin` AS `x``y`, `a b`.delay AS `select` FROM flights [NOW] AS `a b` WHERE `a b`.ok"
    query = bind(text, CATALOG)
    assert query.root.schema.names == ("x`y", "select")
    assert bind(to_cql(query), CATALOG).root == query.root
