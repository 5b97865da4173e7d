"""The data files of the pane store that this process holds open (mapped): those that recent versions name, no others.

A file that is deleted while it is mapped keeps its space on the disk, so what collection has deleted is closed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import PurePath

from muntin.state.chunk_file import ChunkFile, map_chunk_file

MOST = 1024
"""Files that are open at once; beyond it those go that were used longest ago."""

VERSIONS = 4
"""A task that this process has not run for so many versions is taken to have moved: its files are closed. It is less
than what collection keeps, so that hardly a file is closed later than it is deleted."""

Owner = tuple[str, str | None]
"""A directory of data files, and the task whose manifest was read."""


@dataclass
class OpenFiles:
    """Open files by path, and by owner the version last read with the files that it names."""

    most: int = MOST
    files: OrderedDict[str, ChunkFile] = field(default_factory=OrderedDict)
    named: dict[Owner, tuple[int, frozenset[str]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, path: str) -> ChunkFile:
        """The file at a local path, mapped once. Raises StoreError (missing, cut short, corrupt, another format)."""
        with self.lock:
            found = self.files.get(path)
            if found is not None:
                self.files.move_to_end(path)
                return found
        mapped = map_chunk_file(path)
        with self.lock:
            self.files[path] = mapped
            if len(self.files) > self.most:
                self.files.popitem(last=False)
        return mapped

    def keep(self, directory: str, task: str | None, version: int, names: Iterable[str]) -> None:
        """Note what a version names, and close what no recent version of any task does in that directory.

        Rows in use stay readable. Cost: the number of open files.
        """
        with self.lock:
            self.named[directory, task] = version, frozenset(names)
            for owner, (last, _) in list(self.named.items()):
                if owner[0] == directory and last < version - VERSIONS:
                    del self.named[owner]
            self._close(directory, set().union(*(n for (d, _), (_, n) in self.named.items() if d == directory)))

    def _close(self, directory: str, kept: Collection[str]) -> None:
        for path in list(self.files):
            where = PurePath(path)
            if where.parent.as_posix().endswith(directory) and where.name not in kept:
                del self.files[path]

    def forget(self) -> None:
        """Close everything that no row in use holds open; checksums are compared again."""
        with self.lock:
            self.files.clear()
            self.named.clear()


OPEN = OpenFiles()
"""Those of this process."""
