"""The local runtime: stages and shards in one process, deterministic."""
