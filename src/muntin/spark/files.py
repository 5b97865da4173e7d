"""Small files on any shared path: a local one, or a URI that ``pyarrow.fs`` knows (hdfs, s3, gs, abfs)."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from muntin.core.errors import ConfigError
from muntin.state.files import reading, writing

WHAT = "the checkpoint"
"""What messages call the files that go through here, where callers say nothing else."""


def join(base: str, *names: str) -> str:
    """A path below ``base``."""
    return "/".join([base.rstrip("/"), *names])


def resolve(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path inside it. Raises ConfigError for an unknown scheme."""
    if not scheme(path):
        return fs.LocalFileSystem(), os.path.abspath(path)
    if scheme(path) == "file":  # also Hadoop's form with one slash
        return fs.LocalFileSystem(), unquote(urlsplit(path).path)
    try:
        return fs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    except Exception as e:
        raise ConfigError(
            f"cannot reach {path!r}: {e}; give a local path or a hdfs://, s3://, gs:// or abfs:// address"
        ) from e


def scheme(path: str) -> str:
    """The scheme of an address, "" of a plain path."""
    found = urlsplit(path).scheme.lower()
    return found if len(found) > 1 else ""


def place(path: str) -> tuple[str, str]:
    """Scheme and host of the file system that a path or URI is on, ("file", "") for a local one."""
    found = scheme(path).replace("s3a", "s3") or "file"
    return found, "" if found == "file" else urlsplit(path).netloc


def absolute(path: str) -> str:
    """The same place for every process, whatever its working directory: a local path from the root, or the URI."""
    return resolve(path)[1] if place(path)[0] == "file" else path.replace("s3a://", "s3://", 1)


def for_spark(path: str) -> str:
    """The path as Spark takes it: local ones as file URIs, so that a default file system does not catch them."""
    system, inside = resolve(path)
    return Path(inside).as_uri() if isinstance(system, fs.LocalFileSystem) else path.replace("s3://", "s3a://", 1)


def make_dirs(path: str, what: str = WHAT) -> None:
    """Make a directory and those above it, if they are not there. Raises StoreError."""
    system, inside = resolve(path)
    with writing(path, what):
        system.create_dir(inside, recursive=True)


def read(path: str) -> bytes | None:
    """The whole file, or None when it is not there. Raises StoreError when it cannot be read."""
    system, inside = resolve(path)
    with suppress(FileNotFoundError), reading(path, WHAT), system.open_input_stream(inside) as f:
        return bytes(f.read())
    return None


def names(path: str) -> list[str]:
    """Names in a directory, sorted; none when it is not there. Raises StoreError when it cannot be read."""
    system, inside = resolve(path)
    with reading(path, WHAT):
        found = system.get_file_info(fs.FileSelector(inside, allow_not_found=True))
    return sorted(f.base_name for f in found)


def is_file(path: str) -> bool:
    """Whether there is a file. Raises StoreError when that cannot be told."""
    system, inside = resolve(path)
    with reading(path, WHAT):
        return bool(system.get_file_info(inside).type == fs.FileType.File)


def delete(path: str) -> None:
    """Delete a file; one that is not there is no error. Raises StoreError."""
    system, inside = resolve(path)
    with writing(path, WHAT), suppress(FileNotFoundError):
        system.delete_file(inside)


def write_atomically(path: str, data: bytes, what: str = WHAT) -> None:
    """Write a file that readers see whole or not at all (a rename on file systems; object stores put whole objects).

    Raises StoreError; then nothing is left of it.
    """
    system, inside = resolve(path)
    head, _, tail = inside.rpartition("/")
    part = f"{head}/.{tail}.{uuid.uuid4().hex}"
    with writing(path, what):
        try:
            with system.open_output_stream(part) as f:
                f.write(data)
            put_in_place(system, part, inside)
        except OSError:
            with suppress(OSError):
                system.delete_file(part)
            raise


def put_in_place(system: fs.FileSystem, part: str, target: str) -> None:
    """Make a file that is written whole appear under its name, in place of one that is there; a local one is synced."""
    if isinstance(system, fs.LocalFileSystem):
        with open(part, "rb") as written:
            os.fsync(written.fileno())
    elif system.get_file_info(target).type == fs.FileType.File:  # not every file system renames over a file
        system.delete_file(target)
    system.move(part, target)
