"""The local runtime: levels and shards in one process, deterministic.

Here belong inputs of ``muntin.query`` (files, frames, their order) and what reads a checkpoint without Spark (history
of new queries, one-time queries). No JVM, no threads.
"""
