"""EXPLAIN: what it says is what the plan is, in every form; EXPLAIN ANALYZE counts what the operators did."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest
from generate_further import draw_further_case
from generate_joins import draw_join_case
from generate_wide import WideCase, draw_wide_case
from observed_patterns import Watch
from test_local_matches_wide import batches_of
from user_aggregates import with_code

from muntin.core.calendar import Months
from muntin.core.errors import ConfigError, UnsupportedError
from muntin.core.schema import Schema
from muntin.core.spans import exact_words
from muntin.cql.binder import bind
from muntin.dataflow.explain import FORMS, asked, explain, explain_as, explain_graph
from muntin.dataflow.explain.patterns import patterns_of
from muntin.dataflow.explain.svg import QUERIES
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.routes import Here
from muntin.engine.meter import Meter
from muntin.local.analyze import analyze
from muntin.local.runtime import LocalPipeline
from muntin.operators.insertions import Insertions
from muntin.operators.materialize import Materialize
from muntin.operators.one_sign import OneSign
from muntin.operators.operator import Operator
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.plan.patterns import Pattern, pattern
from muntin.plan.windows import QueryOptions

ROW = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())
CATALOG = Catalog((Stream("A", ROW, "ts"), Stream("B", ROW, "ts", order=1)))
GROUPED = "SELECT a.k, COUNT(*) AS n FROM A a [RANGE 10 SECONDS SLIDE 2 SECONDS] WHERE 1 = 1 AND a.v > 0 GROUP BY a.k"
NEGATED = (
    "SELECT a.k, a.v FROM A a [RANGE 1 MINUTE] "
    "WHERE NOT EXISTS (SELECT 1 FROM B b [RANGE 1 MINUTE] WHERE b.k = a.k AND b.v = 1)"
)
PAIRS = "SELECT x.k, y.v FROM A x [RANGE 1 MINUTE], A y [RANGE 1 MINUTE] WHERE x.k = y.k AND x.v < y.v"


def planned(text: str, strategy: str = "upa") -> tuple[BoundQuery, QueryPlan]:
    query = bind(text, CATALOG, QueryOptions(strategy=strategy))
    return query, plan_query(query)


def test_text_has_every_part() -> None:
    text = explain(*planned(GROUPED))
    heads = ["Logical plan", "Rules that fired: fold_constants", "Optimized plan", "Graph", "  Sources", "  Level 0"]
    places = [text.index(h) for h in heads]
    assert all(a < b for a, b in pairwise(places))
    assert "Scan A [RANGE 10 SECONDS SLIDE 2 SECONDS] AS a  [WKS]" in text
    assert "Aggregate a0 = count(*) by g0 = a.k  [STR]" in text
    assert "answers every 2 seconds" in text
    assert "keeps: FIFO panes of partials; group table; panes of 0.75 seconds" in text
    assert re.search(r"estimated cost: [\d.,e+]+ steps/s under strategy upa \(nt [\d.,e+]+, direct [\d.,e+]+\)", text)
    assert "  result: k, n, ts <- #2" in text.splitlines()


def test_a_vertex_has_its_number_its_id_and_where_its_rows_come_from() -> None:
    query, plan = planned(GROUPED)
    lines = explain(query, plan).splitlines()
    source, window, _ = plan.vertices
    assert f"    #0 {source.id[:8]}  A where (v > 0L): k  [MON]" in lines
    line = f"    #1 {window.id[:8]}  window [RANGE 10 SECONDS SLIDE 2 SECONDS]  <- #0 by (k)  [WKS]"
    assert line in lines


def test_columns_have_the_names_of_the_query_on_both_sides_of_a_self_join() -> None:
    text = explain(*planned(PAIRS))
    assert "join of 2 windows on x.k = y.k  <- #1 same shard, #1 same shard  [WK]" in text
    assert "keep (x.v < y.v)" in text and not re.search(r"\bc\d", text)


def test_names_reach_the_text_of_every_operator() -> None:
    """Columns are numbered inside; a number that people see is one that some operator forgot to translate."""
    for seed in range(60):
        for draw in (draw_wide_case, draw_join_case):
            case = draw(seed)
            text = re.sub(r"\bc(\d+)\b", r"out\1", case.text)  # the draw calls results c0, c1, ... too
            try:
                plan = plan_query(bind(text, case.catalog, case.options))
            except UnsupportedError:
                continue
            vertices = json.loads(explain_graph("json", plan.graph))["graph"]["vertices"]
            shown = [x for v in vertices for x in (v["text"], v["keeps"], *(f["route"] for f in v["from"]))]
            assert re.findall(r"\bc\d+\b", " ".join(shown)) == [], f"{text}\n{shown}"


def test_a_plan_without_rules_is_not_shown_twice() -> None:
    text = explain(*planned("SELECT a.k FROM A a [RANGE 1 MINUTE]"))
    assert "Rules that fired: none" in text
    assert "Optimized plan" not in text


def test_negation_shows_patterns_and_negative_tuples() -> None:
    text = explain(*planned(NEGATED))
    assert "Anti join on ((b.k = a.k))" in text or "Anti join on (b.k = a.k)" in text
    assert re.search(r"merge \+, -  <- .*\[STR\]", text)
    assert re.search(r"distinct rows  <- .*\[WK\]", text)
    assert "calendar queue of the duplicate of each that expires last" in text
    assert "hash-indexed panes of each input (expiry: FIFO, by expiry)" in text


def test_duplicates_of_rows_that_are_taken_away_are_counted() -> None:
    text = explain(*planned("SELECT DISTINCT a.k FROM A a [ROWS 3]"))
    assert re.search(r"distinct rows, emit changes  <- .*\[STR\]", text)
    assert "group table with negative tuples" in text


def test_json_is_the_same_graph() -> None:
    query, plan = planned(NEGATED)
    found = json.loads(explain_as("json", query, plan))
    shown = found["graph"]["vertices"]
    assert [v["id"] for v in shown] == [v.id for v in plan.vertices]
    assert [[f["vertex"] for f in v["from"]] for v in shown] == [[e.vertex for e in v.inputs] for v in plan.vertices]
    assert [v["level"] for v in shown] == list(plan.graph.levels)
    assert sorted(n for level in found["graph"]["levels"] for n in level["vertices"]) == list(range(len(shown)))
    assert found["graph"]["levels"][0]["name"] == "Sources"
    assert found["cost"].keys() == {"nt", "direct", "upa"}
    assert found["rules"] and found["optimized"] != found["logical"]
    assert "measured" not in found and all(v["measured"] is None for v in shown)


def test_dot_is_well_formed() -> None:
    query, plan = planned(NEGATED.replace("b.v = 1", "a.k <> 3"))
    text = explain_as("dot", query, plan)
    assert text.startswith("digraph plan {\n") and text.count("{") == text.count("}")
    named = set(re.findall(r"^\s+(v\d+) \[", text, re.MULTILINE))
    for start, end in re.findall(r"(\w+) -> (\w+) \[", text):
        assert start in named and end in named | {"result0"}
    for line in text.splitlines():
        assert line.replace('\\"', "").count('"') % 2 == 0
    exchanges = [e for v in plan.vertices for e in v.inputs if not isinstance(e.route, Here)]
    assert text.count("style=dashed") == len(exchanges) > 0
    assert text.count("subgraph cluster_") == plan.graph.depth + 1


def test_svg_is_a_drawing_with_every_operator_inside_it() -> None:
    query, plan = planned("SELECT a.k, b.v FROM A a [RANGE 1 MINUTE], B b [ROWS 3] WHERE a.k = b.k AND a.v < b.v")
    root = ET.fromstring(explain_as("svg", query, plan))
    space = "{http://www.w3.org/2000/svg}"
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    boxes = [r for r in root.iter(f"{space}rect") if r.get("class") == "box"]
    assert len(boxes) == len(plan.vertices) + 1
    for box in boxes:
        x, y, w, h = (float(box.get(a, "nan")) for a in ("x", "y", "width", "height"))
        assert x >= 0 and x + w <= width and y >= 0 and y + h <= height
    words = " ".join(t.text or "" for t in root.iter(f"{space}text"))
    assert "Join of 2 windows" in words and "STR" in words and "k, v, ts" in words and "Level 0" in words


def test_several_queries_show_what_they_share() -> None:
    other = GROUPED.replace("COUNT(*) AS n", "COUNT(*) + 1 AS m")
    graph = Graph.of([planned(t)[1] for t in (GROUPED, other, PAIRS)])
    found = json.loads(explain_graph("json", graph, ["one", "two", "pairs"]))
    shared = [v for v in found["graph"]["vertices"] if v["queries"] == ["one", "two"]]
    assert [v["operator"] for v in shared] == ["Source", "TimeWindow", "GroupAggregate"]
    assert [(r["query"], r["columns"]) for r in found["results"]] == [
        ("one", ["k", "n", "ts"]), ("two", ["k", "m", "ts"]), ("pairs", ["k", "v", "ts", "op"]),
    ]  # fmt: skip
    text = explain_graph("text", graph, ["one", "two", "pairs"])
    assert "           for: one, two" in text.splitlines() and "  result of two: k, m, ts <- #3" in text
    assert "pairs: k, v, ts, op" in explain_graph("dot", graph, ["one", "two", "pairs"])
    drawn = explain_graph("svg", graph, ["one", "two", "pairs"])
    assert "works for pairs" in drawn and "k, v, ts, op" in drawn
    assert drawn.count(f'fill="{QUERIES[0]}"') == 1 + 3 and drawn.count(f'fill="{QUERIES[2]}"') > 4


def test_twelve_queries_have_colours_of_their_own_and_a_legend_of_few_lines() -> None:
    window = "a [RANGE {0} MINUTES SLIDE 1 MINUTE]"
    texts = [f"SELECT k, MAX(v) AS m FROM {window.format(n)} WHERE v > {n} GROUP BY k" for n in range(2, 14)]
    graph, names = Graph.of([planned(t)[1] for t in texts]), [f"query {i}" for i in range(12)]
    root = ET.fromstring(explain_graph("svg", graph, names))
    space = "{http://www.w3.org/2000/svg}"
    stripes = {r.get("fill") for r in root.iter(f"{space}rect") if r.get("height") == "6"}
    assert len(stripes) == 12
    keys = [t for t in root.iter(f"{space}text") if (t.text or "").startswith("works for query")]
    assert len(keys) == 12 and len({t.get("y") for t in keys}) < 6
    assert len({(t.get("x"), t.get("y")) for t in keys}) == 12
    drawn = [x.get("class") or x.tag for x in root.iter() if x.get("class") == "arrow" or x.get("paint-order")]
    assert drawn.index(f"{space}text") > len(drawn) - 1 - drawn[::-1].index("arrow"), "no arrow crosses a label out"
    lines = [t.text or "" for t in root.iter(f"{space}text")]
    assert not [line for line in lines if line.startswith(("MINUTE", "SECOND", "minute", "second"))]


def test_an_unknown_form_is_told() -> None:
    with pytest.raises(ConfigError, match="one of text, json, dot, svg"):
        explain_as("pdf", *planned(GROUPED))
    with pytest.raises(ConfigError, match="one of text, json, dot, svg"):
        explain_graph("pdf", planned(GROUPED)[1].graph)


@pytest.mark.parametrize("block", range(2))
def test_every_query_can_be_explained_in_every_form(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        case = draw_wide_case(seed)
        query = bind(case.text, case.catalog, case.options)
        try:
            plan = plan_query(query)
        except UnsupportedError:
            continue
        texts = {form: explain_as(form, query, plan) for form in FORMS}
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
    query, plan = planned(text, strategy)
    found = Meter()
    pipeline = LocalPipeline(plan, shards=2, meter=found)
    data = {"A": rows(80, 1), "B": rows(40, 2)}
    results = [len(pipeline.push({n: t.slice(i * 20, 20) for n, t in data.items()})) for i in range(4)]
    results.append(len(pipeline.finish()))
    assert found.of(plan.root).rows_out == sum(results) > 0
    assert all(c.calls == 2 * 5 for c in found.counters.values())
    assert sum(c.peak for c in found.counters.values()) > 0
    shown = json.loads(explain_as("json", query, plan, measured=found))["graph"]["vertices"]
    for v in shown:
        assert (v["measured"] is None) == (v["level"] < 0)
        if v["level"] >= 0:
            assert v["measured"]["rows_out"] == found.of(v["vertex"]).rows_out
    assert "measured: " in explain_as("text", query, plan, measured=found)


def test_a_join_tells_what_it_measured_by_alias() -> None:
    query, plan = planned(PAIRS)
    text = explain_as("text", query, plan, measured=analyze(plan, {"A": rows(200, 4)}))
    assert re.search(r"^ +x: [\d.,]+ rows/s, valid for 60 s$", text, re.MULTILINE)
    assert re.search(r"^ +y: [\d.,]+ rows/s", text, re.MULTILINE)
    assert "measured: 50 batches" in text


def observed(watch: Watch, number: int, op: Operator) -> Pattern | None:
    """What a vertex's rows did. Operators that turn a relation into what users see: in changes a '-' at the instant
    that the row's expiry told says nothing new; rows of a stream (of one sign) never leave, their expiry is beside
    them."""
    match op:
        case Materialize("changes"):
            return watch.observed(number, announced=True)
        case Materialize() | OneSign() | Insertions():
            return Pattern.MON if len(watch.signs(number)) < 2 else Pattern.STR
        case _:
            return watch.observed(number)


@pytest.mark.parametrize("draw", [draw_wide_case, draw_join_case, draw_further_case])
@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 200), marks=pytest.mark.slow)], ids=str)
def test_no_vertex_is_harder_than_its_label(draw: Callable[[int], WideCase], seeds: range) -> None:
    """MON: no row ever has an expiry or leaves. WKS: rows leave in the order in which they came. WK: there is no
    negative tuple (thesis 3.2.1, 3.2.2)."""
    seen: Counter[Pattern | None] = Counter()
    for seed in seeds:
        case = draw(seed)
        try:
            query = bind(case.text, case.catalog, case.options)
            plan = with_code(plan_query(query))
        except UnsupportedError:
            continue
        watch = Watch()
        pipeline = LocalPipeline(plan, shards=1 + seed % 2, meter=watch)
        results = [pipeline.push(b) for b in batches_of(case, plan, Random(seed), 4)] + [pipeline.finish()]
        for number, promised in enumerate(patterns_of(pipeline.graph)):
            op = pipeline.graph.vertices[number].op
            found = observed(watch, number, op)
            seen[found] += 1
            assert found is None or found <= promised, f"{found} under {promised}: {case.text}\n{op}"
        if plan.shows_op and pattern(query.root) is Pattern.MON:
            assert all("-" not in t.column(len(plan.schema) + 1).to_pylist() for t in results), case.text
    assert all(seen[p] > 1 for p in Pattern), seen


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("SELECT a.k FROM A a [RANGE 1 MINUTE], B b [RANGE 1 MINUTE] WHERE a.k = b.k", Pattern.WK),
        ("SELECT a.k FROM A a [RANGE 1 MINUTE INTERNAL], B b [RANGE 1 MINUTE INTERNAL] WHERE a.k = b.k", Pattern.MON),
        ("SELECT a.k FROM A a [RANGE 1 MINUTE INTERNAL], B b [RANGE 1 MINUTE] WHERE a.k = b.k", Pattern.WK),
        ("SELECT COUNT(*) AS n FROM A a [RANGE 1 MINUTE INTERNAL]", Pattern.MON),
        ("SELECT COUNT(*) AS n FROM A a [ROWS 3 INTERNAL]", Pattern.MON),
        ("SELECT a.k FROM A a [ROWS 3 INTERNAL], B b [RANGE 1 MINUTE INTERNAL] WHERE a.k = b.k", Pattern.MON),
        ("SELECT a.k FROM A a [ROWS 3 INTERNAL], B b [RANGE 1 MINUTE] WHERE a.k = b.k", Pattern.WK),
        ("SELECT a.k FROM A a [RANGE 1 MINUTE INTERNAL], B b [ROWS 3] WHERE a.k = b.k", Pattern.STR),
        ("SELECT a.k FROM A a [NOW INTERNAL] WHERE EXISTS (SELECT 1 FROM B b [ROWS 3 INTERNAL] WHERE a.k = b.k)",
         Pattern.MON),
        ("SELECT a.k FROM A a [RANGE 1 MINUTE INTERNAL] WHERE a.k IN (SELECT k FROM B [RANGE 1 MINUTE INTERNAL])",
         Pattern.MON),
        ("SELECT DISTINCT a.k FROM A a [UNBOUNDED]", Pattern.MON),
        ("SELECT a.k FROM A a [RANGE 1 MINUTE] UNION ALL SELECT b.k FROM B b [RANGE 1 MINUTE]", Pattern.WKS),
        ("SELECT a.k FROM A a [RANGE 1 MINUTE] UNION ALL SELECT b.k FROM B b [RANGE 9 SECONDS]", Pattern.WK),
        ("SELECT a.k FROM A a [RANGE 1 MINUTE] UNION ALL SELECT b.k FROM B b [UNBOUNDED]", Pattern.WK),
        ("SELECT a.k FROM A a [RANGE 1 MINUTE] UNION ALL SELECT b.k FROM B b [ROWS 2]", Pattern.STR),
    ],
)
def test_labels_of_the_plan_and_of_its_graph(text: str, label: Pattern) -> None:
    """No harder than need be either."""
    query, plan = planned(text)
    assert pattern(query.root) is label
    assert patterns_of(plan.graph)[plan.root] is label


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


def test_columns_that_binding_numbers_are_told_by_what_they_are() -> None:
    """Groups, arguments of aggregates and what EXISTS compares: as the author would know them."""
    window = "a [RANGE 9 SECONDS SLIDE 3 SECONDS]"
    grouped = explain(*planned(f"SELECT k, SUM(v + 1) AS s FROM {window} GROUP BY k HAVING COUNT(*) > 1"))
    graph = grouped[grouped.index("Graph") :]
    assert "aggregate sum((v + 1L)), count(*) by k, emit snapshots" in graph
    inner = "SELECT y.k FROM a y [RANGE 5 SECONDS]"
    semi = explain(*planned(f"SELECT x.v FROM a x [RANGE 9 SECONDS] WHERE x.k IN ({inner})"))
    joined = next(line for line in semi.splitlines() if " join of 2 windows" in line)
    assert "x.k" in joined and "__" not in joined and "by (__" not in semi
    first = explain(*planned(f"SELECT k FROM {window} GROUP BY k ORDER BY COUNT(*) DESC LIMIT 3"))
    assert "first 3 rows by count(*) desc" in first


def test_what_reads_a_shared_join_tells_columns_by_their_names() -> None:
    length = "SELECT x.k, y.v FROM a x [RANGE {0} SECONDS], a y [RANGE {0} SECONDS] WHERE x.k = y.k"
    grouped = "SELECT x.v, COUNT(*) AS n FROM a x [RANGE 9 SECONDS], a y [RANGE 9 SECONDS] WHERE x.k = y.k GROUP BY x.v"
    texts = [length.format(9), length.format(8), grouped]
    graph = Graph.of(plan_queries([bind(t, CATALOG, QueryOptions()) for t in texts]))
    told = explain_graph("text", graph, ["long", "short", "counts"])
    assert "narrow to" in told and "aggregate count(*) by x.v" in told and "by (x.v)" in told


def test_text_has_durations_and_times_in_words_and_json_has_spark_sql() -> None:
    timed = Catalog((Stream("T", Schema.of(at=pa.timestamp("us", "UTC"), due=pa.timestamp("us", "UTC")), "at"),))
    text = "SELECT at FROM T [NOW] WHERE due - at < INTERVAL 90 SECONDS AND at > TIMESTAMP '2024-01-31 12:30:00'"
    query = bind(text, timed, QueryOptions())
    read, told = (explain_as(form, query, plan_query(query)) for form in ("text", "json"))
    assert "((T.due - T.at) < 1 minute 30 seconds)" in read
    assert "(T.at > TIMESTAMP '2024-01-31 12:30:00 UTC')" in read
    assert "((T.due - T.at) < INTERVAL '90000000' MICROSECOND)" in told
    assert "timestamp_micros(1706704200000000L)" in told


def test_exact_words() -> None:
    spans = (0, 1, 7_500_000, -600_000_000, 90_061_000_000, 604_800_000_000, Months(14))
    assert [exact_words(span) for span in spans] == [
        "0 seconds", "0.000001 seconds", "7.5 seconds", "-10 minutes", "1 day 1 hour 1 minute 1 second", "7 days",
        "14 months",
    ]  # fmt: skip
