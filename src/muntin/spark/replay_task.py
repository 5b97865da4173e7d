"""One level of a pipeline over batch DataFrames: letters come in time order, so time moves with them. Bounded memory.

Spark has sorted each partition by (slot, shard, min_ts), headers and progress first. When the next letter's smallest
event time is m, every row before m has arrived, so instants before m are complete; at the end every instant is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import pyarrow as pa

from muntin.core.time import NEVER
from muntin.core.watermark import Header
from muntin.engine.shard import Progress, advance
from muntin.engine.substeps import substeps
from muntin.spark import wire
from muntin.spark.mail import Mail, arrived
from muntin.spark.pack import Task
from muntin.spark.shards import Place, runs_on
from muntin.spark.slots import shards_of_slot
from muntin.spark.spec import PipelineSpec
from muntin.spark.stage_task import gather
from muntin.state.shard_state import ShardState

STEP_BYTES = 8 << 20
"""A step is taken whenever about this much has been read."""

SORT_ORDER = ("slot", "shard", "min_ts", "part", "seq")
"""Columns of the letters that Spark sorts each partition by."""


def replay_task(spec: PipelineSpec, level: int, step_bytes: int = STEP_BYTES) -> Task:
    """The function for ``mapInArrow`` over sorted letters; the last level yields results. One query only."""
    last = level == spec.levels - 1

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for slot, letters in groupby(wire.from_batches(batches), key=lambda x: x.slot):
            if last:
                yield from _results(SlotReplay(spec, level, slot, letters, step_bytes))
            else:
                yield from wire.to_batches(SlotReplay(spec, level, slot, letters, step_bytes).run())

    return stage


def _results(replay: SlotReplay) -> Iterator[pa.RecordBatch]:
    for _ in replay.run():
        if sum(r.nbytes for r in replay.results) >= STEP_BYTES:
            yield from gather(replay.results)
            replay.results.clear()
    yield from gather(replay.results)


@dataclass
class SlotReplay:
    """Replays the letters of one slot, shard after shard."""

    spec: PipelineSpec
    level: int
    slot: int
    letters: Iterator[wire.Letter]
    step_bytes: int = STEP_BYTES
    results: list[pa.RecordBatch] = field(default_factory=list)
    headers: list[Header] = field(default_factory=list)
    now: int = NEVER
    seq: int = 0

    def run(self) -> Iterator[wire.Letter]:
        """Letters for later levels; at the last level ``results`` fills up, with an empty pause after every step."""
        groups = groupby(self.letters, key=lambda x: x.shard)
        shard, mine = next(groups, (None, iter(())))
        if shard == -1:
            for letter in mine:
                header, now = wire.read_header(letter.blob)
                self.headers.append(header)
                self.now = max(self.now, now)
            shard, mine = next(groups, (None, iter(())))
        for wanted in shards_of_slot(self.slot, self.spec.shards, self.spec.partitions):
            places = [Place(self.spec, 0, number, wanted) for number in self.spec.stages_at(0, self.level)]
            if shard == wanted:
                yield from self._shard(places, mine)
                shard, mine = next(groups, (None, iter(())))
            else:
                yield from self._shard(places, iter(()))

    def _shard(self, places: Sequence[Place], letters: Iterator[wire.Letter]) -> Iterator[wire.Letter]:
        clock = _Source(places[0], self.headers, self.now) if self.level == 0 else _Relayed()
        states, mail, size = [ShardState() for _ in places], Mail(), 0
        for letter in letters:
            if letter.kind == wire.PROGRESS:
                clock.end = wire.read_progress(letter.blob)[0]
                continue
            if size >= self.step_bytes:
                yield from self._steps(places, states, mail, clock.until(states[0], letter.min_ts))
                mail, size = Mail(), 0
            if letter.level > self.level:
                yield letter
            mail.put(replace(letter, level=self.level) if letter.kind == wire.ROWS else letter, self.level)
            size += len(letter.blob)
        final = clock.finish(states[0])
        yield from self._steps(places, states, mail, final)
        yield from places[0].forward(final, self.now)

    def _steps(
        self, places: Sequence[Place], states: Sequence[ShardState], mail: Mail, progress: Progress
    ) -> Iterator[wire.Letter]:
        for place, state in zip(places, states, strict=True):
            yield from self._step(place, state, mail, progress)

    def _step(self, place: Place, state: ShardState, mail: Mail, progress: Progress) -> Iterator[wire.Letter]:
        query = self.spec.queries[0]
        if not runs_on(place.stage, place.shard):
            return
        rows = arrived(self.spec, mail, 0, place.number, place.shard)
        for output in substeps(query, place.number, state, rows, progress, place.shard):
            if place.last:
                self.results.append(place.results(output.rows))
                yield wire.Letter(self.slot, wire.RESULT, b"")
                continue
            for letter in place.derived(output.ports, self.seq):
                self.seq += 1
                yield letter


class _Source:
    """Progress at level 0: the clocks of the state, moved by heartbeats, then by what the headers say."""

    end: Progress | None = None

    def __init__(self, place: Place, headers: Sequence[Header], now: int) -> None:
        self.query = place.spec.queries[place.query]
        self.headers, self.now = place.headers(headers), now

    def until(self, state: ShardState, ts: int) -> Progress:
        """Instants before ``ts`` are complete."""
        opened = [replace(h, max_ts=NEVER, mid_ts=NEVER, heartbeat=ts) for h in self.headers]
        return advance(self.query, state, opened, self.now)

    def finish(self, state: ShardState) -> Progress:
        return advance(self.query, state, self.headers, self.now, finish=True)


class _Relayed:
    """Progress at later levels: bounded by what the stage before reached."""

    def __init__(self) -> None:
        self.end: Progress | None = None
        self.reached = NEVER

    def until(self, state: ShardState, ts: int) -> Progress:
        assert self.end is not None, "progress letters come first"
        moved = replace(self.end, before=self.reached, watermark=max(self.reached, min(ts, self.end.watermark)))
        self.reached = moved.watermark
        return moved

    def finish(self, state: ShardState) -> Progress:
        assert self.end is not None, "progress letters come first"
        return replace(self.end, before=self.reached)
