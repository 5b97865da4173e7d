"""Whether a machine keeps up with a query of the product at given rates, by its own cost model.

Work is in the meter's unit, operations; how long one takes is measured (``local.calibrate``). Where it is too much, the
drop boxes at the streams that cost the least results, and how the streams would be joined one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from muntin.optimizer.capacity.boxes import exchanged
from muntin.optimizer.capacity.model import JoinCost, Source
from muntin.optimizer.capacity.search import Chosen, JoinQuery, best_plan
from muntin.optimizer.cost import costs, total
from muntin.optimizer.driver import optimize, settled
from muntin.optimizer.estimate import flow_of
from muntin.optimizer.plan_text import node_text
from muntin.optimizer.selectivity import selectivity
from muntin.optimizer.statistics import Statistics
from muntin.optimizer.strategy import Strategy
from muntin.plan.exprs import columns_of, conjuncts
from muntin.plan.nodes import BoundQuery, Join, Node, Scan, walk

MOST_PLANNED = 7
"""Inputs of a join up to which left-deep plans are tried: n! / 2 of them."""


@dataclass(frozen=True)
class Load:
    """What a query asks of a machine. ``rates``: rows a second by stream; ``operators``: (words, share of the machine)
    of each, those that do nothing left out; ``output``: results a second; ``shares``: what drop boxes would let in of
    each stream, and ``kept`` the share of the results that is then left (1 and all 1 where it is feasible); ``plan``:
    streams in the order of the best plan of binary joins, by Ayad & Naughton's model (() where there is no join)."""

    rates: Mapping[str, float]
    operators: tuple[tuple[str, float], ...]
    output: float
    shares: Mapping[str, float]
    kept: float
    plan: tuple[str, ...]

    @property
    def utilisation(self) -> float:
        """Share of the machine's time; below 1 the query is feasible."""
        return sum(used for _, used in self.operators)

    @property
    def feasible(self) -> bool:
        """Whether the machine keeps up."""
        return self.utilisation < 1


def load_of(query: BoundQuery, seconds: float, cores: float, known: Statistics | None = None) -> Load:
    """The load of a query on ``cores`` that take ``seconds`` for an operation; rates are those of the registration
    (``rate=``) or of ``known``."""
    given = known or Statistics()
    best = optimize(settled(query, given), given).query
    rates = {n.stream.name: given.rate(n.stream.name, n.stream.rate) for n in walk(best.root) if isinstance(n, Scan)}
    strategy = Strategy(best.options.strategy)
    per = seconds / cores
    each = ((node_text(node), per * work) for node, work in costs(best.root, given, strategy))
    names = tuple(rates)

    def at(x: Sequence[float]) -> Statistics:
        return replace(given, rates={**given.rates, **{n.lower(): s * rates[n] for n, s in zip(names, x, strict=True)}})

    def work(x: Sequence[float]) -> float:
        return per * total(best.root, at(x), strategy)

    def output(x: Sequence[float]) -> float:
        return flow_of(best.root, at(x)).rate

    ones = (1.0,) * len(names)
    shares = ones if work(ones) < 1 else exchanged(output, work, len(names), 1.0, precision=0.02)
    whole = output(ones)
    return Load(
        rates, tuple(sorted(((w, used) for w, used in each if used > 0), key=lambda x: -x[1])), whole,
        dict(zip(names, shares, strict=True)), output(shares) / whole if whole else 1.0,
        _joined(best.root, given, seconds / cores),
    )  # fmt: skip


def _joined(root: Node, known: Statistics, seconds: float) -> tuple[str, ...]:
    """The streams of the widest join in the order of the best left-deep plan; drop boxes included in the comparison."""
    joins = [n for n in walk(root) if isinstance(n, Join) and 2 <= len(n.parts) <= MOST_PLANNED]
    if not joins:
        return ()
    join = max(joins, key=lambda j: len(j.parts))
    scans = [[n.alias for n in walk(p) if isinstance(n, Scan)] for p in join.parts]
    names = [", ".join(aliases) or f"input {i}" for i, aliases in enumerate(scans)]
    return tuple(names[k] for k in _planned(join, names, known, seconds).order)


def _planned(join: Join, names: Sequence[str], known: Statistics, seconds: float) -> Chosen:
    flows = [flow_of(p, known) for p in join.parts]
    sources = tuple(
        Source(n, f.rate, span=f.size / f.rate) if f.rate else Source(n, 0.0, rows=f.size)
        for n, f in zip(names, flows, strict=True)
    )
    distinct = {column: values for f in flows for column, values in f.distinct.items()}
    pairs: dict[tuple[int, int], float] = {}
    for condition in conjuncts(join.predicate):
        owners = sorted({i for c in columns_of(condition) for i, f in enumerate(flows) if c.name in f.distinct})
        if len(owners) == 2:
            pair = (owners[0], owners[1])
            pairs[pair] = pairs.get(pair, 1.0) * selectivity(condition, distinct, known)
    return best_plan(JoinQuery(sources, pairs, JoinCost(insert=seconds, probe=seconds, result=2 * seconds)))
