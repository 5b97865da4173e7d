"""The driver catches rules that are wrong, and optimized queries give the answers of the queries as written."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from draws import blocks
from generate_wide import draw_wide_case
from optimizer_golden import CATALOG
from test_local_matches import difference

from muntin.core.errors import ConfigError, InternalError
from muntin.cql.binder import bind
from muntin.optimizer import optimize
from muntin.optimizer.driver import check_order
from muntin.optimizer.rule import Rule
from muntin.optimizer.rules import RULES
from muntin.plan.exprs import Call
from muntin.plan.nodes import Filter, Join, Node, Output, Project, Scan, SemiJoin, TopK
from muntin.plan.patterns import Pattern, pattern
from muntin.plan.windows import QueryOptions, Range
from muntin.reference import run

JOIN = "SELECT a.k, b.v FROM A a [RANGE 5 MICROSECONDS], B b [RANGE 7 MICROSECONDS] WHERE a.k = b.k AND a.v > 1"
OUTER = "SELECT a.k, b.v FROM A a [RANGE 5 MICROSECONDS] LEFT JOIN B b [RANGE 7 MICROSECONDS] ON a.k = b.k"


def loses_a_column(node: Node) -> Node:
    return replace(node, exprs=node.exprs[:1]) if isinstance(node, Project) else node


def widens_a_window(node: Node) -> Node:
    return replace(node, window=Range(9)) if isinstance(node, Scan) else node


def loses_a_window(node: Node) -> Node:
    return node.parts[0] if isinstance(node, Join) else node


def hardens(node: Node) -> Node:
    return TopK(node, (), 10**6) if isinstance(node, Join) else node


def simplifies_unasked(node: Node) -> Node:
    return Join((node.left, node.right), node.predicate) if hasattr(node, "side") else node


def changes_the_output(node: Node) -> Node:
    return replace(node, kind="istream") if isinstance(node, Output) else node


def never_ends(node: Node) -> Node:
    if isinstance(node, Filter | Join):
        once = Call("not", (node.predicate,), node.predicate.type)
        return replace(node, predicate=Call("not", (once,), once.type))
    return node


@pytest.mark.parametrize(
    ("rewrite", "text", "message"),
    [
        (loses_a_column, JOIN, "columns changed"),
        (widens_a_window, JOIN, "windows changed"),
        (loses_a_window, JOIN, "impossible plan"),
        (hardens, JOIN, "update pattern changed from WK to STR"),
        (simplifies_unasked, OUTER, "update pattern changed from STR to WK"),
        (changes_the_output, JOIN, "update pattern changed|output kinds changed"),
        (never_ends, JOIN, "did not come to an end"),
    ],
)
def test_a_wrong_rule_is_named(rewrite: object, text: str, message: str) -> None:
    query = bind(text, CATALOG, QueryOptions())
    rule = Rule(rewrite)  # type: ignore[arg-type]
    with pytest.raises(InternalError, match=message) as caught:
        optimize(query, rules=(rule,))
    assert rule.name in str(caught.value)


def test_a_rule_cannot_put_negation_below_a_join_with_a_relation() -> None:
    negated = "NOT EXISTS (SELECT 1 FROM B b [RANGE 5 MICROSECONDS] WHERE b.k = a.k)"
    text = f"SELECT a.k, n.v FROM A a [RANGE 5 MICROSECONDS], N n WHERE a.k = n.k AND {negated}"
    query = bind(text, CATALOG, QueryOptions())
    with pytest.raises(InternalError, match=r"pushes_anyway.*now has an input with negative tuples"):
        optimize(query, rules=(Rule(pushes_anyway),))


def pushes_anyway(node: Node) -> Node:
    if isinstance(node, SemiJoin) and isinstance(node.left, Join):
        join = node.left
        return replace(join, parts=(replace(node, left=join.parts[0]), *join.parts[1:]))
    return node


def test_rules_stand_in_order() -> None:
    check_order(RULES)
    with pytest.raises(InternalError, match="must stand after"):
        check_order(tuple(reversed(RULES)))


def test_an_unknown_strategy_is_told() -> None:
    with pytest.raises(ConfigError, match="strategy"):
        optimize(bind(JOIN, CATALOG, QueryOptions(strategy="fast")))


def test_equal_queries_get_equal_plans_and_a_second_run_changes_nothing() -> None:
    for seed in range(40):
        case = draw_wide_case(seed)
        query = bind(case.text, case.catalog, case.options)
        once = optimize(query)
        assert optimize(query) == once
        assert optimize(once.query).steps == ()


def test_restore_and_internal_windows_keep_their_structure() -> None:
    text = (
        "Istream-restore(SELECT DISTINCT a.k FROM A a [RANGE 8 SECONDS SLIDE 2 SECONDS], "
        "B b [RANGE 8 SECONDS SLIDE 2 SECONDS] WHERE a.k = b.k)"
    )
    steps = optimize(bind(text, CATALOG, QueryOptions())).steps
    structural = {r.name for r in RULES if r.structural}
    assert not {s.rule for s in steps} & structural


def test_a_join_with_a_non_retroactive_relation_keeps_its_pattern() -> None:
    query = bind("SELECT a.k, n.v FROM A a [RANGE 5 MICROSECONDS], N n WHERE a.k = n.k", CATALOG, QueryOptions())
    assert pattern(query.root) is Pattern.WKS


@blocks(1, 3)
def test_optimized_equals_written(block: int) -> None:
    """Over random queries of the whole language, on the naive evaluator: the plans mean the same."""
    changed = 0
    for seed in range(2000 + block * 60, 2060 + block * 60):
        case = draw_wide_case(seed)
        query = bind(case.text, case.catalog, case.options)
        found = optimize(query)
        changed += bool(found.steps)
        until = None if Random(seed).random() < 0.5 else case.last_instant()
        expected = run(query, case.streams, until, case.tables)
        problem = difference(expected, run(found.query, case.streams, until, case.tables))
        assert not problem, f"seed {seed}: {problem}\n{case.text}\n{[s.rule for s in found.steps]}"
    assert changed > 20
