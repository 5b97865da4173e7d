"""The writer of an archive: one process at a time takes rows in, updates the index and puts versions.

A commit writes data files first and then one manifest, which makes them the newest version in one atomic step. A crash
before it leaves files that nobody names, which the next writer deletes; readers see the version before or after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from muntin.archive.layout import Layout
from muntin.archive.manifest import BUFFER, DATA, FOLDER, Design, Manifest, decode, encode, first_version, name_of
from muntin.archive.parts import Run, merging, parts_of
from muntin.archive.reader import Snapshot, newest, place, versions
from muntin.archive.segments import Files, directory_of, exists, write_segment
from muntin.archive.update import Changes, advance, buffered, load, places, split
from muntin.archive.wanted import instants, numbers
from muntin.core.errors import ConfigError, DataError, StoreError
from muntin.state.faults import fault

BLOCK_ROWS = 8192
KEEP = 16
"""Versions that stay readable behind the newest, unless said otherwise."""


@dataclass
class Archive:
    """An archive opened for writing (``create``, ``open_archive``). There may be one writer, and any number of readers
    in any process (``reader.snapshot``)."""

    files: Files
    manifest: Manifest
    _named: dict[int, set[str]] = field(default_factory=dict, repr=False)

    @property
    def design(self) -> Design:
        """What it holds, and how."""
        return self.manifest.design

    def snapshot(self) -> Snapshot:
        """Its present version, for reading."""
        return Snapshot(self.files, self.manifest)

    def write(self, rows: pa.Table | None, now: int | None = None, batch: tuple[str, int] | None = None) -> bool:
        """Take rows in and let time come to ``now``, in one commit.

        Rows wait in a buffer, where readers find them, until an update interval is over; the update then inserts them
        and takes away what has expired. ``now``: None for the greatest time in ``rows``; it never goes back. ``batch``:
        name of a writer and number of its batch; one that it has written already changes nothing, and False is
        returned.

        Raises ConfigError for columns that do not fit, DataError for a row without time or expiry, and StoreError
        where another process writes too, or writing fails; then nothing has changed.
        """
        m = self.manifest
        if self.has(batch):
            return False
        self._alone()
        fresh = _checked(self.design, rows) if rows is not None else self.design.schema.empty_table()
        now = self._time(fresh, now)
        counters = dict(m.counters)
        if now is not None:
            exp = instants(fresh.column(self.design.expiry))
            counters["rows"] = counters.get("rows", 0) + fresh.num_rows
            counters["expired on arrival"] = counters.get("expired on arrival", 0) + int((exp <= now).sum())
            fresh = fresh.filter(pa.array(exp > now))
        self._put(self._changed(replace(m, now=now, applied=self._applied(batch), counters=counters), fresh))
        return True

    def has(self, batch: tuple[str, int] | None) -> bool:
        """Whether a writer's batch is there already."""
        return batch is not None and batch[1] <= self.manifest.applied.get(batch[0], -1)

    def take(
        self, segments: Sequence[Segment], run: Run, now: int | None = None, batch: tuple[str, int] | None = None
    ) -> bool:
        """As ``write``, of rows that others have put into files already (``segment``); an update is done in parts by
        ``run``. Raises StoreError too where such a file is not to be seen from here."""
        m = self.manifest
        if self.has(batch):
            return False
        self._alone()
        counters = dict(m.counters)
        counters["rows"] = counters.get("rows", 0) + sum(s.rows for s in segments)
        counters["expired on arrival"] = counters.get("expired on arrival", 0) + sum(s.expired for s in segments)
        told = (s.newest for s in segments) if now is None else (now,)
        now = max((t for t in (m.now, *told) if t is not None), default=None)
        for name in {n for s in segments for n in s.directory["file"].to_pylist()}:
            if not exists(self.files, name):
                raise StoreError(
                    f"{self.files.where(DATA)} has no {name}, which a worker wrote a moment ago: the archive has to "
                    "be on a file system that all workers and the driver see. Nothing was committed"
                )
        blocks = pa.concat_tables([m.blocks, *(s.directory for s in segments)]).combine_chunks()
        m = replace(m, now=now, applied=self._applied(batch), counters=counters, blocks=blocks)
        self._put(self._changed_by(m, run))
        return True

    def _changed_by(self, m: Manifest, run: Run) -> Manifest:
        """The next version, with rows in the buffer that were not in the one before; ``run`` writes data files."""
        due = self._due(m)
        if due is None:
            crowded = merging(m.blocks)
            if crowded is None:
                return m
            part, others = crowded
            (merged,) = run(self.files, m.design, [part])
            return replace(m, blocks=pa.concat_tables([others, merged.directory()]).combine_chunks())
        parts, untouched = parts_of(m.design, m.blocks, m.boundary, due)
        changes = Changes(m.design, [untouched])
        for done in run(self.files, m.design, parts):
            changes.add(done)
        return self._updated(m, changes, due)

    def _applied(self, batch: tuple[str, int] | None) -> dict[str, int]:
        return dict(self.manifest.applied) | ({batch[0]: batch[1]} if batch is not None else {})

    def _due(self, m: Manifest) -> int | None:
        """The boundary of the update that is due; None where none is."""
        due = None if m.now is None else m.now // m.design.every * m.design.every
        return None if due is None or (m.boundary is not None and due <= m.boundary) else due

    def _time(self, rows: pa.Table, now: int | None) -> int | None:
        times = [t for t in (self.manifest.now, now) if t is not None]
        if now is None and rows.num_rows:
            times.append(int(instants(rows.column(self.design.time)).max()))
        return max(times, default=None)

    def _changed(self, m: Manifest, rows: pa.Table) -> Manifest:
        """The next version, whose data files are written."""
        due = self._due(m)
        if due is None:
            blocks, entries = buffered(self.files, m.design, m.blocks, rows)
            return replace(m, blocks=_joined(m.design, blocks, entries))
        return self._updated(m, advance(self.files, m.design, m.blocks, rows, m.boundary, due), due)

    def _updated(self, m: Manifest, changes: Changes, due: int) -> Manifest:
        """The version after an update."""
        last = {
            "at": due, "touched": sorted(_label(m.design, at) for at in changes.touched), "inserted": changes.inserted,
            "expired": changes.expired, "written": changes.written, "read": changes.read,
            "rebuilt": sorted(_label(m.design, at) for at in changes.rewritten),
        }  # fmt: skip
        counters = {
            **m.counters,
            "updates": m.counters.get("updates", 0) + 1,
            "expired": m.counters.get("expired", 0) + changes.expired,
        }
        return replace(m, blocks=changes.directory(), boundary=due, counters=counters, last=last)

    def migrate(self, layout: Layout, how: str = "rebuild") -> None:
        """Go over to another layout, in one commit (Golab 2006, 4.4.6).

        ``how``: ``rebuild`` moves all rows at once, at the cost of writing them all; ``roll_over`` puts new rows into
        the new index, while the old one empties out as its rows expire. Raises as ``write`` does.
        """
        if how not in ("rebuild", "roll_over"):
            raise ConfigError(f"an archive migrates by rebuild or roll_over, not {how!r}")
        self._alone()
        m = self.manifest
        design = replace(m.design, layouts=(*m.design.layouts, layout))
        blocks = self._moved(design) if how == "rebuild" else m.blocks
        self._put(replace(m, design=design, blocks=blocks))

    def _moved(self, design: Design) -> pa.Table:
        """The directory of all rows under the newest layout, whose files are written: sub-index by sub-index out of the
        old ones, then each new one clustered as a whole."""
        m, entries, newest_layout = self.manifest, [], len(design.layouts) - 1
        waiting = numbers(m.blocks, "cell") == BUFFER
        indexed = m.blocks.filter(pa.array(~waiting))
        for number in np.unique(places(indexed)).tolist():
            rows = load(self.files, indexed.filter(pa.array(places(indexed) == number)), design)
            live = instants(rows.column(design.expiry)) > (m.boundary or 0)
            for cell, part in split(design, rows.filter(pa.array(live)), None).items():
                entries += write_segment(self.files, design, newest_layout, cell, part)
        parts = _joined(design, indexed.slice(0, 0), entries)
        whole = []
        for number in np.unique(places(parts)).tolist():
            rows = load(self.files, parts.filter(pa.array(places(parts) == number)), design)
            whole += write_segment(self.files, design, newest_layout, number & 0xFFFFFFFF, rows)
        for name in {e["file"] for e in entries}:
            self.files.delete(f"{DATA}/{name}")
        return _joined(design, m.blocks.filter(pa.array(waiting)), whole)

    def _alone(self) -> None:
        there = versions(self.files)
        if not there or there[-1] != self.manifest.version:
            raise StoreError(
                f"{self.files.where('')} is at version {there[-1] if there else None}, and this writer left it at "
                f"{self.manifest.version}: another process writes to it, and there may be one. Nothing was written; "
                "stop one of them, and open the archive again"
            )

    def _put(self, m: Manifest) -> None:
        """Commit a version, and let go of those that are no longer kept."""
        m = replace(m, version=self.manifest.version + 1)
        fault("archive:files")
        data = encode(m)
        fault("archive:before")
        self.files.put(f"{FOLDER}/{name_of(m.version)}", [data])
        fault("archive:after")
        self.manifest = m
        self._named[m.version] = m.files
        old = [v for v in self._named if v < m.version - m.design.keep]
        gone = set[str]().union(*(self._named.pop(v) for v in old))
        for version in old:
            self.files.delete(f"{FOLDER}/{name_of(version)}")
        for name in gone - set[str]().union(*self._named.values()):
            self.files.delete(f"{DATA}/{name}")

    def sweep(self) -> int:
        """Delete what no version names: files of writers that were killed. Returns how many."""
        named = set[str]().union(*self._named.values())
        left = [n for n in self.files.names(DATA) if n not in named]
        for name in left:
            self.files.delete(f"{DATA}/{name}")
        return len(left)


@dataclass(frozen=True)
class Segment:
    """Rows that were put into the buffer's files, not committed yet: what the ``directory`` says of them, how many they
    were, those included that had ``expired`` on arrival, and the ``newest`` time of any (None: there were none)."""

    directory: pa.Table
    rows: int
    expired: int
    newest: int | None


def segment(files: Files, design: Design, rows: pa.Table, now: int | None) -> Segment:
    """Put rows into a file that nobody sees before ``Archive.take``; in any process. ``now``: up to which time the
    archive is known to be. Raises as ``Archive.write`` does."""
    fresh = _checked(design, rows)
    if not fresh.num_rows:
        return Segment(directory_of([], design.schema.field(design.key).type), 0, 0, None)
    newest = int(instants(fresh.column(design.time)).max())
    live = instants(fresh.column(design.expiry)) > max(newest, newest if now is None else now)
    entries = write_segment(files, design, 0, BUFFER, fresh.filter(pa.array(live)))
    directory = directory_of(entries, design.schema.field(design.key).type)
    return Segment(directory, fresh.num_rows, int((~live).sum()), newest)


def _label(design: Design, at: tuple[int, int]) -> str:
    current = at[0] == len(design.layouts) - 1
    return f"I{at[1] + 1}" if current else f"{at[0]}:I{at[1] + 1}"


def _joined(design: Design, blocks: pa.Table, entries: list[dict[str, Any]]) -> pa.Table:
    return pa.concat_tables([blocks, directory_of(entries, design.schema.field(design.key).type)]).combine_chunks()


def _checked(design: Design, rows: pa.Table) -> pa.Table:
    """Rows in the archive's columns and types. Raises ConfigError and DataError."""
    missing = [n for n in design.schema.names if n not in rows.column_names]
    more = [n for n in rows.column_names if n not in design.schema.names]
    if missing or more:
        raise ConfigError(
            f"rows do not fit the archive: they lack {missing or 'nothing'} and have {more or 'nothing'} besides; it "
            f"holds {', '.join(design.schema.names)}"
        )
    try:
        found = rows.select(design.schema.names).cast(design.schema)
    except (pa.ArrowException, ValueError) as e:
        raise ConfigError(f"rows do not fit the types of the archive's columns: {e}") from None
    for name in (design.time, design.expiry):
        if found.column(name).null_count:
            raise DataError(
                f"{found.column(name).null_count} rows have no {name}: an archive keeps rows from a time to an expiry; "
                "leave them out, or give them one"
            )
    return found


def create(
    path: str,
    schema: pa.Schema,
    *,
    key: str,
    time: str = "ts",
    expiry: str = "exp",
    every: int,
    span: int,
    layout: Layout | None = None,
    block_rows: int = BLOCK_ROWS,
    keep: int = KEEP,
    filesystem: pafs.FileSystem | None = None,
) -> Archive:
    """Make an archive in a directory that is empty or not there (see ``manifest.Design`` for the arguments).

    Raises ConfigError for a design that does not fit, and for a directory that holds something.
    """
    files = place(path, filesystem)
    plain = pa.schema([f.with_type(_plain(f.type)) for f in schema])
    design = Design(plain, key, time, expiry, every, span, (layout or Layout(),), block_rows, keep)
    _sound(design)
    if files.names(""):
        what = "an archive already: open_archive goes on with it" if versions(files) else "not empty"
        raise ConfigError(f"{files.where('')} is {what}. Name another directory for a new archive")
    first = first_version(design)
    files.put(f"{FOLDER}/{name_of(0)}", [encode(first)])
    return Archive(files, first, {0: set()})


def _plain(type: pa.DataType) -> pa.DataType:
    return type.value_type if pa.types.is_dictionary(type) else type


def _sound(design: Design) -> None:
    for what in ("key", "time", "expiry"):
        name = getattr(design, what)
        if design.schema.names.count(name) != 1:
            raise ConfigError(f"{what} is {name!r}, which is no column: there are {', '.join(design.schema.names)}")
    for name in (design.time, design.expiry):
        type = design.schema.field(name).type
        if not (pa.types.is_timestamp(type) and type.unit != "ns") and not pa.types.is_int64(type):
            raise ConfigError(
                f"column {name!r} is {type}; an archive takes as times timestamps of microseconds or "
                "coarser, or 64-bit integers"
            )
    _orderable(design)
    if not (0 < design.every <= design.span):
        raise ConfigError(
            f"the update interval is above 0 and at most the longest lifetime (span), not {design.every} of "
            f"{design.span}"
        )
    if design.block_rows < 1 or design.keep < 1:
        raise ConfigError("block_rows and keep are 1 or more")


def _orderable(design: Design) -> None:
    type = design.schema.field(design.key).type
    try:
        pa.table({"k": pa.array([], type)}).sort_by("k")
    except (pa.ArrowException, TypeError) as e:
        raise ConfigError(f"key {design.key!r} is {type}, which has no order to cluster rows by: {e}") from None


def open_archive(path: str, filesystem: pafs.FileSystem | None = None) -> Archive:
    """Open an archive for writing, and delete what writers that were killed have left.

    Raises StoreError for a directory that is no archive or is damaged.
    """
    files = place(path, filesystem)
    manifest = newest(files)
    named = {
        v: decode(files.read(f"{FOLDER}/{name_of(v)}"), files.where(name_of(v))).files for v in versions(files)
    }
    found = Archive(files, manifest, named)
    found.sweep()
    return found
