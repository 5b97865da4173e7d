"""WITH and JOIN ... USING over drawn windows: DuckDB, the evaluator and the local runtime give the same answers."""

from __future__ import annotations

import re
from random import Random

import pytest
import test_local_matches_wide as local
import test_wide_oracles_agree as oracles
from draws import blocks
from duckdb_wide import wide_answers
from generate_wide import Draw, WideCase, WideQuery, draw_around, where_of


def draw_named_case(seed: int) -> WideCase:
    """The case of a seed."""
    return draw_around(Random(f"named {seed}"), seed, _query)


def _query(rng: Random) -> WideQuery:
    draw = Draw(rng, deep=False)
    draw.source("a")
    template = rng.choice((_with, _with, _using, _using, _chain))(rng, draw)
    return WideQuery(template, tuple(draw.sources), rng.choice(("Istream", "Dstream", "Rstream", None, None)))


def _side(rng: Random) -> str:
    return rng.choice(("JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))


def _using(rng: Random, draw: Draw) -> str:
    """Plain names stand for the columns of both sides."""
    draw.source("b")
    names = rng.choice(("k", "k", "s", "k, s"))
    first = names.split(", ")[0]
    joined = f"FROM {{a}} {_side(rng)} {{b}} USING ({names})"
    if rng.random() < 0.4:
        return f"SELECT {first} AS c0, COUNT(*) AS c1, SUM(b.v) AS c2 {joined} GROUP BY {first}"
    if rng.random() < 0.4:
        sides = "(SELECT a.k, a.v FROM {a}) AS x", "(SELECT b.s, b.k FROM {b}) AS y"
        return f"SELECT * FROM {sides[0]} {_side(rng)} {sides[1]} USING (k)"
    items = rng.choice((f"{first} AS c0, a.v AS c1", f"{first} AS c0, a.{first} AS c1, b.{first} AS c2, b.v AS c3"))
    return f"SELECT {items} {joined}{rng.choice(('', f' WHERE {first} IS NOT NULL', ' WHERE a.v > 0'))}"


def _chain(rng: Random, draw: Draw) -> str:
    """Three inputs under one name."""
    draw.source("b")
    draw.source("c", timed=True)
    sides = [_side(rng), rng.choice(("JOIN", "LEFT JOIN"))]
    return f"SELECT k AS c0, a.v AS c1, c.v AS c2 FROM {{a}} {sides[0]} {{b}} USING (k) {sides[1]} {{c}} USING (k)"


def _with(rng: Random, draw: Draw) -> str:
    """Expressions that are named once, twice, by one another."""
    where = where_of(rng, "a", inner=True)
    first = rng.choice((f"SELECT a.k AS k, a.v AS v FROM {{a}} WHERE {where}",
                        "SELECT a.k AS k, COUNT(*) AS v FROM {a} GROUP BY a.k"))  # fmt: skip
    names = rng.choice(("", " (k, v)", " (g, w)"))
    k, v = ("g", "w") if "g" in names else ("k", "v")
    form = rng.choice(("once", "twice", "nested", "in"))
    if form == "once":
        return f"WITH x{names} AS ({first}) SELECT x.{k} AS c0, x.{v} AS c1 FROM x WHERE x.{v} > 0"
    if form == "twice":
        return f"WITH x{names} AS ({first}) SELECT p.{k} AS c0, q.{v} AS c1 FROM x AS p, x AS q WHERE p.{k} = q.{k}"
    draw.source("b")
    if form == "nested":
        second = f"SELECT {k} AS k, MAX({v}) AS m FROM x GROUP BY {k}"
        return f"WITH x{names} AS ({first}), y AS ({second}) SELECT b.v AS c0, y.m AS c1 FROM {{b}}, y WHERE b.k = y.k"
    inner = f"WITH x{names} AS ({first}) SELECT {k} FROM x"
    return f"SELECT b.k AS c0, b.v AS c1 FROM {{b}} WHERE b.k IN ({inner})"


@blocks(1, 2)
def test_all_agree(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        oracles.check(seed, draw_named_case)
        assert local.check(seed, draw_named_case) == "PASS"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_all_agree_on_many(block: int) -> None:
    for seed in range(100 + block * 60, 160 + block * 60):
        oracles.check(seed, draw_named_case)
        assert local.check(seed, draw_named_case) == "PASS"


def test_the_draw_is_not_trivial() -> None:
    cases = [draw_named_case(seed) for seed in range(60)]
    assert sum(any(rows for _, rows in wide_answers(c)) for c in cases[:30]) > 15
    text = " ".join(c.text for c in cases)
    forms = ("WITH x AS", r"x \(g, w\)", "x AS p, x AS q", r"IN \(WITH", "FULL JOIN .* USING", r"USING \(k\) .* USING")
    for form in forms:
        assert re.search(form, text), form
