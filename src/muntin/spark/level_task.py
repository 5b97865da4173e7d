"""One level of a live pipeline on a worker: open version b - 1, step every shard, commit version b, then yield."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import pyarrow as pa
from pyspark import TaskContext

from muntin.core.errors import InternalError
from muntin.core.watermark import Header
from muntin.engine.clocks import CLOCKS, Times, advance
from muntin.engine.harvesting import of_json
from muntin.engine.lateness import lateness, skipped
from muntin.engine.level import LevelOutput
from muntin.engine.stretching import stretched
from muntin.engine.valve import Valve
from muntin.spark import wire
from muntin.spark.cells import SlotCells, cell_of
from muntin.spark.counts import TaskMeter, observed_letters, shard_report, source_report, vertex_report
from muntin.spark.due import OWES, decision
from muntin.spark.level_run import LevelRun, arrivals, count, count_arrivals, headers_of, rows_by_query
from muntin.spark.mail import Mail, arrived, sort_mail
from muntin.spark.metrics import PIPELINE, add_to, count_marks
from muntin.spark.outlets import Part
from muntin.spark.overload import count_harvest, read_decision
from muntin.spark.pack import Task
from muntin.spark.slots import shards_of_slot, slot_ids
from muntin.spark.spec import PipelineSpec
from muntin.spark.starts import started
from muntin.spark.tables import StaticTables
from muntin.state.shard_state import ShardState

PIECE_ROWS = 1 << 17
"""Results are handed to Spark in Arrow batches of about this many rows."""


def level_task(spec: PipelineSpec, level: int) -> Task:
    """The function for ``mapInArrow`` over the letters of one level; a plain pipeline's last yields results."""

    def run_level(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        mail = sort_mail(wire.from_batches(batches), level) or {own_slot(spec): Mail()}
        runs = [SlotRun(spec, level, slot, mail[slot]) for slot in sorted(mail)]
        for run in runs:
            run.run(SlotCells.of_task(spec, level, run.slot))
        if spec.plain and level == spec.levels - 1:
            yield from gather([r for run in runs for r in run.results])
        else:
            yield from wire.to_batches(x for run in runs for x in run.letters)

    run_level.__name__ = f"level_{level}"  # what Spark's plans show
    return run_level


def valve_of(spec: PipelineSpec, batch: int) -> Valve | None:
    """What the driver decided that a batch admits; None: as the streams were registered."""
    if not spec.sheds:
        return None
    assert spec.store is not None
    decision = read_decision(spec.store, batch)
    if decision is None:
        raise InternalError(f"there is no decision about batch {batch}: the driver makes one before it begins")
    ids = {v.id: number for number, v in enumerate(spec.graph.vertices)}
    parts = {ids[id]: of_json(own) for id, own in decision.harvest.items() if id in ids}
    valve = Valve.of(spec.graph.streams, [decision.of(s) for s in spec.signatures])
    return replace(valve, harvested=parts, explored=decision.explored)


def own_slot(spec: PipelineSpec) -> int:
    """The slot of this Spark partition. A batch may bring it no letter at all: sources whose offsets move without a row
    (and without a partition) send no header, and Spark takes an empty control source out of the plan."""
    context = TaskContext.get()
    assert context is not None
    return slot_ids(min(spec.partitions, spec.shards))[context.partitionId()]


def gather(results: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Result batches in pieces of ``PIECE_ROWS`` rows: large ones cut without copying, small ones put together."""
    small: list[pa.RecordBatch] = []
    for batch in results:
        if batch.num_rows >= PIECE_ROWS:
            yield from (batch.slice(at, PIECE_ROWS) for at in range(0, batch.num_rows, PIECE_ROWS))
        elif batch.num_rows:
            small.append(batch)
            if sum(b.num_rows for b in small) >= PIECE_ROWS:
                yield pa.concat_batches(small)
                small = []
    if small:
        yield pa.concat_batches(small)


@dataclass
class SlotRun:
    """One slot at one level in one batch; nothing leaves it before its version is committed."""

    spec: PipelineSpec
    level: int
    slot: int
    mail: Mail
    letters: list[wire.Letter] = field(default_factory=list)
    results: list[pa.RecordBatch] = field(default_factory=list)
    report: dict[str, dict[str, int]] = field(default_factory=dict)
    tables: StaticTables = field(init=False)
    parts: dict[int, list[Part]] = field(default_factory=dict)
    meter: TaskMeter = field(default_factory=TaskMeter)
    held: list[tuple[int, ShardState]] = field(default_factory=list)
    deferred: frozenset[int] = frozenset()
    valve: Valve | None = None

    def __post_init__(self) -> None:
        self.tables = StaticTables(self.spec)

    @cached_property
    def headers(self) -> list[Header]:
        """Those of the streams that the graph reads, for all shards alike."""
        return headers_of(self.spec, self.mail.headers)

    def run(self, cells: SlotCells) -> None:
        """Step every shard of the slot, then commit the batch's version."""
        self.letters += self.mail.passing
        self.valve = valve_of(self.spec, cells.version)
        shards = shards_of_slot(self.slot, self.spec.shards, self.spec.partitions)
        runs = [LevelRun(self.spec, self.level, shard) for shard in shards]
        states = cells.load(runs)
        if self.level == 0:
            self.deferred = decision(self.spec, cells.version)
        self.parts = self._parts(cells.version)
        for run in runs:
            self._shard(run, states)
        for part in chain(*self.parts.values()):
            part.close(even_if_empty=0 in shards)
        own = self.report.setdefault(PIPELINE, {})
        add_to(own, {"state_rows": sum(s.rows() for name, s in states.items() if not name.startswith(CLOCKS))})
        if self.level == 0 and 0 in shards:
            own |= arrivals(self.mail.headers)
            clocks = states[f"{CLOCKS}/0"].heads.get("clocks", {})
            self.report |= source_report(self.spec.graph, self.headers, clocks)
        self.report |= vertex_report(self.spec.graph, self.meter, self.held)
        if not self.spec.plain:
            self.letters += observed_letters(self.slot, self.report)
        cells.commit(states, self.report)

    def _parts(self, batch: int) -> dict[int, list[Part]]:
        """What the slot writes itself at this level, by query."""
        found: dict[int, list[Part]] = {}
        graph = self.spec.graph
        for q, outlets in enumerate(self.spec.outlets):
            if graph.levels[graph.roots[q]] == self.level:
                schema = self.spec.queries[q].result_schema.to_arrow()
                found[q] = [Part(o, schema, batch, f"part-{self.slot:05d}-{q}") for o in outlets]
        return found

    def _shard(self, run: LevelRun, states: dict[str, ShardState]) -> None:
        graph = self.spec.graph
        times = self._times(run, states)
        own = {v: states[cell_of(self.spec, v, run.shard)] for v in run.stateful}
        came = self.tables.seeded(run, own, arrived(self.spec, self.mail, run.shard))
        self.letters += run.forward(times, self.mail.now)
        shed: list[tuple[int, int]] = []
        for output in run.steps(own, came, times, self.meter, self.valve):
            self._output(run, output, times)
            shed += output.shed
        if self.level == 0:
            add_to(self.report.setdefault(PIPELINE, {}), shard_report(graph, run.shard, came, shed))
        self.held += own.items()
        for query, rows in enumerate(rows_by_query(graph, own)):
            self._report(run, query, rows, times)

    def _output(self, run: LevelRun, output: LevelOutput, times: Times) -> None:
        """Send on, write and count what one part of a step gave."""
        self.letters += run.letters(output)
        for vertex, found in output.harvested:
            count_harvest(self.report.setdefault(PIPELINE, {}), self.spec.graph.vertices[vertex].id, found)
        counts = dict.fromkeys(range(len(self.spec.graph.plans)), 0)
        for query, rows in run.results(output, times):
            counts[query] += rows.num_rows
            self._result(run, query, rows)
        for query, results in counts.items():
            own = self.report.setdefault(self.spec.signatures[query], {})
            count(own, self.spec, query, output, results)

    def _times(self, run: LevelRun, states: dict[str, ShardState]) -> Times:
        """The clocks are moved at level 0, which passes their times on."""
        if self.level == 0:
            now, clock = self.mail.now, states[f"{CLOCKS}/{run.shard}"]
            since = started(self.spec.starts, now)
            times = advance(self.spec.graph, clock, self.headers, now, False, since, self.deferred, self.valve)
            return stretched(self.spec.graph, times)
        found = self.mail.times.get(run.shard)
        if found is None:
            raise InternalError(f"shard {run.shard} of level {self.level} got no times from the level before")
        return found

    def _result(self, run: LevelRun, query: int, rows: pa.RecordBatch) -> None:
        for part in self.parts.get(query, ()):
            part.write(rows)
        if self.spec.plain:
            self.results.append(rows)
        elif rows.num_rows and query in self.spec.sent:
            for piece in wire.cut(rows):
                blob = wire.encode(piece)
                self.letters.append(
                    wire.Letter(run.slot, wire.RESULT, blob, target=query, shard=run.shard, seq=run.seq)
                )
                run.seq += 1

    def _report(self, run: LevelRun, query: int, rows: int, times: Times) -> None:
        """Report how far a query is, and how many rows it holds."""
        graph = self.spec.graph
        own = self.report.setdefault(self.spec.signatures[query], {})
        add_to(own, {"state_rows": rows})
        domain = graph.domains.index(graph.vertices[graph.roots[query]].streams)
        if self.level == 0 and run.shard == 0:
            count_arrivals(own, self.spec, query, self.mail.headers, times.befores[domain])
            late = lateness(graph, query, times)
            if query in times.deferred and times.watermarks[domain] > times.answered(query, domain)[1]:
                self.report.setdefault(PIPELINE, {})[f"{OWES} {self.spec.signatures[query]}"] = 1
            count_marks(own, graph, query, times)
            own |= {} if late is None else {"lateness": late, "skipped": skipped(graph, query, times)}
        _, watermark = times.answered(query, domain)
        own |= {"watermark": watermark, "now": self.mail.now}
