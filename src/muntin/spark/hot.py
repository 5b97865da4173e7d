"""Which keys a packer takes for hot: what the shards of the batch before measured, read from the pane store.

The version before never changes, so a packer that runs again sends the same rows to the same shards.
"""

from __future__ import annotations

from pyspark import TaskContext

from muntin.engine.level import hot_joins
from muntin.engine.level import hot_keys as hot_keys_of
from muntin.spark.spec import Feed, PipelineSpec
from muntin.state.pane_store import PaneStore


def hot_keys(spec: PipelineSpec, feed: Feed) -> list[int]:
    """Hashes of hot keys for a feed; none in the first batch, and over batch DataFrames."""
    context = TaskContext.get()
    batch = context.getLocalProperty("streaming.sql.batchId") if context else None
    query_id = context.getLocalProperty("sql.streaming.queryId") if context else None
    if spec.store is None or batch is None or query_id is None:
        return []
    found: set[int] = set()
    graph = spec.graph
    for join in hot_joins(graph, feed.channel):
        version, id = int(batch) - 1, graph.vertices[join].id
        if version < spec.resumed.since.get(id, 0):
            continue
        level = spec.resumed.homes.get(id, 0) if version < spec.resumed.batch else graph.levels[join]
        cells = [f"{id}/{shard}" for shard in range(spec.shards)]
        states = PaneStore.open(spec.store, query_id, level).load(version, cells, sparse=True)
        for state in states.values():
            found.update(hot_keys_of(graph, feed.channel, {join: state}))
    return sorted(found)
