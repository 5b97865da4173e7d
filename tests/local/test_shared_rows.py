"""Windows of rows of several sizes over one stream are numbered and kept once: every query has the answer of its
isolated run."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from test_shared_aggregates import CATALOG, SCHEMA, data, restarted, run, shown, values

from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.rows_window import RowsWindow
from muntin.operators.shared_rows import SharedRows
from muntin.state.pane_store import PaneStore

AGGREGATES = ("COUNT(*)", "SUM(v)", "AVG(x)", "MIN(v)", "MAX(d)", "COUNT(DISTINCT name)", "MEDIAN(v)", "CORR(v, d)")


def text(rng: Random) -> str:
    """An aggregate, a selection or a join over windows of rows."""
    by, slide = rng.choice(["", "PARTITION BY k ", "PARTITION BY k "]), rng.choice(["", "", " SLIDE 3"])
    window = f"[{by}ROWS {rng.choice([1, 2, 3, 5, 9, 20])}{slide}]"
    where = rng.choice(["", "WHERE v > 0 ", "WHERE name <> 'n1' "])
    match rng.randrange(4):
        case 0:
            return f"SELECT s.k, s.v, s.x FROM s {window} {where}"
        case 1:
            return f"SELECT a.v, b.name FROM s {window} a, s [RANGE 3 SECONDS] b WHERE a.k = b.k"
        case _:
            return f"SELECT k, {rng.choice(AGGREGATES)} AS a FROM s {window} {where}GROUP BY k"


def shared(plans: list) -> int:  # type: ignore[type-arg]
    return len({v.id for p in plans for v in p.vertices if isinstance(v.op, SharedRows)})


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 60))])
def test_random_groups_have_the_answers_of_isolated_runs(seed: int) -> None:
    rng = Random(13_000 + seed)
    texts = [text(rng) for _ in range(rng.choice([4, 8, 16]))]
    plans, batches, shards = plan_queries(bind(t, CATALOG) for t in texts), data(rng), rng.choice([1, 3])
    _, together = run(plans, batches, shards)
    for query, rows in zip(texts, together, strict=True):
        assert rows == run([plan_query(bind(query, CATALOG))], batches, shards)[1][0], query
    assert shared(plans) or len(texts) < 8


def test_rows_are_kept_once_however_many_windows_there_are() -> None:
    window = "SELECT k, SUM(v) AS a FROM s [ROWS {n}] GROUP BY k"
    plans = plan_queries(bind(window.format(n=n), CATALOG) for n in range(1, 40))
    (one,) = plan_queries([bind(window.format(n=39), CATALOG)])
    together, alone = LocalPipeline(plans), LocalPipeline(one)
    for batch in data(Random(6), 12):
        together.push_all(batch)
        alone.push_all(batch)

    def held(pipe: LocalPipeline) -> int:
        return sum(
            pipe.states[0][v].rows() for v in pipe.graph.stateful if isinstance(pipe.graph.vertices[v].op, RowsWindow)
        )

    assert shared(plans) == 1 and 30 < held(together) == held(alone)


def test_what_runs_stays_and_new_queries_read_it_where_it_has_their_window(tmp_path: Path) -> None:
    """Over restarts with neighbours that come and go: who stays answers as alone."""
    window = "SELECT k, {f} AS a FROM s [PARTITION BY k ROWS {n}] GROUP BY k"
    texts = {"two": window.format(f="SUM(v)", n=2), "nine": window.format(f="MAX(v)", n=9)}
    later = texts | {"same": window.format(f="MIN(v)", n=2), "other": window.format(f="SUM(v)", n=5)}
    batches, plan, pipe = data(Random(8), 12), None, None
    results: dict[str, list[pa.Table]] = {n: [] for n in texts}
    for number, batch in enumerate(batches):
        if number % 4 == 0:
            running = (texts, later, {"nine": texts["nine"]})[number // 4]
            plan, taken, pipe = restarted(plan, running, number, pipe)
            assert shared(list(taken.plans.values())) == 1
            own = {n for n, p in taken.plans.items() if not any(isinstance(v.op, SharedRows) for v in p.vertices)}
            assert own == ({"other"} & running.keys())
        assert pipe is not None
        for name, table in zip(running, pipe.push_all(batch), strict=True):
            if name in texts:
                results[name].append(table)
        pipe.restart(PaneStore.open(str(tmp_path / "store"), "query", 0), number)
    for name, query in texts.items():
        alone = LocalPipeline(plan_query(bind(query, CATALOG)), 2)
        expected = [alone.push(b) for b in batches[: 8 if name == "two" else 12]]
        assert shown(pa.concat_tables(results[name])) == shown(pa.concat_tables(expected)), query


@pytest.mark.parametrize("window", ["[ROWS {n}]", "[PARTITION BY k ROWS {n}]"])
def test_an_aggregate_over_such_a_window_shows_as_many_rows_as_it_takes_in(window: str) -> None:
    """Counted: so what several of them could do once is less than what each has to do by itself."""
    text = f"SELECT k, SUM(v) AS a FROM s {window} GROUP BY k"
    plans = plan_queries(bind(text.format(n=n), CATALOG) for n in range(2, 40, 4))
    meter, rng = Meter(), Random(7)
    pipe = LocalPipeline(plans, meter=meter)
    for low in range(0, 1_200, 200):
        rows = [(t, *values(rng)) for t in range(low, low + 200)]
        columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
        pipe.push_all({"s": pa.table(columns, names=SCHEMA.names)})
    counts = [meter.of(i) for i, v in enumerate(pipe.graph.vertices) if isinstance(v.op, GroupAggregate)]
    assert len(counts) == len(plans) and shared(plans)
    for c in counts:
        assert c.rows_out >= 0.9 * c.rows_in and c.rows_in > 1_000, (c.rows_in, c.rows_out)
        assert c.looked <= c.rows_in, (c.looked, c.rows_in)
