"""A graph in DOT: a cluster for each level, a box for each vertex, patterns on the edges, exchanges dashed."""

from __future__ import annotations

from collections.abc import Iterator

from muntin.dataflow.explain.record import GraphRecord, VertexRecord, level_name


def to_dot(record: GraphRecord) -> str:
    """Text for ``dot`` and other Graphviz tools."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: GraphRecord) -> Iterator[str]:
    several = len(record.results) > 1
    yield "digraph plan {"
    yield "  rankdir=TB;"
    yield '  node [shape=box, fontname="Helvetica", fontsize=10];'
    yield '  edge [fontname="Helvetica", fontsize=9];'
    for level, own in enumerate(record.levels):
        if own:
            yield from _cluster(level, own, several)
    for v in record.vertices:
        for t in v.takes:
            label, style = (f" {t.route}", ", style=dashed") if t.exchange else ("", "")
            yield f'  v{t.vertex} -> v{v.number} [label="{t.pattern.name}{_escaped(label)}"{style}];'
    for i, r in enumerate(record.results):
        columns = (f"{r.query}: " if several else "") + ", ".join(r.columns)
        yield f'  result{i} [shape=plaintext, label="{_escaped(columns)}"];'
        yield f'  v{r.vertex} -> result{i} [label="{record.vertices[r.vertex].pattern.name}"];'
    yield "}"


def _cluster(level: int, own: tuple[VertexRecord, ...], several: bool) -> Iterator[str]:
    yield f"  subgraph cluster_{level} {{"
    yield f'    label="{level_name(level - 1)}"; color=gray;'
    for v in own:
        shape = ", style=rounded" if v.level < 0 else ""
        yield f'    v{v.number} [label="{_label(v, several)}"{shape}];'
    yield "  }"


def _label(v: VertexRecord, several: bool) -> str:
    parts = [f"#{v.number} {v.text}"]
    if v.keeps:
        parts.append(f"keeps: {v.keeps}")
    if several:
        parts.append(f"for: {', '.join(v.queries)}")
    if v.measured is not None:
        parts.append(f"{v.measured.rows_out} rows out, peak state {v.measured.peak}")
    return "\\n".join(_escaped(p) for p in parts)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
