"""Rows that come too late: found where rows are read, so that a row is one row however many windows leave it out.

A row is late for a window on its stream when the window's operator has answered the row's instant before. Each operator
has the time of its own sources: a sub-query over one stream may have answered an instant for which the query around it
still waits, and the row is late for that query all the same, since a part of its answer does without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.time import NEVER, Instants
from muntin.dataflow.graph import Graph
from muntin.engine.lost_rows import Collector, LostRows
from muntin.operators.reader import Reader as OwnAnswers
from muntin.operators.source import Source
from muntin.operators.synopsis import Synopsis
from muntin.plan.exprs import TRUE, Expr
from muntin.scalars.evaluate import predicate_mask

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Reader:
    """A window on a stream: the vertex of its ``source``, the set of streams whose time it has (a place in
    ``Graph.domains``), and the numbers of the ``queries`` that it works for. ``keep``: which of the source's rows are
    theirs, over the columns that it ships."""

    source: int
    domain: int
    queries: tuple[int, ...]
    keep: Expr = TRUE


@dataclass(frozen=True)
class LateRows:
    """Rows of a stream that some window left out: their places among the rows that were looked at, by how many
    microseconds they came too late (that much more slack would have kept them), and which query lost which."""

    places: Places
    by: Instants
    lost: LostRows


@dataclass(frozen=True)
class LateInput:
    """Late rows of one stream as they came, for tests and small data; ``by`` and ``lost``: see ``LateRows``."""

    stream: str
    rows: pa.RecordBatch
    by: Instants
    lost: LostRows

    @property
    def queries(self) -> Mask:
        """Which query lost which, rows by queries."""
        return self.lost.table()


def readers_of(graph: Graph, stream: str) -> tuple[Reader, ...]:
    """The windows on a stream; none for a static table, which has no time."""
    found = []
    for number, vertex in enumerate(graph.vertices):
        if not vertex.inputs:
            continue
        source = vertex.inputs[0].vertex
        op = graph.vertices[source].op
        if isinstance(op, Source) and op.stream.name == stream and not op.stream.static:
            domain = graph.domains.index(vertex.streams)
            if isinstance(vertex.op, Synopsis):
                found += [Reader(source, domain, u, keep) for keep, u in _readers(graph, number, vertex.op)]
            else:
                found.append(Reader(source, domain, tuple(sorted(graph.used_by[number]))))
    return tuple(found)


def _readers(graph: Graph, number: int, op: Synopsis) -> list[tuple[Expr, tuple[int, ...]]]:
    """The predicates of a synopsis, each with the queries of the windows that ask for it."""
    users: dict[int, set[int]] = {}
    for reader, vertex in enumerate(graph.vertices):
        if isinstance(vertex.op, OwnAnswers) and vertex.inputs[0].vertex == number:
            users.setdefault(op.windows[vertex.op.window].predicate, set()).update(graph.used_by[reader])
    return [(op.predicates[p], tuple(sorted(own))) for p, own in users.items()]


def late_rows(
    readers: Sequence[Reader],
    befores: Sequence[int],
    ts: Instants,
    queries: int,
    kept: Callable[[int, Places], Mask],
    shipped: Callable[[int, Places], pa.RecordBatch],
) -> LateRows | None:
    """The rows that one of the ``readers`` leaves out; None if there are none.

    ``befores``: by domain, the instants before it are answered. ``kept``: which of the rows at some places the filter
    of a source keeps (others are nobody's loss);
    ``shipped``: what it ships of them. ``queries``: how many there are. Cost: a look at the times, then the
    rows before the newest answered instant, for each instant up to which windows have answered
    and each predicate of theirs.
    """
    answered = max([befores[r.domain] for r in readers], default=NEVER)
    if not len(ts) or int(ts.min()) >= answered:
        return None
    places = np.flatnonzero(ts < answered)
    old = ts[places]
    collector, until = Collector(len(places)), np.full(len(places), NEVER, np.int64)
    for source in dict.fromkeys(r.source for r in readers):
        mask = kept(source, places)
        own: dict[tuple[int, Expr], set[int]] = {}
        for r in readers:
            if r.source == source:
                own.setdefault((befores[r.domain], r.keep), set()).update(r.queries)
        columns = shipped(source, places) if any(keep != TRUE for _, keep in own) else None
        for (before, keep), losers in own.items():
            late = mask & (old < before)
            if columns is not None and keep != TRUE:
                late &= predicate_mask(keep, columns)
            collector.lose(late, losers)
            until[late] = np.maximum(until[late], before)
    some, lost = collector.lost(queries)
    return LateRows(places[some], until[some] - old[some], lost) if len(some) else None
