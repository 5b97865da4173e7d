"""Which queries run in a batch, where a run has a budget: decided by the driver, read by the tasks of the batch.

The update of the document's schedulers is a batch here: a query is due in every batch, and late by as many batches as
it has waited. The decision of a batch is written before its tasks start and never changes, so that a batch which is
repeated, by Spark or after a crash, decides the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from muntin.dataflow.graph import Graph
from muntin.dataflow.sharing.slices import last_slices
from muntin.engine.deferral import settled
from muntin.operators.joins.slices import slices_of
from muntin.scheduling.budget import affordable
from muntin.scheduling.deadlines import Agenda, Sharing
from muntin.scheduling.slice_budget import share_done, within_budget
from muntin.scheduling.slices import sizes_of
from muntin.spark import files
from muntin.spark.counts import Report
from muntin.spark.metrics import PIPELINE, Metrics
from muntin.spark.spec import PipelineSpec

T = TypeVar("T")

DIRECTORY = ".due"

OWES = "owes"
"""First word of a counter of a report: the query of that signature waits, and has answers to give."""

NEWEST = 0.5
"""Weight of the newest batch in what an operator is expected to take."""


def by_priority(spec: PipelineSpec, queries: Iterable[tuple[int, T]]) -> list[tuple[int, T]]:
    """What belongs to queries, by number, in the order in which they are served."""
    return sorted(queries, key=lambda q: -spec.queries[q[0]].options.priority)


def decision(spec: PipelineSpec, batch: int) -> frozenset[int]:
    """The queries that wait in a batch, by number."""
    assert spec.store is not None
    raw = files.read(files.join(spec.store, DIRECTORY, f"{batch}.json")) if spec.budgeted else None
    wished = [] if raw is None else json.loads(raw)
    numbers = {s: n for n, s in enumerate(spec.signatures)}
    return settled(spec.graph, [numbers[s] for s in wished if s in numbers])


@dataclass
class Budget:
    """The decisions of a run. ``seconds``: how long a batch may take; ``partitions``: what runs at a time;
    ``sharing``: with whom the query runs that has waited longest.

    ``everybody``: nobody waits (what a change of the queries, or the end, waits for).
    """

    seconds: float
    partitions: int
    sharing: Sharing = "late_pending"
    everybody: bool = False
    waits: frozenset[str] = frozenset()
    """Who waits in the batch under way, by signature."""
    held: frozenset[str] = frozenset()
    """Who waited in the last batch that has ended."""
    left: Mapping[str, int] = field(default_factory=dict)
    """Of these the ones that owe answers, with the batches that they have waited."""
    _work: dict[str, float] = field(default_factory=dict)
    _idle: bool = False
    """Whether no rows came in the last batch: all that waits for slices of a join then has its turn."""
    _beside: float = 0.0
    """Seconds of a batch beside the operators."""

    def decide(self, spec: PipelineSpec, batch: int) -> None:
        """Say who waits in a batch, unless that is said already, and leave it where the tasks look."""
        assert spec.store is not None
        path = files.join(spec.store, DIRECTORY, f"{batch}.json")
        raw = files.read(path)
        wait = [] if self.everybody else [spec.signatures[q] for q in self.choose(spec)]
        if raw is None:
            files.make_dirs(files.join(spec.store, DIRECTORY))
            files.write_atomically(path, json.dumps(sorted(wait)).encode())
        files.delete(files.join(spec.store, DIRECTORY, f"{batch - spec.retain}.json"))
        waiting = decision(spec, batch)
        self.waits = frozenset(spec.signatures[n] for n in waiting)

    def choose(self, spec: PipelineSpec) -> frozenset[int]:
        """Who waits in the next batch: by what the operators took in the last batches, the sharing asked for,
        priorities among those that are equally late. Nobody where operators have not run yet."""
        graph, n = spec.graph, len(spec.signatures)
        stateful = [graph.vertices[v].id for v in graph.stateful]
        if n < 2 or any(id not in self._work for id in stateful):
            return frozenset()
        waited = np.array([self.left.get(s, 0) for s in spec.signatures], np.int64)
        known = Agenda(
            -waited, np.full(n, -1, np.int64), np.ones(n, np.int64), np.array(groups_of(graph), np.int64),
            np.array([p.options.priority for p in graph.plans], np.int64),
        )  # fmt: skip

        def cost(due: frozenset[int]) -> float:
            found = 0.0
            for v in graph.stateful:
                if graph.used_by[v] & due:
                    found += self._work[graph.vertices[v].id] * _owed(graph, v, due, waited)
            return found / self.partitions

        always = sum(s for id, s in self._work.items() if id not in stateful) / self.partitions
        left = self.seconds - self._beside - always
        due = affordable(known, 0, cost, left, self.sharing)
        due = _by_slices(graph, due, cost, float("inf") if self._idle else left)
        return settled(graph, [q for q in range(n) if q not in due])

    def told(self, found: Mapping[str, Metrics]) -> dict[str, Metrics]:
        """The numbers of a batch by signature, with how long each query has waited."""
        return {s: replace(m, waited=self.left.get(s, 0)) for s, m in found.items()}

    def note(
        self, spec: PipelineSpec, found: Mapping[str, float], reports: Sequence[Report], seconds: float
    ) -> None:
        """What the batch under way did, which lasted so long: by operator the seconds, of all shards together, and the
        reports."""
        waited = np.array([self.left.get(s, 0) for s in spec.signatures], np.int64)
        told = {name for r in reports for name in r.get(PIPELINE, {}) if name.startswith(f"{OWES} ")}
        self._idle = not any(r.get(PIPELINE, {}).get("rows") for r in reports)
        self.held = self.waits
        self.left = {s: self.left.get(s, 0) + 1 for s in sorted(self.waits) if f"{OWES} {s}" in told}
        waiting = frozenset(n for n, s in enumerate(spec.signatures) if s in self.waits)
        for v, vertex in enumerate(spec.graph.vertices):
            if vertex.id in found and not (waiting and spec.graph.used_by[v] <= waiting):
                took = found[vertex.id]
                if slices_of(vertex.op) is not None:  # what all of its slices would have taken
                    took /= _owed(spec.graph, v, spec.graph.used_by[v] - waiting, waited)
                self._work[vertex.id] = NEWEST * took + (1 - NEWEST) * self._work.get(vertex.id, took)
        beside = max(0.0, seconds - sum(found.values()) / self.partitions)
        self._beside = NEWEST * beside + (1 - NEWEST) * (self._beside or beside)


def _owed(graph: Graph, number: int, due: frozenset[int], waited: NDArray[np.int64]) -> float:
    """For how many batches an operator has to run when these queries are due, in what it takes for one batch."""
    users, slices = sorted(graph.used_by[number]), slices_of(graph.vertices[number].op)
    if slices is None:
        return 1 + min(int(waited[u]) for u in users)
    ends = last_slices(graph, number)
    last = [ends[u] for u in users]
    those = frozenset(i for i, u in enumerate(users) if u in due)
    return share_done(sizes_of(slices.ends), last, those, [int(waited[u]) for u in users])


def _by_slices(
    graph: Graph, due: frozenset[int], cost: Callable[[frozenset[int]], float], budget: float
) -> frozenset[int]:
    """Who runs: of the queries of a join that is done slice by slice those whose turn it is by its policy."""
    for number, vertex in enumerate(graph.vertices):
        slices = slices_of(vertex.op)
        if slices is not None:
            last = last_slices(graph, number)
            users, beside = sorted(last), due - last.keys()

            def together(
                served: frozenset[int], users: list[int] = users, beside: frozenset[int] = beside
            ) -> float:
                return cost(beside | {users[i] for i in served})

            order = slices.order()
            served = within_budget(order, [last[u] for u in users], together, budget)
            due = beside | {users[i] for i in served}
    return due


def groups_of(graph: Graph) -> list[int]:
    """By query the number of its group: queries that share an operator which remembers something, directly or through
    others, are of one."""
    root = list(range(len(graph.plans)))

    def find(query: int) -> int:
        while root[query] != query:
            query = root[query]
        return query

    for v in graph.stateful:
        first, *others = sorted(graph.used_by[v])
        for query in others:
            root[find(query)] = find(first)
    return [find(query) for query in range(len(root))]
