"""A task's view of the pane store: state of version b - 1 in, version b out.  (temporary store until pane_store is there)"""

from __future__ import annotations

import json, os, glob
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from muntin.core.errors import StoreError
from muntin.spark.spec import PipelineSpec
from muntin.state.shard_state import Chunk, ShardState
import pickle


@dataclass
class TaskCells:
    spec: PipelineSpec
    version: int

    @staticmethod
    def of_task(spec):
        c = TaskContext.get()
        return TaskCells(spec, int(c.getLocalProperty("streaming.sql.batchId")))

    def load(self, cell, since):
        if not hasattr(self, "cache"):
            self.cache = {}
            for f in glob.glob(f"{self.spec.store}/v{self.version-1}-*"):
                self.cache.update(pickle.load(open(f, "rb")))
        if cell not in self.cache:
            if self.version != since:
                raise StoreError(f"{cell} not in version {self.version - 1}")
            return ShardState()
        heads, chunks = self.cache[cell]
        def un(b):
            rows = pa.ipc.open_stream(b).read_all().combine_chunks().to_batches()[0]
            return lambda: rows
        return ShardState({k: [Chunk(m, un(b)) for m, b in v] for k, v in chunks.items()}, json.loads(heads))

    def commit(self, writer, states, report):
        os.makedirs(self.spec.store, exist_ok=True)
        def ser(r):
            s = pa.BufferOutputStream()
            with pa.ipc.new_stream(s, r.schema) as w: w.write_batch(r)
            return s.getvalue().to_pybytes()
        data = {c: (json.dumps(s.heads), {k: [(x.meta, ser(x.load())) for x in v] for k, v in s.chunks.items()}) for c, s in states.items()}
        pickle.dump(data, open(f"{self.spec.store}/v{self.version}-{writer}", "wb"))
        return 0
