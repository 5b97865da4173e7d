"""A live query as a DataFrame whose batches all run whole, whatever a function of ``foreachBatch`` reads of them.

Every task of a batch has state to commit. A function that looks at some rows, or at none (``df.show()``,
``df.isEmpty()``, every tenth batch), runs some of the tasks, or none; Spark commits the batch all the same, and the
next one would not find the state that it goes on from.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from pyspark.sql import DataFrame as AnyFrame
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from muntin.core.errors import ConfigError, StoreError
from muntin.dataflow.durable import DurablePlan
from muntin.engine.clocks import CLOCKS
from muntin.spark import files
from muntin.spark.cells import SINCE, DriverStore, cell_of, fingerprint
from muntin.spark.checkpoint import Progress, progress_of, rewind
from muntin.spark.durable_file import read_plans, write_plans
from muntin.spark.level_run import LevelRun
from muntin.spark.slots import slots_of_shards
from muntin.spark.spec import PipelineSpec
from muntin.state.collect import collect_left
from muntin.state.pane_store import PaneStore
from muntin.state.shard_state import ShardState

log = logging.getLogger("muntin")

LOCATION = "spark.sql.streaming.checkpointLocation"
_ID = "sql.streaming.queryId"
SIGNATURE = re.compile("[0-9a-f]{16}")
"""A query's directory in the store is called by the signature that it had when it began."""
BEGUN = "begun"
"""In place of a task: who wrote the version in which a query began anew."""

ForeachBatch = Callable[[AnyFrame, int], Any]


@dataclass(frozen=True)
class Live:
    """What a live DataFrame runs: the pipeline, its durable plan, and whether its windows may begin anew on the
    checkpoint of another question."""

    spec: PipelineSpec
    durable: DurablePlan
    refills: bool = False


class LiveFrame(DataFrame):
    """A streaming DataFrame over ``live``; what is selected from it is one too."""

    def __new__(cls, *args: Any, **kwargs: Any) -> LiveFrame:
        """PySpark's own, before 4.2, takes no further argument."""
        return object.__new__(cls)

    def __init__(self, jdf: Any, session: Any, live: Live) -> None:
        super().__init__(jdf, session)
        self._live = live

    @property
    def writeStream(self) -> LiveWriter:
        return LiveWriter(self)

    @staticmethod
    def of(df: AnyFrame, live: Live) -> LiveFrame:
        """The same DataFrame, watched over."""
        return LiveFrame(df._jdf, df.sparkSession, live)


def _following(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: LiveFrame, *args: Any, **kwargs: Any) -> Any:
        found = method(self, *args, **kwargs)
        return LiveFrame.of(found, self._live) if type(found) is DataFrame else found

    return call


for _name, _method in vars(DataFrame).items():
    if callable(_method) and (not _name.startswith("_") or _name == "__getitem__"):
        setattr(LiveFrame, _name, _following(_method))


class LiveWriter(DataStreamWriter):
    """PySpark's writer; ``foreachBatch`` sees to it that a batch runs whole, ``start`` that all before have."""

    def __init__(self, df: LiveFrame) -> None:
        super().__init__(df)
        self._live = df._live
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
        super().foreachBatch(run_whole(self._live.spec, func))
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
            check_question(location, self._live)
        if self._by_function and location is not None:
            mend(location, self._live.spec)
        return super().start(path, format, outputMode, partitionBy)

    def _checkpoint(self) -> str | None:
        """The checkpoint, where it is known before Spark starts."""
        base = self._spark.conf.get(LOCATION, None)
        if self._location is None and base and self._name:
            return files.join(base, self._name)
        return self._location


def check_question(location: str, live: Live) -> None:
    """See to a checkpoint that goes with the windows of another query in the same store: where those of this one may
    begin anew they do, else it raises ConfigError."""
    spec, found = live.spec, progress_of(location)
    if found.query_id is None or found.planned < 0 or spec.store is None or _has_state(spec.store, found.query_id):
        return
    base = spec.store.rpartition("/")[0]
    others = (files.join(base, name) for name in files.names(base) if SIGNATURE.fullmatch(name))
    other = next((d for d in others if _has_state(d, found.query_id)), None)
    if other is None:
        return
    texts = [q.text for plan in read_plans(other)[-1:] for q in plan.queries.values()]
    then = f" (then: {' '.join(texts[0].split())})" if texts else ""
    if not live.refills:
        raise ConfigError(
            f"query {spec.names[0]!r} asks another question than at checkpoint {location}{then}, and would start over. "
            "Put its text and options (bounds, zone, origin, granule) back, give it a checkpoint of its own, or let "
            'its windows fill from now on: to_df(on_change="refill")'
        )
    _refill(live, found, other)
    log.warning(
        "query %s asks another question than at checkpoint %s%s: it begins anew in batch %d with empty windows",
        spec.names[0], location, then, found.committed + 1,
    )  # fmt: skip


def _has_state(directory: str, query_id: str) -> bool:
    return bool(PaneStore.open(directory, query_id, 0).manifest_names())


def _refill(live: Live, found: Progress, other: str) -> None:
    """Let the query begin after the batches that a checkpoint has committed, in the time that its streams have reached,
    and forget the windows of the one before it. Its state is complete once level 0 is written, which is last."""
    spec, query_id, version = live.spec, str(found.query_id), found.committed
    assert spec.store is not None
    marks: dict[str, int] = {}
    if version >= 0:
        marks = DriverStore(other).watermarks(query_id, version)
        clocks = PaneStore.open(other, query_id, 0).load(
            version, sorted(_clocks(spec)), fingerprint=fingerprint(spec), evolving=("streams",)
        )
        for level in reversed(range(spec.levels)):
            cells = {cell: ShardState(heads={SINCE: version + 1}) for cell in _cells(spec, level) - clocks.keys()}
            if level == 0:
                cells |= {cell: ShardState(heads=dict(state.heads)) for cell, state in clocks.items()}
            _store(spec, query_id, level).commit(version, BEGUN, cells, fingerprint(spec))
    write_plans(spec.store, [], live.durable.begun(version + 1, time.time_ns() // 1000, marks))
    for name in files.names(files.join(other, query_id)):
        collect_left(other, query_id, int(name.rpartition("-")[2]), found.planned + 1)


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
    return (_clocks(spec) if level == 0 else set()) | {
        cell_of(spec, v, shard) for shard in range(spec.shards) for v in LevelRun(spec, level, shard).stateful
    }


def _clocks(spec: PipelineSpec) -> set[str]:
    return {f"{CLOCKS}/{shard}" for shard in range(spec.shards)}


def _store(spec: PipelineSpec, query_id: str, level: int) -> PaneStore:
    assert spec.store is not None
    return PaneStore.open(spec.store, query_id, level)
