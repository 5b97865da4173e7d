"""The engines' own choice: what the optimizer decides for the query's text and the statistics of its windows, by the
costs of the thesis' structures (``structure_costs``).

They settle the strategy, the plan (Query 4: negation above or below the join) and the structure of the edge in which
the engines differ; this module measures the statistics and says which engine that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.optimizer import Optimized, Strategy, optimize
from muntin.plan.nodes import BoundQuery, Distinct, Join, SemiJoin, SetOp, walk
from muntin.plan.windows import QueryOptions
from muntin.research.engines.engine import DIRECT, NT, PARTITIONS, UPA, Engine
from muntin.research.engines.structure_costs import cheapest, structure_of, total
from muntin.research.engines.structures import Structure, StructureStatistics
from muntin.research.engines.workload import Trace
from muntin.research.product import catalog

SAMPLES = 48
"""Windows that statistics are taken from."""
CALENDARS = (10, 50, 250)
"""Numbers of partitions that a calendar queue may have."""
STREAMS = catalog(s0="source pair protocol", s1="source pair protocol", s2="source pair protocol")
MEET = "(a.source = b.source)"


@dataclass(frozen=True)
class Question:
    """``text``: CQL with a place for the window's seconds. ``column``: whose values count; ``protocol``: the one that
    ``text`` selects on the links ``selected``."""

    text: str
    column: str = "source"
    protocol: int | None = None
    selected: tuple[int, ...] = ()

    def rows(self, counts: Counts, link: int) -> NDArray[np.int64]:
        """Tuples by value that are left of a link in one window."""
        return (counts.kept if link in self.selected else counts.every)[link]


def join_question(protocol: int) -> Question:
    """Query 1."""
    both = f"{MEET} AND a.protocol = {protocol} AND b.protocol = {protocol}"
    text = f"SELECT a.source FROM s0 [RANGE {{0}} SECONDS] a, s1 [RANGE {{0}} SECONDS] b WHERE {both}"
    return Question(text, "source", protocol, (0, 1))


def distinct_question(column: str) -> Question:
    """Query 2."""
    return Question(f"SELECT DISTINCT {column} FROM s0 [RANGE {{0}} SECONDS]", column)


NEGATION = Question("SELECT source FROM s0 [RANGE {0} SECONDS] EXCEPT ALL SELECT source FROM s1 [RANGE {0} SECONDS]")
"""Query 3."""

NEGATION_AND_JOIN = Question(
    "SELECT a.source FROM s0 [RANGE {0} SECONDS] a, s1 [RANGE {0} SECONDS] b "
    f"WHERE {MEET} AND b.protocol = 1 AND NOT EXISTS "
    "(SELECT 1 FROM s2 [RANGE {0} SECONDS] c WHERE c.source = a.source)",
    "source",
    1,
    (1,),
)
"""Query 4."""


@dataclass(frozen=True)
class Counts:
    """Of the tuples of one window: tuples by link and value, those of the protocol, and distinct instants."""

    every: NDArray[np.int64]
    kept: NDArray[np.int64]
    instants: int

    @staticmethod
    def of(trace: Trace, window: int, column: str, protocol: int | None) -> list[Counts]:
        """Counts of ``SAMPLES`` windows spread over the trace, from the time on when the windows are full."""
        last = max(trace.ts[0], trace.ts[-1] - window)
        starts = np.linspace(min(trace.ts[0] + window, last), last, SAMPLES).astype(np.int64)
        return [Counts.at(trace, int(start), window, column, protocol) for start in starts]

    @staticmethod
    def at(trace: Trace, start: int, window: int, column: str, protocol: int | None) -> Counts:
        """Counts of the window that begins at ``start``."""
        part = slice(*(int(i) for i in np.searchsorted(trace.ts, [start, start + window])))
        values, link = getattr(trace, column)[part], trace.link[part]
        shape = (int(trace.link.max()) + 1, int(values.max(initial=0)) + 1)
        keep = np.ones(len(values), bool) if protocol is None else trace.protocol[part] == protocol

        def table(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(link[chosen] * shape[1] + values[chosen], minlength=shape[0] * shape[1]).reshape(shape)

        return Counts(table(np.ones(len(values), bool)), table(keep), len(np.unique(trace.ts[part])))


def statistics_of(trace: Trace, window: int, question: Question) -> StructureStatistics:
    """What the windows show: rates, instants, share of the protocol, and values.

    Of one link the values that a window has; of several how many even ones would meet as often as the rows do that the
    query's filters leave (the protocol and the source need not be independent).
    """
    samples = Counts.of(trace, window, question.column, question.protocol)
    every = np.mean([c.every.sum(axis=1) for c in samples], axis=0)
    kept = np.mean([c.kept.sum(axis=1) for c in samples], axis=0)
    links = [f"s{i}" for i in range(len(every))]
    values = [_values(samples, question, i) for i in range(len(every))]
    distinct = {(name, question.column): v for name, v in zip(links, values, strict=True)}
    shares = zip(links, every, kept, strict=True)
    distinct |= {(name, "protocol"): max(1.0, float(n) / max(float(k), 1e-9)) for name, n, k in shares}
    return StructureStatistics(
        {name: float(n) / window for name, n in zip(links, every, strict=True)},
        distinct=distinct,
        selectivities={MEET: 1 / _even(samples, question, 1)} if len(every) > 1 else {},
        instants=float(np.mean([c.instants for c in samples])) / window,
        chains=PARTITIONS,
    )


def _values(samples: Sequence[Counts], question: Question, link: int) -> float:
    if len(samples[0].every) == 1:
        return float(np.mean([(c.every[0] > 0).sum() for c in samples]))
    return _even(samples, question, max(link, 1))


def _even(samples: Sequence[Counts], question: Question, link: int) -> float:
    """Pairs of tuples of the first link and another for each pair with one value."""
    sides = [(question.rows(c, 0), question.rows(c, link)) for c in samples]
    pairs = sum(float(a.sum()) * float(b.sum()) for a, b in sides)
    return max(1.0, pairs / max(sum(float((a * b).sum()) for a, b in sides), 1.0))


def choose(question: Question, trace: Trace, window: int) -> Engine:
    """The engine that the optimizer's decision stands for, with the cheapest of the ``CALENDARS``."""
    query = bind(question.text.format(window), STREAMS, QueryOptions(granule=SECOND))
    known = statistics_of(trace, window, question)
    plans = [(_optimized(query, s), s) for s in (replace(known, partitions=p) for p in CALENDARS)]
    best, statistics = min(plans, key=lambda plan: plan[0].cost)
    return replace(engine_of(best, statistics), name="own")


def _optimized(query: BoundQuery, known: StructureStatistics) -> Optimized:
    """The plan under the cheapest strategy, each by the costs of the thesis' structures."""
    strategy = cheapest(query.root, known)
    chosen = replace(query, options=replace(query.options, strategy=strategy.value))
    return optimize(chosen, known, cost=lambda root: total(root, known, strategy))


def engine_of(plan: Optimized, statistics: StructureStatistics) -> Engine:
    """The engine that runs an optimized plan as the plan says."""
    strategy = Strategy(plan.query.options.strategy)
    edge = next(n for n in walk(plan.query.root) if isinstance(n, Join | Distinct | SetOp))
    if isinstance(edge, Join) and any(isinstance(n, SemiJoin) for n in walk(edge)):
        return replace(NT, down=True)  # what stands on a negation has negative tuples under every strategy
    structure = structure_of(edge, statistics, strategy)
    engines = {Structure.HASH: NT, Structure.LIST: DIRECT, Structure.CALENDAR: UPA}
    return replace(engines[structure], parts=statistics.partitions if structure is Structure.CALENDAR else PARTITIONS)
