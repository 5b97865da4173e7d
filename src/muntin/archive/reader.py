"""Reading one version of an archive: probes by key and scans, which open the blocks that may have such rows alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from muntin.archive.manifest import BUFFER, DATA, FOLDER, Manifest, decode, name_of, version_of
from muntin.archive.segments import Files, by_file, read_blocks
from muntin.archive.wanted import Wanted, instant, instants, numbers
from muntin.core.errors import ConfigError, StoreError
from muntin.state.files import ArrowFiles, files_at

Found = TypeVar("Found")

TRIES = 20
"""How often a reader starts over with a newer version, where updates overtake it."""


@dataclass
class Work:
    """What reading has cost: ``cells``, sub-indices that were entered, blocks, rows and bytes of them."""

    cells: int = 0
    files: int = 0
    blocks: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Snapshot:
    """One version of an archive, whatever is written meanwhile; it can be read while it is among those kept.

    ``work`` adds up what reading through it has cost.
    """

    files: Files
    manifest: Manifest
    work: Work = field(default_factory=Work, compare=False)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the rows."""
        return self.manifest.design.schema

    @property
    def now(self) -> int | None:
        """The time up to which rows have come, in the archive's unit; None before the first."""
        return self.manifest.now

    def wanted(self, **asked: Any) -> Wanted:
        """The request with instants as users write them (see ``Wanted``)."""
        type = self.schema.field(self.manifest.design.time).type
        times = {k: instant(asked[k], type) for k in ("since", "until", "as_of") if asked.get(k) is not None}
        return Wanted(**{**asked, **times})

    def probe(self, key: Any, **asked: Any) -> pa.Table:
        """Live rows with the key (None: NULL; NaN equals NaN), in no order. ``asked``: since, until, as_of."""
        return self.read(self.wanted(key=key, **asked))

    def range(self, low: Any = None, high: Any = None, **asked: Any) -> pa.Table:
        """Live rows with keys from ``low`` to ``high``, both included; without NULL and NaN."""
        return self.read(self.wanted(low=low, high=high, **asked))

    def scan(self, **asked: Any) -> pa.Table:
        """All live rows."""
        return self.read(self.wanted(**asked))

    def read(self, wanted: Wanted) -> pa.Table:
        """The rows asked for. Raises ConfigError for an instant before the archive's time, and StoreError when this
        version is no longer kept, or is damaged. Cost: the blocks that may have such rows, in memory."""
        parts = list(self.batches(wanted))
        return pa.concat_tables(parts) if parts else self.schema.empty_table()

    def batches(self, wanted: Wanted) -> Iterator[pa.Table]:
        """The rows asked for, file by file. Raises as ``read`` does."""
        design, as_of = self.manifest.design, self._as_of(wanted)
        if as_of is None:
            return
        wanted.bounds(self.schema.field(design.key).type)  # raises before anything is read
        for name, blocks in self._chosen(wanted, as_of).items():
            try:
                rows = read_blocks(self.files, name, blocks)
            except FileNotFoundError as e:
                raise Gone(
                    f"{self.files.where(name)} is gone: version {self.manifest.version} of the archive is no longer "
                    f"kept ({design.keep} versions are, behind the newest). Open the archive again"
                ) from e
            time, exp = instants(rows.column(design.time)), instants(rows.column(design.expiry))
            kept = wanted.rows(rows.column(design.key), time, exp, as_of)
            yield rows.filter(pa.array(kept)).cast(self.schema)

    def _as_of(self, wanted: Wanted) -> int | None:
        now = self.manifest.now
        if now is None:
            return None
        if wanted.as_of is not None and wanted.as_of < now:
            raise ConfigError(
                f"the archive stands at {now}: what had expired by then is gone, and cannot be seen as of "
                f"{wanted.as_of}"
            )
        return now if wanted.as_of is None else wanted.as_of

    def _chosen(self, wanted: Wanted, as_of: int) -> dict[str, list[int]]:
        directory = self.manifest.blocks
        chosen = directory.take(pa.array(wanted.blocks(directory, as_of)))
        found = by_file(chosen)
        cells = set(zip(chosen["layout"].to_pylist(), chosen["cell"].to_pylist(), strict=True))
        self.work.cells += len(cells)
        self.work.files += len(found)
        self.work.blocks += chosen.num_rows
        self.work.rows += int(numbers(chosen, "rows").sum())
        self.work.bytes += int(numbers(chosen, "bytes").sum())
        return found

    def paths(self, wanted: Wanted | None = None) -> list[str]:
        """Data files that hold the rows asked for, for other readers of Parquet. They may hold expired rows besides:
        a row lives while its expiry is greater than ``now``."""
        asked = wanted or Wanted()
        as_of = self._as_of(asked)
        chosen = {} if as_of is None else self._chosen(asked, as_of)
        return [self.files.where(f"{DATA}/{name}") for name in sorted(chosen)]

    def stats(self) -> dict[str, Any]:
        """The archive in figures: what it is, how far, what each sub-index holds, and counters since its making."""
        m, d, b = self.manifest, self.manifest.design, self.manifest.blocks
        cells = []
        layout, cell = numbers(b, "layout"), numbers(b, "cell")
        for at in sorted(set(zip(layout.tolist(), cell.tolist(), strict=True))):
            part = b.filter(pa.array((layout == at[0]) & (cell == at[1])))
            total = {c: int(numbers(part, c).sum()) for c in ("rows", "live", "bytes")}
            ends = {c: int(numbers(part, c).max() if c[:3] == "max" else numbers(part, c).min()) for c in _ENDS}
            files = len(set(part["file"].to_pylist()))
            what = "buffer" if at[1] == BUFFER else f"I{at[1] + 1}"
            cells.append({"layout": at[0], "index": what, "files": files, "blocks": part.num_rows, **total, **ends})
        return {
            "version": m.version, "now": m.now, "updated to": m.boundary, "key": d.key, "time": d.time,
            "expiry": d.expiry, "every": d.every, "span": d.span, "layouts": [str(x) for x in d.layouts],
            "rows": int(np.sum(numbers(b, "live"))), "bytes": int(np.sum(numbers(b, "bytes"))),
            "counters": dict(m.counters), "applied": dict(m.applied), "last update": dict(m.last), "cells": cells,
        }  # fmt: skip


_ENDS = ("min_time", "max_time", "min_exp", "max_exp")


class Gone(StoreError):
    """A version of an archive is no longer kept."""


def place(path: str, filesystem: pafs.FileSystem | None = None) -> Files:
    """The files of an archive at a path or URI, or at a path inside a ``pyarrow.fs`` file system."""
    if filesystem is None or isinstance(filesystem, pafs.LocalFileSystem):
        return files_at(path, "the archive")
    return ArrowFiles(filesystem, path.rstrip("/"), "", what="the archive")


def versions(files: Files) -> list[int]:
    """The versions whose manifests are there, in order."""
    return sorted(v for v in map(version_of, files.names(FOLDER)) if v is not None)


def newest(files: Files) -> Manifest:
    """The newest version. Raises StoreError for a directory that is no archive, or a damaged manifest."""
    for _ in range(TRIES):
        there = versions(files)
        if not there:
            raise StoreError(
                f"{files.where('')} is no archive: there is no {FOLDER}/ with a version in it. Check the path; "
                "muntin.archive.create makes a new one"
            )
        path = f"{FOLDER}/{name_of(there[-1])}"
        try:
            data = files.read(path)
        except FileNotFoundError:  # a newer one came, and this one went
            continue
        return decode(data, files.where(path))
    raise StoreError(f"{files.where(FOLDER)}: versions come and go faster than they can be read")


def snapshot(path: str, filesystem: pafs.FileSystem | None = None) -> Snapshot:
    """The newest version of the archive at ``path``, to be read whatever a writer does meanwhile.

    Raises StoreError for a directory that is no archive or is damaged.
    """
    files = place(path, filesystem)
    return Snapshot(files, newest(files))


def reading_newest(files: Files, ask: Callable[[Snapshot], Found]) -> Found:
    """Ask the newest version; the one after it where updates overtook the reader."""
    gone: Gone | None = None
    seen: Sequence[int] = ()
    for _ in range(TRIES):
        found = Snapshot(files, newest(files))
        if found.manifest.version in seen:
            break
        seen = (*seen, found.manifest.version)
        try:
            return ask(found)
        except Gone as e:
            gone = e
    assert gone is not None
    raise gone
