"""From a bound query to what runs: lowering, how rows are spread over shards, levels, and EXPLAIN of all that."""
