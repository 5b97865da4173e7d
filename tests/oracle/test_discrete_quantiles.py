"""PERCENTILE_DISC, and over few values PERCENTILE_APPROX and APPROX_COUNT_DISTINCT, are exact: DuckDB, the evaluator
and the local runtime give the same answers over drawn windows."""

from __future__ import annotations

import math
import re
from random import Random

import pyarrow as pa
import test_local_matches_wide as local
import test_wide_oracles_agree as oracles
from draws import blocks
from generate_wide import Draw, WideCase, WideQuery, draw_around

import muntin
from muntin.reference.aggregates import discrete


def draw_discrete_case(seed: int) -> WideCase:
    """The case of a seed."""
    return draw_around(Random(f"discrete {seed}"), seed, _query)


def _query(rng: Random) -> WideQuery:
    draw = Draw(rng, deep=False)
    draw.source("a")
    group = rng.choice((None, "a.k", "a.s"))
    items = [*([group] if group else []), *(_call(rng) for _ in range(rng.randint(1, 2)))]
    listed = ", ".join(f"{e} AS c{i}" for i, e in enumerate(items))
    template = f"SELECT {listed} FROM {{a}}{f' GROUP BY {group}' if group else ''}"
    return WideQuery(template, tuple(draw.sources), rng.choice(("Istream", "Dstream", "Rstream", None, None)))


def _call(rng: Random) -> str:
    x, q = f"a.{rng.choice('vvkxms')}", rng.choice((0, 0.25, 0.5, 0.9, 1))
    match rng.choice(("approx", "approx", "within", "count")):
        case "approx":
            return f"<<PERCENTILE_APPROX({x}, {q})|quantile_disc({x}, {q})>>"
        case "within":
            return f"<<PERCENTILE_DISC({q}) WITHIN GROUP (ORDER BY {x})|quantile_disc({x}, {q})>>"
        case _:
            return f"<<APPROX_COUNT_DISTINCT({x}, 0.01)|COUNT(DISTINCT {x})>>"


@blocks(1, 2)
def test_all_agree(block: int) -> None:
    for seed in range(block * 12, block * 12 + 12):
        oracles.check(seed, draw_discrete_case)
        assert local.check(seed, draw_discrete_case) == "PASS"


def test_shares_are_exact_where_doubles_are_not() -> None:
    """In doubles 0.07 of 100 is more than 7; up to the seventh of 100 values there are 0.07 of them."""
    assert math.ceil(0.07 * 100) == 8
    rows = pa.table({"ts": pa.array(range(100), pa.timestamp("s")), "v": range(100)})
    found = muntin.query("Rstream(SELECT PERCENTILE_APPROX(v, 0.07) AS q FROM s [RANGE 1 DAY])", s=rows)
    assert discrete(list(range(100)), 0.07) == 6
    assert 6 in found["q"].to_pylist()[98:101] and found["q"].to_pylist()[99] == 6


def test_the_draw_is_not_trivial() -> None:
    text = " ".join(draw_discrete_case(seed).text for seed in range(24))
    for form in ("PERCENTILE_APPROX", "WITHIN GROUP", "APPROX_COUNT_DISTINCT", "GROUP BY", "ROWS"):
        assert re.search(form, text), form
