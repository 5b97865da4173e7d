"""Random queries with INTERNAL on windows of every kind, beside external ones and beside other constructs.

A generator of its own, so that the cases of the other ones' seeds stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from generate import NAMES
from generate_further import internal
from generate_wide import WideCase, WideQuery, WideSource, draw_around, draw_inner, link


def draw_internal_case(seed: int) -> WideCase:
    """Windows alone, in joins, EXISTS, unions and aggregates: DuckDB can be asked by when rows enter and leave."""
    return draw_around(Random(f"internal {seed}"), seed, _alone)


def draw_beside_case(seed: int) -> WideCase:
    """INTERNAL windows beside aggregates, DISTINCT, negation, set operations, relations, and inside EXISTS and IN."""
    return draw_around(Random(f"beside {seed}"), seed, beside)


def _alone(rng: Random) -> WideQuery:
    """A query without a non-retroactive table beside a window of rows: the rows of one cannot be looked up."""
    while True:
        query = internal(rng, windows)
        if not {"rows", "N"} <= {*(s.window for s in query.sources), *(str(s.of) for s in query.sources)}:
            return query


def windows(rng: Random, count: int, results: bool) -> list[WideSource]:
    """At least one INTERNAL window; SLIDE in time for some queries. ``results``: on the output of a query."""
    slide = rng.choice((None, None, None, rng.randint(1, 4)))
    sources = []
    for alias, name in zip("abc"[:count], NAMES, strict=False):
        of: str | WideQuery = rng.choice(NAMES[:2]) if rng.random() < 0.2 else name
        of = draw_inner(rng, alias) if results else of
        sources.append(replace(_window(rng, alias, slide), of=of, internal=rng.random() < 0.6))
    if not any(s.internal for s in sources):
        sources[0] = replace(sources[0], internal=True)
    return sources


def _window(rng: Random, alias: str, slide: int | None) -> WideSource:
    every = ("range", "range", "rows", "rows", "partition", "now", "unbounded")
    match rng.choice(every) if slide is None else "range":
        case "range":
            return WideSource("A", alias, "range", rng.randint(1, 7), slide)
        case "rows":
            return WideSource("A", alias, "rows", rng.randint(1, 4))
        case "partition":
            return WideSource("A", alias, "rows", rng.randint(1, 2), by=rng.choice((("k",), ("j",), ("k", "j"))))
        case word:
            return WideSource("A", alias, word)


def beside(rng: Random) -> WideQuery:
    """What INTERNAL windows are combined with; at least {a} is INTERNAL."""
    a, b, c = windows(rng, 3, False)
    a = replace(a, internal=True)
    on = link(rng, "a", "b")
    form = rng.choice(tuple(FORMS))
    text = FORMS[form].format(a="{a}", b="{b}", c="{c}", r="{r}", on=on)
    if form in ("aggregate", "distinct", "negation", "minus"):
        b, c = replace(b, internal=form == "aggregate" and b.internal), replace(c, internal=False)
    sources = [s for s in (a, b, c) if f"{{{s.alias}}}" in text]
    if "{r}" in text:
        sources.append(WideSource(rng.choice("RT"), "r", "table"))
    return WideQuery(text, tuple(sources), rng.choice(("Istream", "Dstream", "Rstream", None, None)))


_PAIR = "SELECT a.k AS c0, a.v AS c1, q.n AS c2 FROM {a}, "
FORMS = {
    "aggregate": _PAIR + "(SELECT b.k AS k, COUNT(*) AS n FROM {b} GROUP BY b.k) AS q WHERE q.k = a.k",
    "distinct": _PAIR + "(SELECT DISTINCT b.k AS k, b.v AS n FROM {b}) AS q WHERE q.k = a.k",
    "negation": _PAIR + "(SELECT b.k AS k, b.v AS n FROM {b} WHERE NOT EXISTS (SELECT 1 FROM {c} WHERE c.k = b.k AND "
    "c.v > b.v)) AS q WHERE q.k = a.k",
    "minus": _PAIR + "(SELECT b.k AS k, b.v AS n FROM {b} EXCEPT ALL SELECT c.k AS k, c.v AS n FROM {c}) AS q WHERE "
    "q.k = a.k",
    "union": _PAIR + "(SELECT b.k AS k, b.v AS n FROM {b} UNION ALL SELECT c.k AS k, c.v AS n FROM {c}) AS q WHERE "
    "q.k = a.k",
    "relation": "SELECT a.k AS c0, r.v AS c1 FROM {a}, {r} WHERE a.k = r.k",
    "relation and window": "SELECT a.k AS c0, b.v AS c1, r.v AS c2 FROM {a}, {b}, {r} WHERE {on} AND a.k = r.k",
    "exists": "SELECT a.k AS c0, a.v AS c1 FROM {a} WHERE EXISTS (SELECT 1 FROM {b}, {c} WHERE {on} AND c.k = b.k)",
    "exists in a join": "SELECT a.k AS c0, c.v AS c1 FROM {a}, {c} WHERE a.k = c.k AND EXISTS (SELECT 1 FROM {b} WHERE "
    "{on})",
    "exists of an aggregate": "SELECT a.k AS c0 FROM {a} WHERE EXISTS (SELECT 1 FROM (SELECT b.k AS k, COUNT(*) AS n "
    "FROM {b} GROUP BY b.k) AS q WHERE q.k = a.k AND q.n > 1)",
    "exists of a relation": "SELECT a.k AS c0 FROM {a} WHERE EXISTS (SELECT 1 FROM {r} WHERE r.k = a.k)",
    "exists inside": "SELECT q.k AS c0, c.v AS c1 FROM {c}, (SELECT a.k AS k, a.v AS v FROM {a} WHERE EXISTS (SELECT 1 "
    "FROM {b} WHERE {on})) AS q WHERE q.k = c.k",
    "in": "SELECT a.k AS c0, a.s AS c1 FROM {a} WHERE a.v IN (SELECT b.v FROM {b})",
    "semi join": "SELECT a.k AS c0, a.v AS c1 FROM {a} LEFT SEMI JOIN {b} ON {on}",
}
"""The queries by what is beside {a}."""
