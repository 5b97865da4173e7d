"""Benchmarks that a user can run: Muntin beside Spark's own operators, on generated data, answers compared first."""

from muntin.bench.run import NAMES, run_bench

__all__ = ["NAMES", "run_bench"]
