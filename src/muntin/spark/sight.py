"""What Spark's own tools see of a run: the query's name, jobs by what they do, numbers in its progress."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from muntin.dataflow.graph import Graph
from muntin.spark import wire
from muntin.spark.counts import OBSERVED

MOST = 100
"""Characters of a list in a name or description."""

OBSERVATION = "muntin"
"""Under which ``query.lastProgress`` and a listener of streaming queries have the numbers of a batch."""


def query_name(queries: Iterable[str], checkpoint: str) -> str:
    """What Spark calls the streaming query: its checkpoint tells it from others of the same queries."""
    return f"muntin: {_cut(queries)} ({checkpoint})"


def observed(letters: DataFrame) -> DataFrame:
    """The letters, with their COUNTS in the streaming query's progress (``observedMetrics``)."""
    found = []
    for number, name in enumerate(OBSERVED):
        value = F.when(F.expr(f"kind = {wire.COUNTS} AND target = {number}"), F.col("min_ts"))
        found.append((F.max(value) if name == "watermark" else F.coalesce(F.sum(value), F.lit(0))).alias(name))
    return letters.observe(OBSERVATION, *found)


def describe(letters: DataFrame, batch: int, what: str) -> None:
    """Say what the jobs do that this thread starts next."""
    letters.sparkSession.sparkContext.setJobDescription(f"muntin batch {batch}: {what}")


def levels_text(graph: Graph) -> str:
    """The operators by level: each level is a stage of a batch's job."""
    parts = []
    for level in range(graph.depth):
        names = dict.fromkeys(type(graph.vertices[v].op).__name__ for v in graph.at(level))
        parts.append(f"level {level} ({_cut(names)})")
    return ", ".join(parts)


def _cut(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= MOST else f"{text[: MOST - 3]}..."
