"""The pane store as the runtime uses it: a slot's view on the worker, and the driver's view of all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark import TaskContext

from muntin.core.errors import InternalError, StoreError
from muntin.core.time import NEVER
from muntin.core.watermark import SourceClock
from muntin.engine.clocks import CLOCKS, WAITED
from muntin.spark.checkpoint import stream_record
from muntin.spark.counts import Report
from muntin.spark.durable_file import NAME
from muntin.spark.level_run import LevelRun
from muntin.spark.metrics import PIPELINE
from muntin.spark.spec import PipelineSpec
from muntin.state import manifest
from muntin.state.collect import collect, collect_left
from muntin.state.pane_store import PaneStore
from muntin.state.shard_state import ShardState

SINCE = "since"
"""Head of a vertex's state: the batch in which it began. A state without it was never written."""

COLLECT_EVERY = 5
"""Batches between two collections of old versions."""


@dataclass(frozen=True)
class SlotCells:
    """State of one slot at one level: version b - 1 in, version b out. One data file and one manifest per batch."""

    spec: PipelineSpec
    store: PaneStore
    version: int
    task: str

    @staticmethod
    def of_task(spec: PipelineSpec, level: int, slot: int) -> SlotCells:
        """For the batch that the running Spark task belongs to. Raises InternalError outside of a streaming query."""
        assert spec.store is not None
        context = TaskContext.get()
        batch = context.getLocalProperty("streaming.sql.batchId") if context else None
        query_id = context.getLocalProperty("sql.streaming.queryId") if context else None
        if batch is None or query_id is None:
            raise InternalError("a live pipeline runs inside a streaming query; this task belongs to none")
        return SlotCells(spec, PaneStore.open(spec.store, query_id, level), int(batch), f"slot{slot}")

    def load(self, runs: Sequence[LevelRun]) -> dict[str, ShardState]:
        """The states that the batch before left; empty ones for vertices that are new in this batch.

        Raises StoreError when that version is missing, damaged, or another pipeline's, and when it lacks the state of
        a vertex that is not new.
        """
        found: dict[str, ShardState] = {}
        wanted: dict[int, list[str]] = {}
        for run in runs:
            for v in run.stateful:
                id = self.spec.graph.vertices[v].id
                cell = f"{id}/{run.shard}"
                if self._new(id):
                    found[cell] = ShardState(heads={SINCE: self.version})
                else:
                    wanted.setdefault(self._home(id), []).append(cell)
            if self.store.level == 0:
                wanted.setdefault(0, []).append(f"{CLOCKS}/{run.shard}")
        for level, cells in wanted.items():
            found |= self._read(level, cells)
        return found

    def _new(self, id: str) -> bool:
        return self.version == 0 or self.spec.resumed.since.get(id, 0) == self.version

    def _home(self, id: str) -> int:
        """The level that the vertex ran on in the batch before."""
        here = self.store.level
        return self.spec.resumed.homes.get(id, here) if self.version == self.spec.resumed.batch else here

    def _read(self, level: int, cells: list[str]) -> dict[str, ShardState]:
        store = replace(self.store, level=level)
        states = store.load(
            self.version - 1, cells, task=self.task, fingerprint=fingerprint(self.spec), evolving=("streams",)
        )
        lost = [c for c, s in states.items() if SINCE not in s.heads and not c.startswith(CLOCKS)]
        if lost and self.version:
            raise StoreError(
                f"version {self.version - 1} of the pane store has no state of {', '.join(sorted(lost)[:5])}, which "
                "should be there: restore the store that belongs to the checkpoint, or start with a new checkpoint"
            )
        return states

    def commit(self, states: dict[str, ShardState], report: Report) -> None:
        """Write the batch's version of every cell of the slot; now and then collect, where no driver loop does."""
        self.store.commit(self.version, self.task, states, fingerprint(self.spec), dict(report))
        counts_rows = "rows" in report.get(PIPELINE, {})  # one task of the batch
        if self.spec.plain and self.spec.store and self.version % COLLECT_EVERY == 0 and counts_rows:
            for level in range(self.spec.levels):
                collect(self.spec.store, self.store.query_id, level, self.spec.retain)


def cell_of(spec: PipelineSpec, vertex: int, shard: int) -> str:
    """Name of a vertex's state on a shard in the pane store."""
    return f"{spec.graph.vertices[vertex].id}/{shard}"


def fingerprint(spec: PipelineSpec) -> dict[str, Any]:
    """What the stored state depends on beside the queries' signatures."""
    streams = {s.name: stream_record(s) | {"schema": {f.name: str(f.type) for f in s.schema}} for s in spec.streams}
    return {"shards": spec.shards, "streams": streams}


@dataclass(frozen=True)
class DriverStore:
    """All levels of the pane store under ``root``."""

    root: str

    def check(self, query_id: str | None, next_batch: int, planned: int) -> None:
        """Does the store fit a checkpoint that continues with ``next_batch`` and has planned batches up to ``planned``?

        Raises StoreError: missing, older, newer, or of another pipeline.
        """
        if query_id is None:
            others = self._query_ids()
            if others:
                raise StoreError(
                    f"the pane store at {self.root} belongs to another pipeline (query {others[0]}), the checkpoint "
                    "is new; restore the checkpoint that belongs to it, or start with an empty directory"
                )
            return
        store = PaneStore.open(self.root, query_id, 0)
        if next_batch > 0:
            store.load(next_batch - 1, ())
        latest = store.latest_version()
        if latest is not None and latest > max(planned, 0):
            raise StoreError(
                f"the pane store at {self.root} is newer than the checkpoint: it holds version {latest}, the "
                f"checkpoint has planned batches up to {planned}. Use the checkpoint that belongs to it, or a new one"
            )

    def _query_ids(self) -> list[str]:
        listed = PaneStore.open(self.root, "any", 0).files.names("")
        return [n for n in listed if n not in ("control", "tables", NAME) and not n.startswith(".")]

    def watermarks(self, query_id: str, version: int) -> dict[str, int]:
        """By stream how far its event time was complete after a batch (microseconds); of those that had rows."""
        stored = self._heads(query_id, version).get("clocks", {})
        marks = {name: SourceClock(**clock).watermark() for name, clock in stored.items()}
        return {name: mark for name, mark in marks.items() if mark != NEVER}

    def waiting(self, query_id: str | None, version: int) -> list[str]:
        """The signatures of the queries that waited for their turn in a batch."""
        if query_id is None or version < 0:
            return []
        return sorted(self._heads(query_id, version).get(WAITED, {}))

    def sampled(self, query_id: str, version: int) -> frozenset[str]:
        """The streams of which a part was admitted, in a batch or before it."""
        return frozenset(self._heads(query_id, version).get("sampled", {}))

    def _heads(self, query_id: str, version: int) -> dict[str, Any]:
        """What the clocks keep after a batch."""
        cell = f"{CLOCKS}/0"
        return PaneStore.open(self.root, query_id, 0).load(version, [cell])[cell].heads

    def reports(self, query_id: str, levels: int, version: int) -> Iterator[Report]:
        """The reports of every slot and level for one version, and the bytes it took."""
        for level in range(levels):
            store = PaneStore.open(self.root, query_id, level)
            for name in store.manifest_names().get(version, []):
                path = f"{store.directory}/manifests/{name}"
                raw = store.files.read(path)
                head = manifest.decode(store.files.where(path), raw).head
                new = sum(size for file, size in head.files.items() if file.startswith(f"{version:010d}."))
                yield head.report
                yield {PIPELINE: {"state_bytes": new + len(raw)}}

    def newest_reports(self) -> tuple[int, list[Report]] | None:
        """The newest complete version of the query that wrote last, with its reports; None when there is none."""
        found: tuple[int, list[Report]] | None = None
        for query_id in self._query_ids():
            store = PaneStore.open(self.root, query_id, 0)
            names = store.manifest_names()
            full = [v for v, tasks in names.items() if len(tasks) == max(map(len, names.values()))]
            if full and (found is None or max(full) > found[0]):
                levels = len(store.files.names(query_id))
                found = max(full), list(self.reports(query_id, levels, max(full)))
        return found

    def collect(self, query_id: str, levels: int, keep: int, batch: int) -> None:
        """Delete versions that no retry can ask for, and the data that only they name; after ``batch``, on all levels:
        those that dropped queries alone had, too."""
        for level in range(levels):
            collect(self.root, query_id, level, keep)
        there = len(PaneStore.open(self.root, query_id, 0).files.names(query_id))
        for left in range(levels, there):
            collect_left(self.root, query_id, left, batch - keep)
