"""One level of a live pipeline on a worker: open version b - 1, step every shard, commit version b, then yield."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa

from muntin.core.batch import Batch
from muntin.core.errors import InternalError
from muntin.core.watermark import Header
from muntin.engine.shard import Progress, StepOutput, advance
from muntin.engine.substeps import whole_step
from muntin.spark import wire
from muntin.spark.cells import SlotCells
from muntin.spark.mail import Mail, arrived, sort_mail
from muntin.spark.metrics import PIPELINE
from muntin.spark.outlets import Part
from muntin.spark.pack import Task
from muntin.spark.shards import Place, runs_on
from muntin.spark.slots import shards_of_slot
from muntin.spark.spec import PipelineSpec
from muntin.spark.tables import StaticTables
from muntin.state.shard_state import ShardState

PIECE_ROWS = 1 << 17
"""Results are handed to Spark in Arrow batches of about this many rows."""


def stage_task(spec: PipelineSpec, level: int) -> Task:
    """The function for ``mapInArrow`` over the letters of one level; a plain pipeline's last yields results."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        mail = sort_mail(wire.from_batches(batches), level)
        runs = [SlotRun(spec, level, slot, mail[slot]) for slot in sorted(mail)]
        for run in runs:
            run.run(SlotCells.of_task(spec, level, run.slot))
        if spec.plain and level == spec.levels - 1:
            yield from gather([r for run in runs for r in run.results])
        else:
            yield from wire.to_batches(x for run in runs for x in run.letters)

    return stage


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
    progress: dict[tuple[int, int], Progress] = field(default_factory=dict)
    tables: StaticTables = field(init=False)
    parts: dict[int, list[Part]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = StaticTables(self.spec)

    def run(self, cells: SlotCells) -> None:
        """Step every shard of the slot for every query that has this level, then commit the batch's version."""
        self.letters += self.mail.passing
        places = list(self._places())
        states = cells.load([p.cell for p in places])
        self.parts = self._parts(cells.version)
        for place in places:
            self._shard(place, states[place.cell])
        first = 0 in shards_of_slot(self.slot, self.spec.shards, self.spec.partitions)
        for part in chain(*self.parts.values()):
            part.close(even_if_empty=first)
        if self.level == 0 and first:
            self.report[PIPELINE] = _arrivals(self.mail.headers)
        cells.commit(states, self.report)

    def _parts(self, batch: int) -> dict[int, list[Part]]:
        """What the slot writes itself at this level, by query."""
        found: dict[int, list[Part]] = {}
        for q, outlets in enumerate(self.spec.outlets):
            if self.spec.depths[q][-1] == self.level:
                schema = self.spec.queries[q].result_schema.to_arrow()
                found[q] = [Part(o, schema, batch, f"part-{self.slot:05d}-{q}") for o in outlets]
        return found

    def _places(self) -> Iterator[Place]:
        for shard in shards_of_slot(self.slot, self.spec.shards, self.spec.partitions):
            for q in range(len(self.spec.queries)):
                for number in self.spec.stages_at(q, self.level):
                    yield Place(self.spec, q, number, shard)

    def _shard(self, place: Place, state: ShardState) -> None:
        query, mail, stage = self.spec.queries[place.query], self.mail, place.stage
        progress = self._progress(place, state)
        nothing = Batch.empty(stage.schema.to_arrow())
        output = StepOutput((nothing,) * len(stage.emitted()))
        if runs_on(stage, place.shard):
            rows = self.tables.seed(place, state, arrived(self.spec, mail, place.query, place.number, place.shard))
            output = whole_step(query, place.number, state, rows, progress, place.shard)
        self.letters += place.forward(progress, mail.now)
        self.letters += place.late_letters(output)
        if not place.last:
            self.letters += place.derived(output.ports)
        elif len(output.rows):
            self._result(place, place.results(output.rows))
        self._count(place, state, progress, output)

    def _progress(self, place: Place, state: ShardState) -> Progress:
        """The clocks live in the query's first stage, which comes before the others of level 0."""
        key = (place.query, place.shard)
        if self.level == 0:
            if place.leads:
                headers = place.headers(self.mail.headers)
                self.progress[key] = advance(self.spec.queries[place.query], state, headers, self.mail.now)
            return self.progress[key]
        found = self.mail.progress.get(key)
        if found is None:
            raise InternalError(f"shard {place.shard} of {place.cell} got no progress from the level before")
        return found

    def _result(self, place: Place, rows: pa.RecordBatch) -> None:
        for part in self.parts.get(place.query, ()):
            part.write(rows)
        if self.spec.plain:
            self.results.append(rows)
        elif rows.num_rows and place.query in self.spec.sent:
            for seq, piece in enumerate(wire.cut(rows)):
                blob = wire.encode(piece)
                self.letters.append(
                    wire.Letter(place.slot, wire.RESULT, blob, target=place.query, shard=place.shard, seq=seq)
                )

    def _count(self, place: Place, state: ShardState, progress: Progress, output: StepOutput) -> None:
        mine = self.report.setdefault(self.spec.signatures[place.query], {})
        late, results = sum(r.num_rows for _, r in place.late(output)), len(output.rows) if place.last else 0
        add = {"late": late, "results": results, "state_rows": state.rows()}
        if self.level == 0 and place.shard == 0 and place.leads:
            add |= _arrivals(place.headers(self.mail.headers))
        for name, value in add.items():
            mine[name] = mine.get(name, 0) + value
        mine |= {"watermark": progress.watermark, "now": self.mail.now}


def _arrivals(headers: Sequence[Header]) -> dict[str, int]:
    return {"rows": sum(h.rows for h in headers), "bad": sum(h.bad for h in headers)}
