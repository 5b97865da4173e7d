"""The record as plain values for ``json.dumps``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from muntin.core.spans import span_text
from muntin.dataflow.explain.record import Explained, GraphRecord, LogicalLine, Result, VertexRecord, level_name


def to_plain(record: Explained) -> dict[str, Any]:
    """A query: its plans, and its graph."""
    return {
        "query": record.query.text.strip(),
        "options": asdict(record.query.options),
        "notes": [note.text for note in record.query.notes],
        "logical": [_line(x) for x in record.logical],
        "rules": [{"rule": s.rule, "cost": s.cost} for s in record.optimized.steps],
        "optimized": [_line(x) for x in record.rewritten],
        "cost": record.costs,
        **graph_to_plain(record.graph),
    }


def graph_to_plain(record: GraphRecord) -> dict[str, Any]:
    """A graph, its results, and what a run measured."""
    levels = [
        {"level": level, "name": level_name(level), "vertices": [v.number for v in own]}
        for level, own in enumerate(record.levels, start=-1)
    ]
    found: dict[str, Any] = {
        "graph": {"levels": levels, "vertices": [_vertex(v) for v in record.vertices]},
        "results": [_result(r) for r in record.results],
    }
    if record.shared:
        found["shared"] = [asdict(s) | {"queries": list(s.queries)} for s in record.shared]
    run = record.measured
    if run is not None:
        found["measured"] = {"batches": run.batches, "results": run.results, "seconds": run.seconds}
        if run.left_out:
            found["left_out"] = [{"query": n} | asdict(left) for n, left in run.left_out.items()]
    return found


def _line(line: LogicalLine) -> dict[str, Any]:
    return asdict(line) | {"pattern": line.pattern.name}


def _vertex(v: VertexRecord) -> dict[str, Any]:
    return {
        "vertex": v.number,
        "id": v.id,
        "level": v.level,
        "operator": v.operator,
        "text": v.text,
        "from": [{"vertex": t.vertex, "route": t.route} for t in v.takes],
        "pattern": v.pattern.name,
        "keeps": v.keeps,
        "pane": v.pane,
        "columns": list(v.columns),
        "queries": list(v.queries),
        "measured": None if v.measured is None else asdict(v.measured),
        "join": list(v.join),
        "layout": v.layout,
        "shared": v.shared,
    }


def _result(r: Result) -> dict[str, Any]:
    instants: Any = "every change"
    if r.ticks is not None:
        slides = [s if isinstance(s, int) else span_text(s) for s in r.ticks.slides]
        instants = {"slides": slides, "origins": list(r.ticks.origins)}
        if r.ticks.zone:
            instants["zone"] = r.ticks.zone
    return {"query": r.query, "vertex": r.vertex, "columns": list(r.columns), "instants": instants}
