"""Physical plans and what runs them inside a shard: planner, stages, operators. No clock, no Spark."""
