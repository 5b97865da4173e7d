"""Which keys a packer takes for hot: what the shards of the batch before measured, read from the pane store.

The version before never changes, so a packer that runs again sends the same rows to the same shards.
"""

from __future__ import annotations

from pyspark import TaskContext

from muntin.operators.joins.hot_keys import hot_head
from muntin.operators.joins.window_join import WindowJoin
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
    for target in feed.targets:
        level = spec.depths[target.query][target.stage]
        version = int(batch) - 1
        if version < 0 or version < spec.since[level]:
            continue
        cells = [f"{spec.signatures[target.query]}/{target.stage}/{shard}" for shard in range(spec.shards)]
        states = PaneStore.open(spec.store, query_id, level).load(version, cells, sparse=True)
        ops = spec.queries[target.query].stages[target.stage].ops
        for k in (k for k, op in enumerate(ops) if isinstance(op, WindowJoin) and op.split):
            for state in states.values():
                found.update(state.heads.get(hot_head(f"op{k}"), []))
    return sorted(found)
