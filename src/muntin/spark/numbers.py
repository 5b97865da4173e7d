"""Metrics for people: what a batch or a run counted, with units; what is 0 and need not be is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from muntin.core.shown import counted, html_table, text_table
from muntin.core.time import SECOND, instant_text

_QUERIES = ("query", "rows", "results", "late", "rows held", "lag", "answered until")
_RIGHT = (False, True, True, True, True, True, False)


def numbers_text(m: Any) -> str:
    """Lines of a ``Metrics`` or ``RunMetrics``; of the latter a table of its queries below."""
    rows = list(numbers(m))
    width = max(len(name) for name, _ in rows)
    lines = [f"{name.ljust(width)}  {value}" for name, value in rows]
    queries = list(_by_query(m))
    return "\n".join([*lines, *(["", text_table(_QUERIES, queries, _RIGHT)] if queries else [])])


def numbers_html(m: Any) -> str:
    """The same as tables."""
    queries = list(_by_query(m))
    below = html_table(_QUERIES, queries, _RIGHT, caption="Queries, in the last batch") if queries else ""
    return html_table(("number", "value"), list(numbers(m)), (False, True)) + below


def numbers(m: Any) -> Iterator[tuple[str, str]]:
    """Names and values with units."""
    yield "last batch", f"{m.batch:,}"
    if hasattr(m, "batches"):
        yield "batches of this run", f"{m.batches:,}"
    yield "rows", f"{m.rows:,}"
    yield "results", f"{m.results:,}"
    yield "late", f"{m.late:,}"
    yield "without a time", f"{m.bad:,}"
    yield "rows held", f"{m.state_rows:,}"
    yield "answered until", "-" if m.watermark is None else instant_text(m.watermark)
    yield "lag", _lag(m.lag)
    if m.held_by is not None:
        yield "time is held by", m.held_by
    yield from _seldom(m)


def _seldom(m: Any) -> Iterator[tuple[str, str]]:
    if m.lateness:
        yield "late by", counted(m.lateness, "period")
    if m.waited:
        yield "has waited for", counted(m.waited, "batch")
    for name, number in (("not admitted", m.shed), ("instants not reported", m.skipped)):
        if number:
            yield name, f"{number:,}"
    if getattr(m, "overdue", 0):
        yield "overdue", counted(m.overdue, "batch")
    if m.share < 1:
        within = f" (within {m.share_error:.1%})" if m.share_error else ""
        yield "share of the full answer", f"about {m.share:.1%}{within}"
    yield from ((f"updates of {table} that named no row", f"{n:,}") for table, n in m.bad_updates.items() if n)
    yield from _lost(m.lost)


def _lost(lost: Mapping[str, tuple[int, int]]) -> Iterator[tuple[str, str]]:
    for stream, (bad, late) in lost.items():
        yield f"all rows of {stream} were dropped", f"{bad:,} without a time, {late:,} late"


def _by_query(m: Any) -> Iterator[tuple[str, ...]]:
    for name, q in getattr(m, "queries", {}).items():
        until = "-" if q.watermark is None else instant_text(q.watermark)
        yield name, f"{q.rows:,}", f"{q.results:,}", f"{q.late:,}", f"{q.state_rows:,}", _lag(q.lag), until


def _lag(lag: int | None) -> str:
    return "-" if lag is None else f"{lag / SECOND:,.1f} s"
