"""A live query as a DataFrame whose batches all run whole, whatever a function of ``foreachBatch`` reads of them.

Every task of a batch has state to commit. A function that looks at some rows, or at none (``df.show()``,
``df.isEmpty()``, every tenth batch), runs some of the tasks, or none; Spark commits the batch all the same, and the
next one would not find the state that it goes on from.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from pyspark.sql import DataFrame as AnyFrame
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from muntin.core.errors import ConfigError, StoreError
from muntin.engine.clocks import CLOCKS
from muntin.spark import files
from muntin.spark.cells import cell_of
from muntin.spark.checkpoint import Progress, progress_of, rewind
from muntin.spark.durable_file import read_plans
from muntin.spark.level_run import LevelRun
from muntin.spark.slots import slots_of_shards
from muntin.spark.spec import PipelineSpec
from muntin.state.pane_store import PaneStore

log = logging.getLogger("muntin")

LOCATION = "spark.sql.streaming.checkpointLocation"
_ID = "sql.streaming.queryId"

ForeachBatch = Callable[[AnyFrame, int], Any]


class LiveFrame(DataFrame):
    """A streaming DataFrame over ``spec``; what is selected from it is one too."""

    def __new__(cls, *args: Any, **kwargs: Any) -> LiveFrame:
        """PySpark's own, before 4.2, takes no further argument."""
        return object.__new__(cls)

    def __init__(self, jdf: Any, session: Any, spec: PipelineSpec) -> None:
        super().__init__(jdf, session)
        self._spec = spec

    @property
    def writeStream(self) -> LiveWriter:
        return LiveWriter(self)

    @staticmethod
    def of(df: AnyFrame, spec: PipelineSpec) -> LiveFrame:
        """The same DataFrame, watched over."""
        return LiveFrame(df._jdf, df.sparkSession, spec)


def _following(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: LiveFrame, *args: Any, **kwargs: Any) -> Any:
        found = method(self, *args, **kwargs)
        return LiveFrame.of(found, self._spec) if type(found) is DataFrame else found

    return call


for _name, _method in vars(DataFrame).items():
    if callable(_method) and (not _name.startswith("_") or _name == "__getitem__"):
        setattr(LiveFrame, _name, _following(_method))


class LiveWriter(DataStreamWriter):
    """PySpark's writer; ``foreachBatch`` sees to it that a batch runs whole, ``start`` that all before have."""

    def __init__(self, df: LiveFrame) -> None:
        super().__init__(df)
        self._spec = df._spec
        self._location: str | None = None
        self._name: str | None = None
        self._by_function = False

    def option(self, key: str, value: Any) -> LiveWriter:
        if key.lower() == "checkpointlocation":
            self._location = str(value)
        super().option(key, value)
        return self

    def queryName(self, queryName: str) -> LiveWriter:
        super().queryName(queryName)
        self._name = queryName
        return self

    def foreachBatch(self, func: ForeachBatch) -> LiveWriter:
        self._by_function = True
        super().foreachBatch(run_whole(self._spec, func))
        return self

    def start(
        self, path: str | None = None, format: str | None = None, outputMode: str | None = None,
        partitionBy: str | list[str] | None = None, queryName: str | None = None, **options: Any,
    ) -> StreamingQuery:  # fmt: skip
        self.options(**options)
        if queryName is not None:
            self.queryName(queryName)
        location = self._checkpoint()
        if location is not None:
            check_question(location, self._spec)
        if self._by_function and location is not None:
            mend(location, self._spec)
        return super().start(path, format, outputMode, partitionBy)

    def _checkpoint(self) -> str | None:
        """The checkpoint, where it is known before Spark starts."""
        base = self._spark.conf.get(LOCATION, None)
        if self._location is None and base and self._name:
            return files.join(base, self._name)
        return self._location


def check_question(location: str, spec: PipelineSpec) -> None:
    """Raises ConfigError where a checkpoint goes with the windows of another query in the same store."""
    found = progress_of(location)
    if found.query_id is None or found.planned < 0 or spec.store is None:
        return
    if files.names(files.join(spec.store, found.query_id)):
        return
    base = spec.store.rpartition("/")[0]
    for other in (files.join(base, name) for name in files.names(base)):
        if files.names(files.join(other, found.query_id)):
            texts = [q.text for plan in read_plans(other)[-1:] for q in plan.queries.values()]
            then = f" (then: {' '.join(texts[0].split())})" if texts else ""
            raise ConfigError(
                f"query {spec.names[0]!r} asks another question than at checkpoint {location}{then}, and would start "
                "over. Put its text and options (bounds, zone, origin, granule) back, or give it a checkpoint of its "
                "own"
            )


def run_whole(spec: PipelineSpec, func: ForeachBatch) -> ForeachBatch:
    """The function, after which those tasks of the batch that it did not make run are run, before Spark commits it."""

    def on_batch(df: AnyFrame, batch: int) -> None:
        query_id = df.sparkSession.sparkContext.getLocalProperty(_ID) or ""
        func(df, batch)
        if not is_whole(spec, query_id, batch):
            df.write.format("noop").mode("overwrite").save()
        if not is_whole(spec, query_id, batch):
            raise StoreError(
                f"batch {batch} was not run whole: not every task left its state, although all of them were asked for. "
                "Nothing is lost: the next run repeats the batch; write all of query.to_df(), and select from the batch"
            )

    return on_batch


def is_whole(spec: PipelineSpec, query_id: str, batch: int) -> bool:
    """Whether every task of the batch has left its version. Cost: the names of the manifests, level by level."""
    tasks = {f"slot{slot}" for slot in slots_of_shards(spec.shards, spec.partitions)}
    for level in range(spec.levels):
        names = _store(spec, query_id, level).manifest_names().get(batch, [])
        if not tasks <= {name.split(".")[1] for name in names}:
            return False
    return True


def mend(location: str, spec: PipelineSpec) -> None:
    """Let Spark repeat the batches that a checkpoint has committed, but whose state is not in the store.

    Raises StoreError where Spark no longer knows what the first of them had read.
    """
    found = progress_of(location)
    if found.query_id is None or found.committed < 0:
        return
    held = _store(spec, found.query_id, 0).manifest_names()
    if not held and found.committed > 0:
        return  # the store is gone, which the first task says
    newest = _newest_whole(spec, found, held)
    if newest < found.committed:
        rewind(found, newest)
        log.warning(
            "checkpoint %s: batches %d to %d were committed, but not run whole; they are repeated",
            location, newest + 1, found.committed,
        )  # fmt: skip


def _newest_whole(spec: PipelineSpec, found: Progress, held: Iterable[int]) -> int:
    for version in sorted(held, reverse=True):
        if version <= found.committed and _has_all_cells(spec, str(found.query_id), version):
            return version
    return -1


def _has_all_cells(spec: PipelineSpec, query_id: str, version: int) -> bool:
    """By the manifests' own lists of cells, since other runs may have had other numbers of tasks."""
    for level in range(spec.levels):
        store = _store(spec, query_id, level)
        cells = {c for n in store.manifest_names().get(version, []) for c in store.read_manifest(n).head.cells}
        if not _cells(spec, level) <= cells:
            return False
    return True


def _cells(spec: PipelineSpec, level: int) -> set[str]:
    clocks = {f"{CLOCKS}/{shard}" for shard in range(spec.shards)} if level == 0 else set()
    return clocks | {
        cell_of(spec, v, shard) for shard in range(spec.shards) for v in LevelRun(spec, level, shard).stateful
    }


def _store(spec: PipelineSpec, query_id: str, level: int) -> PaneStore:
    assert spec.store is not None
    return PaneStore.open(spec.store, query_id, level)
