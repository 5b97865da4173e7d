"""A checkpoint opened read-only while its pipeline may go on: what it holds after its last committed batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from muntin.core.errors import ConfigError
from muntin.dataflow.durable import DurablePlan, newest_before
from muntin.spark.checkpoint import Checkpoint, read_checkpoint
from muntin.spark.durable_file import read_plans
from muntin.state.snapshots import CollectedError, Snapshot, open_snapshot

Found = TypeVar("Found")

TRIES = 5
"""How often a checkpoint is read anew whose version is collected in the meantime, by a run that is faster."""


@dataclass(frozen=True)
class OpenedCheckpoint:
    """``plans``: the durable plans that it keeps, oldest first; ``snapshot``: the state after the last committed batch
    (None: no batch has been committed)."""

    checkpoint: Checkpoint
    plans: Sequence[DurablePlan]
    snapshot: Snapshot | None


def open_checkpoint(path: str, vertices: Collection[str] | None = None, rows: bool = True) -> OpenedCheckpoint:
    """The checkpoint with the state of ``vertices`` (None: all, clocks too); ``rows``: so that rows can be read.

    Needs no JVM, writes nothing and blocks nobody. Raises ConfigError where there is no checkpoint, StoreError where it
    is damaged, CollectedError where a run overtakes every one of ``TRIES`` attempts.
    """

    def opened(found: Checkpoint, plans: Sequence[DurablePlan]) -> OpenedCheckpoint:
        if found.query_id is None or not plans:
            raise ConfigError(f"{path} is no checkpoint of Muntin that a run has begun")
        return OpenedCheckpoint(found, plans, snapshot_of(found, plans, vertices, rows))

    return reading_anew(path, opened)


def reading_anew(path: str, ask: Callable[[Checkpoint, Sequence[DurablePlan]], Found]) -> Found:
    """What ``ask`` finds in a checkpoint and its plans; they are read anew where their version is collected meanwhile.
    Raises what ``ask`` does, CollectedError where a run overtakes every one of ``TRIES`` attempts."""
    for left in reversed(range(TRIES)):
        found = read_checkpoint(path)
        try:
            return ask(found, read_plans(found.path))
        except CollectedError:
            if not left:
                raise
    raise AssertionError("unreachable")


def snapshot_of(
    found: Checkpoint, plans: Sequence[DurablePlan], vertices: Collection[str] | None = None, rows: bool = True
) -> Snapshot | None:
    """The state after the last committed batch of a checkpoint that was read."""
    version = found.next_batch - 1
    ran = newest_before(plans, found.next_batch)
    if found.query_id is None or version < 0 or ran is None:
        return None
    levels = {0, *(v.level for v in ran.vertices.values())}
    return open_snapshot(found.store, found.query_id, levels, version, vertices, rows)
