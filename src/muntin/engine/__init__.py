"""One step of one shard: rows on their way in, clocks, the operators in order, results. Both runtimes drive this."""
