"""File access of the pane store: a local (or mounted) directory, or anything ``pyarrow.fs`` reaches.

Paths are relative to the store's root and use "/". A file is put whole and durably in one atomic step, and never
changed afterwards, except that a manifest may be put again over an equal one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.fs as pafs

from muntin.core.errors import StoreError

_ATOMIC_PUT = ("s3", "gcs", "abfs")
"""Kinds of ``pyarrow.fs`` (object stores) where a file appears only when it is whole; elsewhere it is renamed."""

PANE_STORE = "the pane store"
"""What messages call the files, where callers say nothing else."""

CACHE_BYTES = 16 * 2**30
"""How much of a remote store a machine keeps on its own disk."""


class Files(Protocol):
    """What the pane store asks of a file system."""

    def put(self, path: str, parts: Iterable[Any]) -> None:
        """Write the buffers as one file; it appears whole or not at all. Raises StoreError, leaving nothing behind."""

    def read(self, path: str) -> bytes:
        """The whole file. Raises FileNotFoundError."""

    def names(self, directory: str) -> list[str]:
        """Names in the directory, sorted; [] if there is none."""

    def local(self, path: str) -> str:
        """A path of this machine at which the immutable file can be mapped. Raises FileNotFoundError."""

    def delete(self, path: str) -> bool:
        """Remove the file; False if it was gone already."""

    def where(self, path: str) -> str:
        """The path as messages show it."""


@dataclass(frozen=True)
class LocalFiles:
    """A directory of this machine, or a shared one that is mounted on every machine. ``what``: in messages."""

    root: str
    what: str = PANE_STORE

    def put(self, path: str, parts: Iterable[Any]) -> None:
        target = self.where(path)
        temp = f"{target}.tmp-{uuid.uuid4().hex}"
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(temp, "xb") as f:
                for part in parts:
                    f.write(part)
                f.flush()
                os.fsync(f.fileno())
            os.replace(temp, target)
            _sync_directory(os.path.dirname(target))
        except BaseException as e:
            with suppress(OSError):
                os.unlink(temp)
            if isinstance(e, OSError):
                raise write_error(target, e, self.what) from e
            raise

    def read(self, path: str) -> bytes:
        with reading(self.where(path), self.what):
            return Path(self.where(path)).read_bytes()

    def names(self, directory: str) -> list[str]:
        with suppress(FileNotFoundError), reading(self.where(directory), self.what):
            return sorted(os.listdir(self.where(directory)))
        return []

    def local(self, path: str) -> str:
        return self.where(path)

    def delete(self, path: str) -> bool:
        with writing(self.where(path), self.what):
            try:
                os.unlink(self.where(path))
            except FileNotFoundError:
                return False
        return True

    def where(self, path: str) -> str:
        return os.path.join(self.root, path)


def _sync_directory(path: str) -> None:
    """Make a rename in the directory durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True)
class ArrowFiles:
    """A ``pyarrow.fs`` file system (HDFS, S3, GCS, ABFS), with copies of immutable files in a local ``cache``.

    Where files are visible before they are closed (HDFS), a file is written beside and renamed; a file that is put
    again is then absent for a moment.
    """

    fs: pafs.FileSystem
    root: str
    cache: str
    _downloads: list[int] = field(default_factory=lambda: [0], compare=False, repr=False)
    what: str = PANE_STORE

    def put(self, path: str, parts: Iterable[Any]) -> None:
        target = self.where(path)
        rename = self.fs.type_name not in _ATOMIC_PUT
        temp = f"{target}.tmp-{uuid.uuid4().hex}" if rename else target
        try:
            if rename:
                self.fs.create_dir(target.rpartition("/")[0], recursive=True)
            with self.fs.open_output_stream(temp) as f:
                for part in parts:
                    f.write(part)
            if rename:
                self.delete(path)
                self.fs.move(temp, target)
        except BaseException as e:
            if rename:
                with suppress(OSError):
                    self.fs.delete_file(temp)
            if isinstance(e, OSError):
                raise write_error(target, e, self.what) from e
            raise

    def read(self, path: str) -> bytes:
        with reading(self.where(path), self.what), self.fs.open_input_stream(self.where(path)) as f:
            data: bytes = f.read()
        return data

    def names(self, directory: str) -> list[str]:
        chosen = pafs.FileSelector(self.where(directory), allow_not_found=True)
        with reading(self.where(directory), self.what):
            return sorted(info.base_name for info in self.fs.get_file_info(chosen))

    def local(self, path: str) -> str:
        digest = hashlib.sha256(f"{self.fs.type_name}:{self.root}".encode()).hexdigest()[:16]
        copy = os.path.join(self.cache, digest, path)
        if not os.path.exists(copy):
            LocalFiles(os.path.join(self.cache, digest)).put(path, [self.read(path)])
            self._downloads[0] += 1
            if self._downloads[0] % 64 == 0:
                trim_cache(self.cache, CACHE_BYTES)
        return copy

    def delete(self, path: str) -> bool:
        with writing(self.where(path), self.what):
            try:
                self.fs.delete_file(self.where(path))
            except FileNotFoundError:
                return False
        return True

    def where(self, path: str) -> str:
        return f"{self.root}/{path}"


def trim_cache(directory: str, limit: int) -> int:
    """Delete the copies that were read longest ago until at most ``limit`` bytes stay; returns the bytes deleted."""
    found = []
    for path in Path(directory).rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file():
                stat = path.stat()
                found.append((max(stat.st_atime, stat.st_mtime), stat.st_size, path))
    excess = sum(size for _, size, _ in found) - limit
    gone = 0
    for _, size, path in sorted(found):
        if gone >= excess:
            break
        path.unlink(missing_ok=True)
        gone += size
    return gone


def files_at(root: str, what: str = PANE_STORE) -> LocalFiles | ArrowFiles:
    """The files under ``root``: a path, or a URI such as ``hdfs://host/path``, ``s3://bucket/path``, ``gs://...``.

    Copies of remote files go under ``MUNTIN_CACHE`` (default: a directory of the user under the temporary directory).
    """
    if "://" not in root or root.startswith("file://"):
        return LocalFiles(os.path.abspath(root.removeprefix("file://")), what)
    try:
        fs, path = pafs.FileSystem.from_uri(root)
    except (pa.ArrowInvalid, OSError) as e:
        raise StoreError(
            f"cannot reach {what} at {root!r}: {e}; give a path or a URI that pyarrow.fs knows"
        ) from e
    default = os.path.join(tempfile.gettempdir(), f"muntin-cache-{os.getuid()}")
    return ArrowFiles(fs, path.rstrip("/"), os.environ.get("MUNTIN_CACHE", default), what=what)


def write_error(path: str, e: OSError, what: str = PANE_STORE) -> StoreError:
    """What a failed write means for the user. ``what`` was written: the pane store, the checkpoint, ..."""
    match e.errno:
        case errno.ENOSPC | errno.EDQUOT:
            wrong, remedy = f"the disk of {what} is full: cannot write {path}", "free space, or enlarge the quota"
        case errno.EROFS:
            wrong = f"{what} is on a file system that is read-only: cannot write {path}"
            remedy = "mount it for writing, or name another place"
        case errno.EACCES | errno.EPERM:
            wrong, remedy = f"no permission to write to {what}: {path}", "give this user the right to write there"
        case _:
            wrong, remedy = f"cannot write to {what}: {path}", "check the path, its permissions and its file system"
    return StoreError(
        f"{wrong} ({_reason(e)}). Nothing of this batch was committed; {remedy}, and start the query again: it "
        "continues where it stopped"
    )


def read_error(path: str, e: OSError, what: str = PANE_STORE) -> StoreError:
    """What it means that something is there, but cannot be read."""
    return StoreError(
        f"cannot read from {what}: {path} ({_reason(e)}). Nothing was changed; check its permissions and its file "
        "system, and start the query again: it continues where it stopped"
    )


def _reason(e: OSError) -> str:
    return os.strerror(e.errno) if e.errno else str(e)


@contextmanager
def writing(path: str, what: str = PANE_STORE) -> Iterator[None]:
    """Turns an OSError into the StoreError that says what it means."""
    try:
        yield
    except OSError as e:
        raise write_error(path, e, what) from e


@contextmanager
def reading(path: str, what: str = PANE_STORE) -> Iterator[None]:
    """The same for reads; a file that is not there stays a FileNotFoundError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as e:
        raise read_error(path, e, what) from e
