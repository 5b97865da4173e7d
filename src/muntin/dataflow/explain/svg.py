"""A graph as a drawing: levels from top to bottom, in each its vertices in layers, arrows with patterns.

A layout of our own, since Graphviz is a program that may not be there: a vertex stands one layer below the lowest
of its level that it takes; the vertices of a layer stand side by side. Arrows of exchanges are dashed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from muntin.dataflow.explain.record import GraphRecord, VertexRecord, level_name
from muntin.plan.patterns import Pattern

WIDTH, GAP, LINE, PAD, LAYER = 280, 24, 14, 8, 34
"""Pixels: of a box, between boxes, of a line of text, inside a box, between layers."""
CHARACTERS = 44
"""That fit in a line of a box."""
COLORS = {"MON": "#2b8a3e", "WKS": "#1971c2", "WK": "#e67700", "STR": "#c92a2a"}


@dataclass(frozen=True)
class _Box:
    x: int
    y: int
    height: int
    lines: tuple[str, ...]
    vertex: VertexRecord


Boxes = dict[int, _Box]


def to_svg(record: GraphRecord) -> str:
    """A stand-alone SVG document."""
    boxes, frames, height = _layout(record)
    width = max((b.x + WIDTH for b in boxes.values()), default=0) + 2 * GAP
    several = len(record.results) > 1
    titles = [(f"result of {r.query}" if several else "result") + ": " + ", ".join(r.columns) for r in record.results]
    body = [
        *(_frame(name, y, h, width) for name, y, h in frames),
        *_arrows(record, boxes),
        *(line for b in boxes.values() for line in _drawn(b)),
        *(_text(2 * GAP, height + i * (LINE + PAD), t, "bold") for i, t in enumerate(titles)),
    ]
    height += len(titles) * (LINE + PAD)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="11">'
    )
    marker = (
        '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
    )
    return "\n".join([head, marker, '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>", ""])


def _layout(record: GraphRecord) -> tuple[Boxes, list[tuple[str, int, int]], int]:
    """Boxes by vertex, the frame of each level (name, top, height), and where the drawing ends."""
    several = len(record.results) > 1
    boxes: Boxes = {}
    frames = []
    y = GAP
    for level, own in enumerate(record.levels, start=-1):
        if not own:
            continue
        top = y
        y += LINE + PAD
        for layer in _layers(own):
            placed = [_box(v, 2 * GAP + i * (WIDTH + GAP), y, several) for i, v in enumerate(layer)]
            boxes |= {b.vertex.number: b for b in placed}
            y += max(b.height for b in placed) + LAYER
        y += PAD - LAYER // 2
        frames.append((level_name(level), top, y - top))
        y += LAYER
    return boxes, frames, y


def _layers(own: tuple[VertexRecord, ...]) -> list[list[VertexRecord]]:
    depth: dict[int, int] = {}
    for v in own:
        depth[v.number] = 1 + max((depth[t.vertex] for t in v.takes if t.vertex in depth), default=-1)
    return [[v for v in own if depth[v.number] == d] for d in range(max(depth.values()) + 1)]


def _box(v: VertexRecord, x: int, y: int, several: bool) -> _Box:
    texts = [f"#{v.number} {v.id[:8]} {v.text}"]
    if several:
        texts.append(f"for: {', '.join(v.queries)}")
    if v.keeps:
        texts.append(f"keeps: {v.keeps}")
    if v.measured is not None:
        m = v.measured
        texts.append(f"{m.rows_in} in, {m.rows_out} out, peak state {m.peak}, {m.seconds:.3f} s")
    lines = tuple(line for t in texts for line in textwrap.wrap(t, CHARACTERS) or [""])
    return _Box(x, y, len(lines) * LINE + 2 * PAD, lines, v)


def _drawn(box: _Box) -> Iterator[str]:
    color = COLORS[box.vertex.pattern.name]
    fill, radius = ("#f1f3f5", 12) if box.vertex.level < 0 else ("#ffffff", 3)
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{WIDTH}" height="{box.height}" rx="{radius}" fill="{fill}" '
        f'stroke="{color}"/>'
    )
    for i, line in enumerate(box.lines):
        yield _text(box.x + PAD, box.y + PAD + 11 + i * LINE, line)


def _arrows(record: GraphRecord, boxes: Boxes) -> Iterator[str]:
    for v in record.vertices:
        end = boxes[v.number]
        for t in v.takes:
            label = f"{t.pattern.name} {t.route}" if t.exchange else t.pattern.name
            yield from _arrow(boxes[t.vertex], end.x + WIDTH // 2, end.y, t.pattern, label, t.exchange)
    for r in record.results:
        start = boxes[r.vertex]
        pattern = start.vertex.pattern
        below = start.y + start.height + LAYER
        yield from _arrow(start, start.x + WIDTH // 2, below, pattern, pattern.name, False)


def _arrow(start: _Box, x: int, y: int, pattern: Pattern, label: str, dashed: bool) -> Iterator[str]:
    color = COLORS[pattern.name]
    x0, y0 = start.x + WIDTH // 2, start.y + start.height
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    yield f'<line x1="{x0}" y1="{y0}" x2="{x}" y2="{y}" stroke="{color}"{dash} marker-end="url(#a)"/>'
    yield _text((x0 + x) // 2 + 4, (y0 + y) // 2 + 4, label, color=color)


def _frame(name: str, y: int, height: int, width: int) -> str:
    return (
        f'<rect x="{GAP}" y="{y}" width="{width - 2 * GAP}" height="{height}" rx="6" fill="none" stroke="#adb5bd"/>\n'
        + _text(GAP + PAD, y + LINE, name, "bold")
    )


def _text(x: int, y: int, text: str, weight: str = "normal", color: str = "#212529") -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}" fill="{color}">{escape(text)}</text>'
