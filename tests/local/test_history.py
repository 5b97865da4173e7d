"""A new query takes up the rows that others keep of its streams: from then on it answers as if it had always been."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.core.watermark import SourceClock
from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, TakenUp, from_json, take_up, to_json
from muntin.dataflow.planner import plan_query
from muntin.local import history
from muntin.local.history import Filled, fill
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.state.snapshots import Snapshot

SECOND = 1_000_000
SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), j=pa.int64(), v=pa.float64())


def catalog(slack: int = 0) -> Catalog:
    return Catalog(
        tuple(Stream(n, SCHEMA, "ts", ts_unit=SECOND, order=i, slack=slack * SECOND) for i, n in enumerate("ABC"))
    )


SHOWN = "SELECT k, j, v FROM A [RANGE 40 SECONDS]"
JOINED = (
    "SELECT a.j AS x, a.v AS y, b.j AS z, b.v AS w FROM A [RANGE 30 SECONDS] a, B [RANGE 30 SECONDS] b WHERE a.k = b.k"
)
BANDED = (
    "SELECT a.k, a.v, b.k AS c, b.v AS w FROM A [RANGE 30 SECONDS] a, B [RANGE 30 SECONDS] b "
    "WHERE a.j BETWEEN b.j - 1 AND b.j + 1"
)
ONCE = "SELECT DISTINCT j FROM A [RANGE 13 SECONDS]"
OVER_A = [
    "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM A [RANGE 40 SECONDS] GROUP BY k",
    "SELECT COUNT(*) AS n FROM A [RANGE 7 SECONDS] WHERE v > 2",
    "SELECT k, MEDIAN(v) AS m, MIN(v) AS low, COUNT(DISTINCT j) AS d FROM A [RANGE 25 SECONDS] GROUP BY k",
    "SELECT DISTINCT j FROM A [RANGE 13 SECONDS]",
    "SELECT k, v FROM A [RANGE 20 SECONDS] ORDER BY v, k LIMIT 3",
    "SELECT k, v FROM A [RANGE 20 SECONDS] WHERE j = 2",
    "SELECT k, AVG(v) AS m FROM A [RANGE 20 SECONDS SLIDE 4 SECONDS] GROUP BY k",
    "Rstream(SELECT j, SUM(v) AS s FROM A [RANGE 21 SECONDS SLIDE 3 SECONDS] GROUP BY j)",
    "SELECT COUNT(*) AS n FROM A [RANGE 3 SECONDS SLIDE 3 SECONDS]",
    "SELECT a.v, b.v AS w FROM A [RANGE 11 SECONDS] a, A [RANGE 30 SECONDS] b WHERE a.k = b.k AND a.j < b.j",
]
OVER_BOTH = [
    JOINED.replace("RANGE 30", "RANGE 12"),
    "SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM A [RANGE 9 SECONDS SLIDE 3 SECONDS] a, B [RANGE 24 SECONDS] b "
    "WHERE a.k = b.k GROUP BY a.k",
    "SELECT DISTINCT a.v - b.v AS d FROM A [RANGE 20 SECONDS] a, B [RANGE 30 SECONDS] b WHERE a.k = b.k",
]


def asked(text: str, slack: int = 0, **options: Any) -> Asked:
    bound = bind(text, catalog(slack), QueryOptions(**options))
    return Asked(bound, lambda places, known: plan_query(bound, places, known))


def data(seed: int, disorder: int = 0) -> list[dict[str, pa.Table]]:
    rng, batches = Random(seed), []
    for low in range(0, 80, 5):
        batch = {}
        for name in "ABC":
            ts = [max(0, t - rng.randint(0, disorder)) for t in sorted(rng.randint(low, low + 4) for _ in range(9))]
            columns = {c: [rng.choice([None, *range(5)]) for _ in ts] for c in ("k", "j")}
            values = [rng.choice([None, 0.1, 1.0, 2.5, 1e9]) for _ in ts]
            batch[name] = pa.table({"ts": ts, **columns, "v": pa.array(values, pa.float64())})
        batches.append(batch)
    return batches


def snapshot(old: LocalPipeline, version: int) -> Snapshot:
    cells: dict[str, dict[int, Any]] = {}
    for name, state in old.cells().items():
        id, _, shard = name.rpartition("/")
        cells.setdefault(id, {})[int(shard)] = state
    return Snapshot(version, cells)


def continued(old: LocalPipeline, filled: Filled, batch: int) -> LocalPipeline:
    taken = filled.taken
    new = LocalPipeline(list(taken.plans.values()), old.shards)
    kept = {n: s for n, s in old.cells().items() if taken.since.get(n.partition("/")[0], 0) < batch}
    new.restore({**kept, **filled.cells})
    for clock in new.clocks:
        clock.heads["watermarks"] = {**filled.watermarks, **clock.heads["watermarks"]}
    return new


def restarted(
    first: Mapping[str, Asked], second: Mapping[str, Asked], batches: list[Any], cut: int, shards: int = 2,
    schedule: str | None = None, waits: Mapping[int, list[int]] | None = None,
) -> tuple[Filled, list[list[pa.Table]], int]:  # fmt: skip
    """What was filled, the results of the queries ``second`` after the cut, and W. ``waits``: by batch the queries that
    wait, by number."""
    begun = take_up(None, first, 0, "1")
    old = LocalPipeline(list(begun.plans.values()), shards)
    for b in batches[:cut]:
        old.push_all(b)
    stored = from_json(to_json(begun.durable))
    marks = {n: SourceClock(**c).watermark() for n, c in old.clocks[0].heads["clocks"].items()}
    taken: TakenUp = take_up(
        stored, {**first, **second}, cut, "1", "refill", schedule=schedule, watermarks=marks
    )
    found = fill(taken, second | first, stored, lambda ids: snapshot(old, cut - 1), shards)
    new = continued(old, found, cut)
    at = max([*found.watermarks.values(), *new.clocks[0].heads["watermarks"].values()])
    late = waits or {}
    results = [new.push_all(b, deferred=late.get(n, ())) for n, b in enumerate(batches[cut:], cut)]
    results.append(new.finish_all())
    names = list(taken.plans)
    return found, [[r[names.index(n)] for r in results] for n in second], at


def filled_in_turn(
    first: dict[str, Asked], second: dict[str, Asked], third: dict[str, Asked], batches: list[Any]
) -> tuple[list[pa.Table], int]:
    """The results of ``third``, which is filled in batch 11 from ``second``, that of ``first`` in batch 8; and W."""
    begun = take_up(None, first, 0, "1")
    stored, pipeline = begun.durable, LocalPipeline(list(begun.plans.values()), 2)
    for cut, low, queries in ((8, 0, second), (11, 8, second | third)):
        for b in batches[low:cut]:
            pipeline.push_all(b)
        taken = take_up(stored, queries, cut, "1")
        found = fill(taken, queries, stored, lambda ids, p=pipeline, c=cut: snapshot(p, c - 1), 2)  # type: ignore[misc]
        assert found.cells and set(found.taken.since.values()) == {0}
        pipeline, stored = continued(pipeline, found, cut), from_json(to_json(found.taken.durable))
    at = max(pipeline.clocks[0].heads["watermarks"].values())
    return [pipeline.push_all(b)[-1] for b in batches[11:]] + [pipeline.finish_all()[-1]], at


def undisturbed(query: Asked, beside: Mapping[str, Asked], batches: list[Any]) -> list[pa.Table]:
    pipeline = LocalPipeline(list(take_up(None, {"q": query, **beside}, 0, "1").plans.values()))
    return [pipeline.push_all(b)[0] for b in batches] + [pipeline.finish_all()[0]]


def relation(tables: list[pa.Table], since: int) -> dict[int, Any]:
    """The answer at every instant from ``since`` on at which it is reported or changes; as of ``since`` in any case."""
    rows = [tuple(r.values()) for t in tables for r in t.to_pylist()]
    names = tables[0].schema.names
    at, op = names.index("ts"), names.index("op") if "op" in names else None
    own = [i for i in range(len(names)) if i not in (at, op)]
    held: Counter[Any] = Counter()
    found: dict[int, Any] = {}
    for row in sorted(rows, key=lambda r: (r[at], op is not None and r[op] == "+")):
        ts = int(row[at].timestamp() * SECOND)
        value = tuple(repr(row[i]) for i in own)
        if op is None:
            held = Counter() if ts not in found else held
        held[value] += -1 if op is not None and row[op] == "-" else 1
        found[max(ts, since) if op is not None else ts] = {v: n for v, n in held.items() if n}
    assert all(n >= 0 for n in held.values())
    return {t: x for t, x in found.items() if t >= since}


@pytest.mark.parametrize(("seed", "text"), [*enumerate([*OVER_A, *OVER_BOTH])])
def test_a_new_query_answers_as_if_it_had_always_been_there(seed: int, text: str) -> None:
    slack = 3 * (seed % 2)
    pairs = BANDED if text in OVER_BOTH else JOINED
    first = {"shown": asked(SHOWN, slack), "pairs": asked(pairs, slack)}
    query, batches = asked(text, slack), data(seed, slack)
    cut = 10 + seed % 3
    found, (tables,), at = restarted(first, {"new": query}, batches, cut)
    assert "its windows are full" in found.taken.notes["new"], found.taken.notes
    own = {v.id for v in found.taken.plans["new"].vertices if v.op.stateful}
    assert {found.taken.since[i] for i in own} == {0}
    expected = relation(undisturbed(query, first, batches), at)
    assert len(expected) > 3 and any(expected.values())
    if not expected.get(at):
        expected.pop(at, None)  # nothing is shown of an empty relation
    assert relation(tables, at) == expected


def test_what_cannot_be_taken_over_exactly_begins_empty_and_says_why() -> None:
    first = {"shown": asked(SHOWN), "pairs": asked(JOINED), "once": asked(ONCE)}
    refused = {
        "SELECT COUNT(*) AS n FROM A [RANGE 41 SECONDS]": "reaches further back than the rows that are kept",
        "SELECT COUNT(*) AS n FROM C [RANGE 1 SECONDS]": "no other query keeps the rows of C",
        "SELECT k FROM B [RANGE 5 SECONDS]": "no other query keeps the rows of B",  # those with a NULL key are gone
        "SELECT COUNT(*) AS n FROM A": "a window without end",
        "SELECT k FROM A [ROWS 3]": "no other query numbers the rows of A alike",
        "Istream(SELECT DISTINCT k FROM A [RANGE 5 SECONDS])": "what changes from instant to instant",
        "SELECT k, FIRST(v) AS f FROM A [RANGE 5 SECONDS] GROUP BY k": "depends on when rows came",
        f"SELECT q.j, COUNT(*) AS n FROM ({ONCE}) AS q GROUP BY q.j": "whose past answers cannot be told",
        "SELECT k FROM A [RANGE 9 SECONDS] EXCEPT SELECT k FROM C [RANGE 4 SECONDS]": "",
    }
    for text, reason in refused.items():
        found, _, _ = restarted(first, {"new": asked(text)}, data(1), 12)
        note = found.taken.notes["new"]
        assert "empty windows" in note and "no history was taken up: " in note and reason in note, (text, note)
        assert not found.cells and 12 in found.taken.since.values()


def test_rows_kept_since_a_later_batch_are_told_and_taken_as_such() -> None:
    """A query over rows that are kept since batch 5 goes on as one that was added in batch 5."""
    first, second = {"pairs": asked(JOINED)}, {"shown": asked(SHOWN)}
    third = {"new": asked(OVER_A[0].replace("RANGE 40", "RANGE 30"))}
    batches = data(3)
    begun = take_up(None, first, 0, "1")
    old, again = (LocalPipeline(list(begun.plans.values()), 2) for _ in range(2))
    for b in batches[:5]:
        old.push_all(b)
        again.push_all(b)
    both = first | second
    taken = fill(take_up(begun.durable, both, 5, "1"), both, begun.durable, lambda ids: snapshot(old, 4), 2)
    assert not taken.cells and 5 in taken.taken.since.values()
    mid, beside = continued(old, taken, 5), continued(again, Filled(take_up(begun.durable, first | third, 5, "1")), 5)
    for b in batches[5:8]:
        mid.push_all(b)
    now = take_up(taken.taken.durable, first | second | third, 8, "1")
    filled = fill(now, first | second | third, taken.taken.durable, lambda ids: snapshot(mid, 7), 2)
    assert "since batch 5" in filled.taken.notes["new"]
    new = continued(mid, filled, 8)
    at = max(new.clocks[0].heads["watermarks"].values())
    tables = [new.push_all(b)[-1] for b in batches[8:]]
    expected = [beside.push_all(b)[-1] for b in batches[5:]]
    assert relation(tables, at) == relation(expected, at) != {}


def test_more_rows_than_one_process_should_hold_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_BYTES", 1)
    found, _, _ = restarted({"shown": asked(SHOWN)}, {"new": asked(OVER_A[0])}, data(1), 12)
    assert not found.cells and "MB, more than" in found.taken.notes["new"]


def test_what_was_taken_over_can_be_taken_over_again() -> None:
    """Rows that came late to one query are of their own time for the next, also when the first to keep them is gone."""
    first, second = {"shown": asked(SHOWN)}, {"mid": asked(SHOWN.replace("40", "35"))}
    third, batches = {"new": asked(OVER_A[0].replace("40", "30"))}, data(5)
    tables, at = filled_in_turn(first, second, third, batches)
    assert relation(tables, at) == relation(undisturbed(third["new"], first, batches), at) != {}


GROUPS = "SELECT k, COUNT(*) AS n FROM A [RANGE 30 SECONDS] GROUP BY k"
ON_SHARED = [
    JOINED.replace("SELECT", "SELECT DISTINCT"),
    f"SELECT q.x, q.y, q.z, q.w, COUNT(*) AS n FROM ({JOINED}) AS q GROUP BY q.x, q.y, q.z, q.w",
    f"{JOINED} ORDER BY y, x, z, w LIMIT 3",
    f"SELECT q.n, COUNT(*) AS m FROM ({GROUPS}) AS q GROUP BY q.n",
    f"SELECT q.n, a.v FROM ({GROUPS}) AS q, A [RANGE 8 SECONDS] a WHERE q.k = a.k",
]


@pytest.mark.parametrize("number", range(len(ON_SHARED)))
def test_a_new_query_over_what_others_have_gets_what_they_have_shown(number: int) -> None:
    text, slack = ON_SHARED[number], 3 * (number % 2)
    first = {"shown": asked(SHOWN, slack), "pairs": asked(JOINED, slack), "groups": asked(GROUPS, slack)}
    batches = data(number, slack)
    found, (tables,), at = restarted(first, {"new": asked(text, slack)}, batches, 11)
    assert "its windows are full" in found.taken.notes["new"], found.taken.notes
    own = {v.id for v in found.taken.plans["new"].vertices if v.op.stateful}
    assert 0 < len({c.partition("/")[0] for c in found.cells}) < len(own), "some of it was there"
    expected = relation(undisturbed(asked(text, slack), first, batches), at)
    if not expected.get(at):
        expected.pop(at, None)
    assert relation(tables, at) == expected and len(expected) > 3
