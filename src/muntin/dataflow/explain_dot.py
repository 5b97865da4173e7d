"""The physical plan as a DOT graph: a cluster for each stage, a box for each value, patterns on the edges."""

from __future__ import annotations

from collections.abc import Iterator

from muntin.dataflow.explain_record import Explained, StageRecord, Value


def to_dot(record: Explained) -> str:
    """Text for ``dot`` and other Graphviz tools."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Explained) -> Iterator[str]:
    yield "digraph plan {"
    yield "  rankdir=TB;"
    yield '  node [shape=box, fontname="Helvetica", fontsize=10];'
    yield '  edge [fontname="Helvetica", fontsize=9];'
    for stage in record.stages:
        yield from _cluster(stage)
    patterns = {(s.number, v.number): v.pattern.name for s in record.stages for v in s.values}
    for stage in record.stages:
        for value in stage.values:
            for place in value.takes:
                style = ", style=dashed" if place[0] != stage.number else ""
                yield f'  {_name(*place)} -> {_name(stage.number, value.number)} [label="{patterns[place]}"{style}];'
    last = record.stages[-1]
    yield f'  result [shape=plaintext, label="{_escaped(", ".join(last.columns))}"];'
    end = (last.number, last.ports[0])
    yield f'  {_name(*end)} -> result [label="{patterns[end]}"];'
    yield "}"


def _cluster(stage: StageRecord) -> Iterator[str]:
    yield f"  subgraph cluster_{stage.number} {{"
    yield f'    label="stage {stage.number}"; color=gray;'
    for value in stage.values:
        shape = ", style=rounded" if value.is_input else ""
        yield f'    {_name(stage.number, value.number)} [label="{_label(value)}"{shape}];'
    yield "  }"


def _label(value: Value) -> str:
    parts = [value.text]
    if value.state:
        parts.append(f"state: {value.state}")
    if value.measured is not None:
        parts.append(f"{value.measured.rows_out} rows out, peak state {value.measured.peak}")
    return "\\n".join(_escaped(p) for p in parts)


def _name(stage: int, value: int) -> str:
    return f"s{stage}v{value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
