"""The pane store: versioned state of the windows, one directory per query id and pipeline level.

::

    ROOT/<query id>/level-<n>/manifests/<version>.<task>.manifest    what the task's cells hold in that version
    ROOT/<query id>/level-<n>/data/<version>.<task>.<attempt>.chunks the rows that the task added in that version

A version is a batch id. A task reads version b - 1 of its cells, and commits version b: one data file with all new
chunks, then one manifest, put in one atomic step. Data files have unique names and are never changed, so retries,
speculative copies and re-runs of a batch cannot harm each other: whichever manifest comes last is as good as the one
before. A batch writes what arrived (and the list of what is there), never the window.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from muntin.core.errors import InternalError, StoreError
from muntin.state import chunk_file, manifest
from muntin.state.chunk_file import ADVICE, NewChunk
from muntin.state.faults import fault
from muntin.state.files import Files, files_at
from muntin.state.fingerprint import check_fingerprint
from muntin.state.manifest import Address, Cell, Entry, Head, Manifest
from muntin.state.open_files import OPEN
from muntin.state.shard_state import Chunk, ShardState

_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")
_FILE = re.compile(r"(\d+)\.([A-Za-z0-9_-]+)\.(.*)\Z")

_UNREAD = (
    "(Where a function of foreachBatch did not read all rows of a batch that was committed: start it over "
    "query.to_df(), not over a union or a view of it, and the batch is repeated.) "
)


@dataclass(frozen=True)
class CommitStats:
    """What one commit wrote (``bytes_written``: data file and manifest; ``rows``: in new chunks), and what is held.

    ``state_bytes``: sizes of the data files that the cells' chunks are in, as the disk has them.
    """

    bytes_written: int
    files: int
    rows: int
    state_rows: int
    state_bytes: int


@dataclass(frozen=True)
class PaneStore:
    """The states of one level of one query's pipeline."""

    files: Files
    query_id: str
    level: int

    @staticmethod
    def open(root: str, query_id: str, level: int) -> PaneStore:
        """The store under ``root`` (a path, or a URI that pyarrow.fs knows). Reads and creates nothing yet."""
        if not _NAME.match(query_id):
            raise InternalError(f"query id {query_id!r} may have letters, digits, '-' and '_' only")
        return PaneStore(files_at(root), query_id, level)

    @property
    def directory(self) -> str:
        return f"{self.query_id}/level-{self.level}"

    # --- reading ------------------------------------------------------------------------------------------------------

    def load(
        self,
        version: int | None,
        cells: Collection[str],
        *,
        task: str | None = None,
        fingerprint: dict[str, Any] | None = None,
        evolving: Collection[str] = (),
        sparse: bool = False,
    ) -> dict[str, ShardState]:
        """The states of ``cells`` ("vertex/shard") in ``version``; None or -1 is the empty one before batch 0.

        A cell whose vertex is unknown to that version starts empty. One whose vertex is known for other shards but not
        for it means that a manifest was lost: an error, unless ``sparse`` (not every shard takes part in every
        version). ``task``: whose manifest to look in first; while tasks keep their cells from version to version, it is
        the only one read. ``fingerprint``: compared with the stored one, see ``check_fingerprint``. Chunks open when
        they are loaded.

        Raises StoreError: version missing or collected, store missing or newer, corrupt, of another pipeline.
        """
        states = {cell: ShardState() for cell in cells}
        names = self.manifest_names()
        if version is None or version < 0:
            if max(names, default=0) > 0:
                raise self._no_version(-1, sorted(names))
            return states
        if version not in names:
            raise self._no_version(version, sorted(names))
        missing = set(cells)
        known: set[str] = set()
        named: set[str] = set()
        first = self._manifest_name(version, task) if task else None
        for name in sorted(names[version], key=lambda n: (n != first, n)):
            if not missing:
                break
            found = self.read_manifest(name)
            if fingerprint is not None:
                check_fingerprint(found.head.fingerprint, fingerprint, evolving)
            known.update(c.rpartition("/")[0] for c in found.head.cells)
            here = missing.intersection(found.head.cells)
            if here:
                states |= {name: self._state(cell) for name, cell in found.cells(here).items()}
                missing -= here
                named.update(found.head.files)
        lost = sorted(c for c in missing if c.rpartition("/")[0] in known - {""})
        if lost and not sparse:
            raise StoreError(
                f"version {version} of the pane store at {self._here()} is incomplete: no manifest has "
                f"{', '.join(lost[:5])}{' ...' if len(lost) > 5 else ''}, but has other shards of that vertex. "
                f"{_UNREAD}{ADVICE}"
            )
        if cells:
            OPEN.keep(f"{self.directory}/data", task, version, named)
        return states

    def manifest_names(self) -> dict[int, list[str]]:
        """Names of the manifests by version."""
        found: dict[int, list[str]] = {}
        for name in self.files.names(f"{self.directory}/manifests"):
            m = _FILE.match(name)
            if m and m[3] == "manifest":
                found.setdefault(int(m[1]), []).append(name)
        return found

    def latest_version(self) -> int | None:
        """The newest version that any task has committed; None when there is none. It may not be complete."""
        return max(self.manifest_names(), default=None)

    def read_manifest(self, name: str) -> Manifest:
        """One manifest by its file name, checked. Raises StoreError."""
        path = f"{self.directory}/manifests/{name}"
        where = self.files.where(path)
        try:
            data = self.files.read(path)
        except FileNotFoundError as e:
            raise StoreError(f"{where} vanished while it was read: its version was collected by a newer run") from e
        found = manifest.decode(where, data)
        told = (found.head.query, found.head.level, self._manifest_name(found.head.version, found.head.task))
        if told != (self.query_id, self.level, name):
            raise StoreError(
                f"{where} is in truth {told[2]} of query {told[0]}, level {told[1]}: it was moved or renamed. {ADVICE}"
            )
        return found

    def read_reports(self, version: int) -> dict[str, dict[str, Any]]:
        """The reports given at the commits of ``version``, by task."""
        found = [self.read_manifest(n).head for n in self.manifest_names().get(version, [])]
        return {head.task: head.report for head in found}

    def _state(self, cell: Cell) -> ShardState:
        state = ShardState(heads=cell.heads)
        for structure in cell.structures:
            state.list(structure)
        for e in cell.chunks:
            state.list(e.structure).append(Chunk(e.meta, partial(self._read, e.address), e.address))
        return state

    def _read(self, address: Address) -> pa.RecordBatch:
        path = f"{self.directory}/data/{address.file}"
        try:
            local = self.files.local(path)
        except FileNotFoundError as e:
            raise StoreError(f"{self.files.where(path)} is missing, although a manifest names it. {ADVICE}") from e
        return OPEN.open(local).read(address.position)

    # --- writing ------------------------------------------------------------------------------------------------------

    def commit(
        self,
        version: int,
        task: str,
        cells: dict[str, ShardState],
        fingerprint: dict[str, Any],
        report: dict[str, Any] | None = None,
    ) -> CommitStats:
        """Write the new chunks of all ``cells`` (one file, none if there are none), then the manifest of ``version``.

        Afterwards the chunks carry addresses and are read from the store. ``fingerprint`` and ``report`` are plain JSON
        dicts, kept in the manifest. Raises StoreError (full disk, no permission); then the version is not committed, no
        new file is left and the states are unchanged.
        """
        if version < 0 or not _NAME.match(task):
            raise InternalError(f"version {version}, task {task!r}: need a batch id, a name of [A-Za-z0-9_-]")
        new = _unwritten(cells)
        about = {"query": self.query_id, "level": self.level, "version": version, "task": task}
        parts = chunk_file.encode([n for n, _ in new.values()], about) if new else []
        file, size = f"{version:010d}.{task}.{uuid.uuid4().hex[:16]}.chunks", sum(memoryview(p).nbytes for p in parts)
        placed = {key: Address(file, size, i) for i, key in enumerate(new)}
        listed = {name: _cell(state, placed) for name, state in cells.items()}
        data = manifest.encode(Head(self.query_id, self.level, version, task, fingerprint, report or {}), listed)
        fault("chunks:before")
        if new:
            self.files.put(f"{self.directory}/data/{file}", parts)
        fault("chunks:after")
        self._put_manifest(self._manifest_name(version, task), data, file)
        _place(cells, placed, self._read)
        sizes = {e.address.file: e.address.size for c in listed.values() for e in c.chunks}
        return CommitStats(
            bytes_written=size + len(data),
            files=1 + bool(new),
            rows=sum(n.rows.num_rows for n, _ in new.values()),
            state_rows=sum(s.rows() for s in cells.values()),
            state_bytes=sum(sizes.values()),
        )

    def _put_manifest(self, name: str, data: bytes, file: str) -> None:
        """Put the manifest; if that fails, drop the data ``file`` that it names, unless it stands all the same."""
        path = f"{self.directory}/manifests/{name}"
        fault("manifest:before")
        try:
            self.files.put(path, [data])
        except StoreError:
            with suppress(OSError):
                if not self._holds(path, data):
                    self.files.delete(f"{self.directory}/data/{file}")
            raise
        fault("manifest:after")

    def _holds(self, path: str, data: bytes) -> bool:
        try:
            return self.files.read(path) == data
        except FileNotFoundError:
            return False

    # --- words --------------------------------------------------------------------------------------------------------

    def _manifest_name(self, version: int, task: str) -> str:
        return f"{version:010d}.{task}.manifest"

    def _here(self) -> str:
        return self.files.where(self.directory)

    def _no_version(self, version: int, held: list[int]) -> StoreError:
        if not held:
            return StoreError(
                f"there is no pane store at {self._here()}, but the checkpoint asks for its version {version}: it was "
                "deleted, or the job was started with another store path. Restore it, or start with a new checkpoint"
            )
        asked = f"version {version}" if version >= 0 else "the empty version before batch 0"
        older = held[-1] < version
        return StoreError(
            f"the pane store at {self._here()} is {'older' if older else 'newer'} than the checkpoint: the checkpoint "
            f"asks for {asked}, the store holds versions {held[0]} to {held[-1]}. "
            f"{_UNREAD + 'Restore the store of the checkpoint' if older else 'Use the checkpoint of this store'}, "
            "or start with a new checkpoint"
        )


def latest_version(root: str, query_id: str, level: int) -> int | None:
    """The newest version that any task of the level has committed; None when there is none."""
    return PaneStore.open(root, query_id, level).latest_version()


def _chunks(cells: dict[str, ShardState]) -> Iterator[tuple[str, str, Chunk]]:
    for name, state in cells.items():
        for structure, chunks in state.chunks.items():
            for chunk in chunks:
                yield name, structure, chunk


def _unwritten(cells: dict[str, ShardState]) -> dict[int, tuple[NewChunk, Chunk]]:
    """Chunks without an address by identity, each once; the chunk is kept beside so that its identity stays taken."""
    return {
        id(chunk): (NewChunk(name, structure, chunk.load()), chunk)
        for name, structure, chunk in _chunks(cells)
        if chunk.address is None
    }


def _cell(state: ShardState, placed: dict[int, Address]) -> Cell:
    entries = [
        Entry(structure, chunk.address or placed[id(chunk)], chunk.meta)
        for structure, chunks in state.chunks.items()
        for chunk in chunks
    ]
    return Cell(state.heads, list(state.chunks), entries)


def _place(cells: dict[str, ShardState], placed: dict[int, Address], read: Callable[[Address], pa.RecordBatch]) -> None:
    """Give the written chunks their addresses, in the same lists."""
    for state in cells.values():
        for chunks in state.chunks.values():
            for i, chunk in enumerate(chunks):
                if chunk.address is None:
                    address = placed[id(chunk)]
                    chunks[i] = Chunk(chunk.meta, partial(read, address), address)
