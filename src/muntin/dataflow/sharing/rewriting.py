"""A plan with some of its vertices made by others: new vertices take their place, what stands above is named anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from muntin.dataflow.builder import Places
from muntin.dataflow.graph import QueryPlan, Vertex, read_by, vertex_id
from muntin.dataflow.sharing.joined_windows import domain_of

Build = Callable[[int], list[Vertex]]
"""Makes the vertices that give what another one gave, the last of them in its place; their numbers begin with the one
given."""


def with_vertices(plan: QueryPlan, made: Mapping[int, Build], places: Places) -> QueryPlan | None:
    """The plan with the vertices of ``made`` (by number) in place of its own; what nobody reads any more is left out.

    Vertices above have other ids, since they have other inputs, and stay where they are (``places``). None where an id
    cannot be told: a vertex shares its time with streams that are not its own.
    """
    vertices: list[Vertex] = []
    place: list[int] = []
    for number, v in enumerate(plan.vertices):
        if number in made:
            vertices += made[number](len(vertices))
        else:
            named = _renamed(plan.vertices, v, vertices, place)
            if named is None:
                return None
            vertices.append(named)
            if v.op.stateful and named.id != v.id:
                places.same(v.id, named.id)
        place.append(len(vertices) - 1)
    kept, root = _merged(vertices, place[plan.root])
    return replace(plan, vertices=kept, root=root)


def _renamed(before: Sequence[Vertex], v: Vertex, vertices: Sequence[Vertex], place: Sequence[int]) -> Vertex | None:
    domain = domain_of(before, v)
    if domain is None:
        return None
    moved = v.renumbered(place)
    return replace(moved, id=vertex_id(v.op, [vertices[e.vertex].id for e in moved.inputs], domain))


def _merged(vertices: Sequence[Vertex], root: int) -> tuple[tuple[Vertex, ...], int]:
    """What the root reads, directly or through others, equal vertices once."""
    read, number = read_by(vertices, [root])
    known: dict[Vertex, int] = {}
    place: list[int] = []
    for v in read:
        place.append(known.setdefault(v.renumbered(place), len(known)))
    return tuple(known), place[number[root]]
