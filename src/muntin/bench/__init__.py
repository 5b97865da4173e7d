"""Benchmarks that a user can run: Muntin beside Spark's own operators, on generated data, answers compared first."""
