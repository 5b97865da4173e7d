"""What joins of windows cost alone and shared, by estimate: work a second in units of one result copied.

A shared join takes rows in once and finds the results of the longest windows once; each query then looks at all of them
and copies its own. That loses where the selections of a few queries leave little of the streams, or where windows are
so much shorter that looking through the others' results costs more than a join of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from muntin.core.time import SECOND
from muntin.dataflow.sharing.joined_windows import JoinedWindows, lengths_of
from muntin.dataflow.sharing.shared_join import SharedJoin
from muntin.optimizer.selectivity import selectivity, values_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Stream
from muntin.plan.exprs import Column, Expr, columns_of

ROW = 8.0
"""Taking a row in: sending, hashing, storing and probing it."""

LOOK = 0.3
"""Telling whether a result is in a query's windows."""


@dataclass(frozen=True)
class JoinFlow:
    """Rows a second that come into a join and results a second that come out."""

    rows: float
    results: float

    @property
    def alone(self) -> float:
        """What the join costs."""
        return ROW * self.rows + self.results


def flow_alone(join: JoinedWindows, known: Statistics) -> JoinFlow:
    """Of a join as one query asks for it."""
    return _flow(join, [i.keep for i in join.inputs], lengths_of(join.inputs), known)


def flow_shared(shared: SharedJoin, known: Statistics) -> JoinFlow:
    """Of a join that several queries share."""
    keeps, lengths = [i.keep for i in shared.inputs], [i.length for i in shared.inputs]
    return _flow(shared.pattern, keeps, lengths, known)


def joining_cost(shared: JoinFlow, own: JoinFlow) -> float:
    """What one query costs that reads a shared join's results. One that wants them all takes them as they are."""
    copied = own.results if own.results < 0.999 * shared.results else 0.0
    return LOOK * shared.results + copied


def _flow(
    join: JoinedWindows, keeps: Sequence[Sequence[Expr]], lengths: Sequence[int], known: Statistics
) -> JoinFlow:
    streams = [i.stream for i in join.inputs]
    rates = [_rate(s, keep, known) for s, keep in zip(streams, keeps, strict=True)]
    sizes = [max(r * x / SECOND, 1e-9) for r, x in zip(rates, lengths, strict=True)]
    share = prod(_equal(tuple((streams[i], e) for i, e in terms), known) for terms in join.equalities)
    by_input = {f"{i}.{c.name}": known.values(streams[i].name, c.name) for i, c in _columns(join)}
    share *= prod(selectivity(c, by_input, known) for c in join.conditions)
    every = share * prod(sizes)
    return JoinFlow(sum(rates), sum(r * every / s for r, s in zip(rates, sizes, strict=True)))


def _columns(join: JoinedWindows) -> list[tuple[int, Column]]:
    return [(i, c) for i, given in enumerate(join.inputs) for e in given.columns for c in columns_of(e)]


def _values(stream: Stream, known: Statistics) -> dict[str, float]:
    return {f.name: known.values(stream.name, f.name) for f in stream.schema}


def _rate(stream: Stream, keep: Sequence[Expr], known: Statistics) -> float:
    """Rows a second of a stream that pass the conditions."""
    values = _values(stream, known)
    return known.rate(stream.name, stream.rate) * prod(selectivity(c, values, known) for c in keep)


def _equal(terms: Sequence[tuple[Stream, Expr]], known: Statistics) -> float:
    """The share of combinations whose terms are equal: one in the product of their numbers of values but the least."""
    values = sorted(max(1.0, values_of(e, _values(s, known))) for s, e in terms)
    return 1 / prod(values[1:])
