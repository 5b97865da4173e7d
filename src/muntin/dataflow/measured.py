"""What a pipeline's state says of its data, for the plans of new queries (thesis 3.5.3: costs need statistics).

Rates come from the clocks of the sources, distinct values from what groups, DISTINCT and joins of three or more inputs
keep. They decide how a new query is laid out and by which strategy it runs, never what it answers; a query that is
there already goes on with the statistics that it was planned with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.routes import Keyed
from muntin.operators.compute import Compute
from muntin.operators.distinct import Distinct
from muntin.operators.endless import Endless
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.join_statistics import STATISTICS, JoinStatistics, distinct_of
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Materialize
from muntin.operators.operator import Operator
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import TRUE, Call, Column, Expr, conjuncts
from muntin.state.shard_state import ShardState


class Kept(NamedTuple):
    """What a vertex keeps on a shard: heads, and the metadata of its chunks by structure."""

    vertex: str
    heads: Mapping[str, Any]
    chunks: Mapping[str, list[Mapping[str, int]]]


Values = dict[tuple[str, str], float]
"""Distinct values by (stream, column), in lower case."""


def kept_of(cells: Mapping[str, ShardState]) -> list[Kept]:
    """Cells by name (vertex/shard) as ``measured`` takes them."""
    return [
        Kept(name.rpartition("/")[0], state.heads, {n: [c.meta for c in cs] for n, cs in state.chunks.items()})
        for name, state in cells.items()
    ]


def measured(
    plans: Iterable[QueryPlan], kept: Iterable[Kept], clocks: Mapping[str, Mapping[str, Any]]
) -> Statistics:
    """The statistics of a pipeline of ``plans``; ``clocks``: of its sources by stream, as they are stored.

    Distinct values are those that the windows held: where several say of one column, the most.
    """
    places = {v.id: (p, i) for p in plans for i, v in enumerate(p.vertices)}
    by_shard: dict[tuple[str, tuple[str, str], bool], list[float]] = {}
    for cell in kept:
        if cell.vertex in places:
            for column, count, apart in _values(*places[cell.vertex], cell):
                by_shard.setdefault((cell.vertex, column, apart), []).append(count)
    found: Values = {}
    for (_, column, apart), values in by_shard.items():
        found[column] = max(found.get(column, 1.0), round(sum(values) if apart else max(values), 1))
    rates = {n.lower(): float(r) for n, c in clocks.items() if (r := c.get("rate", 0.0)) > 0}
    steps = [float(step) for c in clocks.values() if (step := c.get("step", 0.0)) > 0]
    return Statistics(rates, distinct=found, step=min(steps, default=Statistics.step))


Found = tuple[tuple[str, str], float, bool]
"""A column, its distinct values on a shard, and whether other shards have others."""


def _values(plan: QueryPlan, at: int, cell: Kept) -> Iterator[Found]:
    """Columns of streams with the distinct values that a vertex knows of on this shard."""
    vertex = plan.vertices[at]
    match vertex.op:
        case GroupAggregate(groups=((_, Column(name)),)):
            runs = cell.chunks.get("groups", [])
            yield from _of(plan, vertex.inputs[0].vertex, name, runs[-1]["alive"] if runs else 0)
        case Distinct() if len(vertex.schema) == 1:
            yield from _of(plan, at, "c0", sum(c["n"] for c in cell.chunks.get("shown", [])))
        case GraphJoin() | WindowJoin() if STATISTICS in cell.heads:
            keys = _key_columns(vertex.op)
            for (number, i), values in distinct_of(JoinStatistics(**cell.heads[STATISTICS])).items():
                if (number, i) in keys:
                    yield from _of(plan, at, keys[number, i], values, _spread_by(plan, at, keys[number, i], i))


def _of(plan: QueryPlan, at: int, name: str, values: float, apart: bool = True) -> Iterator[Found]:
    column = column_of(plan, at, name)
    if column is not None and values > 0:
        yield column, float(values), apart


def _spread_by(plan: QueryPlan, join: int, name: str, i: int) -> bool:
    """Whether rows of input i of a join are spread over shards by the column, and not by another or to all of them."""
    inputs = [e.vertex for e in plan.vertices[join].inputs]
    number = int(name[1:]) - sum(len(plan.vertices[v].schema) for v in inputs[:i])
    return any(e.route == Keyed((f"c{number}",)) for e in plan.vertices[inputs[i]].inputs)


def _key_columns(op: Operator) -> dict[tuple[int, int], str]:
    """The output column of each (class, input) of a join."""
    match op:
        case GraphJoin(classes=classes):
            return {(n, i): name for n, members in enumerate(classes) for i, name in members}
        case WindowJoin(keys=keys) if len(keys[0]) == 1:
            return {(0, i): names[0] for i, names in enumerate(keys)}
    return {}


def column_of(plan: QueryPlan, at: int, name: str) -> tuple[str, str] | None:
    """The stream's column that a vertex's column ``name`` is, where every row of the stream gets there."""
    vertex = plan.vertices[at]
    below = [e.vertex for e in vertex.inputs]
    match vertex.op:
        case Source(stream, keep, columns) if _keeps_values(keep):
            e = dict(columns).get(name)
            return (stream.name.lower(), e.name.lower()) if isinstance(e, Column) else None
        case TimeWindow() | Materialize() | Endless() | Distinct():
            return column_of(plan, below[0], name)
        case Compute(predicate, columns) if _keeps_values(predicate):
            made: Expr | None = Column(name, vertex.schema.field(0).type) if columns is None else dict(columns)[name]
            return column_of(plan, below[0], made.name) if isinstance(made, Column) else None
        case GraphJoin() | WindowJoin():
            number = int(name[1:])
            for v in below:
                width = len(plan.vertices[v].schema)
                if number < width:
                    return column_of(plan, v, f"c{number}")
                number -= width
    return None


def _keeps_values(predicate: Expr) -> bool:
    """Whether at most rows with a NULL fail it, as before a join."""
    return predicate == TRUE or all(isinstance(c, Call) and c.fn == "is_not_null" for c in conjuncts(predicate))
