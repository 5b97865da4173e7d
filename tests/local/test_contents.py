"""One-time queries over what running queries show: against the results that these have given by then."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from test_history import SHOWN, asked, data, snapshot
from test_one_time import Fixed

from muntin.core.errors import ConfigError, QueryError, UnsupportedError
from muntin.core.time import instant_text
from muntin.dataflow.durable import DurablePlan, from_json, take_up, to_json
from muntin.local.one_time import OneTimeAnswer, one_time
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.counted_join import CountedJoin
from muntin.session.engines import by_duckdb
from muntin.session.one_time import _by_another

CHANGES = [
    SHOWN,
    "SELECT k, COUNT(*) AS n, SUM(v) AS s, AVG(j) AS a FROM A [RANGE 9 SECONDS] GROUP BY k",
    "SELECT k, MIN(v) AS lo, MAX(v) AS hi, COUNT(DISTINCT j) AS d FROM A [RANGE 9 SECONDS] GROUP BY k "
    "HAVING COUNT(*) > 1",
    "SELECT COUNT(*) AS n, MEDIAN(v) AS m, STDDEV(j) AS s FROM A [RANGE 7 SECONDS]",
    "SELECT k, COUNT(*) AS n FROM A [RANGE 9 SECONDS] GROUP BY k ORDER BY n DESC, k LIMIT 3",
    "SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM A [RANGE 9 SECONDS] a, B [RANGE 5 SECONDS] b WHERE a.k = b.k "
    "GROUP BY a.k",
    "SELECT a.k, a.v, b.v AS w FROM A [RANGE 9 SECONDS] a, B [RANGE 5 SECONDS] b WHERE a.k = b.k AND a.j < b.j",
    "SELECT DISTINCT k, j FROM A [RANGE 9 SECONDS]",
    "SELECT a.k, a.v FROM A [RANGE 9 SECONDS] a WHERE NOT EXISTS (SELECT 1 FROM B [RANGE 2 SECONDS] b WHERE b.k = a.k)",
    "SELECT a.k, b.j FROM A [RANGE 6 SECONDS] a LEFT JOIN B [RANGE 4 SECONDS] b ON a.k = b.k AND a.j = b.j",
    "SELECT a.k, COUNT(*) AS n FROM A [RANGE 9 SECONDS] a, A [RANGE 6 SECONDS] b, B [RANGE 5 SECONDS] c "
    "WHERE a.k = b.k AND b.j = c.j GROUP BY a.k",
    "SELECT a.k, b.v FROM A [RANGE 9 SECONDS] a FULL JOIN B [RANGE 5 SECONDS] b ON a.k = b.k AND a.j = b.j",
    "SELECT k FROM A [RANGE 9 SECONDS] INTERSECT SELECT k FROM B [RANGE 3 SECONDS]",
    "SELECT COUNT(*) AS n FROM A [RANGE 9 SECONDS] WHERE v > (SELECT AVG(v) FROM B [RANGE 5 SECONDS])",
    "SELECT k, ARG_MAX(v, j) AS a, QUANTILE(v, 0.9) AS q, SUM(DISTINCT j) AS d FROM A [RANGE 9 SECONDS] GROUP BY k",
    "SELECT k, COUNT(*) AS n, MAX(v) AS m FROM A [PARTITION BY k ROWS 3] GROUP BY k",
    "SELECT MAX(n) AS m FROM (SELECT k, COUNT(*) AS n FROM A [RANGE 9 SECONDS] GROUP BY k)",
    "SELECT COUNT(*) AS n, MAX(k) AS m FROM A [ROWS 6]",
    "SELECT k, v FROM A [PARTITION BY k ROWS 5]",
    "SELECT k, COUNT(*) AS n FROM A GROUP BY k",
    "SELECT k FROM A [RANGE 9 SECONDS] EXCEPT ALL SELECT k FROM A [RANGE 4 SECONDS]",
    "SELECT a.k, b.k AS l, COUNT(*) AS n FROM A [RANGE 4 SECONDS] a, B [RANGE 5 SECONDS] b WHERE a.v < b.v "
    "GROUP BY a.k, b.k",
]
WHOLE = [
    "SELECT k, COUNT(*) AS n, SUM(j) AS s FROM A [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k",
    "SELECT k, AVG(v) AS a, MAX(j) AS m FROM A [RANGE 12 SECONDS SLIDE 4 SECONDS] WHERE j > 1 GROUP BY k",
    "SELECT k, MIN(v) AS m FROM A [RANGE 5 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "SELECT k, MEDIAN(v) AS m, COUNT(DISTINCT j) AS d FROM A [RANGE 6 SECONDS SLIDE 3 SECONDS] WHERE j > 0 GROUP BY k",
    "SELECT COUNT(*) AS n, SUM(v) AS s FROM A [RANGE 8 SECONDS SLIDE 2 SECONDS]",
    "SELECT COUNT(*) AS n, MAX(v) AS s FROM A [RANGE 4 SECONDS SLIDE 4 SECONDS] WHERE j = 1",
    "SELECT k, COUNT(DISTINCT j) AS n FROM A [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k HAVING COUNT(*) > 2",
    "Rstream(SELECT k, v FROM A [RANGE 9 SECONDS SLIDE 3 SECONDS])",
    "SELECT k, COUNT(*) AS n FROM A [RANGE 6 SECONDS SLIDE 3 SECONDS] GROUP BY k ORDER BY n DESC, k LIMIT 2",
    "SELECT a.k, COUNT(*) AS n FROM A [RANGE 6 SECONDS SLIDE 2 SECONDS] a, B [RANGE 4 SECONDS SLIDE 4 SECONDS] b "
    "WHERE a.k = b.k GROUP BY a.k",
]
UNTOLD = [
    "SELECT k, v FROM A",
    "Istream(SELECT k, COUNT(*) AS n FROM A [RANGE 9 SECONDS] GROUP BY k)",
]


class Run:
    """Queries at work over some batches, with all that they have shown."""

    def __init__(self, texts: list[str], batches: list[Any], shards: int) -> None:
        begun = take_up(None, {f"q{i}": asked(t) for i, t in enumerate(texts)}, 0, "1")
        self.plan: DurablePlan = from_json(to_json(begun.durable))
        self.plans = list(begun.plans.values())
        self.pipeline = LocalPipeline(self.plans, shards)
        self.batches = len(batches)
        found = [self.pipeline.push_all(b) for b in batches]
        self.shown = [pa.concat_tables(own) for own in zip(*found, strict=True)]

    def ask(self, text: str) -> OneTimeAnswer:
        return one_time(text, self.plan, Fixed(snapshot(self.pipeline, self.batches - 1)))

    def expected(self, number: int, at: int) -> Counter[Any]:
        """What a query shows at an instant, by its results."""
        plan, rows = self.plans[number], self.shown[number].to_pylist()
        names = plan.schema.names
        found: Counter[Any] = Counter()
        for r in rows:
            if plan.op_column is not None:
                found[rounded(r[n] for n in names)] += 1 if r[plan.op_column] == "+" else -1
            elif stamp(r[plan.time_column]) == at:
                found[rounded(r[n] for n in names)] += 1
        return +found


def stamp(at: Any) -> int:
    return int(pa.scalar(at, pa.timestamp("us", "UTC")).cast(pa.int64()).as_py())


def rounded(row: Any) -> tuple[Any, ...]:
    return tuple(round(v, 6) if isinstance(v, float) else v for v in row)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 12))])
def test_what_running_queries_show(seed: int) -> None:
    rng = random.Random(seed)
    texts = rng.sample([*CHANGES, *WHOLE], 12 if seed else 6)
    batches = data(seed + 1)
    for upto in sorted(rng.sample(range(3, len(batches)), 3 if seed else 1)):
        run = Run(texts, batches[:upto], rng.choice([1, 3]))
        for number in range(len(texts)):
            found = run.ask(f"SELECT * FROM q{number}")
            rows = Counter(rounded(r.values()) for r in found.rows.to_pylist())
            assert rows == run.expected(number, found.at), texts[number]


EACH = [*CHANGES, *WHOLE]


@pytest.mark.parametrize(
    "text", [*EACH[::3], *(pytest.param(t, marks=pytest.mark.slow) for i, t in enumerate(EACH) if i % 3)]
)
def test_each_alone(text: str) -> None:
    run = Run([text], data(9)[:9], 2)
    found = run.ask("SELECT * FROM q0")
    expected = run.expected(0, found.at)
    assert Counter(rounded(r.values()) for r in found.rows.to_pylist()) == expected and expected
    ticks = run.plans[0].ticks
    assert ticks is None or found.at % min(ticks.slides) == 0


def test_joins_of_windows_of_rows_that_are_one() -> None:
    text = "SELECT a.k, a.v, b.v AS w FROM A [{by}ROWS {n}] a, B [{by}ROWS {n}] b WHERE a.k = b.k"
    for by in ("", "PARTITION BY k "):
        run = Run([text.format(by=by, n=n) for n in (6, 9, 14)], data(9)[:9], 2)
        assert sum(isinstance(v.op, CountedJoin) for v in run.pipeline.graph.vertices) == 1
        for number in range(3):
            found = run.ask(f"SELECT * FROM q{number}")
            expected = run.expected(number, found.at)
            assert Counter(rounded(r.values()) for r in found.rows.to_pylist()) == expected and expected


def test_any_query_over_them_and_over_windows() -> None:
    run = Run([SHOWN, CHANGES[1], WHOLE[0]], data(5)[:8], 3)
    groups = {r["k"]: r["n"] for r in run.ask("SELECT k, n FROM q1").rows.to_pylist()}
    most = run.ask("SELECT k, n FROM q1 WHERE k IS NOT NULL ORDER BY n DESC, k LIMIT 2").rows.to_pylist()
    ordered = sorted((-n, k) for k, n in groups.items() if k is not None)
    assert Counter((r["k"], r["n"]) for r in most) == Counter((k, -n) for n, k in ordered[:2])
    joined = run.ask(
        "SELECT a.k, COUNT(*) AS n, MAX(q1.n) AS m FROM A [RANGE 9 SECONDS] a, q1 WHERE a.k = q1.k GROUP BY a.k"
    )
    assert {r["k"]: (r["n"], r["m"]) for r in joined.rows.to_pylist()} == {
        k: (n, n) for k, n in groups.items() if k is not None
    }
    both = run.ask("SELECT q1.k, q1.n AS now, q2.n AS then FROM q1, q2 WHERE q1.k = q2.k")
    assert len(both.rows) and (both.at % 3_000_000 == 0 or "q2 is as of" in both.notes[0])
    empty = run.ask("SELECT COUNT(*) AS n FROM q1 WHERE n > 1000")
    assert empty.rows.to_pylist() == [{"n": 0}]


def test_another_engine_is_told_of_tables_of_an_earlier_instant() -> None:
    for upto in (8, 9):
        run = Run([CHANGES[1], WHOLE[0]], data(5)[:upto], 3)
        versions = Fixed(snapshot(run.pipeline, run.batches - 1))
        text = "SELECT q0.k, q0.n, q1.n AS before FROM q0, q1 WHERE q0.k = q1.k"
        found = _by_another(text, run.plan, versions, "window", "duckdb", by_duckdb)
        earlier = found.at // 3_000_000 * 3_000_000
        assert len(found.rows) and found.at > earlier and found.notes == (f"`q1` is as of {instant_text(earlier)}",)
        alone = _by_another("SELECT * FROM q1", run.plan, versions, "window", "duckdb", by_duckdb)
        assert (alone.at, alone.notes) == (earlier, ())


@pytest.mark.parametrize("text", UNTOLD)
def test_what_is_not_held_as_a_whole(text: str) -> None:
    run = Run([text], data(5)[:8], 2)
    with pytest.raises(UnsupportedError, match="what query q0 shows is not held as a whole"):
        run.ask("SELECT * FROM q0")


def test_what_it_says_instead() -> None:
    run = Run([CHANGES[1], WHOLE[0]], data(5)[:8], 2)
    with pytest.raises(
        UnsupportedError, match=r"no query that runs keeps the rows of A .* by name: q0 \(k, n, s, a\), q1"
    ):
        run.ask("SELECT COUNT(*) AS n FROM A [RANGE 5 SECONDS]")
    with pytest.raises(QueryError, match="q7"):
        run.ask("SELECT * FROM q7")
    with pytest.raises(ConfigError, match="nothing to ask"):
        Run([WHOLE[0]], data(5)[:0] or [{}], 1).ask("SELECT * FROM q0")
