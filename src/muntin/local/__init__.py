"""The local runtime: levels and shards in one process, deterministic."""
