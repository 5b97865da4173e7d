"""EXPLAIN: logical plan with update patterns, the rules that fired, the plan that they made, and its stages.

``explain`` gives text for people; ``explain_as`` also JSON, DOT and SVG of the same record. EXPLAIN ANALYZE is the same
with counters of a run (``explain_measure``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal as OneOf
from typing import get_args

from muntin.core.errors import ConfigError
from muntin.core.spans import span_text
from muntin.dataflow.explain_dot import to_dot
from muntin.dataflow.explain_measure import Counter, Measured
from muntin.dataflow.explain_record import Explained, LogicalLine, StageRecord, Value, explained, to_json
from muntin.dataflow.explain_svg import to_svg
from muntin.dataflow.stage import PhysicalQuery
from muntin.engine.shard import pane_of
from muntin.optimizer import Statistics
from muntin.optimizer.plan_text import Show, spark_text
from muntin.plan.nodes import BoundQuery

Form = OneOf["text", "json", "dot", "svg"]
FORMS: tuple[str, ...] = get_args(Form)


def explain(query: BoundQuery, physical: PhysicalQuery, show: Show | None = None) -> str:
    """The plan as text. ``show`` renders expressions (default: as Spark SQL)."""
    return explain_as("text", query, physical, show=show)


def explain_as(
    form: str,
    query: BoundQuery,
    physical: PhysicalQuery,
    *,
    show: Show | None = None,
    statistics: Statistics | None = None,
    measured: Measured | None = None,
) -> str:
    """The plan in a form: text, json, dot or svg. ``measured``: what a run counted. Raises ConfigError for another."""
    if form not in FORMS:
        raise ConfigError(f"--format {form!r}: it is one of {', '.join(FORMS)}")
    record = explained(query, physical, show or spark_text, statistics, measured)
    match form:
        case "json":
            return json.dumps(to_json(record), indent=2, default=str)
        case "dot":
            return to_dot(record)
        case "svg":
            return to_svg(record)
        case _:
            return "\n".join(_text(record))


def _text(record: Explained) -> Iterator[str]:
    yield "Logical plan"
    yield from _plain_lines(record.logical)
    steps = record.optimized.steps
    yield ""
    yield "Rules that fired: " + (_fired(s.rule for s in steps) or "none")
    yield ""
    yield "Optimized plan" if steps else "Estimated traffic"
    yield from _costed_lines(record.rewritten)
    strategy = record.query.options.strategy
    others = ", ".join(f"{s} {_count(c)}" for s, c in record.costs.items() if s != strategy)
    yield f"  estimated cost: {_count(record.costs[strategy])} steps/s under strategy {strategy} ({others})"
    yield ""
    yield "Physical plan"
    yield from _heads(record)
    for stage in record.stages:
        yield from _stage(stage, record.measured)


def _fired(rules: Iterable[str]) -> str:
    """The rules in order; one that fired several times in a row once."""
    return ", ".join(rule for rule, _ in groupby(rules))


def _plain_lines(lines: tuple[LogicalLine, ...]) -> Iterator[str]:
    for x in lines:
        yield f"  {'  ' * x.depth}{x.text}  [{x.pattern.name}]"


def _costed_lines(lines: tuple[LogicalLine, ...]) -> Iterator[str]:
    for x in lines:
        numbers = f"{_count(x.rate)} rows/s, {_count(x.rows)} rows, {_count(x.cost)} steps/s"
        yield f"  {'  ' * x.depth}{x.text}  [{x.pattern.name}]  {numbers}"


def _heads(record: Explained) -> Iterator[str]:
    ticks = record.physical.ticks
    if ticks is not None:
        yield "  answers every " + " and every ".join(span_text(s) for s in ticks.slides) + (
            f", on the clock of {ticks.zone}" if ticks.zone else ""
        )
    else:
        yield "  answers at every change"
    pane = pane_of(record.physical)
    yield "  panes merged " + (f"every {span_text(pane)} of event time" if pane else "by size (no window ends)")
    run = record.measured
    if run is not None:
        yield f"  measured: {run.batches} batches, {run.results} result rows, {run.seconds:.3f} s"


def _stage(stage: StageRecord, run: Measured | None) -> Iterator[str]:
    spent = "" if run is None else f"  ({run.stage_seconds(stage.number):.3f} s)"
    yield f"  Stage {stage.number}{spent}"
    for value in stage.values:
        yield from _value(stage, value)
    name = "result: " if stage.last else ""
    ports = ", ".join(f"#{p}" for p in stage.ports)
    yield f"    out  {ports}  {name}{', '.join(stage.columns)}"


def _value(stage: StageRecord, value: Value) -> Iterator[str]:
    takes = ", ".join(f"#{n}" for s, n in value.takes if s == stage.number)
    source = f" <- {takes}" if takes else ""
    word = "in   " if value.is_input else ""
    yield f"    #{value.number}{source}  {word}{value.text}  [{value.pattern.name}]"
    if value.state:
        yield f"           state: {value.state}"
    if value.measured is not None:
        yield f"           measured: {measured_text(value.measured)}"
    yield from (f"           {line}" for line in value.join)


def measured_text(c: Counter) -> str:
    """A counter in words."""
    negative = f" ({c.negative} negative)" if c.negative else ""
    kept = f", state {c.state} rows (peak {c.peak})" if c.peak else ""
    return f"{c.rows_in} rows in, {c.rows_out} out{negative}{kept}, {c.calls} calls, {c.seconds:.4f} s"


def _count(x: float) -> str:
    """A number to three digits, as people read it."""
    if x >= 1e6:
        return f"{x:.2e}"
    return f"{x:,.0f}" if x >= 10 else f"{x:.2g}"
