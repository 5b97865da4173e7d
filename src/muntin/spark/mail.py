"""Letters sorted into what each shard of a slot has to read, in canonical order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.core.time import NEVER
from muntin.core.watermark import Header
from muntin.dataflow.routes import Route
from muntin.engine.clocks import Times
from muntin.engine.rows import completed, sent_schema, wire_schema
from muntin.spark import wire
from muntin.spark.spec import PipelineSpec


@dataclass
class Mail:
    """One slot's letters at one level. ``rows`` is keyed by (channel, shard), ``times`` by shard."""

    headers: list[Header] = field(default_factory=list)
    now: int = NEVER
    rows: dict[tuple[int, int], list[wire.Letter]] = field(default_factory=dict)
    times: dict[int, Times] = field(default_factory=dict)
    passing: list[wire.Letter] = field(default_factory=list)

    def put(self, letter: wire.Letter, level: int) -> None:
        """File one letter; those that a later level (also) wants pass through."""
        if letter.kind == wire.HEADER:
            header, now = wire.read_header(letter.blob)
            self.headers.append(header)
            self.now = max(self.now, now)
            return
        if letter.kind in (wire.RESULT, wire.LATE, wire.COUNTS) or letter.level > level:
            self.passing.append(letter)
        if letter.kind == wire.ROWS:
            self.rows.setdefault((letter.target, letter.shard), []).append(letter)
        elif letter.level == level and letter.kind == wire.TIMES:
            times, now = wire.read_times(letter.blob)
            self.times[letter.shard] = times
            self.now = max(self.now, now)


def sort_mail(letters: Iterable[wire.Letter], level: int) -> dict[int, Mail]:
    """Mail by slot."""
    found: dict[int, Mail] = {}
    for letter in letters:
        found.setdefault(letter.slot, Mail()).put(letter, level)
    return found


def arrived(spec: PipelineSpec, mail: Mail, shard: int) -> dict[tuple[int, Route], pa.RecordBatch]:
    """What came to a shard, by vertex and route, in the order of (ts, source partition or sender, position)."""
    found = {}
    for (number, to), letters in mail.rows.items():
        if to == shard:
            channel = spec.graph.channels[number]
            vertex = spec.graph.vertices[channel.vertex]
            rows = canonical(letters, sent_schema(vertex, channel.route))
            found[channel.vertex, channel.route] = completed(rows, wire_schema(vertex, channel.route))
    return found


def canonical(letters: list[wire.Letter], schema: pa.Schema) -> pa.RecordBatch:
    """All rows of the letters by (ts, part, seq, position); columns are aligned."""
    ordered = sorted(letters, key=lambda x: (x.part, x.seq))
    batches = [wire.decode(x.blob, schema) for x in ordered]
    whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    ts = whole.column("__ts").to_numpy()
    if (ts[1:] < ts[:-1]).any() or not _aligned(whole):
        whole = whole.take(pa.array(np.argsort(ts, kind="stable")))
    return whole


def _aligned(rows: pa.RecordBatch) -> bool:
    """Whether NumPy and Numba can use the columns where they lie."""
    return all(b is None or b.address % 8 == 0 for c in rows.columns for b in c.buffers())
