"""What joins of windows cost alone and shared, by estimate: work a second in units of one result copied.

A shared join takes rows in once and finds the results of the longest windows once. They are put in order of the
queries' windows, once for all whose windows are of one length on all inputs, and these take theirs as they lie; each
other query looks at all of them and copies its own. That loses where the selections of a few queries leave little of
the streams, or where windows are so much shorter that looking through the others' results costs more than a join of
their own. Rows that go to every shard are taken in on each. A relayed join takes rows in on every level that needs
them, and combinations that travel, so a few such joins cost less than one on one level, and many cost more. What a join
over a graph finds by anything but equal columns it checks pair by pair, which is most of its work: such joins gain
more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import prod

from muntin.core.time import SECOND
from muntin.dataflow.graph import RelayedJoin
from muntin.dataflow.lowering.join_layout import SHARDS
from muntin.dataflow.routes import Everywhere
from muntin.dataflow.sharing.joined_windows import JoinedWindows, lengths_of
from muntin.dataflow.sharing.shared_join import SharedJoin
from muntin.operators.joins.bands import bands_of
from muntin.operators.joins.narrow import Narrow, WindowedPart
from muntin.operators.joins.window_join import WindowJoin
from muntin.optimizer.selectivity import selectivity, values_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Stream
from muntin.plan.exprs import Column, Expr, columns_of

ROW = 8.0
"""Taking a row in: sending, hashing, storing and probing it."""

LOOK = 0.3
"""Telling whether a result is in a query's windows."""

ORDER = 0.3
"""Putting a result in its place among those of all windows (measured: 7 ns beside 25)."""


CHECK = 1.0
"""Working a condition out for a combination (measured over bands and inequalities: 0.1 to 0.15 us, as a copy)."""


@dataclass(frozen=True)
class JoinFlow:
    """Rows a second that come into a join and results a second that come out. ``plain``: its windows are of one length,
    so that it takes its results from those in order of their windows; ``order``: what putting one in order costs.
    On all shards and levels: ``taken``: rows a second that are taken in; ``given``: results a second that are copied;
    ``checked``: conditions a second that are worked out for combinations that equal columns, or bands, give."""

    rows: float
    results: float
    taken: float
    given: float
    plain: bool = False
    checked: float = 0.0
    order: float = ORDER

    @property
    def alone(self) -> float:
        """What the join costs."""
        return ROW * self.taken + CHECK * self.checked + self.given


def flow_alone(join: JoinedWindows, known: Statistics) -> JoinFlow:
    """Of a join as one query asks for it."""
    keeps, lengths = [i.keep for i in join.inputs], lengths_of(join.inputs)
    flow = _flow(join, keeps, lengths, known)
    if join.relayed is not None:
        taken = _taken_relayed(join, join.relayed, _Windows.of(join, keeps, lengths, known))
        flow = replace(flow, taken=taken, given=2 * flow.results)  # found on one level, merged on the next
    parts = tuple(WindowedPart("", i.window) for i in join.inputs)
    return replace(flow, plain=Narrow(parts, ()).reach is not None)


def flow_shared(shared: SharedJoin, known: Statistics) -> JoinFlow:
    """Of a join that several queries share."""
    keeps, lengths = [i.keep for i in shared.inputs], [i.length for i in shared.inputs]
    return _flow(shared.pattern, keeps, lengths, known)


def joining_cost(shared: JoinFlow, own: Sequence[JoinFlow]) -> float:
    """What queries cost that read a shared join's results."""
    taking = [f for f in own if _takes(shared, f)]
    order = shared.order * shared.results if taking else 0.0
    return order + sum(_looking(shared, f) for f in own if not _takes(shared, f))


def _takes(shared: JoinFlow, own: JoinFlow) -> bool:
    """Whether a query takes its results as they lie: it selects none among them."""
    return own.plain and own.rows >= 0.999 * shared.rows


def _looking(shared: JoinFlow, own: JoinFlow) -> float:
    """Of one that looks at all results; if it wants them all it takes them as they are."""
    copied = own.results if own.results < 0.999 * shared.results else 0.0
    return LOOK * shared.results + copied


@dataclass(frozen=True)
class _Windows:
    """The windows of a join by estimate: rows a second that come into each, and rows that it holds."""

    join: JoinedWindows
    rates: Sequence[float]
    sizes: Sequence[float]
    known: Statistics

    @staticmethod
    def of(
        join: JoinedWindows, keeps: Sequence[Sequence[Expr]], lengths: Sequence[int], known: Statistics
    ) -> _Windows:
        rates = [rate_of(i.stream, keep, known) for i, keep in zip(join.inputs, keeps, strict=True)]
        sizes = [max(r * x / SECOND, 1e-9) for r, x in zip(rates, lengths, strict=True)]
        return _Windows(join, rates, sizes, known)

    def met(self, inputs: Collection[int], conditions: Sequence[Expr]) -> float:
        """Combinations a second of some inputs that equal columns and some of the conditions leave."""
        streams = [i.stream for i in self.join.inputs]
        equal = [[(streams[i], e) for i, e in terms if i in inputs] for terms in self.join.equalities]
        share = prod(equal_share(terms, self.known) for terms in equal if len(terms) > 1)
        by_input = {f"{i}.{c.name}": self.known.values(streams[i].name, c.name) for i, c in _columns(self.join)}
        share *= prod(selectivity(c, by_input, self.known) for c in conditions if _inputs_of(c) <= {*inputs})
        sizes = prod(self.sizes[i] for i in inputs)
        return share * sum(self.rates[i] * sizes / self.sizes[i] for i in inputs)


def _flow(
    join: JoinedWindows, keeps: Sequence[Sequence[Expr]], lengths: Sequence[int], known: Statistics
) -> JoinFlow:
    windows = _Windows.of(join, keeps, lengths, known)
    every = range(len(join.inputs))
    checked = windows.met(every, _banded(join)) * len(join.conditions)
    pairs = isinstance(join.op, WindowJoin) and len(every) == 2  # put in order before they are written
    order = ORDER if pairs else ORDER + 1.0
    copies = [SHARDS if isinstance(i.route, Everywhere) else 1 for i in join.inputs]
    taken = sum(r * n for r, n in zip(windows.rates, copies, strict=True))
    found = windows.met(every, join.conditions)
    return JoinFlow(sum(windows.rates), found, taken, found, checked=checked, order=order)


def _taken_relayed(join: JoinedWindows, way: RelayedJoin, windows: _Windows) -> float:
    """Rows a second that the levels of a relayed join take in (``lowering.relays``): each row twice, and what travels.
    """
    there = windows.met(way.first, join.conditions)
    back = windows.met((way.bridge, *way.second), join.conditions)
    return 2 * sum(windows.rates) + there + back


def _banded(join: JoinedWindows) -> list[Expr]:
    """The conditions by which a join over a graph finds combinations in a sorted column: it checks them all the same.
    """
    if isinstance(join.op, WindowJoin) or not join.op.bands:
        return []
    owner = {c.name: int(c.name.partition(".")[0]) for e in join.conditions for c in columns_of(e)}
    return [c for c in join.conditions if bands_of([c], owner)]


def _inputs_of(condition: Expr) -> set[int]:
    return {int(c.name.partition(".")[0]) for c in columns_of(condition)}


def _columns(join: JoinedWindows) -> list[tuple[int, Column]]:
    return [(i, c) for i, given in enumerate(join.inputs) for e in given.columns for c in columns_of(e)]


def _values(stream: Stream, known: Statistics) -> dict[str, float]:
    return {f.name: known.values(stream.name, f.name) for f in stream.schema}


def rate_of(stream: Stream, keep: Sequence[Expr], known: Statistics) -> float:
    """Rows a second of a stream that pass the conditions."""
    values = _values(stream, known)
    return known.rate(stream.name, stream.rate) * prod(selectivity(c, values, known) for c in keep)


def equal_share(terms: Sequence[tuple[Stream, Expr]], known: Statistics) -> float:
    """The share of combinations whose terms are equal: one in the product of their numbers of values but the least."""
    values = sorted(max(1.0, values_of(e, _values(s, known))) for s, e in terms)
    return 1 / prod(values[1:])
