"""The queries of a run as a list that prints as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape

from muntin.core.shown import counted, html_table, text_table
from muntin.core.time import instant_text
from muntin.dataflow.durable import Since
from muntin.dataflow.graph import Graph
from muntin.operators.source import Source
from muntin.spark.metrics import RunMetrics

MOST_TEXT = 60
"""Characters of a query's text that the table shows; the row has all of it."""


@dataclass(frozen=True)
class QueryRow:
    """One query of a running pipeline. Times are microseconds, points in time since 1970 in UTC.

    ``since``: since when its youngest state fills, so which rows its windows may lack; ``lag``, ``watermark``,
    ``state_rows``, ``lateness``, ``waited``: as in its ``Metrics`` of the last batch; ``late``: rows that it left out
    since it runs in this run; ``answered``: the estimated share of its full answer that it has given since then (1:
    all); ``shares_with``: the queries with which it has an operator, and so its work and state, in common (a scan
    alone, which all queries of a stream share, is none).
    """

    name: str
    text: str
    since: Since
    lag: int | None = None
    watermark: int | None = None
    late: int = 0
    state_rows: int = 0
    lateness: int | None = None
    waited: int = 0
    answered: float = 1.0
    shares_with: tuple[str, ...] = ()


_HEAD = [f.name.replace("_", " ") for f in fields(QueryRow)]
_RIGHT = [f.name in ("lag", "late", "state_rows", "lateness", "waited", "answered") for f in fields(QueryRow)]


class QueryList(tuple[QueryRow, ...]):
    """The rows in the order in which the queries came; ``str`` is a table for people."""

    def __str__(self) -> str:
        return text_table(_HEAD, map(_cells, self), _RIGHT)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(_HEAD, map(_cells, self), _RIGHT)


def _cells(row: QueryRow) -> tuple[str, ...]:
    text = " ".join(row.text.split())
    lacking = "" if row.since.watermark is None else f" without rows from before {instant_text(row.since.watermark)}"
    shown = text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."
    return (
        row.name, shown, f"batch {row.since.batch}{lacking}",
        "-" if row.lag is None else f"{row.lag / 1e6:,.1f} s",
        "-" if row.watermark is None else instant_text(row.watermark),
        f"{row.late:,}", f"{row.state_rows:,}", "-" if row.lateness is None else counted(row.lateness, "period"),
        counted(row.waited, "batch"), "all" if row.answered >= 1 else f"{row.answered:.1%}",
        ", ".join(row.shares_with) or "-",
    )  # fmt: skip


def run_html(active: bool, exception: BaseException | None, m: RunMetrics | None, queries: QueryList) -> str:
    """A run in a notebook: what it has counted so far, what ended it, its queries."""
    state = "runs" if active else "ended" if exception is None else f"failed: {exception}"
    so_far = "no batch yet" if m is None else (
        f"{counted(m.batches, 'batch')}, {m.rows:,} rows in, {m.results:,} out, {m.late:,} late, "
        f"{m.bad:,} without a time, {m.shed:,} not admitted; {m.state_rows:,} rows held"
    )
    return f"<p><b>Run</b> ({escape(state)}): {escape(so_far)}</p>{queries._repr_html_()}"


def sharing(graph: Graph, called: Sequence[Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
    """By query the others that read an operator which it reads; ``called``: the names of each plan of the graph."""
    partners: dict[str, set[str]] = {name: set() for names in called for name in names}
    for vertex, users in zip(graph.vertices, graph.used_by, strict=True):
        if isinstance(vertex.op, Source):
            continue
        together = {name for user in users for name in called[user]}
        for name in together:
            partners[name] |= together
    order = list(partners)
    return {n: tuple(o for o in order if o in found and o != n) for n, found in partners.items()}
