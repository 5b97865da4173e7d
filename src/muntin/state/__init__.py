"""What operators remember: chunks of rows in panes, per shard, versioned. Knows nothing of plans, clocks or Spark."""
