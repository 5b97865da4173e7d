"""What a checkpoint holds, read from its files alone: queries, vertices, since when, rows, bytes. Needs no JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muntin.core.errors import ConfigError
from muntin.dataflow.durable import DurablePlan, Since
from muntin.dataflow.measured import Kept
from muntin.engine.clocks import CLOCKS
from muntin.spark.checkpoint import Checkpoint, read_checkpoint
from muntin.spark.durable_file import read_plans
from muntin.state.pane_store import PaneStore


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
    found = read_checkpoint(path)
    plans = read_plans(found.path)
    if found.query_id is None or not plans:
        raise ConfigError(f"{path} is no checkpoint of Muntin that a run has begun")
    plan = plans[-1]
    vertices = {v.id: v for v in _vertices(plan)}
    version = found.next_batch - 1
    clocks: dict[str, Any] = {}
    for level in sorted({v.level for v in vertices.values()} | {0}) if version >= 0 else ():
        clocks |= _read(PaneStore.open(found.store, found.query_id, level), version, vertices)
    queries = {
        name: {"text": q.text, "options": dict(q.options), "root": q.root, **_since(plan.filling(name))}
        for name, q in plan.queries.items()
    }
    held = version if version >= 0 else None
    return CheckpointState(found.path, held, found.planned, plan.version, queries, tuple(vertices.values()), clocks)


def kept_by(found: Checkpoint, plan: DurablePlan) -> tuple[list[Kept], Mapping[str, Any]]:
    """What the vertices of a plan keep in the newest whole version, and the clocks by stream."""
    kept: list[Kept] = []
    clocks: dict[str, Any] = {}
    if found.query_id is None:
        return kept, clocks
    for level in sorted({v.level for v in plan.vertices.values()} | {0}):
        store = PaneStore.open(found.store, found.query_id, level)
        for name in store.manifest_names().get(found.next_batch - 1, []):
            for cell, state in store.read_manifest(name).cells().items():
                id = cell.rpartition("/")[0]
                if id == CLOCKS:
                    clocks |= state.heads.get("clocks", {})
                chunks: dict[str, list[Mapping[str, int]]] = {}
                for entry in state.chunks:
                    chunks.setdefault(entry.structure, []).append(entry.meta)
                kept.append(Kept(id, state.heads, chunks))
    return kept, clocks


def _vertices(plan: DurablePlan) -> list[VertexState]:
    users: dict[str, list[str]] = {}
    for name, query in plan.queries.items():
        for vertex in query.plan["vertices"]:
            users.setdefault(vertex["id"], []).append(name)
    return [
        VertexState(id, v.words, tuple(users.get(id, ())), v.since, v.level, at=v.at, watermark=v.watermark)
        for id, v in plan.vertices.items()
    ]


def _since(began: Since) -> dict[str, Any]:
    return {"since": began.batch, "at": began.at, "watermark": began.watermark}


def _read(store: PaneStore, version: int, vertices: Mapping[str, VertexState]) -> Mapping[str, Any]:
    """Add up one version of one level; the clocks of shard 0 if they are there."""
    clocks: Mapping[str, Any] = {}
    for name in store.manifest_names().get(version, []):
        for cell, state in store.read_manifest(name).cells().items():
            id, _, shard = cell.rpartition("/")
            if id == CLOCKS and shard == "0":
                clocks = state.heads.get("clocks", {})
            if id in vertices:
                _add(vertices[id], state.chunks)
    return clocks


def _add(vertex: VertexState, chunks: list[Any]) -> None:
    vertex.shards += 1
    for entry in chunks:
        vertex.rows += entry.meta["n"]
        vertex.bytes += entry.meta["bytes"]
        vertex.structures[entry.structure] = vertex.structures.get(entry.structure, 0) + entry.meta["n"]
