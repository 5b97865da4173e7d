"""A new query over windows of rows goes on from what others have numbered: it answers as if it had always been."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from test_history import SCHEMA, SECOND, continued, data, filled_in_turn, relation, restarted, snapshot, undisturbed

from muntin.core.time import FOREVER
from muntin.core.watermark import SourceClock
from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, TakenUp, from_json, take_up, to_json
from muntin.dataflow.joining_in import never_exact
from muntin.dataflow.planner import plan_query
from muntin.local.history import fill
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.counted_pairs import Counts
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions

FULL = "its windows are full"
UNFIT = ("no other query numbers the rows", "numbers the same rows", "depends on when rows came")
"""Why some of the queries drawn begin empty: joins keep no rows with a NULL key, and a row may be of too many."""


def asked(text: str, slack: int = 0, order: str | None = None) -> Asked:
    streams = (
        Stream(n, SCHEMA, "ts", ts_unit=SECOND, order=i, slack=slack * SECOND, order_by=order)
        for i, n in enumerate("ABC")
    )
    bound = bind(text, Catalog(tuple(streams)), QueryOptions())
    return Asked(bound, lambda places, known: plan_query(bound, places, known))


def has(query: Any, kind: type) -> bool:
    return any(isinstance(v.op, kind) for v in query.vertices)


ALONE = [
    "SELECT j, v FROM A {w}", "SELECT k, v FROM A {w} WHERE v > 0.5", "SELECT COUNT(*) AS n, SUM(v) AS t FROM A {w}",
    "SELECT k, SUM(v) AS t, MAX(j) AS m FROM A {w} GROUP BY k", "SELECT j, MEDIAN(v) AS m FROM A {w} GROUP BY j",
    "SELECT DISTINCT j FROM A {w}", "SELECT k, v FROM A {w} ORDER BY v, k LIMIT 3",
    "SELECT q.n, COUNT(*) AS m FROM (SELECT k, COUNT(*) AS n FROM A {w} GROUP BY k) AS q GROUP BY q.n",
]  # fmt: skip
PAIRS = [
    "SELECT a.j, a.v, b.j AS z, b.v AS w FROM A {w} a, B {u} b WHERE a.k = b.k",
    "SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM A {w} a, B {u} b WHERE a.k = b.k AND a.v > 0.5 GROUP BY a.k",
    "SELECT a.v, b.v AS w FROM A {w} a, B {u} b WHERE a.j < b.k",
    "SELECT a.v, b.v AS w FROM A {w} a, B [RANGE 6 SECONDS] b WHERE a.k = b.k",
]
RANGED = "SELECT a.k, a.v, b.k AS x, b.v AS y FROM A [RANGE 9 SECONDS] a, B [RANGE 9 SECONDS] b WHERE a.j <= b.j"


def window(rng: Random, by: str, most: int, slide: str) -> str:
    return f"[{by}ROWS {rng.randint(1, most)}{slide}]"


def draw(rng: Random) -> tuple[dict[str, str], dict[str, str]]:
    """Queries that run, and those that come later."""
    by, slide = rng.choice(["", "PARTITION BY k "]), rng.choice(["", "", " SLIDE 3"])
    wide = {"w": f"[{by}ROWS 14{slide}]", "u": f"[{by}ROWS 14{slide}]"}

    def drawn() -> dict[str, str]:
        own = rng.choice([slide, ""]) if rng.random() < 0.8 else " SLIDE 2"
        return {x: window(rng, by, 11, own) for x in "wu"}

    if rng.random() < 0.5:
        first = {"wide": ALONE[0].replace("j, v", "k, j, v").format(**wide)}
        first |= {"other": rng.choice(ALONE).format(**drawn())} if rng.random() < 0.5 else {}
        return first, {f"new{n}": rng.choice(ALONE).format(**drawn()) for n in range(rng.choice((1, 1, 2)))}
    first = {"wide": PAIRS[0].format(**wide), "ranged": RANGED}
    first |= {"other": rng.choice(PAIRS).format(**drawn())} if rng.random() < 0.7 else {}
    return first, {f"new{n}": rng.choice(PAIRS).format(**drawn()) for n in range(rng.choice((1, 1, 2)))}


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 200))])
def test_a_new_query_answers_as_if_it_had_always_been_there(seed: int) -> None:
    rng = Random(f"numbers of rows {seed}")
    texts, later = draw(rng)
    slack, order = rng.choice((0, 3)), rng.choice((None, None, "v"))
    first, second = ({n: asked(t, slack, order) for n, t in own.items()} for own in (texts, later))
    batches = data(seed, slack)
    found, tables, at = restarted(first, second, batches, rng.randint(3, 10), rng.choice((1, 2, 3)))
    for name, results in zip(second, tables, strict=True):
        note = found.taken.notes.get(name, UNFIT[0])  # none: it asks what another query does, nothing of it is new
        assert FULL in note or any(x in note for x in UNFIT), (note, texts, later[name])
        if FULL in note:
            same(results, undisturbed(second[name], {}, batches), at)


def same(results: list[pa.Table], always: list[pa.Table], at: int) -> None:
    """The answers from W on are those of a query that was always there; of an empty relation nothing is shown."""
    got, expected = (relation(t, at) for t in (results, always))
    for answers in (got, expected):
        if not answers.get(at):
            answers.pop(at, None)
    assert got == expected


WIDE = "SELECT k, j, v FROM A [{by}ROWS 14]"
JOINED = "SELECT a.j, a.v, b.j AS z, b.v AS w FROM A [{by}ROWS {n}] a, B [{by}ROWS {n}] b WHERE a.k = b.k"
BY = "PARTITION BY k "


ON_A, ON_BOTH = [WIDE], [JOINED.replace("{n}", "14"), JOINED.replace("{n}", "8")]
LOOPS = [f.replace("a.k = b.k", "a.j < b.k") for f in ON_BOTH]
LOOPED = ["SELECT a.v, b.v AS w FROM A {w} a, B {u} b WHERE a.j < b.k",
          "SELECT COUNT(*) AS n, SUM(a.v) AS s FROM A {w} a, B {u} b WHERE a.j < b.k AND b.v > 0.5"]  # fmt: skip
REPORTED = [*ALONE[:2], *ALONE[3:]]
"""With SLIDE: a whole answer whenever the window moves."""


@pytest.mark.parametrize(("by", "shards"), [("", 1), (BY, 3)])
@pytest.mark.parametrize(
    ("first", "forms", "slide"),
    [(ON_A, ALONE, ""), (ON_A, REPORTED, " SLIDE 3"), (ON_BOTH, PAIRS[:2], ""), (LOOPS, LOOPED, "")],
)
def test_all_forms_are_filled(by: str, shards: int, first: list[str], forms: list[str], slide: str) -> None:
    """Windows and aggregates go on from a window, joins from one that two queries share."""
    windows = {x: f"[{by}ROWS {n}{slide}]" for x, n in (("w", 6), ("u", 11))}
    later = {f"new{n}": asked(form.format(**windows), 3) for n, form in enumerate(forms)}
    running, batches = {f"q{n}": asked(t.format(by=by), 3) for n, t in enumerate(first)}, data(len(forms), 3)
    found, tables, at = restarted(running, later, batches, 9, shards)
    assert has(found.taken.plans["q0"], CountedJoin) == (first is not ON_A)
    if first is LOOPS:
        assert len(windows_of(found.taken, "new0")) == 3  # it reads the join that runs
    for name, results in zip(later, tables, strict=True):
        assert FULL in found.taken.notes[name], (later[name].bound.text, found.taken.notes[name])
        same(results, undisturbed(later[name], {}, batches), at)
        assert sum(map(len, results)) > 0


def test_what_was_begun_so_serves_the_next_query_too() -> None:
    """Also when the first to number the rows is gone; of two queries that begin in different batches, each says so."""
    first, second = {"wide": asked(WIDE.format(by=BY))}, {"mid": asked(WIDE.format(by=BY).replace("14", "11"))}
    third, batches = {"new": asked("SELECT k, SUM(v) AS s FROM A [PARTITION BY k ROWS 9] GROUP BY k")}, data(5)
    tables, at = filled_in_turn(first, second, third, batches)
    same(tables, undisturbed(third["new"], {}, batches), at)


def windows_of(taken: TakenUp, name: str) -> tuple[Counts, ...]:
    return next((v.op.windows for v in taken.plans[name].vertices if isinstance(v.op, CountedJoin)), ())


READERS = [
    *PAIRS[:2], "SELECT b.j, a.v FROM A {w} a, B {u} b WHERE a.k = b.k AND b.j > 1",
    "SELECT a.k, MAX(b.v) AS m FROM A {w} a, B {u} b WHERE a.k = b.k GROUP BY a.k",
]  # fmt: skip


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 60))])
def test_queries_come_and_go_on_a_join_that_runs(seed: int) -> None:
    """Each answers as if it had always been there, whoever else does; windows that nobody reads give place to others.
    """
    rng = Random(f"joins of rows that come and go {seed}")
    slack, shards = rng.choice((0, 3)), rng.choice((1, 3))
    running = {f"q{n}": asked(t.format(by=""), slack) for n, t in enumerate(ON_BOTH)}
    batches, results, began = data(seed, slack), {n: [] for n in running}, dict.fromkeys(running, 0)
    taken = take_up(None, running, 0, "1")
    stored, pipeline, widths = taken.durable, LocalPipeline(list(taken.plans.values()), shards), [2]
    for cut, batch in enumerate(batches):
        if cut in (4, 7, 9, 12):
            for name in rng.sample(sorted(running), rng.randint(0, len(running) - 1)):
                del running[name]
            new = {
                f"at{cut}.{n}": asked(rng.choice(READERS).format(**{x: window(rng, "", 8, "") for x in "wu"}), slack)
                for n in range(2)
            }
            running |= new
            marks = {n: SourceClock(**c).watermark() for n, c in pipeline.clocks[0].heads["clocks"].items()}
            taken = take_up(stored, running, cut, "1", watermarks=marks)
            held = snapshot(pipeline, cut - 1)
            found = fill(taken, running, stored, lambda ids, held=held: held, shards)  # type: ignore[misc]
            pipeline, stored = continued(pipeline, found, cut), from_json(to_json(found.taken.durable))
            at = pipeline.clocks[0].heads["watermarks"]["A\nB"]
            for name in new:
                assert FULL in found.taken.notes.get(name, FULL)
                results[name], began[name] = [], at if name in found.taken.notes else FOREVER
            widths.append(len(windows_of(taken, next(iter(running)))))
        for name, table in zip(running, pipeline.push_all(batch), strict=True):
            results[name].append(table)
    for name, table in zip(running, pipeline.finish_all(), strict=True):
        results[name].append(table)
    for name in running:
        always = undisturbed(running[name], {}, batches)
        same(results[name], always, began[name])
    assert max(widths) > 2 and len(running) > 2


@pytest.mark.parametrize(("first", "form"), [(ON_A, ALONE[3]), (ON_A, REPORTED[1]), (ON_BOTH, PAIRS[0])])
def test_who_asks_for_more_rows_than_are_kept_begins_empty_and_says_so(first: list[str], form: str) -> None:
    """It answers as one that began then."""
    later = {"new": asked(form.format(w="[ROWS 15]", u="[ROWS 3]"))}
    running, batches, cut = {f"q{n}": asked(t.format(by="")) for n, t in enumerate(first)}, data(4), 6
    found, (tables,), at = restarted(running, later, batches, cut)
    note = found.taken.notes["new"]
    assert f"begin in batch {cut} with empty windows, without rows from before" in note and UNFIT[0] in note
    assert not found.cells and not windows_of(found.taken, "new")
    alone = LocalPipeline(list(take_up(None, later, 0, "1").plans.values()))
    expected = [alone.push(b) for b in batches[cut:]] + [alone.finish()]
    assert relation(tables, at) == relation(expected, at) and len(relation(expected, at)) > 3


def test_where_a_stream_was_sampled_a_new_join_of_rows_is_one_of_its_own() -> None:
    """The pairs that a running join holds are of a part of the rows, so none can be begun with, and a query that read
    them without would be told to take back what it never got."""
    batches, cut = data(6), 6
    running = {f"q{n}": asked(t.format(by="")) for n, t in enumerate(ON_BOTH)}
    both = {**running, "new": asked(PAIRS[0].format(w="[ROWS 5]", u="[ROWS 3]"))}
    begun = take_up(None, running, 0, "1")
    pipeline = LocalPipeline(list(begun.plans.values()))
    for batch in batches[:cut]:
        pipeline.push_all(batch)
    heads = pipeline.clocks[0].heads
    heads["sampled"] = {"B": 0.5}  # as of a run before, with sample=0.5
    marks = {n: SourceClock(**c).watermark() for n, c in heads["clocks"].items()}
    at = heads["watermarks"]["A\nB"]
    read = take_up(begun.durable, both, cut, "1", watermarks=marks)
    assert windows_of(read, "new") and never_exact(read.plans["new"], read.since, cut), "what is to be avoided"
    taken = take_up(begun.durable, both, cut, "1", watermarks=marks, sampled=heads["sampled"])
    assert not windows_of(taken, "new") and never_exact(taken.plans["new"], taken.since, cut) is None
    found = fill(taken, both, begun.durable, lambda ids: snapshot(pipeline, cut - 1), 1)
    assert "begin in batch 6 with empty windows" in found.taken.notes["new"] and not found.cells
    after = continued(pipeline, found, cut)
    results = [after.push_all(b)[-1] for b in batches[cut:]] + [after.finish_all()[-1]]
    alone = LocalPipeline(list(take_up(None, {"new": both["new"]}, 0, "1").plans.values()))
    expected = [alone.push(b) for b in batches[cut:]] + [alone.finish()]
    assert relation(results, at) == relation(expected, at) and len(relation(expected, at)) > 3
