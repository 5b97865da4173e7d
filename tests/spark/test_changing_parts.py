"""The parts of adding and dropping queries that need no JVM: the list of queries, the job, the gate, old levels."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from muntin.core.errors import ConfigError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.builder import Places
from muntin.dataflow.durable import Asked, Since
from muntin.dataflow.graph import Graph
from muntin.dataflow.joining_in import never_exact
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.engine.clocks import CLOCKS
from muntin.plan.catalog import Catalog, Stream
from muntin.spark import prepare
from muntin.spark import run as run_module
from muntin.spark.cells import DriverStore
from muntin.spark.gate import Gate
from muntin.spark.listing import QueryList, QueryRow, sharing
from muntin.spark.prepare import Job, with_query, without_query
from muntin.spark.sinks import Sink
from muntin.state.pane_store import PaneStore
from muntin.state.shard_state import ShardState

COLUMNS = Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64(), v=pa.int64())
CATALOG = Catalog(streams=(Stream("a", COLUMNS, "ts"), Stream("b", COLUMNS, "ts", order=1)))
FRAMES: Any = {n: SimpleNamespace(isStreaming=True) for n in "ab"}

PAIRS = "SELECT x.k, COUNT(*) AS n FROM a x [RANGE 9 SECONDS], b y [RANGE 9 SECONDS] WHERE x.k = y.k GROUP BY x.k"


def test_queries_share_operators_not_scans() -> None:
    texts = {
        "pairs": PAIRS, "sums": PAIRS.replace("COUNT(*)", "SUM(y.v)"), "alone": "SELECT COUNT(*) FROM a [RANGE 1 HOUR]",
        "other": PAIRS.replace("AS n", "AS many"),
    }  # fmt: skip
    graph = Graph.of(plan_queries(bind(t, CATALOG) for t in texts.values()))
    found = sharing(graph, [("pairs", "again"), ("sums",), ("alone",), ("other",)])
    assert found == {
        "pairs": ("again", "sums", "other"), "again": ("pairs", "sums", "other"), "sums": ("pairs", "again", "other"),
        "alone": (), "other": ("pairs", "again", "sums"),
    }  # fmt: skip


def test_the_list_of_queries_is_a_table() -> None:
    rows = QueryList(
        [
            QueryRow("one", "SELECT  *\nFROM a", Since(0)),
            QueryRow(
                "second", "x" * 80, Since(7, 5, 3_600_000_000), 2_500_000, 0, 1_234, 56_789, 3, 1, 0.25,
                ("one", "third"),
            ),
        ]
    )
    head, one, second = str(rows).splitlines()
    assert head.split("  ")[0] == "name" and "shares with" in head and repr(rows) == str(rows)
    assert one.split("  ")[0] == "one" and "SELECT * FROM a " in one and " batch 0 " in one and one.endswith("-")
    assert "batch 7 without rows from before 1970-01-01 01:00:00" in second and f"{'x' * 57}... " in second
    assert "2.5 s" in second and "1,234" in second and "56,789" in second and second.endswith("one, third")
    assert "25.0%" in second and "  all  " in one
    assert head.index("late") + len("late") == second.index("1,234") + len("1,234"), "numbers stand to the right"
    assert rows[1].lag == 2_500_000


def query(text: str, name: str, sink: Sink | None, frames: Any = FRAMES) -> Any:
    bound = bind(text, CATALOG)
    return SimpleNamespace(
        name=name, sink=sink, run=None, frames=frames, physical=plan_query(bound),
        asked=Asked(bound, lambda places, known: plan_query(bound, places, known)),
    )  # fmt: skip


def job() -> Job:
    first = query("SELECT COUNT(*) AS n FROM a [RANGE 1 HOUR]", "first", Sink("parquet", "/out/first"))
    a = next(s for s in CATALOG.streams if s.name == "a")
    return Job(None, FRAMES, (a,), {"first": first.asked}, {"first": first.sink}, None, 4, 2)  # type: ignore[arg-type]


def test_a_query_joins_a_job_with_its_streams_and_leaves_it_without() -> None:
    more = with_query(job(), query(PAIRS, "pairs", Sink("parquet", "/out/pairs")))
    assert [s.name for s in more.streams] == ["a", "b"] and list(more.asked) == list(more.sinks) == ["first", "pairs"]
    plans = [more.asked[n].plan(Places(), None) for n in more.asked]  # type: ignore[arg-type]
    assert len(plans) == 2
    less = without_query(more, "pairs")
    assert list(less.asked) == list(less.sinks) == ["first"]
    assert [s.name for s in less.streams] == ["a", "b"], "Spark goes on with the same sources"
    assert list(more.asked) == ["first", "pairs"], "the job that runs stays as it is"


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda j: with_query(j, query(PAIRS, "pairs", None)), "has no sink: call query.write"),
        (lambda j: with_query(j, query(PAIRS, "first", Sink("blackhole"))), "runs already; drop"),
        (lambda j: with_query(j, query(PAIRS, "pairs", Sink("parquet", "/out/first"))), "both write /out/first"),
        (lambda j: with_query(j, query(PAIRS, "pairs", Sink("blackhole"), dict(FRAMES))), "of another session"),
        (lambda j: without_query(j, "second"), "no query 'second' in this run; it has first"),
        (lambda j: without_query(j, "first"), "the only one of this run"),
    ],
)
def test_what_cannot_change_is_refused(change: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        change(job())


def slow(seconds: float) -> Any:
    """A session whose JVM sleeps."""
    thread = SimpleNamespace(sleep=lambda ms: time.sleep(seconds))
    lang = SimpleNamespace(Thread=thread)
    return SimpleNamespace(sparkContext=SimpleNamespace(_jvm=SimpleNamespace(java=SimpleNamespace(lang=lang))))


def test_a_batch_that_is_held_goes_on_when_nothing_ends_its_query() -> None:
    gate = Gate()
    gate.enter(slow(0))
    gate.pausing.set()
    batch = threading.Thread(target=gate.enter, args=(slow(0.01),))
    batch.start()
    assert gate.held.wait(5)
    running: Any = SimpleNamespace(isActive=True, status={"isTriggerActive": True})
    gate.drain(running, lambda: False)  # returns: nothing is under way that has begun
    gate.pausing.clear()
    batch.join(5)
    assert not batch.is_alive() and not gate.held.is_set()


def test_the_gate_waits_for_the_batch_under_way_as_long_as_it_is_asked_to() -> None:
    running: Any = SimpleNamespace(isActive=True, status={"isTriggerActive": True})
    began = time.monotonic()
    Gate().drain_until(running, 0.1)
    assert 0.1 <= time.monotonic() - began < 5
    threading.Timer(0.05, lambda: running.status.update(isTriggerActive=False)).start()
    Gate().drain(running, lambda: False)


LAST = "SELECT k, v FROM a [ROWS 10]"
SUMS = "SELECT k, SUM(v) AS s FROM a [RANGE 9 SECONDS] GROUP BY k"


@pytest.mark.parametrize(
    "there, new, exact",
    [
        (LAST, "SELECT COUNT(*) AS n FROM a [ROWS 10]", False),
        (SUMS, f"SELECT MAX(q.s) AS m FROM ({SUMS}) AS q", False),
        ("SELECT k, v FROM a [RANGE 9 SECONDS]", SUMS, True),
        (PAIRS, PAIRS.replace("COUNT(*)", "SUM(y.v)"), True),
        (SUMS, SUMS, True),
    ],
)
def test_a_query_may_not_be_told_to_take_back_what_it_never_got(there: str, new: str, exact: bool) -> None:
    """A count over the rows that another query's window pushes out would stay wrong for ever."""
    before, plan = plan_queries(bind(t, CATALOG) for t in (there, new))
    since = {v.id: 7 for v in plan.vertices} | {v.id: 0 for v in before.vertices}
    assert (never_exact(plan, since, 7) is None) == exact
    assert never_exact(plan, {v.id: 7 for v in plan.vertices}, 7) is None


class Begins:
    """A writer of Spark's whose query runs its first batch before ``start`` returns."""

    def foreachBatch(self, function: Any) -> Begins:
        self.function = function
        return self

    def option(self, key: str, value: str) -> Begins:
        return self

    def queryName(self, name: str) -> Begins:
        return self

    def start(self) -> Any:
        self.function(SimpleNamespace(sparkSession=None), 7)


def test_a_first_batch_that_fails_before_its_query_is_known_is_no_clean_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query known by then is the one before, which has been told to end."""
    made: Any = SimpleNamespace(
        spec=SimpleNamespace(resumed=SimpleNamespace(batch=7)), taken=SimpleNamespace(begun={}), plans=(),
        job=SimpleNamespace(asked={}, frames={}, rows={}, spark=SimpleNamespace(conf={})),
        checkpoint=SimpleNamespace(path="/cp"),
    )  # fmt: skip
    monkeypatch.setattr(run_module, "build", lambda *args, **more: SimpleNamespace(writeStream=Begins()))
    monkeypatch.setattr(run_module, "observed", lambda letters: letters)
    monkeypatch.setattr(run_module, "interval", lambda trigger, job: None)
    monkeypatch.setattr(run_module, "overload_of", lambda made, seconds: None)
    run = run_module.Run(made)
    run.query = SimpleNamespace(isActive=False)  # type: ignore[assignment]
    with pytest.raises(AttributeError, match="SimpleNamespace"):  # what stands in for the specification has nothing
        run.begin(made)
    assert isinstance(run._failure, AttributeError)


def test_a_level_that_only_dropped_queries_had_goes(tmp_path: Path) -> None:
    state = ShardState()
    state.append("rows", pa.record_batch({"x": [1]}))
    for level, versions in ((0, range(40)), (1, range(12))):
        store = PaneStore.open(str(tmp_path), "q", level)
        for version in versions:
            store.commit(version, "slot0", {"v/0": state}, {})
    driver = DriverStore(str(tmp_path))
    driver.collect("q", 1, keep=10, batch=20)
    assert sorted(PaneStore.open(str(tmp_path), "q", 1).manifest_names()) == [10, 11]
    driver.collect("q", 1, keep=10, batch=39)
    assert not [p for p in (tmp_path / "q" / "level-1").rglob("*") if p.is_file()]
    assert PaneStore.open(str(tmp_path), "q", 0).load(39, ["v/0"])


def test_which_streams_were_sampled_is_read_from_the_clocks(tmp_path: Path) -> None:
    """A query that is added may not begin with what they gave."""
    clock = ShardState(heads={"sampled": {"A": 0.5}})
    PaneStore.open(str(tmp_path / "panes"), "q", 0).commit(3, "slot0", {f"{CLOCKS}/0": clock}, {})
    found = SimpleNamespace(query_id="q", next_batch=4)
    _, marks, sampled = prepare.begun(found, DriverStore(str(tmp_path / "panes")))  # type: ignore[arg-type]
    assert (marks, sampled) == ({}, frozenset({"A"}))
    found.query_id = None
    assert prepare.begun(found, DriverStore(""))[1:] == ({}, frozenset())  # type: ignore[arg-type]
