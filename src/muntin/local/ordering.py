"""Rows of an input in order of event time, without holding more of it than is out of order.

Parts come in order of their smallest event time; what is older than the next part's smallest is complete and leaves.
An input that is in order needs one part at a time, one that is shuffled throughout needs all of it (the columns asked
for). Equal times keep the order of the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.schema import Schema
from muntin.core.time import FOREVER, Instants
from muntin.engine.source import bad_time, event_times
from muntin.local.readers import BATCH_ROWS, Input, converted
from muntin.plan.catalog import Stream


@dataclass
class Chunk:
    """Rows in order of their event times ``ts``."""

    rows: pa.Table
    ts: Instants

    def cut(self, at: int) -> tuple[Chunk, Chunk]:
        """The first ``at`` rows, and the others."""
        return Chunk(self.rows.slice(0, at), self.ts[:at]), Chunk(self.rows.slice(at), self.ts[at:])


@dataclass
class Ordered:
    """A stream's input in order of event time. ``rows`` and ``bad`` count what came so far, with and without a usable
    event time."""

    stream: Stream
    given: Input
    columns: Sequence[str]
    schema: Schema
    rows: int = 0
    bad: int = 0
    _waiting: list[tuple[int, Chunk]] = field(default_factory=list)

    def chunks(self) -> Iterator[Chunk]:
        """At most ``BATCH_ROWS`` rows at a time. Raises DataError for a row without event time where the stream says
        so."""
        order = self._by_start()
        for i, (_, number) in enumerate(order):
            self._take(number)
            until = order[i + 1][0] if i + 1 < len(order) else FOREVER
            if until == FOREVER or self._complete(until) >= BATCH_ROWS:
                yield from _pieces(self._leave(until))

    def _by_start(self) -> list[tuple[int, int]]:
        """The smallest event time of each part, and its number; parts without a usable one are counted here."""
        found = []
        for number, part in enumerate(self.given.parts):
            ts, good = self._times(part.read([self.stream.ts]))
            if good.any():
                found.append((int(ts[good].min()), number))
            else:
                self._count(good, number)
        return sorted(found)

    def _times(self, rows: pa.Table) -> tuple[Instants, NDArray[np.bool_]]:
        ready = converted(rows.select([self.stream.ts]), self.schema, f"stream {self.stream.name!r}")
        return event_times(_one_array(ready.column(0)), self.stream.ts_unit)

    def _count(self, good: NDArray[np.bool_], number: int) -> None:
        bad = len(good) - int(good.sum())
        if bad and self.stream.on_bad_time == "fail":
            before = sum(p.rows for p in self.given.parts[:number])
            raise bad_time(self.stream, before + int(np.argmin(good)), 0)
        self.rows, self.bad = self.rows + len(good) - bad, self.bad + bad

    def _take(self, number: int) -> None:
        """Read a part and put it in order."""
        rows = self.given.parts[number].read(self.columns)
        ts, good = self._times(rows)
        self._count(good, number)
        rows = converted(rows, self.schema, f"stream {self.stream.name!r}")
        if not good.all():
            rows, ts = rows.filter(pa.array(good)), ts[good]
        self._waiting.append((number, in_order(rows, ts)))
        self._waiting.sort(key=lambda w: w[0])

    def _complete(self, until: int) -> int:
        return sum(int(np.searchsorted(chunk.ts, until)) for _, chunk in self._waiting)

    def _leave(self, until: int) -> Chunk:
        """The waiting rows before ``until``, in order; the others go on waiting."""
        gone, left = [], []
        for number, chunk in self._waiting:
            head, tail = chunk.cut(int(np.searchsorted(chunk.ts, until)))
            gone.append(head)
            if len(tail.ts):
                left.append((number, tail))
        self._waiting = left
        if len(gone) == 1:
            return gone[0]
        return in_order(pa.concat_tables([c.rows for c in gone]), np.concatenate([c.ts for c in gone]))


def in_order(rows: pa.Table, ts: Instants) -> Chunk:
    """The rows sorted by event time; those of one time keep their order."""
    if (ts[1:] >= ts[:-1]).all():
        return Chunk(rows, ts)
    order = np.argsort(ts, kind="stable")
    return Chunk(rows.combine_chunks().take(pa.array(order)), ts[order])


def _pieces(chunk: Chunk) -> Iterator[Chunk]:
    for start in range(0, len(chunk.ts), BATCH_ROWS):
        stop = start + BATCH_ROWS
        yield Chunk(chunk.rows.slice(start, BATCH_ROWS), chunk.ts[start:stop])


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def small(inputs: Sequence[Ordered]) -> bool:
    """Whether all rows of all inputs are fewer than are handled at a time."""
    return sum(part.rows for o in inputs for part in o.given.parts) < BATCH_ROWS


def together(inputs: Sequence[Ordered]) -> Iterator[tuple[dict[str, Chunk], int]]:
    """All inputs side by side in order of time: rows by stream, and the event time before which nothing more comes.

    A step ends where the first of the inputs' chunks ends, so that none runs ahead of the others; inputs that are
    ``small`` together are one step.
    """
    if small(inputs):
        chunks = {o.stream.name: next(o.chunks(), None) for o in inputs}
        whole = {name: chunk for name, chunk in chunks.items() if chunk is not None}
        if whole:
            yield whole, FOREVER
        return
    sources = {o.stream.name: o.chunks() for o in inputs}
    heads = {name: next(chunks, None) for name, chunks in sources.items()}
    while live := {name: head for name, head in heads.items() if head is not None}:
        end = min(int(head.ts[-1]) for head in live.values())
        step = {}
        for name, head in live.items():
            first, rest = head.cut(int(np.searchsorted(head.ts, end, side="right")))
            if len(first.ts):
                step[name] = first
            heads[name] = rest if len(rest.ts) else next(sources[name], None)
        yield step, end
