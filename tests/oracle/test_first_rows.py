"""The first rows of an answer or of each group of it, with ranks, ties and offsets, over drawn windows: DuckDB, the
naive evaluator and the local runtime give the same answers."""

from __future__ import annotations

import re
from random import Random

import pytest
import test_local_matches_wide as local
import test_wide_oracles_agree as oracles
from draws import blocks
from duckdb_wide import wide_answers
from generate_wide import Draw, WideCase, WideQuery, draw_around, link

KEYS = ("{a}.v DESC", "{a}.v", "{a}.v DESC NULLS FIRST", "{a}.s NULLS LAST", "{a}.s DESC, {a}.v", "{a}.v % 2")
GROUPS = ("", "{a}.k", "{a}.k", "{a}.s", "{a}.k, {a}.s")
ITEMS = ("{a}.k", "{a}.v", "{a}.s", "{a}.j")


def draw_first_case(seed: int) -> WideCase:
    """The case of a seed."""
    return draw_around(Random(f"first {seed}"), seed, _query)


def _query(rng: Random) -> WideQuery:
    draw = Draw(rng, deep=True)
    draw.source("a")
    source = "{a}"
    if rng.random() < 0.3:
        draw.source("b")
        source = f"{{a}}, {{b}} WHERE {link(rng, 'a', 'b')}"
    template = rng.choice((_qualified, _qualified, _limited, _around, _counted))(rng, source)
    return WideQuery(template, tuple(draw.sources), rng.choice(("Istream", "Dstream", "Rstream", None, None)))


def _order(keys: str) -> str:
    """The keys with their NULLs where CQL puts them, as DuckDB writes it."""
    return ", ".join(k if "NULLS" in k else f"{k} NULLS {'LAST' if 'DESC' in k else 'FIRST'}" for k in keys.split(", "))


def _over(group: str, keys: str, items: list[str], numbered: bool = True) -> str:
    """OVER; for DuckDB with the order by all columns that decides among ties, in the order in which CQL has them."""
    by = f"PARTITION BY {group} " if group else ""
    listed = [re.sub(" (DESC|ASC|NULLS FIRST|NULLS LAST)", "", k) for k in keys.split(", ")]
    hidden = [k for k in (*listed, *filter(None, group.split(", "))) if k not in items]
    every = [f"{e} ASC NULLS FIRST" for e in (*items, *dict.fromkeys(hidden))]
    ties = "".join(f", {e}" for e in every) if numbered else ""
    return f"OVER (<<{by}ORDER BY {keys}|{by}ORDER BY {_order(keys)}{ties}>>)"


def _parts(rng: Random) -> tuple[list[str], str, str]:
    items = [e.format(a="a") for e in rng.sample(ITEMS, rng.randint(1, 3))]
    return items, rng.choice(GROUPS).format(a="a"), rng.choice(KEYS).format(a="a")


def _listed(items: list[str]) -> str:
    return ", ".join(f"{e} AS c{i}" for i, e in enumerate(items))


def _shown(rng: Random, group: str, keys: str, items: list[str]) -> str:
    """Ranks in the select list."""
    found = rng.sample(("ROW_NUMBER", "RANK", "DENSE_RANK"), rng.randint(0, 2))
    return "".join(f", {f}() {_over(group, keys, items, f == 'ROW_NUMBER')} AS r{i}" for i, f in enumerate(found))


def _qualified(rng: Random, source: str) -> str:
    items, group, keys = _parts(rng)
    n = rng.randint(1, 3)
    bound = rng.choice((f"<= {n}", f"< {n + 1}", f"= {n}", f"BETWEEN {n} AND {n + 1}"))
    rank = rng.choice((f"ROW_NUMBER() {_over(group, keys, items)} {bound}",
                       f"RANK() {_over(group, keys, items, False)} <= {n}"))  # fmt: skip
    return f"SELECT {_listed(items)}{_shown(rng, group, keys, items)} FROM {source} QUALIFY {rank}"


def _limited(rng: Random, source: str) -> str:
    """LIMIT with ties, an offset or groups, which DuckDB has no words for."""
    items, group, keys = _parts(rng)
    n, offset, ties = rng.randint(1, 3), rng.choice((0, 0, 1, 2)), rng.random() < 0.5
    words = f"LIMIT {n}{' WITH TIES' if ties else ''}{f' BY {group}' if group else ''}"
    cql = f"ORDER BY {keys} {words}{f' OFFSET {offset}' if offset else ''}"
    number, rank = (f"{f}() {_over(group, keys, items, f != 'RANK')}" for f in ("ROW_NUMBER", "RANK"))
    last = f"{rank} <= {offset + n}" if ties else f"{number} <= {offset + n}"
    in_duckdb = re.sub(r"<<.*?\|(.*?)>>", r"\1", f"QUALIFY {number} > {offset} AND {last}")
    return f"SELECT {_listed(items)}{_shown(rng, group, keys, items)} FROM {source} <<{cql}|{in_duckdb}>>"


def _around(rng: Random, source: str) -> str:
    """The bound in a query around the ranks."""
    items, group, keys = _parts(rng)
    kind = rng.choice(("ROW_NUMBER", "RANK"))
    inner = f"SELECT {_listed(items)}, {kind}() {_over(group, keys, items, kind != 'RANK')} AS r FROM {source}"
    columns = rng.choice(("t.c0 AS c0, t.r AS c1", "t.c0 AS c0", "COUNT(*) AS c0, MAX(t.c0) AS c1"))
    return f"SELECT {columns} FROM ({inner}) AS t WHERE {rng.choice(('t.r <= 2', 'r = 2', '3 > t.r'))}"


def _counted(rng: Random, source: str) -> str:
    """Groups by their counts, at most some of each further group."""
    order, ties = "PARTITION BY a.k ORDER BY COUNT(*) DESC", "<<|, a.k NULLS FIRST, a.s NULLS FIRST>>"
    bound = f"{rng.choice((f'ROW_NUMBER() OVER ({order}{ties})', f'RANK() OVER ({order})'))} <= {rng.randint(1, 2)}"
    return f"SELECT a.k AS c0, a.s AS c1, COUNT(*) AS c2 FROM {source} GROUP BY a.k, a.s QUALIFY {bound}"


@blocks(1, 4)
def test_all_agree(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        oracles.check(seed, draw_first_case)
        assert local.check(seed, draw_first_case) == "PASS"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_all_agree_on_many(block: int) -> None:
    for seed in range(100 + block * 100, 200 + block * 100):
        oracles.check(seed, draw_first_case)
        assert local.check(seed, draw_first_case) == "PASS"


def test_the_draw_is_not_trivial() -> None:
    cases = [draw_first_case(seed) for seed in range(60)]
    assert sum(any(rows for _, rows in wide_answers(c)) for c in cases[:30]) > 20
    text = " ".join(c.text for c in cases)
    forms = ("QUALIFY ROW_NUMBER", "QUALIFY RANK", "DENSE_RANK", "WITH TIES", "OFFSET", "LIMIT . BY", "t.r <= 2")
    for form in forms:
        assert re.search(form, text), form
