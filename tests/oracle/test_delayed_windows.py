"""Windows with DELAY, alone and beside others: DuckDB, the evaluator and the local runtime give the same answers."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
import test_local_matches_wide as local
import test_wide_oracles_agree as oracles
from draws import blocks
from duckdb_wide import wide_answers
from generate_wide import (
    Draw,
    WideCase,
    WideQuery,
    distinct,
    draw_around,
    join,
    outer,
    scalar,
    semi,
    set_operation,
    top,
)

import muntin


def draw_delayed_case(seed: int) -> WideCase:
    """The case of a seed: some of the windows of time of a wide query are delayed."""
    return draw_around(Random(f"delayed {seed}"), seed, _query)


def _query(rng: Random) -> WideQuery:
    draw = Draw(rng, deep=rng.random() < 0.3)
    template, order = rng.choice((semi, semi, outer, set_operation, scalar, distinct, top, join, _counts))(rng, draw)
    sources = tuple(
        replace(s, delay=rng.choice((0, 1, 3, 8))) if s.window in ("range", "now") and not s.mixed else s
        for s in draw.sources
    )
    return WideQuery(template, sources, rng.choice(("Istream", "Dstream", "Rstream", None, None)), order)


def _counts(rng: Random, draw: Draw) -> tuple[str, None]:
    draw.source("a", timed=True)
    items = rng.choice(("COUNT(*) AS c0, SUM(a.v) AS c1", "MIN(a.v) AS c0, MEDIAN(a.v) AS c1"))
    group = rng.choice(("", "", " GROUP BY a.k"))
    return f"SELECT {items} FROM {{a}}{group}", None


@blocks(1, 4)
def test_all_agree(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        oracles.check(seed, draw_delayed_case)
        assert local.check(seed, draw_delayed_case) == "PASS"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_all_agree_on_many(block: int) -> None:
    for seed in range(100 + block * 60, 160 + block * 60):
        oracles.check(seed, draw_delayed_case)
        assert local.check(seed, draw_delayed_case) == "PASS"


def test_the_draw_is_not_trivial() -> None:
    cases = [draw_delayed_case(seed) for seed in range(60)]
    assert sum(any(rows for _, rows in wide_answers(c)) for c in cases[:30]) > 15
    text = " ".join(c.text for c in cases)
    for form in (r"NOW DELAY", r"RANGE \d+ \w+ DELAY", r"SLIDE \d+ \w+ DELAY", "NOT EXISTS", "JOIN", "GROUP BY"):
        assert re.search(form, text), form


def test_what_is_not_followed_within_a_time_is_one_negation() -> None:
    """An order without a payment within ten minutes is shown ten minutes after it, once."""
    minute = 60_000_000
    orders = pa.table({"ts": pa.array([0, minute, 30 * minute], pa.timestamp("us")), "id": [1, 2, 3]})
    payments = pa.table({"ts": pa.array([9 * minute, 11 * minute + 1], pa.timestamp("us")), "id": [1, 2]})
    text = """Istream(SELECT o.id FROM orders o [NOW DELAY 10 MINUTES]
              WHERE NOT EXISTS (SELECT 1 FROM payments p [RANGE 10 MINUTES] WHERE p.id = o.id))"""
    found = muntin.query(text, orders=orders, payments=payments)
    assert [(r["id"], r["ts"].minute) for r in found.to_pylist()] == [(2, 11), (3, 40)]
