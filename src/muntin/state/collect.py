"""Collection: delete the versions that nobody will ask for again, and the data files that no kept version names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from muntin.state.pane_store import PaneStore

_VERSION = re.compile(r"(\d+)\.")


@dataclass(frozen=True)
class Collected:
    """How many files went."""

    manifests: int = 0
    data_files: int = 0


def collect(root: str, query_id: str, level: int, keep: int = 2) -> Collected:
    """Keep the newest ``keep`` complete versions and everything newer; delete older manifests, then unnamed older data.

    The newest version may still be in the making; a batch starts only when the one before has finished, so all versions
    below the newest are complete. Nothing of a kept or newer version is touched: what a running task writes has a newer
    version, and what it carries over from the version before is named there. Raises StoreError, before anything is
    deleted, if a kept manifest cannot be read. Cost: reads the kept manifests.
    """
    if keep < 1:
        raise ValueError("keep at least one complete version")
    store = PaneStore.open(root, query_id, level)
    manifests = store.manifest_names()
    complete = sorted(manifests)[:-1]
    if len(complete) < keep:
        return Collected()
    return _delete_before(store, manifests, complete[-keep])


def collect_left(root: str, query_id: str, level: int, before: int) -> Collected:
    """Of a level on which nothing runs any more, delete the versions below ``before``, the newest too.

    Raises StoreError, before anything is deleted, if a kept manifest cannot be read.
    """
    store = PaneStore.open(root, query_id, level)
    return _delete_before(store, store.manifest_names(), before)


def _delete_before(store: PaneStore, manifests: Mapping[int, list[str]], oldest: int) -> Collected:
    """Delete the manifests of versions below ``oldest``, and data as old that no kept one names."""
    data = store.files.names(f"{store.directory}/data")
    named: set[str] = set()
    for version, names in manifests.items():
        if version >= oldest:
            for name in names:
                named.update(store.read_manifest(name).head.files)
    old_manifests = [n for n in store.files.names(f"{store.directory}/manifests") if _version(n) < oldest]
    old_data = [n for n in data if _version(n) < oldest and n not in named]
    return Collected(
        sum(store.files.delete(f"{store.directory}/manifests/{n}") for n in old_manifests),
        sum(store.files.delete(f"{store.directory}/data/{n}") for n in old_data),
    )


def _version(name: str) -> float:
    """The version in a file name (unfinished files have theirs too); infinite for what is not ours."""
    m = _VERSION.match(name)
    return int(m[1]) if m else float("inf")
