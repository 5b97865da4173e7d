"""What the running queries of a checkpoint show at the last instant that they answered, as a table each.

A query's answer is read where its state has it: groups with their values, panes of a synopsis, values of a DISTINCT,
the rows of windows that joins and shown windows keep. What stands above those (conditions, joins, the first k) is
worked out anew over them, all of them entering at that instant. No stream is read again, and no state is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.aggregates.user_defined import PREFIX, name_of
from muntin.core.batch import Batch, forever
from muntin.core.calendar import nominal
from muntin.core.schema import Schema
from muntin.core.time import FOREVER
from muntin.dataflow.durable import DurablePlan
from muntin.dataflow.fillable import AGGREGATES
from muntin.dataflow.graph import Graph, QueryPlan, column_name
from muntin.dataflow.routes import Everywhere, Here, Route, Split
from muntin.dataflow.sharing.rules import shared_graph
from muntin.engine.rows import result_rows
from muntin.local.marks import answered_before
from muntin.operators.compute import Compute
from muntin.operators.context import Context
from muntin.operators.distinct import Distinct
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joining_in import JoiningIn
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.narrow import Narrow
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Materialize
from muntin.operators.merge import Merge
from muntin.operators.net import Net, net
from muntin.operators.reader import Reader
from muntin.operators.repeat import Repeat
from muntin.operators.shared_rows import SharedRows
from muntin.operators.synopsis import Synopsis
from muntin.operators.top_rows import TopRows
from muntin.plan.exprs import USER
from muntin.plan.patterns import Pattern
from muntin.plan.user_functions import ScalarFunction, user_calls, with_code
from muntin.plan.windows import Ticks
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import Snapshot
from muntin.state.window_rows import valid_rows

ANEW = (
    Compute, Merge, Net, Narrow, Repeat, TopRows, Distinct, WindowJoin, GraphJoin, Materialize, Reader, GroupAggregate,
    JoiningIn,
)  # fmt: skip
"""Operators whose answer at an instant is a function of the rows that are valid then."""


class NotHeld(Exception):
    """Why a query's answer is not held."""


@dataclass(frozen=True)
class Running:
    """The queries of a durable plan as tables. ``graph``: of all of them; ``roots``: by name their vertex there."""

    plans: dict[str, QueryPlan]
    graph: Graph

    @staticmethod
    def of(plan: DurablePlan, functions: Sequence[ScalarFunction] = ()) -> Running:
        """Those that this release can read. ``functions``: users' own, whose code no checkpoint has."""
        code = {(USER + f.name, f.identity): f for f in functions}
        plans = {n: replace(p, vertices=with_code(p.vertices, code)) for n, p in plan.named.items()}
        return Running(plans, shared_graph(list(plans.values())))

    @cached_property
    def tables(self) -> dict[str, Schema]:
        """By name of a query the columns of its answer: its own, and those that are made of the instant."""
        return {n: answer_schema(p) for n, p in self.plans.items()}

    def root(self, name: str) -> int:
        """The vertex that gives a query's answer."""
        return self.graph.roots[list(self.plans).index(name)]

    def vertices(self, name: str) -> frozenset[str]:
        """The ids of the vertices whose state a query's answer is read from."""
        wanted = {self.root(name)}
        for number in reversed(range(len(self.graph.vertices))):
            if number in wanted:
                wanted |= {e.vertex for e in self.graph.vertices[number].inputs}
        return frozenset(self.graph.vertices[i].id for i in wanted if self.graph.vertices[i].op.stateful)

    def mark(self, name: str, held: Snapshot) -> int:
        """The instants before it are answered by the query (NEVER: none)."""
        marks = [answered_before(held, i, self.graph.vertices[self.root(name)].streams) for i in self.vertices(name)]
        return min(marks)

    def rows(self, name: str, held: Snapshot) -> tuple[Batch, int]:
        """As ``answer``, in the columns of the query's last vertex and without signs that cancel."""
        plan, at = self.plans[name], self.mark(name, held) - 1
        instant = at if plan.ticks is None else last_tick(plan.ticks, at)
        made = _Evaluation(self.graph, held, at, instant).of(self.root(name))
        return made if made.sign is None else _left(made), instant

    def answer(self, name: str, held: Snapshot) -> tuple[pa.RecordBatch, int]:
        """What a query shows in a version of the state, in ``tables[name]``, and the instant that this is of: the last
        one that it answered. Raises NotHeld. Cost: what it shows, and the windows of joins above which nothing is kept.
        """
        plan = self.plans[name]
        made, instant = self.rows(name, held)
        if plan.shows_op:
            made = Batch(made.columns, made.ts, made.exp, np.ones(len(made), np.int8))
        shown = result_rows(plan, made)
        schema = self.tables[name].to_arrow()
        return pa.RecordBatch.from_arrays(shown.columns[: len(schema)], schema=schema), instant


def _left(rows: Batch) -> Batch:
    """The rows that no other takes away."""
    rows = net(rows)
    assert rows.sign is not None
    return rows.where(rows.sign > 0)


def answer_schema(plan: QueryPlan) -> Schema:
    """The columns of an answer without those of time and of signs."""
    return Schema(plan.result_schema.fields[: len(plan.schema) + len(plan.edges)])


def last_tick(ticks: Ticks, at: int) -> int:
    """The last evaluation instant at or before a time."""
    back = 2 * max(map(nominal, ticks.slides))
    found = int(ticks.at_or_after(np.array([at - back]))[0])
    while (later := int(ticks.at_or_after(np.array([found + 1]))[0])) <= at:
        found = later
    return found


@dataclass
class _Evaluation:
    """The rows of vertices at ``at``, the last instant answered, seen as entering at ``instant``, the query's last."""

    graph: Graph
    held: Snapshot
    at: int
    instant: int
    made: dict[int, Batch] = field(default_factory=dict)

    def of(self, number: int) -> Batch:
        """The valid rows of a vertex. Raises NotHeld."""
        if number not in self.made:
            for way in (self._current, self._kept, self._anew):
                found = way(number)
                if found is not None:
                    self.made[number] = self._entering(number, found)
                    break
            else:
                raise NotHeld(self._why_not(number))
        return self.made[number]

    def _why_not(self, number: int) -> str:
        vertex = self.graph.vertices[number]
        if vertex.op.stateful and not self._in_time(number):
            return "its parts go by the time of different streams, or one of them waits"
        return f"{type(vertex.op).__name__} keeps nothing that gives its rows"

    def _entering(self, number: int, rows: Batch) -> Batch:
        sign = rows.sign
        if sign is None and self.graph.vertices[number].signed:
            sign = np.ones(len(rows), np.int8)
        return Batch(rows.columns, np.full(len(rows), self.instant, np.int64), forever(len(rows)), sign)

    def _current(self, number: int) -> Batch | None:
        """As an operator's own state has it."""
        vertex = self.graph.vertices[number]
        if not vertex.op.stateful or not self._in_time(number):
            return None
        self._code_is_there(number)
        none = [Batch.empty(self.graph.vertices[e.vertex].schema, self.graph.vertices[e.vertex].signed)
                for e in vertex.inputs]  # fmt: skip
        found = []
        for state in self._states(vertex.id, self._repeated(number)):
            part = vertex.op.current(none, state, self.at, self._context(number))
            if part is None:
                return None
            found.append(part)
        if not found:
            return None
        whole = Batch.concat(found)
        if isinstance(vertex.op, Synopsis | CountedJoin | SharedRows):  # whose readers find their rows by window
            window = whole.columns.column(whole.columns.num_columns - 1).to_numpy()
            whole = whole.take(np.argsort(window, kind="stable"))
        return whole

    def _kept(self, number: int) -> Batch | None:
        """As an operator that reads it keeps it."""
        vertex = self.graph.vertices[number]
        for reader, place in self._readers(number):
            structure = self._structure(reader, place)
            if structure is None or not self._in_time(reader):
                continue
            above = self.graph.vertices[reader]
            first = sum(len(self.graph.vertices[e.vertex].types) for e in above.inputs[:place])
            names = [column_name(first + i) for i in range(len(vertex.types))]
            schema = pa.schema([pa.field(n, t) for n, t in zip(names, vertex.types, strict=True)])
            everywhere = self._everywhere(number, above.inputs[place].route)
            states = list(self._states(above.id, everywhere))
            if not states or any(s.list(f"{structure}.spread") for s in states):
                continue
            found = Batch.concat([Batch.empty(schema, vertex.signed)] + [
                b for s in states if len(b := valid_rows(s, structure, schema, self.at))
            ])  # fmt: skip
            columns = found.columns.rename_columns(vertex.schema.names) if names else found.columns
            return found.with_columns(columns)
        return None

    def _anew(self, number: int) -> Batch | None:
        """Worked out from its inputs."""
        vertex = self.graph.vertices[number]
        match vertex.op:
            case GroupAggregate(aggs=aggs) if len(vertex.inputs) != 1 or any(a.base not in AGGREGATES for _, a in aggs):
                return None
            case GraphJoin(origins=origins, passing=passing) if origins is not None or passing:
                return None
            case WindowJoin() | GraphJoin() if any(s.silent for s in self.graph.streams if s.name in vertex.streams):
                return None
        if not isinstance(vertex.op, ANEW):
            return None
        for call in user_calls(vertex.op):
            if call.code is None:
                raise NotHeld(
                    f"the code of function {call.fn.removeprefix(USER)} (version {call.version}) is in no checkpoint; "
                    "register the function where you ask (session.function, or --job with [functions])"
                )
        inputs = [self.of(e.vertex) for e in vertex.inputs]
        return vertex.op.step(inputs, ShardState(), self._context(number))

    def _readers(self, number: int) -> Iterator[tuple[int, int]]:
        for reader, vertex in enumerate(self.graph.vertices):
            for place, edge in enumerate(vertex.inputs):
                if edge.vertex == number and not isinstance(edge.route, Split):
                    yield reader, place

    def _structure(self, reader: int, place: int) -> str | None:
        """Where a vertex keeps the valid rows of an input."""
        vertex = self.graph.vertices[reader]
        source = vertex.inputs[place].vertex
        match vertex.op:
            case WindowJoin():
                return f"in{place}"
            case GraphJoin(origins=None, passing=passing) if place not in passing:
                return f"in{place}"
            case Materialize(emit=emit) if place == 0 and not self.graph.vertices[source].signed:
                return "rows" if emit == "snapshots" or self._pattern(source) in (Pattern.WKS, Pattern.WK) else None
        return None

    def _pattern(self, number: int) -> Pattern:
        vertex = self.graph.vertices[number]
        return vertex.op.pattern([self._pattern(e.vertex) for e in vertex.inputs])

    def _everywhere(self, number: int, route: Route) -> bool:
        """Whether every shard has all rows that come to it this way."""
        return isinstance(route, Everywhere) or (isinstance(route, Here) and self._repeated(number))

    def _repeated(self, number: int) -> bool:
        """Whether every shard works out the same rows: a join of which one input is spread does not."""
        inputs = self.graph.vertices[number].inputs
        return bool(inputs) and all(self._everywhere(e.vertex, e.route) for e in inputs)

    def _states(self, id: str, everywhere: bool) -> Iterator[ShardState]:
        """Copies of the states of a vertex; one of them where all have the same rows."""
        for shard, state in self.held.of(id).items():
            if shard == 0 or not everywhere:
                yield ShardState({n: list(c) for n, c in state.chunks.items()}, deepcopy(state.heads))

    def _in_time(self, number: int) -> bool:
        """Whether the state of a vertex is that of the instant asked for: it goes by the same streams, and waits for
        nothing."""
        vertex = self.graph.vertices[number]
        return answered_before(self.held, vertex.id, vertex.streams) == self.at + 1

    def _code_is_there(self, number: int) -> None:
        op = self.graph.vertices[number].op
        if isinstance(op, GroupAggregate):
            own = [name_of(a.fn) for _, a in op.aggs if a.fn.startswith(PREFIX)]
            lacking = [n for n in own if n not in self.graph.functions]
            if lacking:
                raise NotHeld(f"the code of aggregate {lacking[0]} is not in the checkpoint")

    def _context(self, number: int) -> Context:
        fifo = (False,) * len(self.graph.vertices[number].inputs)
        now = self.instant
        return Context(now, now + 1, FOREVER, now, None, None, fifo=fifo, functions=self.graph.functions)
