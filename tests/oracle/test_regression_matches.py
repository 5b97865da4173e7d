"""Random queries with CORR, COVAR_ and REGR_: DuckDB, the naive evaluator and the local runtime agree."""

from __future__ import annotations

from random import Random

import test_local_matches_wide as local
import test_wide_oracles_agree as oracles
from draws import blocks
from duckdb_wide import wide_answers
from generate_wide import Draw, Shape, WideCase, draw_around, link, shaped

NAMES = ("COVAR_POP", "COVAR_SAMP", "REGR_COUNT", "REGR_AVGX", "REGR_AVGY", "REGR_SXX", "REGR_SYY", "REGR_SXY")
LINES = ("CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2")
"""DuckDB says NaN where there is no line."""


def draw_pairs(seed: int) -> WideCase:
    """The case of a seed."""
    return draw_around(Random(f"pairs {seed}"), seed, shaped(_shape))


def _shape(rng: Random, draw: Draw) -> Shape:
    """Of a window, of a join."""
    draw.source("a")
    two = rng.random() < 0.4
    if two:
        draw.source("b")
    source = f"{{a}}, {{b}} WHERE {link(rng, 'a', 'b')}" if two else "{a}"
    group = rng.choice((None, "a.k", "a.s"))
    items = [*([group] if group else []), *(_call(rng, "b" if two else "a") for _ in range(rng.randint(1, 3)))]
    listed = ", ".join(f"{e} AS c{i}" for i, e in enumerate(items))
    return f"SELECT {listed} FROM {source}{f' GROUP BY {group}' if group else ''}", None


def _call(rng: Random, b: str) -> str:
    y, x = f"a.{rng.choice('vk')}", f"{b}.{rng.choice('vk')}"
    keep = rng.choice(("", "", f" FILTER (WHERE {b}.v > 1)"))
    if rng.random() < 0.6:
        return f"{rng.choice(NAMES)}({y}, {x}){keep}"
    name = rng.choice(LINES)
    both = f"FILTER (WHERE {x} IS NOT NULL AND {y} IS NOT NULL{f' AND {b}.v > 1' if keep else ''})"
    level = f"count(DISTINCT {x}) {both} < 2" + (f" OR count(DISTINCT {y}) {both} < 2" if name == "CORR" else "")
    return f"<<{name}({y}, {x}){keep}|CASE WHEN {level} THEN NULL ELSE {name.lower()}({y}, {x}){keep} END>>"


@blocks(1, 3)
def test_all_agree(block: int) -> None:
    for seed in range(block * 16, block * 16 + 16):
        oracles.check(seed, draw_pairs)
        assert local.check(seed, draw_pairs) == "PASS"


def test_the_draw_is_not_trivial() -> None:
    cases = [draw_pairs(seed) for seed in range(16)]
    assert sum(any(v is not None for r in rows for v in r) for c in cases for _, rows in wide_answers(c)[:9]) > 20
    text = " ".join(c.text for c in cases)
    for form in (*LINES, "FILTER", "GROUP BY", "ROWS", "COVAR_"):
        assert form in text, form
