"""What EXPLAIN knows, as data: text, JSON, DOT and SVG render the same record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from muntin.dataflow.choose_state import structure_of
from muntin.dataflow.explain_edges import patterns_of
from muntin.dataflow.explain_joins import join_lines
from muntin.dataflow.explain_measure import Counter, Measured
from muntin.dataflow.explain_words import input_text, op_text
from muntin.dataflow.stage import DerivedInput, PhysicalQuery, Stage
from muntin.optimizer import Optimized, Statistics, optimize
from muntin.optimizer.cost import Strategy, operator_cost, settled, strategy_of, total
from muntin.optimizer.estimate import flow_of
from muntin.optimizer.plan_text import Show, node_text
from muntin.plan.nodes import BoundQuery, Node
from muntin.plan.patterns import Pattern, pattern


@dataclass(frozen=True)
class LogicalLine:
    """A logical node: depth in the tree, text, pattern, estimated rows per second and at a time, steps per second."""

    depth: int
    text: str
    pattern: Pattern
    rate: float
    rows: float
    cost: float


@dataclass(frozen=True)
class Value:
    """A value of a stage: an input, or an operator's result. ``takes``: the (stage, value) numbers that it is made of.

    ``state``: what the operator keeps its rows in, "" for nothing.
    """

    number: int
    is_input: bool
    text: str
    takes: tuple[tuple[int, int], ...]
    pattern: Pattern
    state: str
    measured: Counter | None = None
    join: tuple[str, ...] = ()
    """What a join measured, and its orders."""


@dataclass(frozen=True)
class StageRecord:
    """A stage: its values, the numbers of those that it emits by port, and the columns of the first."""

    number: int
    values: tuple[Value, ...]
    ports: tuple[int, ...]
    columns: tuple[str, ...]
    last: bool


@dataclass(frozen=True)
class Explained:
    """Everything about one query. ``costs``: the optimized plan's steps per second by strategy."""

    query: BoundQuery
    physical: PhysicalQuery
    optimized: Optimized
    logical: tuple[LogicalLine, ...]
    rewritten: tuple[LogicalLine, ...]
    costs: dict[str, float]
    stages: tuple[StageRecord, ...]
    measured: Measured | None


def explained(
    query: BoundQuery,
    physical: PhysicalQuery,
    show: Show,
    statistics: Statistics | None = None,
    measured: Measured | None = None,
) -> Explained:
    """The record of a bound query and of its physical plan, with what a run measured if there was one."""
    known = statistics or Statistics()
    query = settled(query, known)
    found = optimize(query, known)
    strategy = strategy_of(query)
    costs = {s.value: total(found.query.root, known, s) for s in Strategy}
    return Explained(
        query, physical, found,
        tuple(_lines(query.root, show, known, strategy)), tuple(_lines(found.query.root, show, known, strategy)),
        costs, tuple(_stages(physical, show, measured)), measured,
    )  # fmt: skip


def _lines(node: Node, show: Show, known: Statistics, strategy: Strategy, depth: int = 0) -> Iterator[LogicalLine]:
    flow = flow_of(node, known)
    cost = operator_cost(node, known, strategy)
    yield LogicalLine(depth, node_text(node, show), pattern(node), flow.rate, flow.size, cost)
    for child in node.inputs:
        yield from _lines(child, show, known, strategy, depth + 1)


def _stages(physical: PhysicalQuery, show: Show, measured: Measured | None) -> Iterator[StageRecord]:
    for number, (stage, patterns) in enumerate(zip(physical.stages, patterns_of(physical), strict=True)):
        values = []
        for i, source in enumerate(stage.inputs):
            takes: tuple[tuple[int, int], ...] = ()
            if isinstance(source, DerivedInput):
                takes = ((source.stage, physical.stages[source.stage].emitted()[source.port]),)
            values.append(Value(i, True, input_text(source, show), takes, patterns[i], ""))
        for k, (op, args) in enumerate(zip(stage.ops, stage.arguments(), strict=True)):
            here = len(stage.inputs) + k
            state = structure_of(op, [patterns[a] for a in args])
            counter = None if measured is None else measured.of(number, k)
            takes = tuple((number, a) for a in args)
            join = _join_lines(stage, number, k, measured)
            values.append(Value(here, False, op_text(op, show), takes, patterns[here], state, counter, join))
        last = number == len(physical.stages) - 1
        yield StageRecord(number, tuple(values), stage.emitted(), stage.schema.names, last)


def _join_lines(stage: Stage, number: int, k: int, measured: Measured | None) -> tuple[str, ...]:
    """What the run measured of a join whose arguments are the stage's inputs or operators."""
    found = None if measured is None else measured.joins.get((number, k))
    if found is None:
        return ()
    args = stage.arguments()[k]
    inputs = [stage.inputs[a] if a < len(stage.inputs) else None for a in args]
    return join_lines(found, inputs)


def to_json(record: Explained) -> dict[str, Any]:
    """The record as plain values for ``json.dumps``."""
    ticks = record.physical.ticks
    run = record.measured
    found: dict[str, Any] = {
        "query": record.query.text.strip(),
        "options": asdict(record.query.options),
        "logical": [_line(x) for x in record.logical],
        "rules": [{"rule": s.rule, "cost": s.cost} for s in record.optimized.steps],
        "optimized": [_line(x) for x in record.rewritten],
        "cost": record.costs,
        "instants": "every change" if ticks is None else {"slides": list(ticks.slides), "origins": list(ticks.origins)},
        "stages": [_stage(s) for s in record.stages],
    }
    if run is not None:
        found["measured"] = {"batches": run.batches, "results": run.results, "seconds": run.seconds}
    return found


def _line(line: LogicalLine) -> dict[str, Any]:
    return asdict(line) | {"pattern": line.pattern.name}


def _stage(stage: StageRecord) -> dict[str, Any]:
    values = []
    for v in stage.values:
        value: dict[str, Any] = {"value": v.number, "kind": "input" if v.is_input else "operator", "text": v.text}
        value |= {"from": [{"stage": s, "value": n} for s, n in v.takes], "pattern": v.pattern.name}
        value |= {"state": v.state} if v.state else {}
        value |= {"measured": asdict(v.measured)} if v.measured is not None else {}
        value |= {"join": list(v.join)} if v.join else {}
        values.append(value)
    return {"stage": stage.number, "values": values, "ports": list(stage.ports), "columns": list(stage.columns)}
