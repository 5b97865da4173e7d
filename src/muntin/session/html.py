"""A session and its queries in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from muntin.core.errors import MuntinError
from muntin.core.schema import Schema
from muntin.core.shown import html_table
from muntin.core.spans import span_words

if TYPE_CHECKING:
    from muntin.session.query import Query
    from muntin.session.session import Session


def display(shown: Any) -> None:
    """Show in the notebook that runs this; print where there is none."""
    shell = sys.modules.get("IPython")
    if shell is not None and shell.get_ipython() is not None:
        shell.display.display(shown)
    else:
        print(shown)


def session_html(session: Session) -> str:
    """Streams, tables, views, aggregates and queries, those that there are, each as a table."""
    return "".join(_parts(session)) or "<p>A session without streams: register some with session.stream(...)</p>"


def _parts(session: Session) -> Iterator[str]:
    known, frames = session.catalog, session.frames
    if known.streams:
        head = ("stream", "columns", "event time", "slack", "read")
        yield html_table(head, [
            (s.name, _columns(s.schema, frames[s.name]), s.ts, span_words(s.slack) if s.slack else "none",
             _read(frames[s.name]))
            for s in known.streams
        ], caption="Streams")  # fmt: skip
    if known.tables:
        rows = [(t.name, _columns(t.schema, frames[t.name]), t.kind, ", ".join(t.key) or "-") for t in known.tables]
        yield html_table(("table", "columns", "kind", "key"), rows, caption="Tables")
    if known.views:
        yield html_table(("view", "text"), [(v.name, v.text) for v in known.views], caption="Views")
    if known.functions:
        yield html_table(("aggregate",), [(f.name,) for f in known.functions], caption="Aggregates")
    if known.scalars:
        yield html_table(("function",), [(f.name,) for f in known.scalars], caption="Functions")
    if session.queries:
        queries = [(q.name, q.bound.text, _sink(q), _stands(q)) for q in session.queries.values()]
        yield html_table(("query", "text", "writes to", "now"), queries, caption="Queries")


def _columns(schema: Schema, frame: Any) -> str:
    types = {f.name: f.dataType.simpleString() for f in frame.schema}
    return ", ".join(f"{f.name} {types.get(f.name, f.type)}" for f in schema)


def _read(frame: Any) -> str:
    return "live" if frame.isStreaming else "replayed"


def _sink(query: Query) -> str:
    return "-" if query.sink is None else query.sink.told


def _stands(query: Query) -> str:
    if query.run is None:
        return "not started"
    return "runs" if query.run.active else "ended"


_CODE = "font-family:monospace;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere;padding:0 0 8px"
"""Notebooks give pre a font and breaks of their own."""


def query_html(query: Query) -> str:
    """Its text, and its plan as a drawing; where it cannot be planned, why."""
    text = f'<pre style="{_CODE}">{escape(query.bound.text.strip())}</pre>'
    head = f"<p><b>{escape(query.name)}</b> ({escape(_stands(query))})</p>{text}"
    try:
        return f'{head}<div style="overflow-x:auto">{query.explain("svg")}</div>'
    except MuntinError as e:
        return f"{head}<p>{escape(str(e))}</p>"
