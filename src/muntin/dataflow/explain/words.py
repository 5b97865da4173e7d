"""Vertices in words, under the names that people gave columns; and the words EXPLAIN and ANALYZE before a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muntin.dataflow.graph import Graph
from muntin.operators.as_of_join import AsOfJoin
from muntin.operators.compute import Compute
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.narrow import Narrow
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.operator import Show
from muntin.operators.source import Source
from muntin.optimizer.plan_text import agg_text, spark_text
from muntin.plan.exprs import Expr

Render = Callable[[Expr], str]
"""An expression as text."""

_PREFIX = re.compile(r"\s*EXPLAIN\b(\s+ANALYZE\b)?", re.IGNORECASE)


_NUMBERED = re.compile(r"[ag]\d+|__x\d+|__match\d+")


@dataclass(frozen=True)
class Asked:
    """A text without its EXPLAIN; ``explain``, ``analyze``: whether the words stood before it."""

    text: str
    explain: bool
    analyze: bool


def asked(text: str) -> Asked:
    """Take ``EXPLAIN`` or ``EXPLAIN ANALYZE`` off a text; blanks stand in for them, so places in errors stay right."""
    found = _PREFIX.match(text)
    if found is None:
        return Asked(text, False, False)
    blank = re.sub(r"[^\n]", " ", found.group(0))
    return Asked(blank + text[found.end() :], True, found.group(1) is not None)


def words_of(graph: Graph, number: int, render: Render = spark_text) -> str:
    """What a vertex does."""
    return graph.vertices[number].op.words(show_of(graph, number, render))


def show_of(graph: Graph, number: int, render: Render = spark_text) -> Show:
    """How a vertex's expressions are shown. A source's are over its stream's own columns."""
    return Show(render, tuple(n for own in input_names(graph, number) for n in own))


def input_names(graph: Graph, number: int) -> tuple[tuple[str, ...], ...]:
    """The names of the columns of each of a vertex's inputs.

    A join's own columns are those of its inputs, under names that tell two inputs apart which are one vertex.
    """
    vertex = graph.vertices[number]
    inputs = [_spelled(graph, e.vertex) for e in vertex.inputs]
    if not isinstance(vertex.op, AsOfJoin | GraphJoin | WindowJoin):
        return tuple(inputs)
    ends = [sum(map(len, inputs[: i + 1])) for i in range(len(inputs))]
    return tuple(
        tuple(t if _NUMBERED.fullmatch(n) else n for n, t in zip(vertex.names[end - len(own) : end], own, strict=True))
        for end, own in zip(ends, inputs, strict=True)
    )


def _spelled(graph: Graph, number: int) -> tuple[str, ...]:
    """The columns that a vertex gives; one that binding named by number (a group, an aggregate, its argument) by
    what it is, where the vertex computes it."""
    vertex = graph.vertices[number]
    match vertex.op:
        case Compute(columns=tuple(made)) | Source(columns=made):
            show = show_of(graph, number)
            return _told(vertex.names, [show(e) for _, e in made])
        case GroupAggregate(groups=groups, aggs=aggs):
            show = show_of(graph, number)
            told = [*(show(e) for _, e in groups), *(agg_text(a, show) for _, a in aggs)]
            return _told(vertex.names, [*told, *vertex.names[len(told) :]])
        case Narrow(columns=taken):
            return _told(vertex.names, show_of(graph, number).columns(taken))
        case _ if len(vertex.inputs) == 1 and vertex.names == graph.vertices[vertex.inputs[0].vertex].names:
            return _spelled(graph, vertex.inputs[0].vertex)
    return vertex.names


def _told(names: Sequence[str], told: Sequence[str]) -> tuple[str, ...]:
    return tuple(t if _NUMBERED.fullmatch(n) else n for n, t in zip(names, told, strict=True))


def input_title(names: tuple[str, ...], vertex: int) -> str:
    """What to call an input: the alias of its columns where they share one."""
    aliases = {n.partition(".")[0] for n in names if not n.startswith("__")}
    return aliases.pop() if len(aliases) == 1 and any("." in n for n in names) else f"#{vertex}"
