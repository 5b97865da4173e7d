"""The Spark runtime: packed transport, levels as ``mapInArrow`` over shards, checkpoints and sinks."""
