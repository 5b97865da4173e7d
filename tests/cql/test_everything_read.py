"""Whatever a text says has an effect or is refused: drawn from sqlglot's own grammar, over the texts of the scripts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from cql_golden import CATALOG, SCRIPTS, Case, cases_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.cql import bind, binder
from muntin.cql.arguments import READ, SET_BY_THE_DIALECT
from muntin.cql.parse import parse
from muntin.plan.nodes import BoundQuery


@cache
def good_cases() -> tuple[Case, ...]:
    """The cases of the scripts that bind."""
    found = []
    for script in sorted(SCRIPTS.glob("*.cql")):
        for case in cases_of(script):
            try:
                bind(case.query, CATALOG, case.options)
            except QueryError:
                continue
            found.append(case)
    return tuple(found)


def nodes_of(tree: exp.Expr) -> list[exp.Expr]:
    return list(tree.walk(bfs=False))


@cache
def parsed(text: str) -> exp.Expr:
    """To be looked at, not to be changed."""
    return parse(text)


@cache
def places() -> dict[type[exp.Expr], list[tuple[Case, int]]]:
    """By kind of node: the cases in which it stands, and where in their trees."""
    found: dict[type[exp.Expr], list[tuple[Case, int]]] = defaultdict(list)
    for case in good_cases():
        for i, node in enumerate(nodes_of(parsed(case.query))):
            found[type(node)].append((case, i))
    return found


def bound_with(case: Case, at: int, key: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> BoundQuery:
    """The plan of the case with another value of one argument of the node at a position."""
    tree = parse(case.query)
    nodes_of(tree)[at].set(key, value)
    with monkeypatch.context() as m:
        m.setattr(binder, "parse", lambda _: tree)
        return bind(case.query, CATALOG, case.options)


def test_every_kind_that_binds_stands_in_a_script() -> None:
    assert not {k.__name__ for k in READ if k not in places()}


@pytest.mark.parametrize("kind", sorted(READ, key=lambda k: k.__name__), ids=lambda k: k.__name__)
def test_what_nobody_reads_is_refused(kind: type[exp.Expr], monkeypatch: pytest.MonkeyPatch) -> None:
    for case, at in places().get(kind, [])[:3]:
        for key in kind.arg_types:
            fixed = (kind, key) in SET_BY_THE_DIALECT
            if key in READ[kind]:
                continue
            for value in [exp.Literal.number(7), "word", [exp.Literal.number(7)], *([] if fixed else [True])]:
                with pytest.raises(QueryError) as caught:
                    bound_with(case, at, key, value, monkeypatch)
                e = caught.value
                assert e.line is not None and e.column is not None and e.token, (kind, key, str(e))


def removals(value: Any) -> Iterator[Any]:
    """Other values of an argument: less of it."""
    if isinstance(value, list):
        yield from (value[:-1], value[1:])
    elif isinstance(value, bool | int | exp.Expr):
        yield None


_SAYS_NOTHING = {
    ("Identifier", "quoted"), ("TsOrDsToDate", "safe"), ("LimitOptions", "rows"), ("Fetch", "direction"),
    ("Window", "over"), ("Bracket", "safe"), ("ApproxDistinct", "accuracy"), ("ApproxQuantile", "accuracy"),
    ("WindowSpec", "time"),
}  # fmt: skip
_REFUSED = {
    ("Column", "catalog"), ("Column", "db"), ("Count", "expressions"), ("Max", "expressions"), ("Min", "expressions"),
    ("In", "unnest"), ("Join", "method"), ("StreamRef", "db"), ("StreamRef", "pivots"),
    ("StreamRef", "sample"), ("TryCast", "safe"), ("DataType", "nested"),
    ("DataType", "values"), ("Round", "truncate"), ("LimitOptions", "percent"), ("With", "recursive"),
    ("Window", "alias"), ("Window", "spec"),
}  # fmt: skip
"""Arguments that the binder reads to refuse them with words of its own: no text that binds has them."""
_REQUIRED = {"this", "expression", "true", "low", "high", "to", "size"}


def test_what_is_read_makes_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every optional argument in the table there is a text whose plan is another, or none, without it."""
    pending = {(k, a) for k, args in READ.items() for a in args if k in places() and not k.arg_types.get(a)}
    pending = {(k, a) for k, a in pending if a not in _REQUIRED and (k.__name__, a) not in _SAYS_NOTHING | _REFUSED}
    unused = {
        f"{kind.__name__}.{key}"
        for kind, key in pending
        if not any(_differs(case, at, key, monkeypatch) for case, at in places()[kind])
    }
    assert not unused


def _differs(case: Case, at: int, key: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    value = nodes_of(parsed(case.query))[at].args.get(key)
    for other in removals(value) if value is not None else ():
        try:
            if bound_with(case, at, key, other, monkeypatch).root != bind(case.query, CATALOG, case.options).root:
                return True
        except QueryError:
            return True
    return isinstance(value, str)


PHRASES = (
    "WITH TIES", "PERCENT", "BY origin", "SYMMETRIC", "WITH FILL", "COLLATE utf8", "FORMAT 'x'", "USING (origin)",
    "NATURAL", "LATERAL", "ONLY", "OFFSET 3", "TABLESAMPLE (5 PERCENT)", "FOR UPDATE", "QUALIFY delay > 1", "OVER ()",
    "CLUSTER BY origin", "WITHIN GROUP (ORDER BY delay)", "FILTER (WHERE ok)", "IGNORE NULLS", "RESPECT NULLS",
    "AT TIME ZONE 'UTC'", "[0]", "WITH ROLLUP", "WITH TOTALS", "LIMIT 3", "FETCH FIRST 3 ROWS ONLY", "INTO t", "TOP 3",
    "SETTINGS x = 1", "CONNECT BY ok", "ASOF", "GLOBAL", "PREWHERE ok", "FINAL", "SAMPLE 0.1", ", 3", ", 'x'", "(+)",
    "VERSION AS OF 3", "ESCAPE 'q'", "NOT", "SIBLINGS", "ORDER BY delay", "HAVING COUNT(*) > 3", "SEPARATOR ','",
    "ON OVERFLOW ERROR", "EXCEPT (delay)", "REPLACE (1 AS delay)", "->> 'x'", ":: DATE", "- 1", "WINDOW w AS ()",
    "(origin, delay)", "TO SECOND", "HOUR", "'s'", "LEADING", "SEMI", "ANTI", "STRICT", "INTERNAL", "BY NAME",
)  # fmt: skip
_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|\w+|[^\w\s]")


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.data())
def test_words_put_into_a_text_are_read(data: st.DataObject) -> None:
    """A phrase of SQL at any place of a good text: an error with its place, or another plan."""
    # What EXISTS selects must be there, and makes no difference; nor does what a comment says.
    silent = re.compile(r"EXISTS|--|/\*")
    case = data.draw(st.sampled_from([c for c in good_cases() if not silent.search(c.query)]))
    ends = [m.end() for m in _TOKENS.finditer(case.query)]
    at, phrase = data.draw(st.sampled_from(ends)), data.draw(st.sampled_from(PHRASES))
    text = f"{case.query[:at]} {phrase} {case.query[at:]}"
    try:
        query = bind(text, CATALOG, case.options)
    except QueryError as e:
        assert e.line is not None, (text, str(e))
        return
    names = {n.alias.upper() for n in parse(text).find_all(exp.Alias, exp.TableAlias, exp.Subquery) if n.alias}
    if phrase not in names:  # a word may be a name that nothing shows
        assert query.root != bind(case.query, CATALOG, case.options).root, text


@pytest.mark.parametrize(
    ("text", "token", "message"),
    [
        ("SELECT origin FROM flights [NOW] ORDER BY delay LIMIT 2 PERCENT", "2", "number of rows"),
        ("SELECT COUNT(*) FROM flights GROUP BY TUMBLE(ts, INTERVAL NOT '5' MINUTE)", "MINUTE", "a length is a number"),
        ("SELECT origin FROM flights [RANGE 2 MONTHS WITH TIES]", "2 MONTHS WITH TIES", "is not a length of time"),
        ("SELECT origin FROM flights [NOW] ORDER BY delay LIMIT 50 PERCENT", "50", "PERCENT"),
        ("SELECT origin FROM flights [NOW] WHERE delay BETWEEN SYMMETRIC 5 AND 1", "delay", "least"),
        ("SELECT CAST(ts AS TIMESTAMP(3)) AS x FROM flights [NOW]", "ts", "write TIMESTAMP"),
        ("SELECT LENGTH(origin, delay) AS x FROM flights [NOW]", "delay", "LENGTH"),
        ("SELECT CONTAINS(origin, 'x', 'y') AS x FROM flights [NOW]", "'y'", "CONTAINS"),
        ("SELECT MOD(delay, 2, 3) AS x FROM flights [NOW]", "3", "one too many"),
        ("SELECT INT(delay, 2) AS x FROM flights [NOW]", "2", "one too many"),
        ("SELECT MAP(delay) AS x FROM flights [NOW]", "MAP", "MAP takes 2 or more"),
        ("SELECT DATE_TRUNC() AS x FROM flights [NOW]", "DATE_TRUNC", "arguments"),
        ("SELECT origin FROM flights [NOW] ORDER BY delay LIMIT 3 ONLY", "ONLY", "LIMIT k"),
        ("SELECT EXTRACT(DOW (+) FROM ts) AS x FROM flights [NOW]", "DOW", "EXTRACT"),
        ("SELECT origin FROM flights [NOW] ASOF EXCEPT SELECT origin FROM weather [NOW]", "ASOF", "belong"),
    ],
)
def test_what_was_dropped_once(text: str, token: str, message: str) -> None:
    with pytest.raises(QueryError, match=re.escape(message)) as caught:
        bind(text, CATALOG)
    assert caught.value.token == token and caught.value.line == 1 and caught.value.column is not None


@pytest.mark.parametrize(
    "text", ["'it''s'", r"'it\'s'", '"it\'s"', "'it' '''s'", "'i' || 't''s'", '"it\\\'s"', "'\\u0069t''s'"]
)
def test_a_quote_written_twice_is_a_quote(text: str) -> None:
    query = bind(f"SELECT {text} AS x FROM flights [NOW]", CATALOG)
    assert "it's" in _texts(query) or {"it", "'s"} <= _texts(query) or {"i", "t's"} <= _texts(query)


@pytest.mark.parametrize("condition", ["origin LIKE 'it''s%'", "origin IN ('it''s%', 'x')", "origin = 'it''s%'"])
def test_quotes_in_conditions(condition: str) -> None:
    assert "it's%" in _texts(bind(f"SELECT origin FROM flights [NOW] WHERE {condition}", CATALOG))


def _texts(query: BoundQuery) -> set[str]:
    """The plain texts of the plan."""
    found = re.findall(r"Literal\(value=('(?:[^'\\]|\\.)*'|\"[^\"]*\")", repr(query.root))
    return {text[1:-1] for text in found}
