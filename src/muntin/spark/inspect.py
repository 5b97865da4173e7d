"""What a checkpoint holds, read from its files alone: queries, vertices, since when, rows, bytes. Needs no JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muntin.dataflow.durable import DurablePlan, Since
from muntin.engine.clocks import CLOCKS
from muntin.spark.snapshots import open_checkpoint
from muntin.state.shard_state import ShardState


@dataclass
class VertexState:
    """A vertex: what it does, which queries read it, since which batch, its level; what all shards hold of it; ``at``,
    ``watermark``: when that batch was (see ``dataflow.durable.Since``)."""

    id: str
    words: str
    queries: tuple[str, ...]
    since: int
    level: int
    shards: int = 0
    rows: int = 0
    bytes: int = 0
    structures: dict[str, int] = field(default_factory=dict)
    """Rows by structure."""
    at: int | None = None
    watermark: int | None = None


@dataclass(frozen=True)
class CheckpointState:
    """``version``: the last batch that is whole in the pane store (None: none); ``release``: who planned it last;
    ``clocks``: by stream what its clock says, on the first shard."""

    path: str
    version: int | None
    planned: int
    release: str
    queries: Mapping[str, Mapping[str, Any]]
    vertices: tuple[VertexState, ...]
    clocks: Mapping[str, Mapping[str, Any]]


def inspect(path: str) -> CheckpointState:
    """The state of a checkpoint. Raises ConfigError where there is none, StoreError where it is damaged."""
    opened = open_checkpoint(path, rows=False)
    found, plan, held = opened.checkpoint, opened.plans[-1], opened.snapshot
    vertices = tuple(_vertices(plan))
    clocks: Mapping[str, Any] = {}
    if held is not None:
        for vertex in vertices:
            _add(vertex, held.of(vertex.id).values())
        clocks = held.of(CLOCKS)[0].heads.get("clocks", {})
    queries = {
        name: {"text": q.text, "options": dict(q.options), "root": q.root, **_since(plan.filling(name))}
        for name, q in plan.queries.items()
    }
    version = None if held is None else held.version
    return CheckpointState(found.path, version, found.planned, plan.version, queries, vertices, clocks)


def _vertices(plan: DurablePlan) -> list[VertexState]:
    users: dict[str, list[str]] = {}
    for name, query in plan.queries.items():
        for vertex in query.plan["vertices"]:
            id = vertex["id"]
            holder = plan.vertices[id].inside if id in plan.vertices else ""
            users.setdefault(holder or id, []).append(name)
    return [
        VertexState(id, v.words, tuple(users.get(id, ())), v.since, v.level, at=v.at, watermark=v.watermark)
        for id, v in plan.vertices.items()
        if not v.inside
    ]


def _since(began: Since) -> dict[str, Any]:
    return {"since": began.batch, "at": began.at, "watermark": began.watermark}


def _add(vertex: VertexState, states: Iterable[ShardState]) -> None:
    for state in states:
        vertex.shards += 1
        vertex.rows += state.rows()
        vertex.bytes += state.size()
        for structure, chunks in state.chunks.items():
            rows = sum(c.meta["n"] for c in chunks)
            vertex.structures[structure] = vertex.structures.get(structure, 0) + rows
