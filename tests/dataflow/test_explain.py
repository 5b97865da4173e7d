"""EXPLAIN: what it says is what the plan is, in every form; EXPLAIN ANALYZE counts what the operators did."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest
from generate_wide import draw_wide_case

from muntin.core.errors import ConfigError, UnsupportedError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.explain import FORMS, explain, explain_as
from muntin.dataflow.explain_edges import patterns_of
from muntin.dataflow.explain_measure import measuring
from muntin.dataflow.explain_words import asked
from muntin.dataflow.planner import plan_query
from muntin.dataflow.stage import PhysicalQuery
from muntin.engine import shard
from muntin.local.runtime import LocalPipeline
from muntin.operators.materialize import Materialize
from muntin.operators.net import Net, OneSign
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.plan.patterns import Pattern
from muntin.plan.windows import QueryOptions
from muntin.verify.arrow import to_table

ROW = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())
CATALOG = Catalog((Stream("A", ROW, "ts"), Stream("B", ROW, "ts", order=1)))
GROUPED = "SELECT a.k, COUNT(*) AS n FROM A a [RANGE 10 SECONDS SLIDE 2 SECONDS] WHERE 1 = 1 AND a.v > 0 GROUP BY a.k"
NEGATED = (
    "SELECT a.k, a.v FROM A a [RANGE 1 MINUTE] "
    "WHERE NOT EXISTS (SELECT 1 FROM B b [RANGE 1 MINUTE] WHERE b.k = a.k AND b.v = 1)"
)


def planned(text: str, strategy: str = "upa") -> tuple[BoundQuery, PhysicalQuery]:
    query = bind(text, CATALOG, QueryOptions(strategy=strategy))
    return query, plan_query(query)


def test_text_has_every_part() -> None:
    text = explain(*planned(GROUPED))
    heads = ["Logical plan", "Rules that fired: fold_constants", "Optimized plan", "Physical plan", "  Stage 0"]
    places = [text.index(h) for h in heads]
    assert all(a < b for a, b in pairwise(places))
    assert "Scan A [RANGE 10 SECONDS SLIDE 2 SECONDS] AS a  [WKS]" in text
    assert "Aggregate a0 = count(*) by g0 = a.k  [STR]" in text
    assert "answers every 2 SECONDS" in text
    assert "state: FIFO panes of partials; group table" in text
    assert re.search(r"estimated cost: [\d.,e+]+ steps/s under strategy upa \(nt [\d.,e+]+, direct [\d.,e+]+\)", text)


def test_a_plan_without_rules_is_not_shown_twice() -> None:
    text = explain(*planned("SELECT a.k FROM A a [RANGE 1 MINUTE]"))
    assert "Rules that fired: none" in text
    assert "Optimized plan" not in text


def test_negation_shows_patterns_and_negative_tuples() -> None:
    text = explain(*planned(NEGATED))
    assert "Anti join on ((b.k = a.k))" in text or "Anti join on (b.k = a.k)" in text
    assert "merge +, -  [STR]" in text
    assert "distinct rows  [WK]" in text
    assert "calendar queue of the duplicate of each that expires last" in text
    assert "hash-indexed panes of each input (expiry: FIFO, by expiry)" in text
    assert "join of 2 windows on a.k = __match1  [WK]" in text


def test_duplicates_of_rows_that_are_taken_away_are_counted() -> None:
    text = explain(*planned("SELECT DISTINCT a.k FROM A a [ROWS 3]"))
    assert "distinct a.k, emit changes  [STR]" in text or "distinct k, emit changes  [STR]" in text
    assert "group table with negative tuples" in text


def test_json_is_the_same_plan() -> None:
    query, physical = planned(NEGATED)
    found = json.loads(explain_as("json", query, physical))
    assert [s["stage"] for s in found["stages"]] == list(range(len(physical.stages)))
    for shown, stage in zip(found["stages"], physical.stages, strict=True):
        assert len(shown["values"]) == len(stage.inputs) + len(stage.ops)
        taken = [[f["value"] for f in v["from"]] for v in shown["values"] if v["kind"] == "operator"]
        assert taken == [list(a) for a in stage.arguments()]
    assert found["cost"].keys() == {"nt", "direct", "upa"}
    assert found["rules"] and found["optimized"] != found["logical"]
    assert "measured" not in found


def test_dot_is_well_formed() -> None:
    text = explain_as("dot", *planned(NEGATED.replace("b.v = 1", "a.k <> 3")))
    assert text.startswith("digraph plan {\n") and text.count("{") == text.count("}")
    named = set(re.findall(r"^\s+(s\d+v\d+) \[", text, re.MULTILINE))
    for start, end in re.findall(r"(\w+) -> (\w+) \[", text):
        assert start in named and end in named | {"result"}
    for line in text.splitlines():
        assert line.replace('\\"', "").count('"') % 2 == 0


def test_svg_is_a_drawing_with_every_operator_inside_it() -> None:
    query, physical = planned("SELECT a.k, b.v FROM A a [RANGE 1 MINUTE], B b [ROWS 3] WHERE a.k = b.k AND a.v < b.v")
    root = ET.fromstring(explain_as("svg", query, physical))
    space = "{http://www.w3.org/2000/svg}"
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    boxes = [r for r in root.iter(f"{space}rect") if r.get("stroke", "").startswith("#") and r.get("fill") != "none"]
    assert len(boxes) == sum(len(s.inputs) + len(s.ops) for s in physical.stages)
    for box in boxes:
        x, y, w, h = (float(box.get(a, "nan")) for a in ("x", "y", "width", "height"))
        assert x >= 0 and x + w <= width and y >= 0 and y + h <= height
    words = " ".join(t.text or "" for t in root.iter(f"{space}text"))
    assert "join of 2 windows" in words and "STR" in words and "result: k, v" in words


def test_an_unknown_form_is_told() -> None:
    with pytest.raises(ConfigError, match="one of text, json, dot, svg"):
        explain_as("pdf", *planned(GROUPED))


@pytest.mark.parametrize("block", range(2))
def test_every_query_can_be_explained_in_every_form(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        case = draw_wide_case(seed)
        query = bind(case.text, case.catalog, case.options)
        try:
            physical = plan_query(query)
        except UnsupportedError:
            continue
        texts = {form: explain_as(form, query, physical) for form in FORMS}
        json.loads(texts["json"])
        ET.fromstring(texts["svg"])
        assert all(texts.values())


def rows(count: int, seed: int) -> pa.Table:
    rng = Random(seed)
    times = sorted(rng.randint(0, 120) * 1_000_000 for _ in range(count))
    columns = [times, [rng.randint(1, 3) for _ in times], [rng.randint(0, 2) for _ in times]]
    return pa.table([pa.array(c, pa.int64()) for c in columns], names=["ts", "k", "v"])


@pytest.mark.parametrize("strategy", ["upa", "nt", "direct"])
@pytest.mark.parametrize("text", [GROUPED, NEGATED])
def test_measured_counters_add_up(text: str, strategy: str) -> None:
    query, physical = planned(text, strategy)
    pipeline = LocalPipeline(physical, shards=2)
    data = {"A": rows(80, 1), "B": rows(40, 2)}
    with measuring(pipeline.states) as found:
        results = [len(pipeline.push({n: t.slice(i * 20, 20) for n, t in data.items()})) for i in range(4)]
        results.append(len(pipeline.finish()))
    last = len(physical.stages) - 1
    final = physical.stages[last].emitted()[0] - len(physical.stages[last].inputs)
    assert found.of(last, final).rows_out == sum(results) > 0
    assert all(c.calls == 2 * 5 for c in found.operators.values())
    assert sum(c.peak for c in found.operators.values()) > 0
    shown = json.loads(explain_as("json", query, physical, measured=found))
    counted = [v["measured"]["rows_out"] for s in shown["stages"] for v in s["values"] if v["kind"] == "operator"]
    assert counted == [found.of(s, k).rows_out for s, st in enumerate(physical.stages) for k in range(len(st.ops))]
    assert "measured: " in explain_as("text", query, physical, measured=found)


def test_nothing_is_counted_outside_the_block() -> None:
    plain = shard._apply
    _, physical = planned(GROUPED)
    pipeline = LocalPipeline(physical)
    with measuring(pipeline.states) as found:
        assert shard._apply is not plain
        LocalPipeline(physical).push({"A": rows(5, 3)})  # another pipeline's work is not ours
    assert shard._apply is plain
    pipeline.push({"A": rows(5, 3)})
    assert found.operators == {}


SHOWN = (Materialize, Net, OneSign)
"""Operators that turn a relation into the changes that users see: minus rows there are no negative tuples."""


def test_only_strict_edges_carry_negative_tuples() -> None:
    """Over random queries: an edge that EXPLAIN calls MON, WKS or WK never has one (thesis 3.2.2)."""
    negative = 0
    for seed in range(60):
        case = draw_wide_case(seed)
        if case.tables:
            continue
        try:
            physical = plan_query(bind(case.text, case.catalog, case.options))
        except UnsupportedError:
            continue
        pipeline = LocalPipeline(physical)
        with measuring(pipeline.states) as found:
            pipeline.push({s.name: to_table(s, case.streams[s.name]) for s in physical.streams})
            pipeline.finish()
        for number, (stage, patterns) in enumerate(zip(physical.stages, patterns_of(physical), strict=True)):
            for k, op in enumerate(stage.ops):
                if found.of(number, k).negative and not isinstance(op, SHOWN):
                    negative += 1
                    assert patterns[len(stage.inputs) + k] is Pattern.STR, f"{case.text}\n{op}"
    assert negative > 20


@pytest.mark.parametrize(
    ("text", "rest", "analyze"),
    [
        ("EXPLAIN SELECT 1", "        SELECT 1", False),
        ("explain analyze\nSELECT 1", "               \nSELECT 1", True),
        ("  EXPLAIN\nANALYZE SELECT 1", "         \n        SELECT 1", True),
    ],
)
def test_the_words_before_a_query(text: str, rest: str, analyze: bool) -> None:
    found = asked(text)
    assert (found.text, found.explain, found.analyze) == (rest, True, analyze)
    assert len(found.text) == len(text)


def test_a_query_without_the_words_is_left_alone() -> None:
    assert asked("SELECT explain FROM A").text == "SELECT explain FROM A"
    assert not asked("EXPLAINED").explain
