"""Where boxes and arrows of a drawing go: columns from left to right, rows by a layout library.

The columns are given (levels, and steps inside them). ``grandalf`` orders the boxes of each column so that few arrows
cross and puts them beside what they are joined to (Sugiyama's layers, Brandes and Koepf's coordinates); an arrow that
passes a column has a place of its own there. Arrows bend between columns only, so none lies behind a box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COLUMN, BETWEEN, APART, LANE = 264, 64, 26, 18
"""Pixels: width of a column, least between columns, between boxes of a column, and for an arrow that passes or
arrives."""


@dataclass(frozen=True)
class Node:
    """A box to be placed: its column and height."""

    column: int
    height: int


@dataclass(frozen=True)
class Place:
    """The upper left corner of a box, and its height; boxes are ``COLUMN`` wide."""

    x: int
    y: int
    height: int

    @property
    def right(self) -> int:
        return self.x + COLUMN


Point = tuple[int, int]
Arrow = tuple[Point, ...]
"""From the right side of a box to the left side of another: every two points one bend (or straight across a column)."""


@dataclass(frozen=True)
class Placed:
    """``boxes`` by key, ``arrows`` in the order of the edges, ``width`` and ``height`` of it all, from (0, 0)."""

    boxes: Mapping[Any, Place]
    arrows: tuple[Arrow, ...]
    width: int
    height: int


Edges = Sequence[tuple[Any, Any]]
_Lane = tuple[int, int]
"""(number of an edge, a column that it passes)."""


def placed(nodes: Mapping[Any, Node], edges: Edges, labels: Sequence[int] = ()) -> Placed:
    """Place boxes (by key) and the arrows between them; each goes from a column to a later one. ``labels``: by edge the
    pixels that are needed before the box in which it ends."""
    columns = sorted({n.column for n in nodes.values()})
    rank = {c: i for i, c in enumerate(columns)}
    ranks = {key: rank[n.column] for key, n in nodes.items()}
    middles, lanes, height = _rows(nodes, ranks, edges)
    lefts = _lefts(len(columns), [ranks[b] for _, b in edges], labels)
    boxes = {key: Place(lefts[ranks[key]], middles[key] - n.height // 2, n.height) for key, n in nodes.items()}
    leaving = _ports(boxes, [a for a, _ in edges], [middles[b] for _, b in edges])
    sights = [_seen_from(middles, lanes, i, edge, ranks) for i, edge in enumerate(edges)]
    coming = _ports(boxes, [b for _, b in edges], sights)
    arrows = tuple(
        _arrow(boxes, a, b, leaving[i], coming[i], [(lefts[r], lanes[i, r]) for r in range(ranks[a] + 1, ranks[b])])
        for i, (a, b) in enumerate(edges)
    )
    return Placed(boxes, arrows, lefts[-1] + COLUMN, height)


def _lefts(columns: int, ends: Sequence[int], labels: Sequence[int]) -> list[int]:
    """Where each column begins."""
    found = [0]
    for rank in range(1, columns):
        needed = max((n for end, n in zip(ends, labels, strict=False) if end == rank), default=0)
        found.append(found[-1] + COLUMN + max(BETWEEN, needed))
    return found


def _seen_from(
    middles: Mapping[Any, int], lanes: Mapping[_Lane, int], i: int, edge: tuple[Any, Any], ranks: Mapping[Any, int]
) -> int:
    """The height from which an arrow comes to its end."""
    start, end = edge
    return lanes.get((i, ranks[end] - 1), middles[start])


def _arrow(boxes: Mapping[Any, Place], a: Any, b: Any, leaves: int, comes: int, passes: Sequence[Point]) -> Arrow:
    points: list[Point] = [(boxes[a].right, leaves)]
    for x, y in passes:
        points += [(x, y), (x + COLUMN, y)]
    return (*points, (boxes[b].x, comes))


def _ports(boxes: Mapping[Any, Place], ends: Sequence[Any], others: Sequence[int]) -> list[int]:
    """Where each edge meets its box: spread over its side, in the order of what is at the other end."""
    found = [0] * len(ends)
    for key in dict.fromkeys(ends):
        mine = sorted((i for i, e in enumerate(ends) if e == key), key=lambda i: (others[i], i))
        middle = boxes[key].y + boxes[key].height // 2
        for place, i in enumerate(mine):
            found[i] = middle + round((place - (len(mine) - 1) / 2) * LANE)
    return found


def _rows(
    nodes: Mapping[Any, Node], ranks: Mapping[Any, int], edges: Edges
) -> tuple[dict[Any, int], dict[_Lane, int], int]:
    """The middles of boxes and of lanes, and the height of all; parts that nothing joins lie one below the other."""
    from grandalf.graphs import Edge, Graph, Vertex

    vertices = {key: Vertex(key) for key in nodes}
    for key, n in nodes.items():
        vertices[key].view = _View(n.height)
    links = [Edge(vertices[a], vertices[b], data=i) for i, (a, b) in enumerate(edges)]
    below = 0.0
    middles: dict[Any, int] = {}
    lanes: dict[_Lane, int] = {}
    for part in Graph(list(vertices.values()), links).C:
        boxes, passing = _part(part, ranks)
        top = min(y - h / 2 for y, h in [*boxes.values(), *passing.values()])
        shift = below - top
        middles |= {key: round(y + shift) for key, (y, _) in boxes.items()}
        lanes |= {lane: round(y + shift) for lane, (y, _) in passing.items()}
        below = max(y + shift + h / 2 for y, h in [*boxes.values(), *passing.values()]) + APART
    return middles, lanes, round(below) - APART


_Spans = dict[Any, tuple[float, float]]
"""Middle and height."""


def _part(part: Any, ranks: Mapping[Any, int]) -> tuple[_Spans, _Spans]:
    """Boxes and lanes of one connected part."""
    from grandalf.layouts import Layer, SugiyamaLayout
    from grandalf.utils import Poset

    order = {key: i for i, key in enumerate(ranks)}
    low = min(ranks[v.data] for v in part.sV)

    class Columns(SugiyamaLayout):
        def rank_all(self, roots: Any, optimize: bool = False) -> None:
            self.layers = [Layer([]) for _ in range(max(ranks[v.data] for v in self.g.sV) - low + 1)]
            for v in sorted(self.g.sV, key=lambda v: order[v.data]):
                self.grx[v].rank = ranks[v.data] - low
                self.layers[ranks[v.data] - low].append(v)

    part.sE = Poset(sorted(part.sE, key=lambda e: e.data))  # they come out of a set, in another order each time
    layout = Columns(part)
    layout.xspace, layout.yspace, layout.dw, layout.dh = APART, BETWEEN, LANE, COLUMN
    layout.init_all(roots=[v for v in part.sV if not v.e_in()], inverted_edges=[])
    layout.draw(N=6)
    _apart(layout)
    boxes = {v.data: (v.view.xy[0], v.view.w) for v in part.sV}
    lanes = {
        (edge.data, rank + low): (place.view.xy[0], place.view.w)
        for edge, ctrl in layout.ctrls.items()
        for rank, place in ctrl.items()
        if hasattr(place, "ctrl")
    }
    return boxes, lanes


def _apart(layout: Any) -> None:
    """Nothing of a column lies over anything else of it, whatever the library came to."""
    for layer in layout.layers:
        reached = None
        for v in layer:
            y, half = v.view.xy[0], v.view.w / 2
            if reached is not None and y - half < reached + APART:
                y = reached + APART + half
            v.view.xy = (y, v.view.xy[1])
            reached = y + half


class _View:
    """What the library asks of a box; its layers lie across, ours along."""

    def __init__(self, height: int) -> None:
        self.w, self.h, self.xy = height, COLUMN, (0.0, 0.0)
