"""Snapshots: one version of chosen vertices, opened read-only.

Opening reads manifests and maps the data files that they name. It writes nothing, takes no lock and shares no cache
with the tasks that write, so it neither blocks a writer nor waits for one. What was opened stays readable when its
version is collected (a mapped file lives on); a version that is collected while it is opened is a ``CollectedError``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from muntin.core.errors import StoreError
from muntin.state.chunk_file import ADVICE, ChunkFile, map_chunk_file
from muntin.state.manifest import Address, Cell, Manifest
from muntin.state.pane_store import PaneStore
from muntin.state.shard_state import Chunk, Loader, ShardState


class CollectedError(StoreError):
    """The version is not there any more: newer ones are. Open one of those."""


@dataclass(frozen=True)
class Snapshot:
    """The cells of one version by vertex id and shard. Their chunks load from mapped files; changing a state changes
    no file and no other snapshot."""

    version: int
    cells: Mapping[str, Mapping[int, ShardState]] = field(default_factory=dict)

    def of(self, vertex: str) -> Mapping[int, ShardState]:
        """The states of a vertex by shard; empty where the version does not know it."""
        return self.cells.get(vertex, {})


def open_snapshot(
    root: str,
    query_id: str,
    levels: Collection[int],
    version: int,
    vertices: Collection[str] | None = None,
    rows: bool = True,
) -> Snapshot:
    """A version of the ``vertices`` (None: of all) that are on these ``levels`` of the store under ``root``.

    ``rows``: map the data files; without it only counts, bounds and heads can be asked. Raises CollectedError where the
    version was collected, before or meanwhile, and StoreError where it is missing, incomplete or damaged. Cost: the
    manifests of the version, and a mapping for each data file; no row is read.
    """
    found: dict[str, dict[int, ShardState]] = {}
    tasks: set[str] | None = None
    for level in sorted(levels):
        store = PaneStore.open(root, query_id, level)
        manifests = _manifests(store, version)
        own = {m.head.task for m in manifests if not m.head.task.startswith(ADDED)}
        if tasks is not None and own and own != tasks:
            raise StoreError(
                f"version {version} of the pane store under {store.files.where(query_id)} is incomplete: level {level} "
                f"has the tasks {', '.join(sorted(own))}, another one {', '.join(sorted(tasks))}. {ADVICE}"
            )
        tasks = own or tasks
        opened = _Opened(store, version) if rows else None
        for id, shard, cell in _cells(manifests, vertices):
            found.setdefault(id, {})[shard] = _state(cell, opened)
    return Snapshot(version, found)


ADDED = "filled"
"""How the names of tasks begin that add cells to a version that others wrote."""


def _manifests(store: PaneStore, version: int) -> list[Manifest]:
    names = _names(store, version)
    try:
        found = [store.read_manifest(n) for n in names]
    except StoreError:
        if not set(names) <= set(_names(store, version)):
            raise _collected(store, version) from None
        raise
    if set(names) != set(_names(store, version)):
        raise _collected(store, version)
    return found


def _names(store: PaneStore, version: int) -> list[str]:
    """The manifests of a version. Raises CollectedError, or StoreError where it never was."""
    held = store.manifest_names()
    if version in held:
        return held[version]
    if any(v > version for v in held) and version >= 0:
        raise _collected(store, version)
    store.load(version, ())  # says what is missing
    return []


def _collected(store: PaneStore, version: int) -> CollectedError:
    held = sorted(store.manifest_names())
    there = f"it holds versions {held[0]} to {held[-1]}; open one of those" if held else "it holds none"
    where = store.files.where(store.directory)
    return CollectedError(f"version {version} of the pane store at {where} was collected: {there}")


def _cells(
    manifests: list[Manifest], vertices: Collection[str] | None
) -> Iterator[tuple[str, int, Cell]]:
    for m in manifests:
        wanted = [c for c in m.head.cells if vertices is None or c.rpartition("/")[0] in vertices]
        for name, cell in m.cells(wanted).items() if wanted else ():
            id, _, shard = name.rpartition("/")
            yield id, int(shard), cell


@dataclass
class _Opened:
    """The data files of one level of a snapshot, each mapped once."""

    store: PaneStore
    version: int
    files: dict[str, ChunkFile] = field(default_factory=dict)

    def file(self, name: str) -> ChunkFile:
        if name not in self.files:
            path = f"{self.store.directory}/data/{name}"
            try:
                self.files[name] = map_chunk_file(self.store.files.local(path))
            except (FileNotFoundError, StoreError):
                if self.version not in self.store.manifest_names():
                    raise _collected(self.store, self.version) from None
                raise
        return self.files[name]


def _state(cell: Cell, opened: _Opened | None) -> ShardState:
    state = ShardState(heads=cell.heads)
    for structure in cell.structures:
        state.list(structure)
    for e in cell.chunks:
        state.list(e.structure).append(Chunk(e.meta, _loader(e.address, opened), e.address))
    return state


def _loader(address: Address, opened: _Opened | None) -> Loader:
    return partial(_unread, address) if opened is None else partial(opened.file(address.file).read, address.position)


def _unread(address: Address) -> pa.RecordBatch:
    raise StoreError(f"the snapshot was opened without rows: {address.file} is not mapped; open it with rows=True")
