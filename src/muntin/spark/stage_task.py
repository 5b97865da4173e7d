"""One level of a live pipeline on a worker: open version b - 1, step every shard, commit version b, then yield."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from muntin.core.batch import Batch
from muntin.core.errors import InternalError
from muntin.physical.shard import Progress, StepOutput, advance, step
from muntin.spark import wire
from muntin.spark.cells import TaskCells
from muntin.spark.mail import Mail, arrived, sort_mail
from muntin.spark.pack import Task
from muntin.spark.shards import Place, runs_on
from muntin.spark.slots import shards_of_slot
from muntin.spark.spec import PipelineSpec
from muntin.state.shard_state import ShardState


def stage_task(spec: PipelineSpec, level: int) -> Task:
    """The function for ``mapInArrow`` over the letters of one level; the last level of a plain pipeline yields results."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        mail = sort_mail(wire.from_batches(batches), level)
        if not mail:
            return
        run = StageRun(spec, level, TaskCells.of_task(spec))
        for slot in sorted(mail):
            run.slot(slot, mail[slot])
        run.commit(sorted(mail))
        if spec.plain and level == spec.levels - 1:
            yield from gather(run.results)
        else:
            yield from wire.to_batches(run.letters)

    return stage


def gather(results: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Result batches in few, larger pieces."""
    filled = [r for r in results if r.num_rows]
    if filled:
        for batch in pa.Table.from_batches(filled).combine_chunks().to_batches(max_chunksize=1 << 18):
            yield batch


@dataclass
class StageRun:
    """What a task has done so far at one level; nothing leaves it before ``commit``."""

    spec: PipelineSpec
    level: int
    cells: TaskCells
    letters: list[wire.Letter] = field(default_factory=list)
    results: list[pa.RecordBatch] = field(default_factory=list)
    states: dict[str, ShardState] = field(default_factory=dict)
    report: dict[str, dict[str, int]] = field(default_factory=dict)

    def slot(self, slot: int, mail: Mail) -> None:
        """Run every shard of the slot for every query that has this level."""
        self.letters += mail.passing
        for shard in shards_of_slot(slot, self.spec.shards, self.spec.partitions):
            for q, query in enumerate(self.spec.queries):
                if self.level < len(query.stages):
                    self._shard(Place(self.spec, q, self.level, shard), mail)

    def _shard(self, place: Place, mail: Mail) -> None:
        query = self.spec.queries[place.query]
        state = self.cells.load(place.cell, self.spec.since[place.query])
        progress = self._progress(place, mail, state)
        output = StepOutput(Batch.empty(query.stages[self.level].schema.to_arrow()))
        if runs_on(query.stages[self.level], place.shard):
            rows = arrived(self.spec, mail, place.query, self.level, place.shard)
            output = step(query, self.level, state, rows, progress)
        self.states[place.cell] = state
        self.letters += place.forward(progress, mail.now)
        self.letters += place.late(output)
        if place.last and len(output.rows):
            self._result(place, place.results(output.rows))
        elif not place.last:
            self.letters += place.derived(output.rows)
        self._count(place, mail, state, progress, len(output.rows), sum(r.num_rows for _, r in output.late))

    def _progress(self, place: Place, mail: Mail, state: ShardState) -> Progress:
        if self.level == 0:
            return advance(self.spec.queries[place.query], state, place.headers(mail.headers), mail.now)
        found = mail.progress.get((place.query, place.shard))
        if found is None:
            raise InternalError(f"shard {place.shard} of {place.cell} got no progress from the stage before")
        return found

    def _result(self, place: Place, rows: pa.RecordBatch) -> None:
        if self.spec.plain:
            self.results.append(rows)
        elif rows.num_rows:
            for seq, piece in enumerate(wire.cut(rows)):
                blob = wire.encode(piece)
                self.letters.append(
                    wire.Letter(place.slot, wire.RESULT, blob, target=place.query, shard=place.shard, seq=seq)
                )

    def _count(self, place: Place, mail: Mail, state: ShardState, progress: Progress, rows: int, late: int) -> None:
        mine: dict[str, Any] = self.report.setdefault(self.spec.queries[place.query].signature, {})
        add = {"late": late, "results": rows if place.last else 0, "state_rows": state.rows()}
        if self.level == 0 and place.shard == 0:
            headers = place.headers(mail.headers)
            add |= {"rows": sum(h.rows for h in headers), "bad": sum(h.bad for h in headers)}
        for name, value in add.items():
            mine[name] = mine.get(name, 0) + value
        mine |= {"watermark": progress.watermark, "now": mail.now}

    def commit(self, slots: list[int]) -> None:
        """Write version b of every shard seen, in one file and one manifest."""
        self.cells.commit(f"{self.level}-{slots[0]}", self.states, self.report)
