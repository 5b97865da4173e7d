"""The console: one page, served from the driver, that shows what a run does while it does it.

A run tells it of every batch; ``watch`` makes a picture of that as plain values, ``history`` keeps a series of them,
``server`` hands them to browsers (server-sent events) and to Prometheus. Nothing here knows Spark.
"""
