"""Benchmarks that a user can run: Muntin beside Spark's own operators and Flink, answers compared first.

``cases`` has the queries, ``data`` the generated streams, ``contest`` the course of a comparison, ``streaming`` the
engines that Spark drives, ``flink`` and its siblings Flink, ``record`` the report. Of Muntin beside itself:
``state_bytes``, ``window_length``, ``many_queries``, ``overload``, ``one_time``.
"""

from muntin.bench.run import NAMES, run_bench

__all__ = ["NAMES", "run_bench"]
