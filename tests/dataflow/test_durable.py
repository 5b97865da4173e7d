"""Going on from a checkpoint: what leaves a query's question as it is leaves its state; what does not is told."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from draws import blocks
from generate import draw_case
from generate_further import draw_further_case
from generate_joins import draw_join_case
from generate_wide import draw_wide_case
from test_local_matches import difference, rows_of
from test_local_matches_wide import batches_of
from user_aggregates import PLAIN, with_code

from muntin.core.errors import ConfigError, StoreError, UnsupportedError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow import durable, planner
from muntin.dataflow.codec import decode, encode
from muntin.dataflow.durable import Asked, DurablePlan, Since, TakenUp, from_json, newest_before, take_up, to_json
from muntin.dataflow.lowering.query import lower
from muntin.dataflow.planner import plan_as_written, plan_query
from muntin.local.runtime import LocalPipeline
from muntin.operators.joining_in import JoiningIn
from muntin.optimizer import optimize
from muntin.optimizer.rules import RULES
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions
from muntin.reference import run

SECOND = 1_000_000
SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), j=pa.int64(), v=pa.int64())


def catalog(rates: Mapping[str, float] | None = None) -> Catalog:
    given = rates or {}
    return Catalog(
        tuple(Stream(n, SCHEMA, "ts", ts_unit=SECOND, order=i, rate=given.get(n)) for i, n in enumerate("ABC"))
    )


JOIN3 = (
    "SELECT a.v AS x, b.j AS y, c.v AS z FROM A [RANGE 30 SECONDS] a, B [RANGE 30 SECONDS] b, C [RANGE 30 SECONDS] c "
    "WHERE a.k = b.k AND b.j = c.j"
)
GROUPED = (
    "SELECT a.k, a.j, COUNT(*) AS n FROM A [RANGE 20 SECONDS] a, B [RANGE 20 SECONDS] b WHERE a.k = b.k "
    "GROUP BY a.k, a.j"
)
EXISTS = (
    "SELECT a.k, a.v FROM A [RANGE 20 SECONDS SLIDE 2 SECONDS] a "
    "WHERE NOT EXISTS (SELECT 1 FROM B [RANGE 10 SECONDS] b WHERE b.k = a.k)"
)


def asked(bound: BoundQuery, plan: Any = plan_query) -> Asked:
    return Asked(bound, lambda places, known: with_code(plan(bound, places, known)))


def continued(old: LocalPipeline, taken: TakenUp) -> LocalPipeline:
    """A pipeline of the plans taken up, with the state that the old one has under the same names."""
    new = LocalPipeline(list(taken.plans.values()), old.shards)
    kept = {n: s for n, s in old.cells().items() if taken.since.get(n.partition("/")[0], 0) == 0}
    new.restore(kept)
    return new


def data(seed: int, n: int = 12) -> list[dict[str, pa.Table]]:
    rng = Random(seed)
    batches = []
    for low in range(0, 60, 10):
        batch = {}
        for name in "ABC":
            ts = sorted(rng.randint(low, low + 9) for _ in range(n))
            columns = {c: [rng.randint(0, 6) for _ in ts] for c in ("k", "j", "v")}
            batch[name] = pa.table({"ts": pa.array(ts, pa.int64()), **columns})
        batches.append(batch)
    return batches


def answer(tables: list[pa.Table]) -> list[tuple[Any, ...]]:
    names = tables[0].schema.names
    whole = pa.concat_tables([x.rename_columns(names) for x in tables])
    return sorted(zip(*(c.to_pylist() for c in whole.columns), strict=True), key=repr)


def after_a_restart(
    first: Asked, second: Asked, seed: int = 1, shards: int = 4, **options: Any
) -> list[tuple[Any, ...]]:
    """The answer when the query is stopped half way and goes on as ``second``."""
    batches = data(seed)
    begun = take_up(None, {"q": first}, 0, "1")
    before = LocalPipeline(list(begun.plans.values()), shards)
    tables = [before.push(b) for b in batches[:3]]
    stored = from_json(json.loads(json.dumps(to_json(begun.durable))))
    after = continued(before, take_up(stored, {"q": second}, 3, "2", **options))
    tables += [after.push(b) for b in batches[3:]] + [after.finish()]
    return answer(tables)


def undisturbed(query: Asked, seed: int = 1) -> list[tuple[Any, ...]]:
    plan = take_up(None, {"q": query}, 0, "1").plans["q"]
    pipeline = LocalPipeline(plan, 3)
    return answer([pipeline.push(b) for b in data(seed)] + [pipeline.finish()])


def test_a_rate_of_a_three_way_join_changes_its_layout_and_not_its_state() -> None:
    slow = asked(bind(JOIN3, catalog({"A": 1000.0, "B": 10.0, "C": 1.0})))
    fast = asked(bind(JOIN3, catalog({"A": 1.0, "B": 10.0, "C": 1000.0})))
    plans = [q.plan(_none(), Statistics()) for q in (slow, fast)]
    assert plans[0].vertices != plans[1].vertices, "the hint matters to a query that begins"
    assert after_a_restart(slow, fast) == undisturbed(slow) == undisturbed(fast)


def test_a_window_of_rows_that_was_stored_with_all_columns_goes_on() -> None:
    """Earlier releases kept columns that nothing reads; the question is the same, and the stored plan is taken."""
    bound = bind("SELECT COUNT(*) AS n FROM A [ROWS 20] WHERE k > 1", catalog())
    before = asked(bound, lambda bound, places, known: lower(bound, places, known, keep_unread=True))
    now = asked(bound)
    assert before.plan(_none(), Statistics()).id != now.plan(_none(), Statistics()).id
    assert after_a_restart(before, now) == undisturbed(now)


def _none() -> Any:
    from muntin.dataflow.builder import Places

    return Places()


HINTS = {
    "memory": QueryOptions(memory=1 << 30),
    "direct": QueryOptions(strategy="direct"),
    "nt": QueryOptions(strategy="nt"),
    "split": QueryOptions(skew="split"),
    "priority": QueryOptions(priority=3),
    "periods": QueryOptions(periods="flexible"),
    "shed": QueryOptions(shed="drop", quality=0.5),
}


HINTED = [(text, name) for name in HINTS for text in (JOIN3, GROUPED, EXISTS) if text == JOIN3 or name != "shed"]
"""Sums and negations are refused where rows are shed."""


@pytest.mark.parametrize(("text", "name"), HINTED)
def test_hints_may_come_and_go(text: str, name: str) -> None:
    plain, hinted = asked(bind(text, catalog())), asked(bind(text, catalog(), HINTS[name]))
    whole = undisturbed(plain)
    assert after_a_restart(plain, hinted) == whole
    assert after_a_restart(hinted, plain) == whole


@pytest.mark.parametrize(
    "text",
    [
        GROUPED.replace("a.", "left_one.").replace("] a,", "] left_one,"),
        GROUPED.lower().replace("from a ", "from A ").replace(", b ", ", B "),
        GROUPED.replace("AS n", "AS how_many").replace("SELECT a.k", "SELECT a.k AS key"),
    ],
)
def test_names_and_letter_case_may_change(text: str) -> None:
    first, second = asked(bind(GROUPED, catalog())), asked(bind(text, catalog()))
    assert after_a_restart(first, second) == undisturbed(first)


def test_the_expiry_may_be_shown_from_now_on() -> None:
    plain = asked(bind(GROUPED, catalog()))
    more = asked(bind(GROUPED, catalog(), QueryOptions(exp=True)))
    taken = take_up(take_up(None, {"q": plain}, 0, "1").durable, {"q": more}, 3, "1")
    assert set(taken.since.values()) == {0} and not taken.notes


@pytest.mark.parametrize("text", [JOIN3, GROUPED, EXISTS])
def test_another_planner_goes_on_with_the_stored_plan(text: str) -> None:
    """A rule switched off and on again, or another version's planner: other vertices of the same question."""
    bound = bind(text, catalog())
    rules, plain = asked(bound), asked(bound, plan_as_written)
    whole = undisturbed(rules)
    assert after_a_restart(rules, plain) == whole
    assert after_a_restart(plain, rules) == whole


def test_the_stored_plan_is_told_of_where_another_would_be_made_now() -> None:
    bound = bind(JOIN3, catalog())
    before = take_up(None, {"q": asked(bound)}, 0, "1").durable
    assert take_up(before, {"q": asked(bound, plan_as_written)}, 3, "2").notes == {"q": durable.STORED}
    assert not take_up(before, {"q": asked(bound)}, 3, "2").notes


SHARING = {
    "windows of time": "SELECT {} FROM A [RANGE {n} SECONDS] a, B [RANGE {n} SECONDS] b WHERE a.k = b.k",
    "windows of rows": "SELECT {} FROM A [ROWS {n}] a, B [ROWS {n}] b WHERE a.k = b.k AND a.v > {n} - 12",
    "one of rows": "SELECT {} FROM A [ROWS {n}] a WHERE a.k > 1",
}
SHOWN = ("a.v AS x", "a.k, COUNT(*) AS n", "DISTINCT a.j AS y")


@pytest.mark.parametrize("text", SHARING.values(), ids=SHARING.keys())
def test_a_plan_that_shares_is_told_of_only_where_it_would_be_another(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A query alone has a join of its own, so one that shares is stored otherwise than it is made at first."""
    texts = {c: text.format(c, n=10 + i) + (" GROUP BY a.k" if "COUNT" in c else "") for i, c in enumerate(SHOWN)}
    queries = {c: asked(bind(text, catalog())) for c, text in texts.items()}
    begun = take_up(None, queries, 0, "1")
    alone = {c: q.plan(_none(), Statistics()) for c, q in queries.items()}
    assert all(begun.plans[c].id != alone[c].id for c in SHOWN), "they share"
    with caplog.at_level("DEBUG", "muntin"):
        again = take_up(begun.durable, queries, 3, "1")
    assert not again.notes and again.plans == begun.plans
    assert [r.levelname for r in caplog.records] == ["DEBUG"] * len(SHOWN)
    more = {**queries, "late": queries[SHOWN[0]]}
    joined = take_up(begun.durable, more, 3, "1")
    assert not take_up(joined.durable, more, 5, "1").notes, "it joined in"
    few = {c: queries[c] for c in SHOWN[1:]}
    assert not take_up(begun.durable, few, 3, "1").notes, "whoever else still shares"
    other = {c: asked(bind(text, catalog(), QueryOptions(strategy="nt"))) for c, text in texts.items()}
    told = SHOWN if "RANGE" in text else ()  # windows of rows announce what leaves with every strategy
    assert take_up(begun.durable, other, 3, "2").notes == dict.fromkeys(told, durable.STORED)


def test_another_question_is_refused_or_refilled() -> None:
    first = asked(bind(EXISTS, catalog()))
    other = asked(bind(EXISTS.replace("RANGE 10", "RANGE 12"), catalog()))
    before = take_up(None, {"q": first}, 0, "1").durable
    with pytest.raises(ConfigError, match=r"query 'q' asks another question .* empty windows.*on_change"):
        take_up(before, {"q": other}, 3, "1")
    taken = take_up(before, {"q": other}, 3, "1", on_change="refill")
    assert "empty windows" in taken.notes["q"] and 3 in taken.since.values()


@pytest.mark.parametrize("options", [QueryOptions(bounds="closed"), QueryOptions(origin=SECOND)])
def test_options_that_change_the_meaning_are_refused(options: QueryOptions) -> None:
    before = take_up(None, {"q": asked(bind(EXISTS, catalog()))}, 0, "1").durable
    with pytest.raises(ConfigError, match="another question"):
        take_up(before, {"q": asked(bind(EXISTS, catalog(), options))}, 3, "1")


def test_a_new_query_begins_and_the_old_one_goes_on() -> None:
    first, second = asked(bind(GROUPED, catalog())), asked(bind(EXISTS, catalog()))
    before = take_up(None, {"one": first}, 0, "1").durable
    taken = take_up(before, {"two": second, "one": first}, 3, "1")
    assert "empty windows" in taken.notes["two"] and "one" not in taken.notes
    ids = {v.id for v in taken.plans["one"].vertices if v.op.stateful}
    assert {taken.since[i] for i in ids} == {0}
    renamed = take_up(before, {"other": first}, 3, "1")
    assert set(renamed.since.values()) == {0} and not renamed.notes, "state belongs to what is done, not to a name"
    beside = take_up(before, {"one": first, "other": first}, 3, "1").plans["other"].vertices[-1].op
    assert beside == JoiningIn("other", 3), "who comes beside it begins with what it has shown"


def test_a_plan_of_an_unknown_kind_is_told() -> None:
    bound = bind(GROUPED, catalog())
    before = take_up(None, {"q": asked(bound)}, 0, "1").durable
    text = json.dumps(to_json(before)).replace('"WindowJoin"', '"WindowJoinOfTheFuture"')
    later: DurablePlan = from_json(json.loads(text))
    with pytest.raises(StoreError, match="WindowJoinOfTheFuture, which this version does not know"):
        take_up(later, {"q": asked(bound, plan_as_written)}, 3, "1")


TYPES = [
    pa.bool_(), pa.int8(), pa.int64(), pa.uint8(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32(),
    pa.null(), pa.timestamp("us"), pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "+02:00"),
    pa.decimal128(38, 0), pa.decimal128(10, 2), pa.decimal128(5, -2), pa.timestamp("ns"), pa.large_string(),
    pa.list_(pa.int64()), pa.list_(pa.field("item", pa.string(), nullable=False)), pa.map_(pa.string(), pa.int64()),
    pa.struct([("a", pa.decimal128(9, 1)), ("b", pa.list_(pa.timestamp("us", "UTC")))]),
]  # fmt: skip


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_types_are_read_back_as_they_were_from_both_spellings(type: pa.DataType) -> None:
    spelled = json.loads(json.dumps(encode(type)))
    assert decode(spelled).equals(type, check_metadata=True)
    whole = pa.schema([("x", type)]).serialize().to_pybytes()
    assert decode({"type": base64.b64encode(whole).decode()}).equals(type, check_metadata=True)


def test_plain_types_are_spelled_by_name_and_an_unknown_one_is_told() -> None:
    assert encode(pa.int64()) == {"arrow": "int64"}
    assert encode(TYPES[11]) == {"arrow": "timestamp[us, tz=Europe/Berlin]"}
    plan = take_up(None, {"q": asked(bind(JOIN3, catalog()))}, 0, "1").durable
    assert '"type": "' not in json.dumps(to_json(plan))
    with pytest.raises(StoreError, match="type float16, which this version does not know"):
        decode({"arrow": "float16"})


def test_the_plan_that_ran_the_last_batch_counts() -> None:
    plans = [DurablePlan(0, "1"), DurablePlan(5, "1"), DurablePlan(9, "1")]
    assert newest_before(plans, 9) is plans[1] and newest_before(plans, 0) is None


DRAWS = (draw_case, draw_wide_case, draw_further_case, draw_join_case)


@blocks(1, 3)
def test_random_queries_go_on_under_other_hints(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(7_000 + block * 20, 7_000 + block * 20 + 20):
        check(seed, monkeypatch)


def check(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    case = DRAWS[seed % 4](seed)
    bound = bind(case.text, case.catalog, case.options)
    try:
        plain = asked(bound)
        begun = take_up(None, {"q": plain}, 0, "1")
    except UnsupportedError:
        return
    old = LocalPipeline(list(begun.plans.values()), rng.choice((1, 2, 5)))
    batches = batches_of(case, begun.plans["q"], rng, 6)
    cut = rng.randint(0, len(batches))
    tables = [old.push(b) for b in batches[:cut]]
    options = replace(bound.options, **rng.choice([{"strategy": "nt"}, {"strategy": "direct"}, {"skew": "split"}, {}]))
    plan = rng.choice([plan_query, plan_as_written])
    rules = tuple(r for r in RULES if r.name != rng.choice(["prune_columns", "reorder_joins", "none"]))
    with monkeypatch.context() as m:
        m.setattr(planner, "optimize", lambda query, known: optimize(query, known, rules))
        other = asked(replace(bound, options=options), plan)
        try:
            taken = take_up(begun.durable, {"q": other}, 1, "1")
        except UnsupportedError:
            return
    new = continued(old, taken)
    tables += [new.push(b) for b in batches[cut:]] + [new.finish()]
    expected = run(bound, case.streams, tables=getattr(case, "tables", {}), functions=PLAIN)
    problem = difference(expected, rows_of(new, tables))
    assert not problem, f"seed {seed}, {options}: {problem}\n{case.text}\n{case.options}"


def test_what_is_new_says_since_when_it_fills() -> None:
    first = asked(bind(GROUPED, catalog()))
    other = asked(bind(GROUPED.replace("RANGE 20", "RANGE 25"), catalog()))
    begun = take_up(None, {"q": first}, 0, "1", at=1_000).durable
    assert begun.filling("q") == Since(0, 1_000, None)
    marks = {"A": 70_000_000, "B": 65_500_000, "C": 80_000_000}
    again = take_up(begun, {"q": first, "more": other}, 3, "1", at=2_000, watermarks=marks)
    stored = from_json(json.loads(json.dumps(to_json(again.durable))))
    assert stored.filling("q") == Since(0, 1_000, None), "what goes on keeps its beginning"
    assert stored.filling("more") == Since(3, 2_000, min(marks[s.name] for s in again.plans["more"].streams))
    assert "in batch 3 with empty windows, without rows from before 1970-01-01 00:01" in again.notes["more"]
    refilled = take_up(begun, {"q": other}, 3, "1", on_change="refill", at=2_000, watermarks={})
    assert refilled.durable.filling("q") == Since(3, 2_000, None)
    assert "in batch 3 with empty windows: " in refilled.notes["q"]
    last = take_up(stored, {"more": other}, 9, "1", at=3_000).durable
    assert last.filling("more").batch == 3, "a restart changes nothing of it"
