"""Where a drawing puts boxes and arrows: nothing lies over or behind anything else."""

from __future__ import annotations

import random
from itertools import combinations, pairwise

import pytest

from muntin.core.calendar import Months
from muntin.core.spans import span_words
from muntin.core.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from muntin.dataflow.explain.placing import APART, BETWEEN, COLUMN, LANE, Arrow, Node, Placed, placed


def along(arrow: Arrow) -> list[tuple[float, float]]:
    """Points of an arrow as it is drawn."""
    found = []
    for i, ((x0, y0), (x1, y1)) in enumerate(pairwise(arrow)):
        for step in range(21):
            t = step / 20
            if i % 2:
                found.append((x0 + (x1 - x0) * t, y0 + (y1 - y0) * t))
                continue
            bend = BETWEEN // 2
            xs, ys = (x0, x0 + bend, x1 - bend, x1), (y0, y0, y1, y1)
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            found.append((_dot(weights, xs), _dot(weights, ys)))
    return found


def _dot(weights: tuple[float, ...], values: tuple[int, ...]) -> float:
    return sum(w * v for w, v in zip(weights, values, strict=True))


def check(found: Placed, edges: list[tuple[int, int]]) -> None:
    boxes = list(found.boxes.values())
    for a, b in combinations(boxes, 2):
        assert a.x != b.x or a.y + a.height + APART <= b.y + 2 or b.y + b.height + APART <= a.y + 2, (a, b)
    for box in boxes:
        assert box.x >= 0 and box.y >= -1 and box.right <= found.width and box.y + box.height <= found.height + 1
    for (start, end), arrow in zip(edges, found.arrows, strict=True):
        a, b = found.boxes[start], found.boxes[end]
        assert arrow[0][0] == a.right and a.y < arrow[0][1] < a.y + a.height
        assert arrow[-1][0] == b.x and b.y < arrow[-1][1] < b.y + b.height
        for x, y in along(arrow):
            assert not any(c.x < x < c.right and c.y < y < c.y + c.height for c in boxes), (start, end)


def test_a_chain_is_a_straight_line() -> None:
    found = placed({i: Node(i, 40 + 10 * i) for i in range(4)}, [(0, 1), (1, 2), (2, 3)])
    assert {y for arrow in found.arrows for _, y in arrow} == {found.arrows[0][0][1]}
    assert found.width == 4 * COLUMN + 3 * BETWEEN and found.height == 70


@pytest.mark.parametrize("seed", range(40))
def test_no_arrow_lies_behind_a_box(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 25)
    nodes = {0: Node(0, 40)}
    edges: list[tuple[int, int]] = []
    for i in range(1, count):
        takes = [rng.randrange(i) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
        column = max([nodes[t].column + 1 for t in takes], default=0) + rng.choice([0, 0, 0, 1, 2])
        nodes[i] = Node(column, rng.randint(30, 140))
        edges += [(t, i) for t in takes]
    for i, node in nodes.items():
        ports = max(sum(a == i for a, _ in edges), sum(b == i for _, b in edges))
        nodes[i] = Node(node.column, max(node.height, ports * LANE + 4))
    found = placed(nodes, edges)
    check(found, edges)
    assert placed(nodes, edges) == found


def test_lengths_in_words() -> None:
    words = {
        262_500 * MILLISECOND: "4 minutes 22.5 seconds", HOUR: "1 hour", 2 * HOUR + 30 * MINUTE: "2 hours 30 minutes",
        1500 * MILLISECOND: "1.5 seconds", 250 * MILLISECOND: "250 milliseconds", 8 * DAY: "8 days", SECOND: "1 second",
        Months(12): "1 year", 7: "7 microseconds", 937_500: "937.5 milliseconds",
    }  # fmt: skip
    assert {span: span_words(span) for span in words} == words
