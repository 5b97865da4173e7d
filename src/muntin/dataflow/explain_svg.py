"""The physical plan as a drawing: stages from top to bottom, in each its values in layers, arrows with patterns.

A layout of our own, since Graphviz is a program that may not be there: a value stands one layer below the lowest that
it takes; the values of a layer stand side by side.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from muntin.dataflow.explain_record import Explained, StageRecord, Value

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
    value: Value


Boxes = dict[tuple[int, int], _Box]


def to_svg(record: Explained) -> str:
    """A stand-alone SVG document."""
    boxes, frames, height = _layout(record.stages)
    width = max((b.x + WIDTH for b in boxes.values()), default=0) + 2 * GAP
    body = [
        *(_frame(n, y, h, width) for n, y, h in frames),
        *_arrows(record, boxes),
        *(line for b in boxes.values() for line in _drawn(b)),
        _text(2 * GAP, height, "result: " + ", ".join(record.stages[-1].columns), "bold"),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + GAP}" '
        f'viewBox="0 0 {width} {height + GAP}" font-family="Helvetica, Arial, sans-serif" font-size="11">'
    )
    marker = (
        '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
    )
    return "\n".join([head, marker, '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>", ""])


def _layout(stages: tuple[StageRecord, ...]) -> tuple[Boxes, list[tuple[int, int, int]], int]:
    """Boxes by (stage, value), the frame of each stage (number, top, height), and where the drawing ends."""
    boxes: Boxes = {}
    frames = []
    y = GAP
    for stage in stages:
        top = y
        y += LINE + PAD
        for layer in _layers(stage):
            placed = [_box(v, 2 * GAP + i * (WIDTH + GAP), y) for i, v in enumerate(layer)]
            boxes |= {(stage.number, b.value.number): b for b in placed}
            y += max(b.height for b in placed) + LAYER
        y += PAD - LAYER // 2
        frames.append((stage.number, top, y - top))
        y += LAYER
    return boxes, frames, y


def _layers(stage: StageRecord) -> list[list[Value]]:
    depth: dict[int, int] = {}
    for v in stage.values:
        depth[v.number] = 1 + max((depth[n] for s, n in v.takes if s == stage.number), default=-1)
    return [[v for v in stage.values if depth[v.number] == d] for d in range(max(depth.values()) + 1)]


def _box(value: Value, x: int, y: int) -> _Box:
    texts = [value.text]
    if value.state:
        texts.append(f"state: {value.state}")
    if value.measured is not None:
        m = value.measured
        texts.append(f"{m.rows_in} in, {m.rows_out} out, peak state {m.peak}, {m.seconds:.3f} s")
    lines = tuple(line for t in texts for line in textwrap.wrap(t, CHARACTERS) or [""])
    return _Box(x, y, len(lines) * LINE + 2 * PAD, lines, value)


def _drawn(box: _Box) -> Iterator[str]:
    color = COLORS[box.value.pattern.name]
    fill, radius = ("#f1f3f5", 12) if box.value.is_input else ("#ffffff", 3)
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{WIDTH}" height="{box.height}" rx="{radius}" fill="{fill}" '
        f'stroke="{color}"/>'
    )
    for i, line in enumerate(box.lines):
        yield _text(box.x + PAD, box.y + PAD + 11 + i * LINE, line)


def _arrows(record: Explained, boxes: Boxes) -> Iterator[str]:
    for stage in record.stages:
        for value in stage.values:
            end = boxes[stage.number, value.number]
            for place in value.takes:
                yield from _arrow(boxes[place], end.x + WIDTH // 2, end.y, dashed=place[0] != stage.number)
    last = record.stages[-1]
    start = boxes[last.number, last.ports[0]]
    yield from _arrow(start, start.x + WIDTH // 2, start.y + start.height + LAYER, dashed=False)


def _arrow(start: _Box, x: int, y: int, dashed: bool) -> Iterator[str]:
    color = COLORS[start.value.pattern.name]
    x0, y0 = start.x + WIDTH // 2, start.y + start.height
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    yield f'<line x1="{x0}" y1="{y0}" x2="{x}" y2="{y}" stroke="{color}"{dash} marker-end="url(#a)"/>'
    yield _text((x0 + x) // 2 + 4, (y0 + y) // 2 + 4, start.value.pattern.name, color=color)


def _frame(number: int, y: int, height: int, width: int) -> str:
    return (
        f'<rect x="{GAP}" y="{y}" width="{width - 2 * GAP}" height="{height}" rx="6" fill="none" stroke="#adb5bd"/>\n'
        + _text(GAP + PAD, y + LINE, f"stage {number}", "bold")
    )


def _text(x: int, y: int, text: str, weight: str = "normal", color: str = "#212529") -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}" fill="{color}">{escape(text)}</text>'
