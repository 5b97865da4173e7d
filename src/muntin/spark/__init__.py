"""The Spark runtime: packed transport, stages as ``mapInArrow`` over shards, checkpoints and sinks."""
