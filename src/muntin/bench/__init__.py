"""Benchmarks that a user can run: Muntin beside Spark's own operators and Flink, answers compared first.

``cases`` has the queries, ``data`` the generated streams, ``contest`` the course of a comparison, ``streaming`` the
engines that Spark drives, ``flink`` and its siblings Flink, ``record`` the report. Of Muntin beside itself:
``state_bytes``, ``window_length``, ``many_queries``, ``overload``, ``one_time``.
"""

NAMES = ("sliding-sum", "window-join", "state-bytes", "window-length", "many-queries", "overload", "one-time")
"""What ``muntin bench`` can be asked for. It stands here, where nothing else is imported, since the command's help
lists it."""
