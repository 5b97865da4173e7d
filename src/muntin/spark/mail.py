"""Letters sorted into what each shard of a slot has to read, in canonical order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.core.time import NEVER
from muntin.core.watermark import Header
from muntin.dataflow.stage import SourceInput
from muntin.engine.shard import wire_schema
from muntin.spark import wire
from muntin.spark.spec import PipelineSpec, Target


@dataclass
class Mail:
    """One slot's letters at one level.

    ``derived`` is keyed by (input, shard), ``progress`` by (query, shard).
    """

    headers: list[Header] = field(default_factory=list)
    now: int = NEVER
    rows: dict[tuple[int, int], list[wire.Letter]] = field(default_factory=dict)
    derived: dict[tuple[Target, int], list[wire.Letter]] = field(default_factory=dict)
    progress: dict[tuple[int, int], Any] = field(default_factory=dict)
    passing: list[wire.Letter] = field(default_factory=list)

    def put(self, letter: wire.Letter, level: int) -> None:
        """File one letter; those that a later level (also) wants pass through."""
        if letter.kind == wire.HEADER:
            header, now = wire.read_header(letter.blob)
            self.headers.append(header)
            self.now = max(self.now, now)
            return
        if letter.kind in (wire.RESULT, wire.LATE) or letter.level > level:
            self.passing.append(letter)
        if letter.kind == wire.ROWS:
            self.rows.setdefault((letter.target, letter.shard), []).append(letter)
        elif letter.level == level and letter.kind == wire.DERIVED:
            target = Target(letter.target, letter.source, letter.input)
            self.derived.setdefault((target, letter.shard), []).append(letter)
        elif letter.level == level and letter.kind == wire.PROGRESS:
            progress, now = wire.read_progress(letter.blob)
            self.progress[letter.target, letter.shard] = progress
            self.now = max(self.now, now)


def sort_mail(letters: Iterable[wire.Letter], level: int) -> dict[int, Mail]:
    """Mail by slot."""
    found: dict[int, Mail] = {}
    for letter in letters:
        found.setdefault(letter.slot, Mail()).put(letter, level)
    return found


def arrived(spec: PipelineSpec, mail: Mail, query: int, stage: int, shard: int) -> list[pa.RecordBatch | None]:
    """What each input of a stage gets on a shard (None: nothing), by (ts, source partition or sender, position)."""
    found: list[pa.RecordBatch | None] = []
    for i, source in enumerate(spec.queries[query].stages[stage].inputs):
        target = Target(query, stage, i)
        if not isinstance(source, SourceInput):
            letters, sent = mail.derived.get((target, shard)), wire_schema(source)
        elif target in spec.feed_of:
            feed = spec.feed_of[target]
            letters, sent = mail.rows.get((feed.number, shard)), feed.schema
        else:  # a static table, which a live pipeline does not send
            letters, sent = None, wire_schema(source)
        found.append(canonical(letters, sent, wire_schema(source)) if letters else None)
    return found


def canonical(letters: list[wire.Letter], sent: pa.Schema, wanted: pa.Schema) -> pa.RecordBatch:
    """All rows of the letters by (ts, part, seq, position), under the names of ``wanted``; columns are aligned."""
    ordered = sorted(letters, key=lambda x: (x.source, x.part, x.seq))
    batches = [wire.decode(x.blob, sent) for x in ordered]
    whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    ts = whole.column("__ts").to_numpy()
    if (ts[1:] < ts[:-1]).any() or not _aligned(whole):
        whole = whole.take(pa.array(np.argsort(ts, kind="stable")))
    return pa.RecordBatch.from_arrays(whole.columns, schema=wanted)


def _aligned(rows: pa.RecordBatch) -> bool:
    """Whether NumPy and Numba can use the columns where they lie."""
    return all(b is None or b.address % 8 == 0 for c in rows.columns for b in c.buffers())
