"""What joins of windows of rows cost alone and shared, by estimate, in units as joins of windows of time
(``join_costs``).

Alone, a join takes every row in when it comes and again when it goes, and both times gives its pairs, also those of
rows that are taken away again while both wait to be merged. A shared one takes rows in once and finds the pairs that
begin once; what ends it looks for window by window, by a look-up for each row that is pushed out, and every query has
its own results; who selects among those looks at all of its windows'. So it loses where the selections of queries leave
little of the streams.

Where nothing must be equal most of the work is to try the condition on pairs that a range, if there is one, leaves. A
join alone does so whenever a row comes, goes, or meets one that is taken away already, a shared one when a pair begins
and, for each window, when it ends. Against that stands that rows go to all shards to be numbered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from muntin.dataflow.lowering.join_layout import SHARDS
from muntin.dataflow.sharing.join_costs import CHECK, LOOK, ROW, equal_share, rate_of
from muntin.dataflow.sharing.joined_rows import JoinedRows
from muntin.operators.joins.bands import bands_of
from muntin.operators.source import Source
from muntin.optimizer.selectivity import selectivity
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Stream
from muntin.plan.exprs import Expr

LEAVE = 3.0
"""Finding a row that a window pushes out, and its partners."""

TAKEN_BACK = 4.0
"""Results that a join alone gives for each pair: it comes and goes, and meets rows that are taken away already
(counted: 3 to 14)."""


COPY = 4.0
"""Sending a row to one more shard, and numbering it there."""


@dataclass(frozen=True)
class Flow:
    """``rows`` a second that come into a join, ``results`` a second that begin (as many end), ``checked`` pairs a
    second for which a condition is worked out then."""

    rows: float
    results: float
    checked: float = 0.0

    @property
    def cost(self) -> float:
        """What the join costs alone."""
        return 2 * ROW * self.rows + TAKEN_BACK * (self.results + CHECK * self.checked)


def alone(join: JoinedRows, known: Statistics) -> Flow:
    """Of a join as one query asks for it."""
    return _flow(join, [i.keep for i in join.inputs], join.counts, known)


def shared_cost(
    joins: Collection[JoinedRows], keeps: Sequence[Sequence[Expr]], flows: Mapping[str, Flow], known: Statistics
) -> float:
    """Of a join that stands for several, whose rows pass ``keeps``, and of those that read it; ``flows``: of each
    alone, by id."""
    windows, one = {j.counts for j in joins}, next(iter(joins))
    wide = _flow(one, keeps, (max(w[0] for w in windows), max(w[1] for w in windows)), known)
    flows_of = {w: _flow(one, keeps, w, known) for w in windows}
    own = {w: f.results for w, f in flows_of.items()}
    order = sorted(own.values(), reverse=True)
    cost = _begins(one, keeps, wide, known) + LOOK * sum([wide.results, *order[:-1]])
    cost += sum(LEAVE * wide.rows + 2 * r for r in order) + CHECK * sum(f.checked for f in flows_of.values())
    selecting = [j for j in joins if any({*i.keep} - {*k} for i, k in zip(j.inputs, keeps, strict=True))]
    return cost + sum(2 * (LOOK * own[j.counts] + flows[j.id].results) for j in selecting)


def reading_cost(
    join: JoinedRows, keeps: Sequence[Sequence[Expr]], longest: tuple[int, int], own: Flow, known: Statistics
) -> float:
    """Of one more window of a join that runs, whose rows pass ``keeps`` and whose windows are up to ``longest``;
    ``own``: the join alone."""
    wide, mine = (_flow(join, keeps, n, known) for n in (longest, join.counts))
    cost = LOOK * wide.results + LEAVE * wide.rows + 2 * mine.results + CHECK * mine.checked
    selecting = any({*i.keep} - {*k} for i, k in zip(join.inputs, keeps, strict=True))
    return cost + (2 * (LOOK * mine.results + own.results) if selecting else 0.0)


def _flow(
    join: JoinedRows, keeps: Sequence[Sequence[Expr]], counts: tuple[int, int], known: Statistics
) -> Flow:
    streams = [_stream(i.source.op) for i in join.inputs]
    rates = [rate_of(s, keep, known) for s, keep in zip(streams, keeps, strict=True)]
    sizes = [
        n * max(1.0, _partitions(s, i.by, known)) * r / max(rate_of(s, (), known), 1e-9)
        for n, s, i, r in zip(counts, streams, join.inputs, rates, strict=True)
    ]
    share = 1.0
    for left, right in zip(join.inputs[0].keys, join.inputs[1].keys, strict=True):
        share *= equal_share(((streams[0], left), (streams[1], right)), known)
    met = share * (rates[0] * sizes[1] + rates[1] * sizes[0])
    values = {f"{i}.{f.name}": known.values(s.name, f.name) for i, s in enumerate(streams) for f in s.schema}
    owner = {name: int(name[0]) for name in values}
    chosen = [(selectivity(c, values, known), bool(bands_of([c], owner))) for c in join.conditions]
    checked = met * prod(s for s, band in chosen if band) * len(chosen)
    return Flow(sum(rates), met * prod(s for s, _ in chosen), checked)


def _begins(one: JoinedRows, keeps: Sequence[Sequence[Expr]], wide: Flow, known: Statistics) -> float:
    """Taking rows in, and finding the pairs that begin."""
    copied = [i for i in one.inputs if i.route is None]
    copies = sum(rate_of(_stream(i.source.op), (), known) for i in copied) * (SHARDS - 1)
    return ROW * wide.rows + COPY * copies + wide.results + CHECK * wide.checked


def _stream(op: object) -> Stream:
    assert isinstance(op, Source)
    return op.stream


def _partitions(stream: Stream, by: Sequence[Expr], known: Statistics) -> float:
    found = 1.0
    for c in by:
        found *= known.values(stream.name, getattr(c, "name", ""))
    return found
