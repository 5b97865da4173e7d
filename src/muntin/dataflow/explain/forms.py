"""EXPLAIN in its forms: text for people, JSON, DOT and SVG, all of one record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal as OneOf
from typing import get_args

from muntin.core.errors import ConfigError
from muntin.dataflow.explain.dot import to_dot
from muntin.dataflow.explain.plain import graph_to_plain, to_plain
from muntin.dataflow.explain.record import GraphRecord, explained, graph_record
from muntin.dataflow.explain.svg import to_svg
from muntin.dataflow.explain.text import graph_lines, query_lines
from muntin.dataflow.explain.words import Render
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.engine.meter import Meter
from muntin.optimizer import Statistics
from muntin.optimizer.plan_text import read_text, spark_text
from muntin.plan.nodes import BoundQuery

Form = OneOf["text", "json", "dot", "svg"]
FORMS: tuple[str, ...] = get_args(Form)


def explain(query: BoundQuery, plan: QueryPlan | Graph, show: Render | None = None) -> str:
    """A query's plans and its graph as text. ``show`` renders expressions (default: as CQL, with durations and times
    in words)."""
    return explain_as("text", query, plan, show=show)


def explain_as(
    form: str,
    query: BoundQuery,
    plan: QueryPlan | Graph,
    *,
    show: Render | None = None,
    statistics: Statistics | None = None,
    measured: Meter | None = None,
) -> str:
    """A query's plans and its graph in a form: text, json, dot or svg (the last two: the graph alone).

    ``measured``: what a run of that graph counted. Raises ConfigError for another form.
    """
    _check(form)
    render = show or _rendering(form)
    graph = plan if isinstance(plan, Graph) else Graph.of([plan])
    drawn = graph_record(graph, _numbered(graph), render, measured)
    if form in ("dot", "svg"):
        return _drawing(form, drawn)
    record = explained(query, drawn, render, statistics)
    return _json(to_plain(record)) if form == "json" else "\n".join(query_lines(record))


def explain_graph(
    form: str,
    graph: Graph,
    queries: Sequence[str] | None = None,
    *,
    show: Render | None = None,
    measured: Meter | None = None,
) -> str:
    """The graph of several queries (``queries``: their names, in order of its plans), which shows what they share.

    Raises ConfigError for a form that is none of text, json, dot, svg.
    """
    _check(form)
    drawn = graph_record(graph, queries or _numbered(graph), show or _rendering(form), measured)
    if form in ("dot", "svg"):
        return _drawing(form, drawn)
    return _json(graph_to_plain(drawn)) if form == "json" else "\n".join(graph_lines(drawn))


def _rendering(form: str) -> Render:
    """Programs get expressions as Spark SQL, people with durations and times in words."""
    return spark_text if form == "json" else read_text


def _check(form: str) -> None:
    if form not in FORMS:
        raise ConfigError(f"--format {form!r}: it is one of {', '.join(FORMS)}")


def _numbered(graph: Graph) -> list[str]:
    return [f"query{i}" for i in range(1, len(graph.plans) + 1)]


def _json(values: object) -> str:
    return json.dumps(values, indent=2, default=str)


def _drawing(form: str, record: GraphRecord) -> str:
    return to_dot(record) if form == "dot" else to_svg(record)
