"""A query over whole inputs in this process: rows go through it in order of event time, a bounded number at a time.

As Spark's replay of batch DataFrames: no row is late, and the end of the input completes every instant.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.calendar import nominal
from muntin.core.schema import Schema
from muntin.core.time import ALWAYS, instant_text
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.engine.gaps import MANY, answers_nothing
from muntin.engine.losses import Losses
from muntin.local.ordering import Ordered, small, together
from muntin.local.readers import Input, whole
from muntin.local.runtime import LocalPipeline
from muntin.operators.source import Source
from muntin.plan.catalog import Stream
from muntin.plan.exprs import columns_of

OnProgress = Callable[[int, int], None]
"""Called with the rows that went through so far, and how many there are."""


@dataclass
class Replay:
    """A planned query and its inputs: by stream and by static table the rows and their schema. ``losses`` is whole
    once ``results`` has ended."""

    plan: QueryPlan
    inputs: Mapping[str, tuple[Input, Schema]]
    on_progress: OnProgress | None = None
    losses: Losses = field(default_factory=Losses)

    def results(self) -> Iterator[pa.Table]:
        """Result rows in order of time; the instants of one table are whole."""
        pipeline = LocalPipeline(self.plan)
        streams = [s for s in pipeline.graph.streams if not s.static]
        ordered = [self._ordered(s, pipeline.graph) for s in streams]
        total = sum(part.rows for o in ordered for part in o.given.parts)
        batch = {s.name: table_feed(s, *self.inputs[s.name]) for s in pipeline.graph.streams if s.static}
        done = 0
        told = not answers_nothing(self.plan)
        before: dict[str, int] = {}
        for step, until in together(ordered):
            for name, chunk in step.items():
                told = told or _tell_gap(name, np.append(before.get(name, chunk.ts[:1]), chunk.ts), self.plan)
                before[name] = int(chunk.ts[-1])
            batch |= {name: chunk.rows for name, chunk in step.items()}
            done += sum(len(chunk.ts) for chunk in step.values())
            if small(ordered):  # one step: nothing has to be kept for another, which would look for it
                break
            yield pipeline.push_all(batch, until=until)[0]
            batch = {}
            if self.on_progress is not None:
                self.on_progress(done, total)
        yield pipeline.finish(batch)
        if batch and self.on_progress is not None:
            self.on_progress(done, total)
        self.losses = _losses(ordered, pipeline)

    def _ordered(self, stream: Stream, graph: Graph) -> Ordered:
        given, schema = self.inputs[stream.name]
        return Ordered(stream, given, read_columns(stream, graph), schema)


def table_feed(stream: Stream, given: Input, schema: Schema) -> pa.Table:
    """A static table's rows as updates that were always there; ``stream``: the table's feed."""
    rows = whole(given, schema, f"table {stream.name!r}")
    *_, at, add = stream.schema.fields
    rows = rows.append_column(at.name, pa.array(np.full(len(rows), ALWAYS, np.int64)))
    return rows.append_column(add.name, pa.array(np.ones(len(rows), bool)))


def feeds_of(plan: QueryPlan, read: Mapping[str, tuple[Input, Schema]]) -> dict[str, pa.Table]:
    """All rows of the streams and tables of a plan, by name."""
    return {
        s.name: table_feed(s, *read[s.name]) if s.static else whole(*read[s.name], f"stream {s.name!r}")
        for s in plan.streams
    }


def read_columns(stream: Stream, graph: Graph) -> list[str]:
    """The columns that the graph's sources look at, and event time."""
    names = {stream.ts}
    for vertex in graph.vertices:
        if isinstance(vertex.op, Source) and vertex.op.stream.name == stream.name:
            for e in (vertex.op.keep, *(e for _, e in vertex.op.columns)):
                names |= {column.name for column in columns_of(e)}
    return [name for name in stream.schema.names if name in names]


def _tell_gap(name: str, ts: NDArray[np.int64], plan: QueryPlan) -> bool:
    """Warn of the first gap between event times that makes very many empty answers; whether there is one."""
    assert plan.ticks is not None
    wide = np.flatnonzero(np.diff(ts) // min(map(nominal, plan.ticks.slides)) > MANY)
    if len(wide) == 0:
        return False
    low, high = int(ts[wide[0]]), int(ts[wide[0] + 1])
    empty = (high - low) // min(map(nominal, plan.ticks.slides))
    warnings.warn(
        f"there is no row of {name} between {instant_text(low)} and {instant_text(high)}: {empty:,} empty answers at "
        "the multiples of SLIDE. Is one of the times wrong? A condition on the event time before, or GROUP BY, leaves "
        "them out",
        stacklevel=2,
    )
    return True


def _losses(ordered: Sequence[Ordered], pipeline: LocalPipeline) -> Losses:
    return Losses(
        rows=sum(o.rows for o in ordered),
        bad=sum(o.bad for o in ordered),
        late=pipeline.late,
        shed=pipeline.shed,
        bad_updates=pipeline.bad_updates,
        lost={o.stream.name: (o.bad, 0) for o in ordered if o.bad and not o.rows},
    )
