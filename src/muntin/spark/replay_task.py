"""One level of a pipeline over batch DataFrames: letters come in time order, so time moves with them. Bounded memory.

Spark has sorted each partition by (slot, shard, min_ts), headers and times first. When the next letter's smallest
event time is m, every row before m has arrived, so instants before m are complete; at the end every instant is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import pyarrow as pa

from muntin.core.time import NEVER
from muntin.core.watermark import Header
from muntin.engine.clocks import Times, advance
from muntin.spark import wire
from muntin.spark.level_run import LevelRun, count, count_arrivals, headers_of
from muntin.spark.level_task import gather
from muntin.spark.mail import Mail, arrived
from muntin.spark.pack import Task
from muntin.spark.slots import shards_of_slot
from muntin.spark.spec import PipelineSpec
from muntin.spark.tally import Tally
from muntin.state.shard_state import ShardState

STEP_BYTES = 8 << 20
"""A step is taken whenever about this much has been read."""

SORT_ORDER = ("slot", "shard", "min_ts", "part", "seq")
"""Columns of the letters that Spark sorts each partition by."""


def replay_task(
    spec: PipelineSpec, level: int, step_bytes: int = STEP_BYTES, tally: Tally | None = None
) -> Task:
    """The function for ``mapInArrow`` over sorted letters; the last level yields results. One query only. ``tally``:
    where each slot reports what it counted."""
    last = level == spec.levels - 1

    def run_level(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for slot, letters in groupby(wire.from_batches(batches), key=lambda x: x.slot):
            replay = SlotReplay(spec, level, slot, letters, step_bytes)
            yield from _results(replay) if last else wire.to_batches(replay.run())
            if tally is not None:
                tally.add(level, slot, replay.report)

    return run_level


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
    report: dict[str, dict[str, int]] = field(default_factory=dict)

    def run(self) -> Iterator[wire.Letter]:
        """Letters for later levels; at the last level ``results`` fills up, with an empty pause after every step."""
        groups = groupby(self.letters, key=lambda x: x.shard)
        shard, own = next(groups, (None, iter(())))
        if shard == -1:
            for letter in own:
                header, now = wire.read_header(letter.blob)
                self.headers.append(header)
                self.now = max(self.now, now)
            shard, own = next(groups, (None, iter(())))
        for wanted in shards_of_slot(self.slot, self.spec.shards, self.spec.partitions):
            run = LevelRun(self.spec, self.level, wanted)
            if shard == wanted:
                yield from self._shard(run, own)
                shard, own = next(groups, (None, iter(())))
            else:
                yield from self._shard(run, iter(()))

    def _shard(self, run: LevelRun, letters: Iterator[wire.Letter]) -> Iterator[wire.Letter]:
        clock = _Clocks(self.spec, self.headers, self.now) if self.level == 0 else _Relayed()
        if self.level == 0 and run.shard == 0:
            count_arrivals(self._own_report(), self.spec, 0, self.headers, NEVER)
        states, mail, size = {v: ShardState() for v in run.stateful}, Mail(), 0
        for letter in letters:
            if letter.kind == wire.TIMES:
                clock.end = wire.read_times(letter.blob)[0]
                continue
            if size >= self.step_bytes:
                yield from self._step(run, states, mail, clock.until(letter.min_ts))
                mail, size = Mail(), 0
            if letter.level > self.level:
                yield letter
            mail.put(replace(letter, level=self.level), self.level)
            size += len(letter.blob)
        final = clock.finish()
        yield from self._step(run, states, mail, final)
        yield from run.forward(final, self.now)

    def _own_report(self) -> dict[str, int]:
        return self.report.setdefault(self.spec.signatures[0], {})

    def _step(
        self, run: LevelRun, states: dict[int, ShardState], mail: Mail, times: Times
    ) -> Iterator[wire.Letter]:
        came = arrived(self.spec, mail, run.shard)
        for output in run.steps(states, came, times):
            results = 0
            for _, rows in run.results(output, times):
                self.results.append(rows)
                results += rows.num_rows
            count(self._own_report(), self.spec, 0, output, results)
            if self.level == self.spec.levels - 1:
                yield wire.Letter(self.slot, wire.RESULT, b"")
            yield from run.letters(output)


class _Clocks:
    """Times at level 0: clocks moved by heartbeats, then by what the headers say."""

    end: Times | None = None

    def __init__(self, spec: PipelineSpec, headers: Sequence[Header], now: int) -> None:
        self.graph, self.state, self.now = spec.graph, ShardState(), now
        self.headers = headers_of(spec, headers)

    def until(self, ts: int) -> Times:
        """Instants before ``ts`` are complete."""
        opened = [replace(h, max_ts=NEVER, mid_ts=NEVER, heartbeat=ts) for h in self.headers]
        return advance(self.graph, self.state, opened, self.now)

    def finish(self) -> Times:
        return advance(self.graph, self.state, self.headers, self.now, finish=True)


class _Relayed:
    """Times at later levels: bounded by what the level before reached."""

    def __init__(self) -> None:
        self.end: Times | None = None
        self.reached: tuple[int, ...] | None = None

    def until(self, ts: int) -> Times:
        assert self.end is not None, "letters of times come first"
        before = self.reached or (NEVER,) * len(self.end.watermarks)
        self.reached = tuple(max(b, min(ts, w)) for b, w in zip(before, self.end.watermarks, strict=True))
        return replace(self.end, befores=before, watermarks=self.reached)

    def finish(self) -> Times:
        assert self.end is not None, "letters of times come first"
        return replace(self.end, befores=self.reached or (NEVER,) * len(self.end.watermarks))
