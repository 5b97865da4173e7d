"""Random queries with ARG_MAX and ARG_MIN: DuckDB, the naive evaluator and the local runtime give the same answers."""

from __future__ import annotations

import re
from random import Random

import test_local_matches_wide as local
import test_wide_oracles_agree as oracles
from draws import blocks
from duckdb_wide import wide_answers
from generate_wide import Draw, Shape, WideCase, draw_around, link, shaped

COLUMNS = ("v", "v", "k", "s", "x", "m")


def draw_arg_case(seed: int) -> WideCase:
    """The case of a seed."""
    return draw_around(Random(f"arg {seed}"), seed, shaped(_shape))


def _shape(rng: Random, draw: Draw) -> Shape:
    """Of a window, of a join, in a scalar sub-query."""
    draw.source("a")
    form = rng.choice(("one", "one", "join", "scalar"))
    if form != "one":
        draw.source("b")
    if form == "scalar":
        where = rng.choice(("TRUE", "b.k = a.k"))
        return f"SELECT a.k AS c0, (SELECT {_call(rng, 'b')} FROM {{b}} WHERE {where}) AS c1 FROM {{a}}", None
    source = f"{{a}}, {{b}} WHERE {link(rng, 'a', 'b')}" if form == "join" else "{a}"
    alias = rng.choice("ab") if form == "join" else "a"
    group = rng.choice((None, "a.k", "a.s"))
    items = [*([group] if group else []), *(_call(rng, alias) for _ in range(rng.randint(1, 2)))]
    listed = ", ".join(f"{e} AS c{i}" for i, e in enumerate(items))
    return f"SELECT {listed} FROM {source}{f' GROUP BY {group}' if group else ''}", None


def _call(rng: Random, a: str) -> str:
    """One call; for DuckDB the last of a list in order, or its own function where equal keys have equal values."""
    word, place = rng.choice((("ARG_MAX", -1), ("ARG_MIN", 1), ("MAX_BY", -1)))
    condition = rng.choice((f"{a}.v > 1", f"{a}.s = 'p'", "TRUE", "TRUE"))
    keep = "" if condition == "TRUE" else f" FILTER (WHERE {condition})"
    if rng.random() < 0.3:
        return f"{word}({a}.v * 2 - 1, {a}.v){keep}"
    x, y = f"{a}.{rng.choice(COLUMNS)}", f"{a}.{rng.choice(COLUMNS)}"
    ordered = f"list({x} ORDER BY {y}, {x} NULLS FIRST) FILTER (WHERE ({condition}) AND {y} IS NOT NULL)"
    return f"<<{word}({x}, {y}){keep}|({ordered})[{place}]>>"


@blocks(1, 4)
def test_all_agree(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        oracles.check(seed, draw_arg_case)
        assert local.check(seed, draw_arg_case) == "PASS"


def test_the_draw_is_not_trivial() -> None:
    cases = [draw_arg_case(seed) for seed in range(60)]
    assert sum(any(rows for _, rows in wide_answers(c)) for c in cases[:30]) > 20
    text = " ".join(c.text for c in cases)
    for form in (r"ARG_MAX\(", r"ARG_MIN\(.*FILTER", r"\(SELECT MAX_BY", r"\* 2 - 1", r"ROWS", "GROUP BY"):
        assert re.search(form, text), form
