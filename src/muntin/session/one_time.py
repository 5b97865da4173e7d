"""One-time queries against a checkpoint, from any process, while its pipeline goes on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import get_args

from muntin.core.errors import ConfigError
from muntin.dataflow.durable import DurablePlan, newest_before
from muntin.dataflow.history import kept_rows
from muntin.local.contents import Running
from muntin.local.one_time import Isolation, OneTimeAnswer, held_catalog, one_time
from muntin.plan.catalog import Catalog
from muntin.plan.windows import QueryOptions
from muntin.spark import files
from muntin.spark.checkpoint import Checkpoint, progress_of, read_checkpoint
from muntin.spark.durable_file import read_plans
from muntin.spark.readers import holding
from muntin.spark.snapshots import reading_anew, snapshot_of
from muntin.state.snapshots import CollectedError, Snapshot

_NO_BATCH = "is no checkpoint of Muntin in which a batch has been committed"


def ask_checkpoint(
    path: str, text: str, options: QueryOptions | None = None, isolation: Isolation = "window"
) -> OneTimeAnswer:
    """The answer to a query over the windows that a checkpoint holds: as of its last committed batch when it was asked
    (isolation ``window``) or when it had been read (``latest``), or with none committed until it answers (``serial``:
    the run waits before its next commit, for ``spark.readers.HOLD_SECONDS`` at most).

    Needs no JVM; writes nothing and blocks nobody but under ``serial``. Raises as ``local.one_time.one_time`` does,
    ConfigError where there is no checkpoint, and CollectedError where a run overtakes every attempt.
    """
    if isolation not in get_args(Isolation):
        raise ConfigError(f"isolation is one of {', '.join(get_args(Isolation))}, not {isolation!r}")

    def answer(found: Checkpoint, plans: Sequence[DurablePlan]) -> OneTimeAnswer:
        ran = newest_before(plans, found.next_batch)
        if found.query_id is None or ran is None:
            raise ConfigError(f"{path} {_NO_BATCH}")
        with holding(found.path) if isolation == "serial" else nullcontext():
            told = one_time(text, ran, _Versions(found, plans, ran), options, isolation)
        return replace(told, committed=_committed(found.path, told.batch))

    return reading_anew(path, answer)


@dataclass
class _Versions:
    """The versions that a run of the plan ``ran`` commits, as a checkpoint has them by and by. ``found``, ``plans``:
    as they were read last."""

    found: Checkpoint
    plans: Sequence[DurablePlan]
    ran: DurablePlan

    def newest(self) -> int:
        """The last committed batch."""
        return progress_of(self.found.path).next_batch - 1

    def open(self, vertices: Collection[str]) -> Snapshot | None:
        """Some vertices after it. Raises CollectedError where other queries run by now."""
        now = self.newest()
        if now != self.found.next_batch - 1:
            self.found, self.plans = read_checkpoint(self.found.path), read_plans(self.found.path)
            if newest_before(self.plans, self.found.next_batch) != self.ran:
                raise CollectedError("other queries run by now: what they hold is read anew")
        return snapshot_of(self.found, self.plans, vertices)


def checkpoint_catalog(path: str) -> Catalog:
    """The streams of which the windows of a checkpoint hold rows, with the columns that they hold, and its queries as
    tables. Raises ConfigError where there is no checkpoint."""

    def known(found: Checkpoint, plans: Sequence[DurablePlan]) -> Catalog:
        ran = newest_before(plans, found.next_batch)
        if found.query_id is None or ran is None:
            raise ConfigError(f"{path} {_NO_BATCH}")
        kept = kept_rows(ran)
        catalog = held_catalog(ran, kept, Running.of(ran))
        held = {k.stream for k in kept}
        return replace(catalog, streams=tuple(s for s in catalog.streams if s.name in held))

    return reading_anew(path, known)


def _committed(checkpoint: str, batch: int) -> float | None:
    """When Spark committed a batch, by the time of its file."""
    system, inside = files.resolve(files.join(checkpoint, "commits", str(batch)))
    info = system.get_file_info(inside)
    return None if info.mtime_ns is None else info.mtime_ns / 1e9
