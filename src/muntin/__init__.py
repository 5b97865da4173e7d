"""Muntin: exact sliding-window continuous queries, written in CQL, on Apache Spark."""

__version__ = "0.1.0"
