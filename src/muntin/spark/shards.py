"""Running the shards of one slot at one level: step, route what comes out, count. Shared by live and replayed input."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from muntin.core.batch import Batch
from muntin.core.watermark import Header
from muntin.dataflow.stage import DerivedInput, SourceInput, Stage
from muntin.engine.shard import Progress, StepOutput, result_rows, to_wire
from muntin.plan.catalog import Stream
from muntin.spark import wire
from muntin.spark.pack import split
from muntin.spark.slots import slots_of_shards
from muntin.spark.spec import PipelineSpec


def runs_on(stage: Stage, shard: int) -> bool:
    """Whether a stage has work on a shard: one that puts every row on shard 0 has none, and no answer, elsewhere."""
    return shard == 0 or any(i.shard_key or i.everywhere for i in stage.inputs)


LATE_ROWS = pa.schema(
    [("query", pa.string()), ("stream", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("row", pa.string())]
)
"""Columns of the late output; ``row``: the shipped columns as a JSON object."""


@dataclass(frozen=True)
class Place:
    """Shard ``shard`` of stage ``number`` of query number ``query`` of a pipeline."""

    spec: PipelineSpec
    query: int
    number: int
    shard: int

    @property
    def stage(self) -> Stage:
        return self.spec.queries[self.query].stages[self.number]

    @property
    def level(self) -> int:
        """The level at which the stage runs."""
        return self.spec.depths[self.query][self.number]

    @property
    def leads(self) -> bool:
        """Whether the stage is its query's first at the level: it passes progress on for all of them."""
        return self.spec.depths[self.query].index(self.level) == self.number

    @property
    def cell(self) -> str:
        """Name of its state in the pane store."""
        return f"{self.spec.signatures[self.query]}/{self.number}/{self.shard}"

    @property
    def last(self) -> bool:
        return self.number == len(self.spec.queries[self.query].stages) - 1

    @property
    def slot(self) -> int:
        return slots_of_shards(self.spec.shards, self.spec.partitions)[self.shard]

    def headers(self, headers: Sequence[Header]) -> list[Header]:
        """The headers of the query's own streams, numbered as the query numbers them."""
        at = self.spec.positions[self.query]
        return [Header(**{**h.__dict__, "source": at[h.source]}) for h in headers if h.source in at]

    def forward(self, progress: Progress, now: int) -> list[wire.Letter]:
        """The same progress for the same shard of the next level."""
        if self.last or not self.leads:
            return []
        blob = wire.progress_blob(progress, now)
        kind, level = wire.PROGRESS, self.level + 1
        return [wire.Letter(self.slot, kind, blob, level=level, target=self.query, shard=self.shard, min_ts=-(2**63))]

    def results(self, rows: Batch) -> pa.RecordBatch:
        """The last level's rows as the user sees them."""
        return result_rows(self.spec.queries[self.query], rows)

    def derived(self, ports: Sequence[Batch], first: int = 0) -> Iterator[wire.Letter]:
        """What the stage emits, for every later input that wants it: one letter per shard, numbered from ``first``."""
        seq = first
        for stage, i, target in self._readers():
            level = self.spec.depths[self.query][stage]
            rows = ports[target.port]
            if not len(rows):
                continue
            sent = to_wire(rows, target)
            keys = [sent.column(k) for k in target.shard_key]
            for shard, part in split(sent, keys, self.spec.shards, target.everywhere):
                slot = slots_of_shards(self.spec.shards, self.spec.partitions)[shard]
                for piece in wire.cut(part):
                    lowest = pc.min(piece.column("__ts")).as_py()
                    yield wire.Letter(
                        slot, wire.DERIVED, wire.encode(piece), level=level, target=self.query, input=i, shard=shard,
                        source=stage, part=self.shard, seq=seq, min_ts=lowest,
                    )  # fmt: skip
                    seq += 1

    def _readers(self) -> Iterator[tuple[int, int, DerivedInput]]:
        for number, stage in enumerate(self.spec.queries[self.query].stages):
            for i, target in enumerate(stage.inputs):
                if isinstance(target, DerivedInput) and target.stage == self.number:
                    yield number, i, target

    def late(self, output: StepOutput) -> list[tuple[Stream, pa.RecordBatch]]:
        """Late rows by stream; those of inputs that only tell instants are copies of others."""
        inputs = self.stage.inputs
        found = [(inputs[i], rows) for i, rows in output.late if rows.num_rows]
        return [(i.stream, rows) for i, rows in found if isinstance(i, SourceInput) and not i.instants_only]

    def late_letters(self, output: StepOutput) -> Iterator[wire.Letter]:
        """Late rows as letters for the late output, if the pipeline has one."""
        if self.spec.late:
            for stream, rows in self.late(output):
                blob = wire.encode(late_rows(self.spec.names[self.query], stream.name, rows))
                yield wire.Letter(self.slot, wire.LATE, blob, target=self.query, shard=self.shard)


def late_rows(query: str, stream: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows in the schema of the late output."""
    names = [n for n in rows.schema.names if not n.startswith("__")]
    texts = [json.dumps(r, default=str) for r in rows.select(names).to_pylist()] if names else ["{}"] * rows.num_rows
    ts = rows.column("__ts").cast(pa.timestamp("us", "UTC"))
    columns = [pa.array([query] * rows.num_rows), pa.array([stream] * rows.num_rows), ts, pa.array(texts, pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=LATE_ROWS)
