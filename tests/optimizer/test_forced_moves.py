"""Moves that cost usually decides, forced: negation above and below joins, DISTINCT below joins, any order of inputs.

Random windows and conditions; the moved plan must give the answers of the plan as written, on the evaluator and on the
local runtime.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from random import Random

import pytest
from optimizer_golden import CATALOG, draw_data, with_root
from test_local_matches import difference
from test_rules import on_local

from muntin.cql.binder import bind
from muntin.optimizer import optimize
from muntin.optimizer.rewrite import identity
from muntin.optimizer.rule import Rule
from muntin.optimizer.rules import RULES
from muntin.plan.nodes import BoundQuery, Join, Node, Project
from muntin.plan.windows import QueryOptions
from muntin.reference import run

BY_NAME = {r.name: r for r in RULES}
FIRST = ("merge_projections", "push_selections", "flatten_joins")
WORDS = ("NOT EXISTS", "NOT EXISTS", "EXISTS")


def window(rng: Random) -> str:
    return rng.choice(("[RANGE 5 MICROSECONDS]", "[RANGE 9 MICROSECONDS]", "[UNBOUNDED]", "[NOW]", "[ROWS 3]"))


def taken_away(rng: Random, left: str) -> str:
    """A condition that compares a row of ``left`` with a window on B."""
    if rng.random() < 0.3:
        inner = f"SELECT b.k FROM B b {window(rng)} WHERE b.v > 0"
        return f"{left}.k {rng.choice(('NOT IN', 'NOT IN', 'IN'))} ({inner})"
    extra = rng.choice(("", "", f" AND b.v > {left}.v", " AND b.v > 1"))
    return f"{rng.choice(WORDS)} (SELECT 1 FROM B b {window(rng)} WHERE b.k = {left}.k{extra})"


def negated_inside(rng: Random) -> str:
    inner = f"SELECT a.k AS k, a.v AS n FROM A a {window(rng)} WHERE {taken_away(rng, 'a')}"
    more = rng.choice(("", " AND q.n > c.v", " AND c.v > 0"))
    return f"SELECT q.k AS c0, q.n AS c1, c.v AS c2 FROM ({inner}) AS q, C c {window(rng)} WHERE q.k = c.k{more}"


def negated_outside(rng: Random) -> str:
    joined = f"A a {window(rng)}, C c {window(rng)} WHERE a.k = c.k"
    return f"SELECT a.k AS c0, c.v AS c1 FROM {joined} AND {taken_away(rng, rng.choice('ac'))}"


def distinct_outside(rng: Random) -> str:
    items = rng.choice(("a.k AS c0", "a.k AS c0, c.s AS c1", "a.v AS c0, c.v AS c1"))
    return f"SELECT DISTINCT {items} FROM A a {window(rng)}, C c {window(rng)} WHERE a.k = c.k"


def three_joined(rng: Random) -> str:
    where = rng.choice(("a.k = b.k AND b.j = c.j", "a.k = c.k AND b.v < c.v", "a.k = b.k AND a.k = c.k AND a.v < c.v"))
    joined = f"A a {window(rng)}, B b {window(rng)}, C c {window(rng)} WHERE {where}"
    return rng.choice(
        (
            f"SELECT a.k AS c0, b.v AS c1, c.v AS c2 FROM {joined}",
            f"SELECT a.k AS c0, COUNT(*) AS c1 FROM {joined} GROUP BY a.k",
        )
    )


def shuffled(node: Node) -> Node:
    """The inputs of a join in another order, the columns as before."""
    if isinstance(node, Join) and len(node.parts) == 3 and node.parts[0].schema.names[0].startswith("a."):
        order = list(permutations(node.parts))[4]
        return Project(Join(order, node.predicate), identity(node))
    return node


def same_answers(query: BoundQuery, moved: BoundQuery, seed: int) -> None:
    data = draw_data(seed, query)
    expected = run(query, data.streams, None, data.tables)
    assert not difference(expected, run(moved, data.streams, None, data.tables)), query.text
    got = on_local(with_root(query, moved.root), seed)
    assert got is not None
    assert not difference(expected, got), f"local, seed {seed}: {query.text}"


@pytest.mark.parametrize(
    ("draw", "rule"),
    [
        (negated_inside, BY_NAME["pull_negation_up"]),
        (negated_outside, BY_NAME["push_negation_down"]),
        (distinct_outside, BY_NAME["push_distinct"]),
        (three_joined, Rule(shuffled)),
    ],
    ids=lambda x: x.name if isinstance(x, Rule) else "",
)
def test_forced(draw, rule: Rule) -> None:
    forced = (*(replace(BY_NAME[n], after=()) for n in FIRST), replace(rule, costed=False, after=()))
    moved = 0
    for seed in range(25):
        rng = Random(f"{rule.name} {seed}")
        text = draw(rng)
        kind = rng.choice(("", "", "Istream", "Rstream"))
        query = bind(f"{kind}({text})" if kind else text, CATALOG, QueryOptions())
        found = optimize(query, rules=forced)
        if any(s.rule == rule.name for s in found.steps):
            moved += 1
            same_answers(query, found.query, seed)
    assert moved >= 15
