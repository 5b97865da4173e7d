"""A graph as a drawing: levels from left to right, arrows in the colour of their update pattern, a legend."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from muntin.core.spans import span_words
from muntin.dataflow.explain.placing import COLUMN, LANE, Arrow, Node, Place, Placed, placed
from muntin.dataflow.explain.record import GraphRecord, Taken, VertexRecord, instants_of, level_name
from muntin.plan.patterns import Pattern

LINE, PAD, HEAD, EDGE = 15, 9, 30, 14
"""Pixels: of a line of text, inside a box, for the names of levels, around the drawing."""
CHARACTERS, BOLD = 38, 34
"""That fit in a line of a box, whatever the font."""
ROUTE = 18
"""That fit between two columns."""
READABLE = 0.6
"""A page that is too narrow makes a drawing smaller, to this share of its size: the rest is scrolled to."""
COLORS = {"MON": "#2b8a3e", "WKS": "#1971c2", "WK": "#e67700", "STR": "#c92a2a"}
WORDS = {
    "MON": "monotonic: rows never leave",
    "WKS": "weakest: rows leave in the order in which they came",
    "WK": "weak: when rows leave is known as they come",
    "STR": "strict: negative tuples take rows away",
}
QUERIES = (
    "#7048e8", "#15aabf", "#f06595", "#e0a800", "#8d6e63", "#82c91e", "#b197fc", "#868e96",
    "#4c6ef5", "#20c997", "#cc5de8", "#7c7a1e", "#74c0fc", "#a61e4d", "#ff9f80", "#0b7285",
)  # fmt: skip
"""Colours of queries, where there are several: none of those of patterns. After the last the first comes again."""

_DIM, _INK = "#5c636a", "#212529"


@dataclass(frozen=True)
class _Line:
    text: str
    color: str = _INK
    weight: str = "normal"
    live: bool = False


def to_svg(record: GraphRecord, live: bool = False) -> str:
    """A stand-alone SVG document. ``live``: boxes have a last line (class ``live``) for numbers that change, and every
    box and arrow says of which vertex it is (``data-vertex``)."""
    lines = {v.number: _lines(v, live) for v in record.vertices}
    place = placed(_nodes(record, lines), _edges(record), _label_widths(record))
    legend = _legend(record, place.width)
    width = max(place.width, sum(map(_width, legend))) + 2 * EDGE + 2 * PAD
    below = HEAD + EDGE + place.height + 2 * PAD
    height = below + max(map(len, legend)) * (LINE + 3) + EDGE
    body = [
        *_levels(record, place),
        *(x for v in record.vertices for x in _box(record, v, place.boxes[v.number], lines[v.number], live)),
        *(x for i, r in enumerate(record.results) for x in _result(record, i, place.boxes[f"result {i}"])),
        *_arrows(record, place),
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="11" '
        f'style="max-width:100%;min-width:{round(READABLE * width)}px;height:auto">',
        "<defs>", *(_head(name, color) for name, color in COLORS.items()), "</defs>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<g transform="translate({EDGE + PAD},{HEAD + EDGE})">', *body, "</g>",
        *_drawn(legend, EDGE + PAD, below + LINE),
        "</svg>", "",
    ])  # fmt: skip


def _head(name: str, color: str) -> str:
    return (
        f'<marker id="muntin-{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="{color}"/></marker>'
    )


def _columns(record: GraphRecord) -> dict[int, int]:
    """By vertex its column: after those of its level that it takes, and after all of earlier levels."""
    found: dict[int, int] = {}
    first = 0
    for own in record.levels:
        for v in own:
            found[v.number] = max([first, *(found[t.vertex] + 1 for t in v.takes)])
        first = max([first, *(found[v.number] + 1 for v in own)])
    return found


def _nodes(record: GraphRecord, lines: dict[int, list[_Line]]) -> dict[int | str, Node]:
    columns = _columns(record)
    out = [t.vertex for v in record.vertices for t in v.takes] + [r.vertex for r in record.results]
    nodes: dict[int | str, Node] = {}
    for v in record.vertices:
        ports = max(len(v.takes), out.count(v.number))
        nodes[v.number] = Node(columns[v.number], max(len(lines[v.number]) * LINE + 2 * PAD, ports * LANE + PAD))
    last = max(columns.values()) + 1
    for i, _ in enumerate(record.results):
        nodes[f"result {i}"] = Node(last, len(_result_lines(record, i)) * LINE + 2 * PAD)
    return nodes


def _edges(record: GraphRecord) -> list[tuple[int | str, int | str]]:
    return [
        *((t.vertex, v.number) for v in record.vertices for t in v.takes),
        *((r.vertex, f"result {i}") for i, r in enumerate(record.results)),
    ]


def _lines(v: VertexRecord, live: bool) -> list[_Line]:
    text = v.text if v.level < 0 else v.text[:1].upper() + v.text[1:]
    found = [_Line(t, weight="bold") for t in _wrapped(text, BOLD)]
    if v.keeps:
        panes = "" if v.pane is None else f"; panes of {span_words(v.pane)}"
        found += [_Line(t, _DIM) for t in _wrapped(f"keeps {v.keeps}{panes}")]
    if v.measured is not None:
        m = v.measured
        text = f"{m.rows_in:,} rows in, {m.rows_out:,} out, at most {m.peak:,} held, {m.seconds:.3f} s"
        found += [_Line(t, _DIM) for t in _wrapped(text)]
    return [*found, _Line("", _DIM, live=True)] if live else found


_UNIT = re.compile(r"(?<=\d) (?=(?:week|day|hour|minute|second|millisecond|microsecond)s?\b)", re.IGNORECASE)


def _wrapped(text: str, width: int = CHARACTERS) -> list[str]:
    lines = textwrap.wrap(_UNIT.sub("\N{NO-BREAK SPACE}", text), width)  # "5 seconds" stands in one line
    return lines if len(lines) <= 6 else [*lines[:5], f"{lines[5][: width - 3]}..."]


def _levels(record: GraphRecord, place: Placed) -> Iterator[str]:
    """A band for the columns of each level."""
    bands = {level: [place.boxes[v.number] for v in own] for level, own in enumerate(record.levels, start=-1) if own}
    named = [(level_name(level), boxes) for level, boxes in bands.items()]
    results = [place.boxes[f"result {i}"] for i in range(len(record.results))]
    for i, (name, boxes) in enumerate([*named, ("Results", results)]):
        x, right = min(b.x for b in boxes) - PAD, max(b.right for b in boxes) + PAD
        fill = "#f1f3f5" if i % 2 == 0 else "#f8f9fa"
        yield (
            f'<rect x="{x}" y="{-HEAD}" width="{right - x}" height="{HEAD + place.height + PAD}" rx="8" fill="{fill}"/>'
        )
        yield _text(x + PAD, -HEAD + LINE + 2, name, _DIM, "bold")


def _box(record: GraphRecord, v: VertexRecord, at: Place, lines: Sequence[_Line], live: bool) -> Iterator[str]:
    several = len(record.results) > 1
    yield f'<g class="vertex" data-vertex="{v.id}">'
    whose = f"; works for {', '.join(v.queries)}" if several else ""
    yield f"<title>{escape(f'#{v.number} {v.id} {v.operator}: {v.text}{whose}')}</title>"
    yield (
        f'<rect class="box" x="{at.x}" y="{at.y}" width="{COLUMN}" height="{at.height}" '
        f'rx="{14 if v.level < 0 else 4}" fill="white" stroke="{COLORS[v.pattern.name]}" stroke-width="1.4"/>'
    )
    for i, line in enumerate(lines):
        kind = f' class="live" data-vertex="{v.id}"' if line.live else ""
        yield _text(at.x + PAD + 3, at.y + PAD + 11 + i * LINE, line.text, line.color, line.weight, kind)
    if several:
        yield from _stripe(record, v.queries, at)
    yield "</g>"


def _stripe(record: GraphRecord, queries: Sequence[str], at: Place) -> Iterator[str]:
    """A bar along the top of a box: a piece for each query that it works for."""
    names = [r.query for r in record.results]
    inner = COLUMN - 28
    for i, q in enumerate(queries):
        x = at.x + 14 + i * inner / len(queries)
        color = QUERIES[names.index(q) % len(QUERIES)]
        yield f'<rect x="{x:.1f}" y="{at.y - 3}" width="{inner / len(queries):.1f}" height="6" fill="{color}"/>'


def _result_lines(record: GraphRecord, number: int) -> list[_Line]:
    r = record.results[number]
    instants = instants_of(r, span_words)
    name = [_Line(t, weight="bold") for t in _wrapped(r.query, BOLD)] if len(record.results) > 1 else []
    return [*name, *(_Line(t) for t in _wrapped(", ".join(r.columns))), *(_Line(t, _DIM) for t in _wrapped(instants))]


def _result(record: GraphRecord, number: int, at: Place) -> Iterator[str]:
    several = len(record.results) > 1
    color = QUERIES[number % len(QUERIES)] if several else _DIM
    yield (
        f'<rect class="box" x="{at.x}" y="{at.y}" width="{COLUMN}" height="{at.height}" rx="{at.height // 3}" '
        f'fill="white" stroke="{color}" stroke-width="1.4"/>'
    )
    for i, line in enumerate(_result_lines(record, number)):
        yield _text(at.x + PAD + 8, at.y + PAD + 11 + i * LINE, line.text, line.color, line.weight)


def _arrows(record: GraphRecord, place: Placed) -> Iterator[str]:
    """All arrows, then all labels: none is crossed out by an arrow."""
    taken = [(t, f' data-vertex="{v.id}"') for v in record.vertices for t in v.takes]
    shown = [(Taken(r.vertex, "", False, record.vertices[r.vertex].pattern), "") for r in record.results]
    arrows = list(zip(place.arrows, [*taken, *shown], strict=True))
    yield from (_path(arrow, t.pattern, t.exchange, data) for arrow, (t, data) in arrows)
    yield from (_label(arrow, t) for arrow, (t, _) in arrows)


def _path(arrow: Arrow, pattern: Pattern, dashed: bool, data: str = "") -> str:
    x, y = arrow[0]
    steps = [f"M{x} {y}"]
    for i, (x1, y1) in enumerate(arrow[1:]):
        x0, y0 = arrow[i]
        bend = (x1 - x0) // 2
        steps.append(f"C{x0 + bend} {y0} {x1 - bend} {y1} {x1} {y1}" if i % 2 == 0 else f"L{x1} {y1}")
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    return (
        f'<path class="arrow"{data} d="{" ".join(steps)}" fill="none" stroke="{COLORS[pattern.name]}" '
        f'stroke-width="1.4"{dash} marker-end="url(#muntin-{pattern.name})"/>'
    )


def _label(arrow: Arrow, t: Taken) -> str:
    """Beside the head of an arrow: its pattern, and how rows change shards."""
    x, y = arrow[-1]
    text = _label_text(t)
    color = COLORS[t.pattern.name]
    halo = ' text-anchor="end" font-size="10" paint-order="stroke" stroke="white" stroke-width="3"'
    return f"<g><title>{escape(t.route)}</title>{_text(x - 11, y - 5, text, color, attributes=halo)}</g>"


def _label_text(t: Taken) -> str:
    route = t.route if len(t.route) <= ROUTE else f"{t.route[: ROUTE - 3]}..."
    return " ".join(filter(None, [route if t.exchange else "", t.pattern.name]))


def _label_widths(record: GraphRecord) -> list[int]:
    """By edge: its label, the arrow's head, and a piece of the arrow before."""
    return [22 + round(len(_label_text(t)) * 5.6) for v in record.vertices for t in v.takes]


@dataclass(frozen=True)
class _Key:
    """A line of the legend: a sample and what it means."""

    color: str
    text: str
    kind: str

    def drawn(self, x: int, y: int) -> Iterator[str]:
        if self.kind == "query":
            yield f'<rect x="{x}" y="{y - 7}" width="34" height="6" fill="{self.color}"/>'
        else:
            dash = ' stroke-dasharray="6 4"' if self.kind == "exchange" else ""
            yield f'<path d="M{x} {y - 4}H{x + 34}" stroke="{self.color}" stroke-width="1.6"{dash}/>'
        yield _text(x + 44, y, self.text, _DIM)


_Column = list[_Key]


def _legend(record: GraphRecord, width: int) -> list[_Column]:
    """Patterns in the first column, then queries: in as few lines as the patterns need, or as fit into the width."""
    patterns, queries = list(_patterns(record)), list(_queries(record))
    for lines in range(max(len(patterns), 4), len(queries)):
        found = [patterns, *(queries[i : i + lines] for i in range(0, len(queries), lines))]
        if sum(map(_width, found)) <= width:
            return found
    return [patterns, queries] if queries else [patterns]


def _width(column: _Column) -> int:
    return 44 + PAD + max(round(len(key.text) * 6.2) for key in column)


def _drawn(legend: Sequence[_Column], x: int, y: int) -> Iterator[str]:
    for column in legend:
        for i, key in enumerate(column):
            yield from key.drawn(x, y + i * (LINE + 3))
        x += _width(column)


def _patterns(record: GraphRecord) -> Iterator[_Key]:
    shown = {v.pattern.name for v in record.vertices}
    for name in (n for n in COLORS if n in shown):
        yield _Key(COLORS[name], f"{name}, {WORDS[name]}", "pattern")
    if any(t.exchange for v in record.vertices for t in v.takes):
        yield _Key(_DIM, "rows change shards: by a key, to all shards or to one", "exchange")


def _queries(record: GraphRecord) -> Iterator[_Key]:
    if len(record.results) > 1:
        for i, r in enumerate(record.results):
            yield _Key(QUERIES[i % len(QUERIES)], f"works for {r.query}", "query")


def _text(x: float, y: float, text: str, color: str, weight: str = "normal", attributes: str = "") -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}" fill="{color}"{attributes}>{escape(text)}</text>'
