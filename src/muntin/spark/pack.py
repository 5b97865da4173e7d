"""The packer: a source partition's rows become one blob per shard, and a header for every slot. Runs on workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.time import FOREVER, NEVER, Instants
from muntin.core.watermark import Header
from muntin.dataflow.routes import Split, route
from muntin.engine.rows import TS
from muntin.engine.source import bad_time, event_times
from muntin.operators.joins.hot_keys import ROLE
from muntin.plan.catalog import Stream
from muntin.scalars.evaluate import evaluate
from muntin.spark import wire
from muntin.spark.hot import hot_keys
from muntin.spark.late import LateSearch
from muntin.spark.slots import slots_of_shards
from muntin.spark.spec import EVENT_TIME, Feed, PipelineSpec

FLUSH_ROWS = 1 << 20
REPLAY_FLUSH_ROWS = 1 << 17
FLUSH_BYTES = 64 << 20

NOW = "__now"
"""Column of the processing time, where it is sent with the rows."""

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def packer(spec: PipelineSpec, stream: int) -> Task:
    """The function for ``mapInArrow`` over the rows of ``spec.streams[stream]``."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context else 0
        return wire.to_batches(Packer(spec, stream, number, now=task_time(spec)).letters(batches))

    pack.__name__ = f"pack_{spec.streams[stream].name}"
    return pack


def task_time(spec: PipelineSpec) -> int:
    """Processing time of a task by this machine's clock, in microseconds: for measuring alone.

    Where answers depend on processing time it comes with the rows, the same when a batch is repeated (NEVER here).
    """
    return NEVER if spec.timed else time.time_ns() // 1000


@dataclass
class Packer:
    """Packs one partition of one stream; see ``letters``."""

    spec: PipelineSpec
    stream: int
    partition: int
    seq: int = 0
    read: int = 0
    now: int = NEVER
    rows: int = 0
    bad: int = 0
    min_ts: int = FOREVER
    max_ts: int = NEVER
    times: list[Instants] = field(default_factory=list)
    hot: dict[int, list[int]] = field(default_factory=dict)
    late: LateSearch = field(init=False)

    def __post_init__(self) -> None:
        self.late = LateSearch(self.spec, self.stream, self.partition)

    @property
    def source(self) -> Stream:
        return self.spec.streams[self.stream]

    def letters(self, batches: Iterator[pa.RecordBatch]) -> Iterator[wire.Letter]:
        """Row letters as they fill up, then late rows and the partition's header for every slot, also when it had no
        row for it."""
        feeds = [f for f in self.spec.feeds if f.stream == self.stream]
        held: dict[int, list[pa.RecordBatch]] = {f.channel: [] for f in feeds}
        rows, size = 0, 0
        limit = REPLAY_FLUSH_ROWS if self.spec.store is None else FLUSH_ROWS
        for batch in batches:
            if batch.num_rows == 0:
                continue
            ts, good = self._times(batch)
            batch = self._computed(batch)
            for f in feeds:
                held[f.channel].append(_shape(f, batch, ts, good))
            self.late.look(batch, ts, good, self._kept, self._shipped)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= limit or size >= FLUSH_BYTES:
                yield from self._flush(feeds, held)
                rows, size = 0, 0
        yield from self._flush(feeds, held)
        yield from self.late.letters()
        yield from self._headers()

    def _computed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with the columns that call users' functions."""
        mine = self.spec.computed[self.stream] if self.spec.computed else ()
        made = [(f"e{place}", evaluate(e, batch)) for place, e in mine]
        if not made:
            return batch
        names = [*batch.schema.names, *(n for n, _ in made)]
        return pa.RecordBatch.from_arrays([*batch.columns, *(a for _, a in made)], names=names)

    def _kept(self, source: int, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Which rows a source's filter keeps."""
        return kept(self._feed(source), batch)

    def _shipped(self, source: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What a source ships, without event time."""
        feed = self._feed(source)
        fields = list(zip(feed.columns, feed.schema, strict=False))
        arrays = [_column(batch, c) for c, _ in fields]
        cast = [a if a.type == f.type else a.cast(f.type) for a, (_, f) in zip(arrays, fields, strict=True)]
        return pa.RecordBatch.from_arrays(cast, names=[f.name for _, f in fields])

    def _feed(self, source: int) -> Feed:
        channels = self.spec.graph.channels
        return next(f for f in self.spec.feeds if channels[f.channel].vertex == source)

    def _times(self, batch: pa.RecordBatch) -> tuple[Instants, NDArray[np.bool_]]:
        """Event times of a batch; updates what the header will say."""
        ts, good = event_times(batch.column("__ts"), self.source.ts_unit)
        if self.spec.timed and self.now == NEVER:
            self.now = batch.column(NOW)[0].as_py()
        usable = int(good.sum())
        if usable < len(ts):
            self._bad(good)
        if usable:
            fine = ts if usable == len(ts) else ts[good]
            self.rows += usable
            self.min_ts = min(self.min_ts, int(fine.min()))
            self.max_ts = max(self.max_ts, int(fine.max()))
            if self.source.max_jump is not None:
                self.times.append(fine)
        self.read += len(ts)
        return ts, good

    def _bad(self, good: NDArray[np.bool_]) -> None:
        if self.source.on_bad_time == "fail":
            raise bad_time(self.source, self.read + int(np.argmin(good)), self.partition)
        self.bad += int(len(good) - good.sum())

    def _flush(self, feeds: list[Feed], held: dict[int, list[pa.RecordBatch]]) -> Iterator[wire.Letter]:
        for f in feeds:
            batches = [b for b in held[f.channel] if b.num_rows]
            held[f.channel] = []
            if batches:
                whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
                yield from self._post(f, whole)

    def _post(self, feed: Feed, rows: pa.RecordBatch) -> Iterator[wire.Letter]:
        slots = slots_of_shards(self.spec.shards, self.spec.partitions)
        for shard, part in self._spread(feed, rows):
            for piece in wire.cut(part):
                lowest = pc.min(piece.column("__ts")).as_py()
                yield wire.Letter(
                    slots[shard], wire.ROWS, wire.encode(piece), level=feed.level, target=feed.channel, shard=shard,
                    source=self.stream, part=self.partition, seq=self.seq, min_ts=lowest,
                )  # fmt: skip
                self.seq += 1

    def _spread(self, feed: Feed, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows of each shard."""
        if isinstance(feed.route, Split) and feed.channel not in self.hot:
            self.hot[feed.channel] = hot_keys(self.spec, feed)
        return route(rows, feed.route, self.spec.shards, 0, self.hot.get(feed.channel, ()), self.seq)

    def _headers(self) -> Iterator[wire.Letter]:
        middle = int(np.median(np.concatenate(self.times))) if self.times else self.max_ts
        header = Header(
            self.stream, self.partition, self.rows, min_ts=self.min_ts, max_ts=self.max_ts, mid_ts=middle, bad=self.bad,
            late=self.late.rows, late_by_query=tuple(self.late.by_query),
        )  # fmt: skip
        yield from headers_to_all(self.spec, header, self.now)


def headers_to_all(spec: PipelineSpec, header: Header, now: int) -> Iterator[wire.Letter]:
    """The same header for every slot in use."""
    blob = wire.header_blob(header, now)
    for slot in sorted(set(slots_of_shards(spec.shards, spec.partitions))):
        yield wire.Letter(slot, wire.HEADER, blob, source=header.source, part=header.partition, min_ts=NEVER)


def kept(feed: Feed, batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which rows of a batch a feed's filter keeps."""
    keep = np.ones(batch.num_rows, bool)
    if feed.keep >= 0:
        true = pc.fill_null(batch.column(f"e{feed.keep}"), False)
        keep = np.asarray(true.to_numpy(zero_copy_only=False), bool)
    for column in (_column(batch, feed.columns[p]) for p in feed.present):
        if column.null_count:
            keep = keep & np.asarray(column.is_valid())
    return keep


def _column(batch: pa.RecordBatch, place: int) -> pa.Array:
    return batch.column("__ts" if place == EVENT_TIME else f"e{place}")


def _shape(feed: Feed, batch: pa.RecordBatch, ts: Instants, good: NDArray[np.bool_]) -> pa.RecordBatch:
    """The batch's rows of one feed, as they are sent."""
    keep = good & kept(feed, batch)
    places = dict(zip(feed.schema.names, feed.columns, strict=False))
    schema = pa.schema([f for f in feed.sent if f.name != ROLE])  # roles are given when rows are sent
    columns = [pa.array(ts) if f.name == TS else _column(batch, places[f.name]) for f in schema]
    arrays = [a if a.type == f.type else a.cast(f.type) for a, f in zip(columns, schema, strict=True)]
    rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
    return rows if keep.all() else rows.filter(pa.array(keep))
