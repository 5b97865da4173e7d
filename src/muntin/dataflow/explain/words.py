"""Vertices in words, under the names that people gave columns; and the words EXPLAIN and ANALYZE before a query."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from muntin.dataflow.graph import Graph
from muntin.operators.as_of_join import AsOfJoin
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.operator import Show
from muntin.optimizer.plan_text import spark_text
from muntin.plan.exprs import Expr

Render = Callable[[Expr], str]
"""An expression as text."""

_PREFIX = re.compile(r"\s*EXPLAIN\b(\s+ANALYZE\b)?", re.IGNORECASE)


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
    inputs = [graph.vertices[e.vertex].names for e in vertex.inputs]
    if not isinstance(vertex.op, AsOfJoin | GraphJoin | WindowJoin):
        return tuple(inputs)
    ends = [sum(map(len, inputs[: i + 1])) for i in range(len(inputs))]
    return tuple(vertex.names[end - len(own) : end] for end, own in zip(ends, inputs, strict=True))


def input_title(names: tuple[str, ...], vertex: int) -> str:
    """What to call an input: the alias of its columns where they share one."""
    aliases = {n.partition(".")[0] for n in names if not n.startswith("__")}
    return aliases.pop() if len(aliases) == 1 and any("." in n for n in names) else f"#{vertex}"
