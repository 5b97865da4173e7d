"""Scalar expressions over Arrow columns: one function of a bound expression and a record batch.

Here belong functions, casts, comparisons and their errors, by Spark's ANSI rules. Not here: anything that knows of
event time, state or shards.
"""
