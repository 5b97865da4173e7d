"""``bind(to_cql(bind(text)))`` equals ``bind(text)`` for random queries of the whole language."""

from __future__ import annotations

from functools import cache

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


@settings(max_examples=120, deadline=None, derandomize=True)
@given(queries())
def test_round_trip(text: str) -> None:
    try:
        query = bind(text, CATALOG)
    except QueryError as e:  # the grammar above also makes texts that are wrong: columns out of GROUP BY
        assert "no single value" in e.message or "has positions" in e.message, f"{e}: {text}"
        return
    printed = to_cql(query)
    assert bind(printed, CATALOG).root == query.root, printed
    assert to_cql(bind(printed, CATALOG)) == printed


def test_names_that_need_quotes() -> None:
    text = "SELECT `a b`.`origin` AS `x``y`, `a b`.delay AS `select` FROM flights [NOW] AS `a b` WHERE `a b`.ok"
    query = bind(text, CATALOG)
    assert query.root.schema.names == ("x`y", "select")
    assert bind(to_cql(query), CATALOG).root == query.root
