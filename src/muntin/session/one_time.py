"""One-time queries against a checkpoint, from any process, while its pipeline goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from muntin.core.errors import ConfigError
from muntin.dataflow.durable import DurablePlan, newest_before
from muntin.local.one_time import OneTimeAnswer, one_time
from muntin.plan.windows import QueryOptions
from muntin.spark import files
from muntin.spark.checkpoint import Checkpoint
from muntin.spark.snapshots import reading_anew, snapshot_of


def ask_checkpoint(path: str, text: str, options: QueryOptions | None = None) -> OneTimeAnswer:
    """The answer to a query over the windows that a checkpoint holds, as of its last committed batch.

    Needs no JVM, writes nothing and blocks nobody. Raises as ``local.one_time.one_time`` does, ConfigError where there
    is no checkpoint, and CollectedError where a run overtakes every attempt.
    """

    def answer(found: Checkpoint, plans: Sequence[DurablePlan]) -> OneTimeAnswer:
        ran = newest_before(plans, found.next_batch)
        if found.query_id is None or ran is None:
            raise ConfigError(f"{path} is no checkpoint of Muntin in which a batch has been committed")
        told = one_time(text, ran, partial(snapshot_of, found, plans), options)
        return replace(told, committed=_committed(found.path, told.batch))

    return reading_anew(path, answer)


def _committed(checkpoint: str, batch: int) -> float | None:
    """When Spark committed a batch, by the time of its file."""
    system, inside = files.resolve(files.join(checkpoint, "commits", str(batch)))
    info = system.get_file_info(inside)
    return None if info.mtime_ns is None else info.mtime_ns / 1e9
